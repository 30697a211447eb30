// The state of the page: what its views are made of.

import { readRecent } from "./logic/languages.js";
import { FORMATS } from "./logic/request_body.js";
import { readTerms } from "./logic/terms.js";
import { readEntries } from "./logic/texts.js";
import { readStored } from "../common/storage.js";

export const STORED = Object.freeze({
  settings: "pairway.settings",
  terms: "pairway.terms",
  history: "pairway.history",
  key: "pairway.key",
  draft: "pairway.draft",
  recent: "pairway.recent",
});

/** Returns the state at the start. */
export function initialState({ config, local, session, draft }) {
  const settings = readStored(local, STORED.settings, {});
  const { text, source, target, format } = { ...settings, text: "", ...draft };
  const keptKey = readStored(local, STORED.key, "");
  return {
    config,
    text,
    source: typeof source === "string" ? source : "auto",
    target: typeof target === "string" ? target : "",
    isTargetChosen: typeof target === "string" && target !== "",
    format: FORMATS.includes(format) ? format : "text",
    interfaceLanguage: "en",
    /** Finds the words of the interface; null until they are loaded. @type {ReturnType<typeof import("../common/strings.js").textFinder> | null} */
    findText: null,
    /** The language that could not be loaded when it was last wanted. */
    lostLanguage: null,
    chosenInterfaceLanguage: settings.interfaceLanguage ?? null,
    /** @type {{lang: string, targets: object[]}[]} */
    languages: [],
    languagesLoaded: false,
    /** Why the list cannot be had. @type {import("../common/problem.js").ProblemError | null} */
    languagesProblem: null,
    /** What is shown: the `request` it answers, `text` so far, `rest` of the translation before it, `result` at its end. */
    translation: null,
    isBusy: false,
    /** Nothing has come from the server for longer than usual. */
    isSlow: false,
    /** @type {null | {request: object, problem: import("../common/problem.js").ProblemError, seconds: number | null, retries: boolean}} */
    failure: null,
    /** What the detection of a text says against its chosen language. @type {null | {lang: string, isServed: boolean}} */
    looksLike: null,
    /** Other translations of a request; `texts` is null until they are there. @type {null | {request: object, texts: string[] | null, problem?: object}} */
    others: null,
    /** Languages used last, as they were when the page was opened: a list that changes while one is in it is a trap. */
    recent: readRecent(readStored(local, STORED.recent, [])),
    isOnline: true,
    /** "", or what has just been copied. */
    copied: "",
    showsPreview: true,
    /** @type {null | "terms" | "history"} */
    panel: null,
    /** Of the key, and the one chosen. */
    glossaries: [],
    glossary: typeof settings.glossary === "string" ? settings.glossary : "",
    /** What came of a file with terms: the name of its words, and their values. @type {null | {words: string}} */
    imported: null,
    ...sharedState(local),
    key: keptKey || readStored(session, STORED.key, ""),
    isKeyKept: Boolean(keptKey),
    asksForKey: false,
    isKeyRefused: false,
    /** The dialog was closed without a key: it opens again only when somebody asks for it. */
    isKeyDeclined: false,
  };
}

/** Returns what all tabs share. */
export function sharedState(local) {
  const keepsHistory = readStored(local, STORED.settings, {}).keepsHistory === true;
  const history = keepsHistory ? readEntries(readStored(local, STORED.history, [])) : [];
  return { terms: readTerms(readStored(local, STORED.terms, [])), keepsHistory, history };
}

/** Returns the source language of the text shown, detected or chosen; null while unknown. */
export function knownSource(state) {
  return state.source === "auto" ? (detection(state)?.lang ?? null) : state.source;
}

/** Returns what the server detected; of a text that it could not tell, nothing. */
export function detection(state) {
  return state.failure?.problem?.code === "language-undetected" ? null : state.translation?.result?.detected;
}
