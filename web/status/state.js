// The state of the page: what its views are made of.

import { readStored } from "../common/storage.js";

/** Shared with the translate page, which has the same interface languages. */
export const SETTINGS = "pairway.settings";

/** Returns the state at the start. */
export function initialState({ config, local }) {
  const settings = readStored(local, SETTINGS, {});
  return {
    config,
    interfaceLanguage: "en",
    /** Finds the words of the interface; null until they are loaded. @type {ReturnType<typeof import("../common/strings.js").textFinder> | null} */
    findText: null,
    /** The language that could not be loaded when it was last wanted. */
    lostLanguage: null,
    chosenInterfaceLanguage: settings.interfaceLanguage ?? null,
    /** The latest status, or null before the first. */
    status: null,
    /** The times of the latest message, as `arrival` returns them, or null before the first. */
    arrived: null,
    /** @type {"connecting" | "live" | "polling" | "lost" | "locked"} */
    connection: "connecting",
    /** An operator's token or key; only in this tab's memory. */
    token: "",
    asksForToken: false,
    isTokenRefused: false,
    /** URLs of the replicas whose details are open, and ids of the lists that are unfolded. */
    open: new Set(),
    replicaFilter: "",
    /** The document that is shown, `{path, subject, at}`, those that were read, by path, and the command that was copied. */
    runbook: null,
    documents: new Map(),
    copied: null,
    /** A change that waits for its confirmation: `{action, url, isWarned}`. */
    change: null,
    isChanging: false,
    /** The outcome of the last change: `{action, url, problem}`. */
    changed: null,
  };
}
