import assert from "node:assert/strict";
import test from "node:test";

import { languageName } from "../../web/common/strings.js";
import { byLastUse, directionOf, otherLanguage, readRecent, servedSource, sourceOptions, targetOptions, textDirection, usualTarget } from "../../web/translate/logic/languages.js";

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

test("the usual target is a language of the person, English, or one without a third", () => {
  assert.equal(usualTarget(FLEET, null, ["fr-CA", "en"]), "fr");
  assert.equal(usualTarget(FLEET, null, ["ja"]), "en");
  assert.equal(usualTarget(FLEET, "de", ["de-AT"]), "en");
  assert.equal(usualTarget(FLEET, "en", ["en-US"]), "fr", "not the language of the text");
  assert.equal(usualTarget(FLEET, "de", ["nl", "fr"]), "fr", "one that is ready");
  assert.equal(usualTarget([FLEET[0]].map((each) => ({ ...each, targets: [pivoted("ca", "en"), direct("sv")] })), "de", []), "sv");
  assert.equal(usualTarget([{ lang: "en", targets: [direct("nl", false)] }], "en", []), "nl", "none is ready");
  assert.equal(usualTarget([], null, ["en"]), "");
});

test("the direction is that of the letters where the language cannot be theirs", () => {
  assert.equal(textDirection("مرحبا", "es"), "rtl");
  assert.equal(textDirection("Pairway هو مشروع جديد", "ar"), "rtl");
  assert.equal(textDirection("Where is the nearest station, please?", "ar"), "ltr");
  assert.deepEqual(["", "123", "Hello"].map((text) => textDirection(text, "ar")), ["rtl", "rtl", "rtl"]);
  assert.equal(textDirection("Hello", null), "auto");
});

test("another language is said where it is sure", () => {
  const sure = (lang, confidence = 0.8) => ({ lang, confidence });
  assert.deepEqual(otherLanguage({ detected: sure("en") }, "de"), { lang: "en", isServed: true });
  assert.deepEqual(otherLanguage({ detected: sure("es"), unserved: sure("pt") }, "es"), { lang: "pt", isServed: false });
  assert.deepEqual(otherLanguage({ detected: sure("en"), unserved: sure("pt", 0.6) }, "de"), { lang: "en", isServed: true });
  for (const detected of [null, sure("de"), sure("en", 0.79)]) assert.equal(otherLanguage({ detected }, "de-AT"), null);
});

test("languages used last come first, the latest before the others", () => {
  const options = ["de", "en", "fr", "nl"].map((lang) => ({ lang }));
  const tags = (list) => list.map((each) => each.lang);
  assert.deepEqual(byLastUse(options, ["nl", "xx", "de"]).map(tags), [["nl", "de"], ["en", "fr"]]);
  assert.deepEqual(readRecent(["de", 1, "<b>", "de", "auto"], "fr", null, "en"), ["fr", "en", "de"]);
  assert.equal(readRecent(["de", "en", "fr", "nl", "es", "it", "pt"]).length, 5);
  assert.deepEqual(readRecent(null), []);
});

test("a source is served by its language", () => {
  assert.equal(servedSource(FLEET, "de-AT"), "de");
  assert.equal(servedSource(FLEET, "fr"), null);
  assert.equal(servedSource(FLEET, null), null);
});
