import assert from "node:assert/strict";
import test from "node:test";

import { readStored, writeStored } from "../../web/common/storage.js";
import { tagOrNone } from "../../web/translate/logic/languages.js";
import { draftOf, fragmentOfQuery, linkFragment, readDraft, readEntries, readFragment, withEntry } from "../../web/translate/logic/texts.js";
import { piecesOf } from "../../web/translate/logic/request_body.js";
import { cleanTerm, fileText, MAX_KEPT_TERMS, mergeTerms, readTermFile, readTerms, termFile, usedTerms } from "../../web/translate/logic/terms.js";

const entry = (text, at, more = {}) => ({ text, translation: text, source: "en", target: "de", format: "text", at, ...more });

test("a link carries any text", () => {
  for (const text of ["", "a&b=c#d?e", "ü 😀 \n +%20", "=".repeat(50)]) {
    const state = { text, source: "de-AT", target: "en", format: "markdown" };
    assert.deepEqual(readFragment(linkFragment(state)), state);
  }
});

test("a query of LibreTranslate's or Google's page becomes a link", () => {
  const read = (query) => readFragment(fragmentOfQuery(query));
  assert.deepEqual(read("?source=en&target=de&q=a%20%26+b%23"), { text: "a & b#", source: "en", target: "de", format: "text" });
  assert.deepEqual(read("?sl=auto&tl=fr&text=Hi&op=translate"), { text: "Hi", source: "auto", target: "fr", format: "text" });
  assert.deepEqual(read("?q=x&source=%3Cb%3E"), { text: "x", source: "auto", target: "", format: "text" });
  for (const query of ["", "?source=en&target=de", "?utm_source=x"]) assert.equal(fragmentOfQuery(query), null);
});

test("a draft comes back where it was left", () => {
  const state = { text: "Hello", source: "en", target: "de", isTargetChosen: true, format: "html" };
  const kept = JSON.parse(JSON.stringify(draftOf(state, "#text=Hi")));
  assert.deepEqual(readDraft(kept), { text: "Hello", source: "en", target: "de", format: "html", address: "#text=Hi" });
  assert.equal(draftOf({ ...state, isTargetChosen: false }, "").target, "");
  assert.equal(draftOf({ ...state, text: "" }, ""), null);
  assert.equal(readDraft(draftOf({ ...state, text: "" }, "#text=Hi")).text, "", "a link's text that was cleared");
  for (const stored of [null, 1, "x", {}, { ...kept, text: 1 }]) assert.equal(readDraft(stored), null);
  assert.deepEqual(readDraft({ ...kept, source: "<b>", format: "exe" }), { ...kept, source: "auto", format: "text" });
});

test("a fragment of something else is no link", () => {
  assert.equal(readFragment(""), null);
  assert.equal(readFragment("#section"), null);
  assert.deepEqual(readFragment("#text=x&format=exe"), { text: "x", source: "auto", target: "", format: "text" });
});

test("a link's language is a tag, or a target that is not served", () => {
  for (const hostile of ['"><h1>Pay here</h1>', "de onload=x", "d", "de-", "ü", "x".repeat(36)]) {
    const fields = new URLSearchParams({ text: "x", source: hostile, target: hostile });
    assert.deepEqual(readFragment(`#${fields}`), { text: "x", source: "auto", target: "xx", format: "text" });
    assert.equal(tagOrNone(hostile), "");
  }
  for (const tag of ["de", "zh-Hant-TW", "fil"]) assert.equal(tagOrNone(tag), tag);
});

test("an entry replaces its own beginnings", () => {
  let entries = [];
  for (const [at, text] of [[1000, "He"], [2000, "Hello"], [3000, "Hello you"], [4000, "Hello"]]) entries = withEntry(entries, entry(text, at));
  assert.deepEqual(entries.map((each) => each.text), ["Hello"]);
  entries = withEntry(entries, entry("Hello", 5000, { target: "fr" }));
  entries = withEntry(entries, entry("Hello there", 900_000));
  assert.deepEqual(entries.map((each) => [each.text, each.target]), [["Hello there", "de"], ["Hello", "fr"], ["Hello", "de"]]);
});

test("the history is bounded", () => {
  let entries = [];
  for (let at = 0; at < 200; at += 1) entries = withEntry(entries, entry(`text ${at}`, at));
  assert.equal(entries.length, 50);
  assert.equal(withEntry(entries, entry("x".repeat(5001), 300)), entries);
  assert.equal(withEntry(entries, entry("  ", 300)), entries);
});

test("what another version stored does no harm", () => {
  for (const stored of [null, 1, "x", {}, [null, 1, { text: 1 }]]) {
    assert.deepEqual(readEntries(stored), []);
    assert.deepEqual(readTerms(stored), []);
  }
  assert.deepEqual(readTerms([{ source: "a\nb" }]), [{ source: "a b", target: "", keep: false, from: "", to: "" }]);
  assert.equal(readTerms(Array(5000).fill({ source: "a" })).length, MAX_KEPT_TERMS);
  assert.equal(cleanTerm({ source: "x".repeat(500) }).source.length, 200);
  assert.deepEqual(cleanTerm({ source: "a", from: '"><b>', to: "de" }), { source: "a", target: "", keep: false, from: "", to: "de" });
  const terms = [{ source: "a", target: "", keep: true }, { source: "b", target: " ", keep: false }];
  assert.equal(usedTerms({ terms, source: "en", target: "de" }).length, 1);
});

const PAIR = { from: "en", to: "de" };
const TERMS = [
  { source: "gateway", target: "Zubringer", keep: false, ...PAIR },
  { source: 'a "b", c;', target: "x,y", keep: false, from: "en", to: "fr" },
  { source: "Pairway", target: "", keep: true, from: "", to: "" },
];

test("terms come back from a file as they were", () => {
  const csv = readTermFile(termFile(TERMS, "csv"), { from: "", to: "" });
  const kept = { ...TERMS[2], target: "Pairway" };
  assert.deepEqual(csv, { terms: [TERMS[0], TERMS[1], kept], left: 0 });
  const tsv = readTermFile(termFile(TERMS, "tsv"), PAIR);
  assert.deepEqual(tsv.terms, [TERMS[0], { ...TERMS[1], ...PAIR }, { ...kept, ...PAIR }]);
});

test("files of other programs are read, and lines without a term left out", () => {
  const read = (content) => readTermFile(content, PAIR);
  assert.deepEqual(read("gateway;Zubringer\r\n\r\nalone\r\n;x\r\n"), { terms: [TERMS[0]], left: 2 });
  const { terms, left } = read('"source","target","source_lang","target_lang"\n"gateway","Zubringer","en","de"\n"x","y",<b>,fr\nx,y,,fr');
  assert.deepEqual([terms.map(({ from, to }) => [from, to]), left], [[["en", "de"], ["", "fr"]], 2], "a heading, and languages that are none");
  assert.deepEqual(read('gateway,"Zu-\r\nbringer"\n"a ""b""\n c",d;e;f\n').terms.map((each) => [each.source, each.target]), [["gateway", "Zu- bringer"]], "lines break in quotes");
  for (const content of ["", '"', '"a', 'a"b', ",,,,", "\t\t", '""""'.repeat(100_000)]) assert.deepEqual(read(content).terms, []);
});

test("a file's text is read as what it is", () => {
  const utf8 = new TextEncoder().encode("\ufeffgrün,€");
  const utf16 = Uint8Array.from([..."\ufeffgrün,€"].flatMap((each) => [each.charCodeAt(0) & 255, each.charCodeAt(0) >> 8]));
  const windows = Uint8Array.from([0x67, 0x72, 0xfc, 0x6e, 0x2c, 0x80]);
  for (const bytes of [utf8, utf8.subarray(3), utf16, utf16.map((_, at) => utf16[at ^ 1]), windows]) assert.equal(fileText(bytes.slice().buffer), "grün,€");
  assert.equal(fileText(new ArrayBuffer(0)), "");
});

test("a term takes the place of that of the same word and languages", () => {
  const newer = { ...TERMS[0], target: "Tor" };
  assert.deepEqual(mergeTerms(TERMS, [newer]), { terms: [newer, TERMS[1], TERMS[2]], left: 0 });
  const many = Array.from({ length: MAX_KEPT_TERMS }, (_, at) => ({ ...TERMS[0], source: `t${at}` }));
  const { terms, left } = mergeTerms(TERMS, many);
  assert.deepEqual([terms.length, left], [MAX_KEPT_TERMS, 3]);
});

test("pieces are the whole translation, with its uncertain parts", () => {
  const text = "😀 Eins. Zwei.";
  const pieces = piecesOf(text, [[2, 7], [8, 13]]);
  assert.equal(pieces.map((each) => each.text).join(""), text);
  assert.deepEqual(pieces.filter((each) => each.isUncertain).map((each) => each.text), ["Eins.", "Zwei."]);
  assert.equal(piecesOf("short", [[3, 900]]).map((each) => each.text).join(""), "short");
});

test("storage may be missing, broken or full", () => {
  const broken = { getItem: () => "{", setItem: () => { throw new Error("full"); }, removeItem: () => {} };
  assert.equal(readStored(null, "a", 7), 7);
  assert.equal(readStored(broken, "a", 7), 7);
  writeStored(null, "a", 1);
  writeStored(broken, "a", 1);
});
