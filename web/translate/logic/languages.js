// Languages: what GET /languages says, in the words and directions of people.

const RIGHT_TO_LEFT = new Set(["ar", "arc", "azb", "ckb", "dv", "fa", "he", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"]);
const RIGHT_TO_LEFT_SCRIPTS = new Set(["Arab", "Hebr", "Syrc", "Thaa", "Nkoo", "Adlm", "Rohg"]);
// BCP 47, and "auto".
const TAG = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/;
const MAX_TAG_CHARS = 35;

/** Returns "rtl" or "ltr"; "auto" without a language, so that the text decides. */
export function directionOf(tag) {
  if (!tag || tag === "auto") return "auto";
  const parts = tag.split("-");
  const script = parts.find((part) => /^[A-Za-z]{4}$/.test(part));
  const rtl = script ? RIGHT_TO_LEFT_SCRIPTS.has(title(script)) : RIGHT_TO_LEFT.has(parts[0].toLowerCase());
  return rtl ? "rtl" : "ltr";
}

/** Returns the language tag, or "" for anything else, such as markup in a link. */
export function tagOrNone(tag) {
  return tag.length <= MAX_TAG_CHARS && TAG.test(tag) ? tag : "";
}

/** Returns a language's name in the interface's language, such as "German". */
export function languageName(tag, interfaceLanguage) {
  try {
    const name = new Intl.DisplayNames([interfaceLanguage], { type: "language" }).of(tag) ?? tag;
    return name.charAt(0).toLocaleUpperCase(interfaceLanguage) + name.slice(1);
  } catch {
    return tag; // no BCP 47 tag
  }
}

/**
 * Returns the source languages, sorted by name.
 * @param {{lang: string, targets: Target[]}[]} languages
 */
export function sourceOptions(languages, interfaceLanguage) {
  return sorted(
    languages.map(({ lang }) => ({ lang, name: languageName(lang, interfaceLanguage) })),
    interfaceLanguage,
  );
}

/**
 * Returns the target languages of a source, or of all sources (null), sorted by name.
 * @typedef {{lang: string, ready: boolean, how: string, pivot: string | null}} Target
 * @returns {{lang: string, name: string, ready: boolean, through: string | null}[]}
 */
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
  return [tag, tag.split("-")[0]].find((each) => sources.includes(each)) ?? null;
}

/**
 * Returns the target to begin with: the wanted one if it is served, else one of the person's languages, else any ready.
 * @param {readonly string[]} preferred
 */
export function firstTarget(languages, wanted, preferred) {
  const served = targetOptions(languages, null, "en");
  const ready = served.filter((each) => each.ready);
  const tags = [wanted, ...preferred.flatMap((tag) => [tag, tag.split("-")[0]])];
  const known = (list) => tags.find((tag) => list.some((each) => each.lang === tag));
  return (wanted && served.some((each) => each.lang === wanted) && wanted) || known(ready) || ready[0]?.lang || served[0]?.lang || "";
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

function title(word) {
  return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
}
