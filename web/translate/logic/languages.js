// Languages: what GET /languages says, in the words and directions of people.

import { languageName } from "../../common/strings.js";

const RIGHT_TO_LEFT_SCRIPTS = new Set(["Adlm", "Arab", "Armi", "Hebr", "Nkoo", "Rohg", "Syrc", "Thaa"]);
// BCP 47, and "auto".
const TAG = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/;
const MAX_TAG_CHARS = 35;
const RTL_LETTER = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;
/** The server detects a language from no more. */
export const LOOK_CHARS = 200;
// Fewer letters may be a name, or a word that several languages have.
const FEWEST_LETTERS = 20;
const MAX_RECENT = 5;
/** A detection of less confidence is not worth a change. */
export const SURE = 0.8;

/** Returns "rtl" or "ltr"; "auto" without a language, so that the text decides. */
export function directionOf(tag) {
  if (!tag || tag === "auto") return "auto";
  try {
    return RIGHT_TO_LEFT_SCRIPTS.has(new Intl.Locale(tag).maximize().script) ? "rtl" : "ltr";
  } catch {
    return "auto"; // no BCP 47 tag
  }
}

/** Returns the direction of a text in a language; where that cannot be its language, the direction of its letters. */
export function textDirection(text, tag) {
  const letters = text.slice(0, LOOK_CHARS).match(/\p{L}/gu) ?? [];
  const rtl = letters.filter((letter) => RTL_LETTER.test(letter)).length;
  if (2 * rtl > letters.length) return "rtl";
  return rtl === 0 && letters.length >= FEWEST_LETTERS ? "ltr" : directionOf(tag);
}

/** Returns what the detection of a text says against the language chosen for it, or null. */
export function otherLanguage({ detected, unserved }, chosen) {
  const found = [unserved, detected].find((each) => each?.confidence >= SURE);
  if (!found || base(found.lang) === base(chosen)) return null;
  return { lang: found.lang, isServed: found === detected };
}

/** Returns whether a text has enough letters for its language to be told. */
export function isTellable(text) {
  return (text.slice(0, LOOK_CHARS).match(/\p{L}/gu) ?? []).length >= FEWEST_LETTERS;
}

/** Returns the language tag, or "" for anything else, such as markup in a link. */
export function tagOrNone(tag) {
  return tag.length <= MAX_TAG_CHARS && TAG.test(tag) ? tag : "";
}

/** Returns the source languages, sorted by name. */
export function sourceOptions(languages, interfaceLanguage) {
  return sorted(languages.map(({ lang }) => ({ lang, name: languageName(lang, interfaceLanguage) })), interfaceLanguage);
}

/** Returns the target languages, `{lang, name, ready, through}`, of a source, or of all sources (null), sorted by name. */
export function targetOptions(languages, source, interfaceLanguage) {
  const found = new Map();
  for (const each of languages) {
    if (source && each.lang !== source) continue;
    for (const target of each.targets) found.set(target.lang, better(found.get(target.lang), target, Boolean(source)));
  }
  const named = [...found.values()].map(({ lang, ready, how, pivot }) => ({
    lang,
    name: languageName(lang, interfaceLanguage),
    ready,
    through: how === "pivot" && pivot ? languageName(pivot, interfaceLanguage) : null,
  }));
  return sorted(named, interfaceLanguage);
}

/** Returns a source of the fleet that serves this tag: itself, or its language without region. */
export function servedSource(languages, tag) {
  if (!tag) return null;
  const sources = languages.map(({ lang }) => lang);
  return [tag, base(tag)].find((each) => sources.includes(each)) ?? null;
}

/** Returns the target for a source (null: any) that nobody has chosen one for: a preferred language, English, or any that is ready. */
export function usualTarget(languages, source, preferred) {
  const served = targetOptions(languages, source, "en").filter(({ lang }) => !source || base(lang) !== base(source));
  const ready = served.filter((each) => each.ready);
  const tag = [...preferred.flatMap((each) => [each, base(each)]), "en"].find((each) => ready.some(({ lang }) => lang === each));
  return tag ?? (ready.find((each) => !each.through) ?? ready[0] ?? served[0])?.lang ?? "";
}

/** Returns what is left of stored tags after a look at each; `used` come first. */
export function readRecent(stored, ...used) {
  const tags = [...used, ...(Array.isArray(stored) ? stored : [])].filter((each) => typeof each === "string" && tagOrNone(each) && each !== "auto");
  return [...new Set(tags)].slice(0, MAX_RECENT);
}

/** Returns the options in two lists: those used last, the latest first, and the others. */
export function byLastUse(options, recent) {
  const used = recent.flatMap((tag) => options.filter(({ lang }) => lang === tag));
  return [used, options.filter((each) => !used.includes(each))];
}

// Of several sources any may be the text's: ready if one of them is, and no pivot can be named.
function better(known, target, isOneSource) {
  const shown = isOneSource ? target : { ...target, how: "any", pivot: null };
  return known?.ready ? known : shown;
}

function sorted(options, interfaceLanguage) {
  const { compare } = new Intl.Collator(interfaceLanguage);
  return options.sort((one, other) => compare(one.name, other.name));
}

function base(tag) {
  return tag.split("-")[0];
}
