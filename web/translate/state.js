// The state of the page: what its views are made of.

import { readEntries } from "./logic/history.js";
import { readTerms } from "./logic/terms.js";
import { readStored } from "../common/storage.js";

export const STORED = Object.freeze({
  settings: "pairway.settings",
  terms: "pairway.terms",
  history: "pairway.history",
  key: "pairway.key",
});
const FORMATS = ["text", "html", "markdown"];

/**
 * Returns the state at the start.
 * @param {{config: object, local: Storage | null, session: Storage | null}} parts
 */
export function initialState({ config, local, session }) {
  const settings = readStored(local, STORED.settings, {});
  const keptKey = readStored(local, STORED.key, "");
  return {
    config,
    text: "",
    source: typeof settings.source === "string" ? settings.source : "auto",
    target: typeof settings.target === "string" ? settings.target : "",
    isTargetChosen: typeof settings.target === "string" && settings.target !== "",
    format: FORMATS.includes(settings.format) ? settings.format : "text",
    interfaceLanguage: "en",
    chosenInterfaceLanguage: settings.interfaceLanguage ?? null,
    /** @type {{lang: string, targets: object[]}[]} */
    languages: [],
    languagesLoaded: false,
    /** What is shown: `text` so far, `rest` of the translation before it, `result` at its end. */
    translation: null,
    isBusy: false,
    /** @type {null | {problem: import("../common/problem.js").ProblemError, seconds: number | null, retries: boolean}} */
    failure: null,
    isOnline: true,
    /** "", or what has just been copied. */
    copied: "",
    showsPreview: true,
    /** @type {null | "terms" | "history"} */
    panel: null,
    terms: readTerms(readStored(local, STORED.terms, [])),
    keepsHistory: settings.keepsHistory === true,
    history: settings.keepsHistory === true ? readEntries(readStored(local, STORED.history, [])) : [],
    key: keptKey || readStored(session, STORED.key, ""),
    isKeyKept: Boolean(keptKey),
    asksForKey: false,
    isKeyRefused: false,
    /** The dialog was closed without a key: it opens again only when somebody asks for it. */
    isKeyDeclined: false,
  };
}

/** Returns the source language of the text shown, detected or chosen; null while unknown. */
export function knownSource(state) {
  return state.source === "auto" ? (state.translation?.result?.detected?.lang ?? null) : state.source;
}
