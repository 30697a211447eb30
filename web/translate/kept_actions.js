// What a person can do with what the browser keeps: terms, history, and an API key with the glossaries that come with it.

import { focusOn } from "../common/document.js";
import { readStored, writeStored } from "../common/storage.js";
import { readRecent } from "./logic/languages.js";
import { needsKey } from "./logic/messages.js";
import { cleanTerm, fileText, MAX_FILE_MEGABYTES, mergeTerms, readTermFile } from "./logic/terms.js";
import { readEntries, withEntry } from "./logic/texts.js";
import { knownSource, sharedState, STORED } from "./state.js";

const OPERATE = "operate";
const MEGABYTE = 1_000_000;

/** Returns these actions of the page; the parts are those of all actions. */
export function createKeptActions({ store, translator, client, local, session }) {
  const presentPair = () => ({ from: knownSource(store.state) ?? "", to: store.state.target });

  function changeTerms(terms, imported = null) {
    store.update({ terms, imported });
    writeStored(local, STORED.terms, terms);
  }

  /** Other tabs add to the history too: what they have kept stays. */
  const keptHistory = () => (local ? readEntries(readStored(local, STORED.history, [])) : store.state.history);

  function changeHistory(history) {
    store.update({ history });
    writeStored(local, STORED.history, history.length ? history : null);
  }

  /** At once, so that a wrong key is refused before somebody types. A key that can change the fleet is never stored. */
  async function checkKey(key, isKept) {
    try {
      const { scopes } = (await client.usage()).key;
      if (store.state.key === key && !scopes.includes(OPERATE)) writeStored(isKept ? local : session, STORED.key, key);
    } catch (problem) {
      if (needsKey(problem) && store.state.key === key) store.update({ asksForKey: true, isKeyRefused: true });
    }
  }

  async function loadGlossaries() {
    const { config, key } = store.state;
    if (!config.keys || !key) return;
    const glossaries = await client.glossaries().catch(() => []);
    if (store.state.key !== key) return;
    store.update({ glossaries });
    translator.sendSoon();
  }

  return {
    askForKey: () => store.update({ asksForKey: true, isKeyRefused: false }),
    useKey(key, isKept) {
      writeStored(local, STORED.key, null);
      writeStored(session, STORED.key, null);
      store.update({ key, isKeyKept: isKept && key !== "", asksForKey: false, isKeyRefused: false, isKeyDeclined: false, glossaries: [] });
      if (!key) return;
      checkKey(key, isKept);
      if (store.state.panel === "terms" || store.state.glossary) loadGlossaries();
      if (store.state.text.trim()) translator.tryAgain();
    },
    closeKey: () => store.update({ asksForKey: false, isKeyRefused: false, isKeyDeclined: true }),
    loadGlossaries,

    addTerm() {
      const { terms } = store.state;
      changeTerms([...terms, cleanTerm(presentPair())]);
      requestAnimationFrame(() => focusOn(`term-${terms.length}`));
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

    async importTerms(file) {
      if (file.size > MAX_FILE_MEGABYTES * MEGABYTE) {
        store.update({ imported: { words: "terms.too-large", megabytes: MAX_FILE_MEGABYTES } });
        return;
      }
      const read = readTermFile(fileText(await file.arrayBuffer()), presentPair());
      const { terms, left } = mergeTerms(store.state.terms, read.terms);
      changeTerms(terms, { words: "terms.imported", count: read.terms.length - left, left: read.left + left });
      translator.sendSoon();
    },

    noteUsed({ source_lang: source, target_lang: target }) {
      writeStored(local, STORED.recent, readRecent(readStored(local, STORED.recent, []), target, source));
    },

    addToHistory({ request, result }) {
      if (!store.state.keepsHistory || result.translation === null) return;
      const { text, target_lang: target, format = "text" } = request;
      const entry = { text, translation: result.translation, source: result.source_lang ?? "auto", target, format, at: Date.now() };
      changeHistory(withEntry(keptHistory(), entry));
    },
    removeEntry({ at, text }) {
      changeHistory(keptHistory().filter((each) => each.at !== at || each.text !== text));
      focusOn("keep-history");
    },
    clearHistory() {
      changeHistory([]);
      focusOn("keep-history");
    },
    /** Another tab has changed something. */
    noteShared: () => store.update(sharedState(local)),
  };
}
