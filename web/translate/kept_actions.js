// What a person can do with what the browser keeps for all tabs: terms and history.

import { readStored, writeStored } from "../common/storage.js";
import { focusOn } from "./elements.js";
import { readEntries, withEntry } from "./logic/history.js";
import { cleanTerm, MAX_TERMS, readTerms } from "./logic/terms.js";
import { STORED } from "./state.js";

/**
 * Returns these actions of the page.
 * @param {object} parts
 * @param {{state: object, update: (changes: object) => void}} parts.store
 * @param {import("./translator.js").Translator} parts.translator
 * @param {Storage | null} parts.local
 */
export function createKeptActions({ store, translator, local }) {
  function changeTerms(terms) {
    store.update({ terms });
    writeStored(local, STORED.terms, terms);
  }

  return {
    addTerm() {
      if (store.state.terms.length < MAX_TERMS) changeTerms([...store.state.terms, cleanTerm({})]);
    },
    changeTerm(index, changes) {
      changeTerms(store.state.terms.map((term, at) => (at === index ? cleanTerm({ ...term, ...changes }) : term)));
      translator.noteTyping();
    },
    removeTerm(index) {
      changeTerms(store.state.terms.filter((_, at) => at !== index));
      translator.sendSoon();
      focusOn("add-term");
    },

    /** Other tabs add to the history too: what they have kept stays. */
    addToHistory({ request, result }) {
      if (!store.state.keepsHistory || result.translation === null) return;
      const { text, target_lang: target, format = "text" } = request;
      const entry = { text, translation: result.translation, source: result.source_lang ?? "auto", target, format, at: Date.now() };
      const history = withEntry(local ? readEntries(readStored(local, STORED.history, [])) : store.state.history, entry);
      store.update({ history });
      writeStored(local, STORED.history, history);
    },
    removeEntry({ at, text }) {
      const kept = local ? readEntries(readStored(local, STORED.history, [])) : store.state.history;
      const history = kept.filter((each) => each.at !== at || each.text !== text);
      store.update({ history });
      writeStored(local, STORED.history, history);
      focusOn("keep-history");
    },
    clearHistory() {
      store.update({ history: [] });
      writeStored(local, STORED.history, null);
      focusOn("keep-history");
    },
    /** Another tab has changed what is kept under a name. */
    noteKept(name) {
      if (name === STORED.terms) store.update({ terms: readTerms(readStored(local, STORED.terms, [])) });
      if (name !== STORED.history && name !== STORED.settings) return;
      const keepsHistory = readStored(local, STORED.settings, {}).keepsHistory === true;
      store.update({ keepsHistory, history: keepsHistory ? readEntries(readStored(local, STORED.history, [])) : [] });
    },
  };
}
