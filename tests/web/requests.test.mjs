import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";

import { readEvents } from "../../web/common/request.js";
import { problemOf, problemOfEvent, unreachable } from "../../web/common/problem.js";
import { pickLanguage, textFinder } from "../../web/common/strings.js";
import { needsKey, problemText, secondsToRetry, warningText } from "../../web/translate/logic/messages.js";
import { characterCount, curlCommand, isTooLong, requestBody } from "../../web/translate/logic/request_body.js";

const STATE = { text: "Hello", source: "auto", target: "de", format: "text", terms: [] };
const term = (source, target, keep = false) => ({ source, target, keep });

test("a plain request has the text and its languages alone", () => {
  assert.deepEqual(requestBody(STATE), { text: "Hello", source_lang: "auto", target_lang: "de" });
});

test("terms and names become the fields of the API", () => {
  const terms = [term(" Pairway ", "", true), term("bank", " Ufer "), term("", "x"), term("empty", "  "), term("Pairway", "", true)];
  const body = requestBody({ ...STATE, format: "html", terms });
  assert.equal(body.format, "html");
  assert.deepEqual(body.do_not_translate, ["Pairway"]);
  assert.deepEqual(body.terms, { bank: "Ufer" });
});

test("terms are those of the languages", () => {
  const terms = [{ ...term("a", "b"), from: "en", to: "de" }, { ...term("c", "d"), from: "en", to: "fr" }, { ...term("e", "f"), from: "fr", to: "de" }, term("g", "h")];
  const sent = (source) => requestBody({ ...STATE, terms, source }).terms;
  assert.deepEqual(sent("en"), { a: "b", g: "h" });
  assert.deepEqual(sent("auto"), { a: "b", e: "f", g: "h" }, "the text may be in either");
  assert.deepEqual(requestBody({ ...STATE, source: "en", terms: Array.from({ length: 300 }, (_, at) => term(`t${at}`, "x")) }).terms.t256, undefined);
});

test("a glossary is named where it has a dictionary", () => {
  const glossaries = [{ id: "1", name: "One", dictionaries: [{ source_lang: "en", target_lang: "de" }] }];
  const sent = (changes) => requestBody({ ...STATE, glossaries, glossary: "1", source: "en", ...changes }).glossary;
  assert.deepEqual([sent({}), sent({ source: "en-US" })], ["1", "1"]);
  for (const changes of [{ source: "auto" }, { target: "fr" }, { glossary: "2" }, { glossaries: [] }]) assert.equal(sent(changes), undefined);
});

test("a term named like a member of every object is an own member", () => {
  assert.equal(JSON.stringify(requestBody({ ...STATE, terms: [term("__proto__", "x")] }).terms), '{"__proto__":"x"}');
});

test("a curl command survives the shell and names no key", () => {
  const text = "It's \"$HOME\" `id` \\ \n!";
  const command = curlCommand("https://example.com/mt/translate", { text }, true);
  const shown = execFileSync("sh", ["-c", command.replace(/^curl/, "printf '%s\\0'")], { env: { PAIRWAY_KEY: "k" } }).toString();
  const [url, , , , key, , body] = shown.split("\0");
  assert.deepEqual([url, key, JSON.parse(body).text], ["https://example.com/mt/translate", "Authorization: Bearer k", text]);
});

test("characters are code points", () => {
  for (const text of ["", "abc", "añ", "😀", "a😀b", "\ud83d", "\ude00\ud83d", "👩‍👩‍👧"]) assert.equal(characterCount(text), [...text].length, text);
});

test("a text is too long from one character above the limit on", () => {
  const config = { max_text_chars: 3 };
  assert.deepEqual(["abc", "ab😀", "abcd"].map((text) => isTooLong({ text, config })), [false, false, true]);
});

test("events come whole from any pieces", async () => {
  const stream = ': a comment\r\n\r\nevent: delta\r\ndata: {"text":"a: b\u2028"}\r\n\r\nevent: result\ndata: one\ndata: two\n\nevent: cut\ndata: x';
  for (let size = 1; size < stream.length; size += 1) {
    const bytes = new TextEncoder().encode(stream);
    const body = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const events = await Array.fromAsync(readEvents(body));
    assert.deepEqual(events, [{ event: "delta", data: '{"text":"a: b\u2028"}' }, { event: "result", data: "one\ntwo" }]);
  }
});

test("problems are read from any answer", async () => {
  const answer = (body, headers) => new Response(body, { status: 503, headers });
  const ours = await problemOf(answer('{"code":"overloaded","detail":"d","candidates":[]}', { "Retry-After": "4" }));
  assert.deepEqual([ours.status, ours.code, ours.retryAfter], [503, "overloaded", 4]);
  for (const body of ["", "<html>", "null", '"x"', '{"code":1,"candidates":"x"}']) {
    const other = await problemOf(answer(body, { "Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT" }));
    assert.deepEqual([other.status, other.code, other.retryAfter, other.candidates], [503, "unknown", null, []], body);
  }
  assert.deepEqual([problemOfEvent(null).status, problemOfEvent({ status: 502, code: "replica-failed" }).code], [500, "replica-failed"]);
});

test("only what passes is tried again", () => {
  const problem = (status, code, retryAfter = null) => ({ status, code, retryAfter });
  assert.equal(secondsToRetry(problem(429, "rate-limited", 30)), 30);
  assert.equal(secondsToRetry(problem(503, "overloaded", 0)), 1);
  assert.equal(secondsToRetry(unreachable()), 3);
  assert.equal(secondsToRetry(problem(504, "unknown")), 3);
  for (const [status, code] of [[413, "too-large"], [422, "language-undetected"], [404, "unknown-pair"], [500, "internal"], [502, "unusable-output"]]) {
    assert.equal(secondsToRetry(problem(status, code)), null, code);
  }
});

test("a key is asked for only where it helps", () => {
  assert.ok(needsKey({ status: 401, code: "key-required" }));
  assert.ok(needsKey({ status: 403, code: "key-refused" }));
  assert.ok(!needsKey({ status: 403, code: "pair-refused" }));
  assert.ok(!needsKey({ status: 403, code: "origin-refused" }));
});

test("unknown codes of a newer server are shown in its words", () => {
  const text = textFinder({ "warning.output-empty": "Ours.", "problem.unknown": "Status {status}", "problem.internal": "Ours." });
  assert.equal(warningText({ code: "new-one", message: "Its words." }, text), "Its words.");
  assert.equal(warningText({ code: "output-empty", message: "Its words." }, text), "Ours.");
  const withValues = (name, { values }) => `${name}: ${values}`;
  assert.equal(warningText({ code: "number-changed", values: ["8:05", "3"] }, withValues), "warning.number-changed: 8:05, 3");
  assert.equal(problemText({ code: "new-one", detail: "", status: 418 }, text), "Status 418");
  assert.equal(problemText({ code: "new-one", detail: "Its words.", status: 418 }, text), "Its words.");
  assert.equal(problemText({ code: "internal", detail: "Its words.", status: 500 }, text), "Ours.");
});

test("texts fill their placeholders once", () => {
  const text = textFinder({ a: "{x} and {y}" });
  assert.equal(text("a", { x: "{y}", y: 0 }), "{y} and 0");
  assert.equal(text("missing"), "missing");
});

test("the interface is in the first language that it has", () => {
  assert.equal(pickLanguage(["pt-BR", "zh-Hant-TW", "en"]), "zh");
  assert.equal(pickLanguage([null, "toString", "xx"]), "en");
});
