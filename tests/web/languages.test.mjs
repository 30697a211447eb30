import assert from "node:assert/strict";
import test from "node:test";

import { directionOf, firstTarget, languageName, servedSource, sourceOptions, targetOptions } from "../../web/translate/logic/languages.js";

const direct = (lang, ready = true) => ({ lang, ready, how: "direct", pivot: null });
const pivoted = (lang, pivot, ready = true) => ({ lang, ready, how: "pivot", pivot });
const FLEET = [
  { lang: "de", targets: [direct("en"), pivoted("fr", "en"), direct("nl", false)] },
  { lang: "en", targets: [direct("de"), direct("fr"), direct("nl", false)] },
];

test("directions follow language and script", () => {
  for (const tag of ["ar", "he", "fa", "ur", "ar-EG", "ks", "az-Arab", "pa-arab"]) assert.equal(directionOf(tag), "rtl", tag);
  for (const tag of ["de", "ja", "zh-Hant", "ks-Deva", "ug-Latn"]) assert.equal(directionOf(tag), "ltr", tag);
  for (const tag of [null, "", "auto"]) assert.equal(directionOf(tag), "auto");
});

test("names are those of the interface, and impossible tags stay", () => {
  assert.equal(languageName("de", "en"), "German");
  assert.equal(languageName("en", "de"), "Englisch");
  assert.equal(languageName("fr", "es"), "Francés");
  assert.equal(languageName("not a tag", "en"), "not a tag");
});

test("sources are sorted by name", () => {
  assert.deepEqual(sourceOptions(FLEET, "en").map((each) => each.name), ["English", "German"]);
});

test("targets of a source name their pivot", () => {
  const targets = targetOptions(FLEET, "de", "en");
  assert.deepEqual(targets.map(({ lang, ready, through }) => [lang, ready, through]), [
    ["nl", false, null],
    ["en", true, null],
    ["fr", true, "English"],
  ]);
});

test("targets of an unknown source name no pivot and are ready if any is", () => {
  const targets = targetOptions(FLEET, null, "en");
  assert.deepEqual(targets.map(({ lang, ready, through }) => [lang, ready, through]), [
    ["nl", false, null],
    ["en", true, null],
    ["fr", true, null],
    ["de", true, null],
  ]);
});

test("the first target is the wanted one, a language of the person, or any", () => {
  assert.equal(firstTarget(FLEET, "nl", ["en"]), "nl", "chosen before, though not ready now");
  assert.equal(firstTarget(FLEET, "", ["fr-CA", "en"]), "fr");
  assert.equal(firstTarget(FLEET, "xx", ["ja"]), "en", "the first that is ready");
  assert.equal(firstTarget([], "", ["en"]), "");
});

test("a source is served by its language", () => {
  assert.equal(servedSource(FLEET, "de-AT"), "de");
  assert.equal(servedSource(FLEET, "fr"), null);
  assert.equal(servedSource(FLEET, null), null);
});
