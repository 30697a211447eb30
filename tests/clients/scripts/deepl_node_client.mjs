// deepl-node 1.28.0: form bodies with repeated text, GET languages by query; 429 and 5xx tried again.
import { given, load, observe, untilRefused } from "./observe.mjs";

const { DeepLClient, GlossaryEntries } = load("deepl-node");
const url = given.url + "/deepl";
const QUESTION = "Where is the station?";
const NOWHERE = "8d1b6bfa-0000-4000-8000-000000000000";
const XML = 'Press <x id="12"></x> or go to the <b>station</b>.';

// One try each: its own waits would only cost time here.
const client = (key, serverUrl = url) =>
  new DeepLClient(given[key] ?? key, { serverUrl, maxRetries: 1, minTimeout: 120_000 });
const ask = (key, serverUrl) => client(key, serverUrl).translateText(QUESTION, "en", "de");
const good = client("good");

async function onePair() {
  const glossary = await good.createGlossary("node", "en", "de", new GlossaryEntries({ entries: { gateway: "Zubringer" } }));
  const other = await good.createGlossary("node 2", "en", "de", new GlossaryEntries({ entries: { cat: "Mieze" } }));
  const translated = await good.translateText("My neighbour bought a gateway.", "en", "de", { glossary });
  const glossaryIds = [other.glossaryId, glossary.glossaryId];
  const both = await good.translateText("My neighbour bought a gateway.", "en", "de", { glossaryIds });
  const found = {
    count: glossary.entryCount,
    read: (await good.getGlossary(glossary.glossaryId)).name,
    listed: (await good.listGlossaries()).some((each) => each.glossaryId === glossary.glossaryId),
    entries: (await good.getGlossaryEntries(glossary)).entries(),
    translation: translated.text,
    "by a list of ids": both.text,
  };
  await good.deleteGlossary(glossary);
  await good.deleteGlossary(other);
  return found;
}

const dictionary = (target, entries) => ({
  sourceLangCode: "en",
  targetLangCode: target,
  entries: new GlossaryEntries({ entries }),
});

async function severalPairs() {
  const first = [dictionary("de", { gateway: "Zubringer" }), dictionary("fr", { gateway: "portail" })];
  const glossary = await good.createMultilingualGlossary("node", first);
  const entries = async () =>
    (await good.getMultilingualGlossaryDictionaryEntries(glossary, "en", "de")).entries.entries();
  const found = {
    dictionaries: glossary.dictionaries.map((each) => [each.targetLangCode.toLowerCase(), each.entryCount]).sort(),
    read: (await good.getMultilingualGlossary(glossary.glossaryId)).name,
    listed: (await good.listMultilingualGlossaries()).some((each) => each.glossaryId === glossary.glossaryId),
    entries: await entries(),
    renamed: (await good.updateMultilingualGlossaryName(glossary, "renamed")).name,
  };
  await good.updateMultilingualGlossaryDictionary(glossary, dictionary("de", { cat: "Mieze" }));
  found["entries after an update"] = await entries();
  await good.replaceMultilingualGlossaryDictionary(glossary, dictionary("de", { dog: "Wauwau" }));
  found["entries after a replacement"] = await entries();
  await good.deleteMultilingualGlossaryDictionary(glossary, "en", "fr");
  found["dictionaries at the end"] = (await good.getMultilingualGlossary(glossary.glossaryId)).dictionaries.length;
  await good.deleteMultilingualGlossary(glossary);
  return found;
}

await observe({
  single: () => ask("good"),
  root: () => ask("good", given.url),
  detected: () => good.translateText("Wo ist der Bahnhof?", null, "en-US"),
  list: () => good.translateText([QUESTION, "I have 12 books.", "It is cold."], "en", "fr"),
  xml: () => good.translateText(XML, "en", "de", { tagHandling: "xml", ignoreTags: ["x"] }),
  "all options": () =>
    good.translateText(XML, "en", "de", {
      splitSentences: "nonewlines",
      preserveFormatting: true,
      formality: "prefer_more",
      tagHandling: "xml",
      outlineDetection: false,
      nonSplittingTags: ["b"],
      splittingTags: ["p"],
      ignoreTags: ["x"],
      context: "At the ticket office.",
      modelType: "latency_optimized",
    }),
  "source languages": async () => (await good.getSourceLanguages()).map((each) => each.code),
  "target languages": async () => (await good.getTargetLanguages()).map((each) => each.code),
  "glossary pairs": async () =>
    (await good.getGlossaryLanguagePairs()).map((each) => [each.sourceLang, each.targetLang]),
  usage: () => good.getUsage(),
  "one pair": onePair,
  "several pairs": severalPairs,
  "wrong key": () => ask("nonsense"),
  "revoked key": () => ask("revoked"),
  quota: untilRefused(() => ask("quota")),
  rate: untilRefused(() => ask("rate")),
  "no such target": () => good.translateText(QUESTION, "en", "xx"),
  "no such glossary": () => good.getGlossary(NOWHERE),
  "no such glossary in a translation": () => good.translateText(QUESTION, "en", "de", { glossary: NOWHERE }),
  "too large": () => good.translateText("a".repeat(3_000_000), "en", "de"),
});
