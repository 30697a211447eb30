// What a person can do on the page; each action changes the state, and what the browser keeps.

import { writeStored } from "../common/storage.js";
import { withEntry } from "./logic/history.js";
import { servedSource, targetOptions } from "./logic/languages.js";
import { MAX_LINKED_CHARS, linkFragment } from "./logic/link.js";
import { needsKey } from "./logic/messages.js";
import { curlCommand, requestBody } from "./logic/request_body.js";
import { cleanTerm, MAX_TERMS } from "./logic/terms.js";
import { knownSource, STORED } from "./state.js";

const COPIED_MS = 2000;
const OPERATE = "operate";

/**
 * Returns the actions of the page.
 * @param {object} parts
 * @param {{state: object, update: (changes: object) => void}} parts.store
 * @param {import("./translator.js").Translator} parts.translator
 * @param {import("./translation_client.js").TranslationClient} parts.client
 * @param {Storage | null} parts.local
 * @param {Storage | null} parts.session
 * @param {(language: string) => Promise<boolean>} parts.showLanguage loads the interface's texts
 */
export function createActions({ store, translator, client, local, session, showLanguage }) {
  let copiedTimer;

  function change(changes) {
    store.update(changes);
    const { source, format, keepsHistory, chosenInterfaceLanguage, isTargetChosen } = store.state;
    const target = isTargetChosen ? store.state.target : "";
    writeStored(local, STORED.settings, { source, target, format, keepsHistory, interfaceLanguage: chosenInterfaceLanguage });
    translator.sendSoon();
  }

  function changeTerms(terms) {
    store.update({ terms });
    writeStored(local, STORED.terms, terms);
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

  async function copy(text, what) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      copyBySelection(text); // without TLS browsers have no clipboard object
    }
    store.update({ copied: what });
    clearTimeout(copiedTimer);
    copiedTimer = setTimeout(() => store.update({ copied: "" }), COPIED_MS);
  }

  return {
    /** An input method composes its text first: what it has so far is no word yet, and is not sent. */
    typeText(text, isComposing) {
      store.update({ text });
      if (!isComposing) translator.noteTyping();
    },
    setText(text) {
      store.update({ text });
      translator.sendSoon();
    },
    clearText() {
      store.update({ text: "", copied: "" });
      translator.sendSoon();
      focusOn("source-text");
    },
    chooseSource(source) {
      const { state } = store;
      const { target, languages } = state;
      const before = knownSource(state);
      change({ source, target: source === target ? otherTarget(languages, source, before) : target });
    },
    chooseTarget(target) {
      const { state } = store;
      const source = state.source === target ? servedSource(state.languages, state.target) : state.source;
      change({ target, source: source ?? "auto", isTargetChosen: true });
    },
    /** A target that nobody has chosen gives way to a text in the same language. */
    avoidSameLanguage({ detected, target_lang: target }) {
      const { state } = store;
      if (state.isTargetChosen || !detected || detected.lang !== target || state.target !== target) return;
      const other = otherTarget(state.languages, target, null);
      if (other) {
        store.update({ target: other });
        translator.sendSoon();
      }
    },
    chooseFormat(format) {
      change({ format });
    },
    swap() {
      const { state } = store;
      const source = servedSource(state.languages, state.target);
      const target = knownSource(state);
      if (!source || !target) return;
      const text = state.translation?.result && !state.failure ? state.translation.text : state.text;
      change({ source, target, text, translation: null, isTargetChosen: true });
    },
    /** One of the languages that the text may have. */
    chooseCandidate(source) {
      this.chooseSource(source);
      focusOn("source-language");
    },
    tryAgain() {
      translator.tryAgain();
      focusOn("translation");
    },
    showPreview: (showsPreview) => store.update({ showsPreview }),
    openPanel: (panel) => store.update({ panel: store.state.panel === panel ? null : panel }),

    copyTranslation: () => copy(store.state.translation?.text ?? "", "translation"),
    copyCurl: () => copy(curlCommand(client.translateUrl, requestBody(store.state), Boolean(store.state.key)), "curl"),
    copyLink: () => copy(new URL(linkFragment(store.state), location.href).href, "link"),
    canLink: (text) => text.length <= MAX_LINKED_CHARS,

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

    keepHistory(keepsHistory) {
      change({ keepsHistory, history: [] });
      writeStored(local, STORED.history, null);
    },
    addToHistory({ text, target, format, result }) {
      if (!store.state.keepsHistory || result.translation === null) return;
      const entry = { text, translation: result.translation, source: result.source_lang ?? "auto", target, format, at: Date.now() };
      const history = withEntry(store.state.history, entry);
      store.update({ history });
      writeStored(local, STORED.history, history);
    },
    openEntry({ text, source, target, format }) {
      change({ text, source, target, format, panel: null, isTargetChosen: true });
      focusOn("source-text");
    },
    clearHistory() {
      store.update({ history: [] });
      writeStored(local, STORED.history, null);
      focusOn("keep-history");
    },

    askForKey: () => store.update({ asksForKey: true, isKeyRefused: false }),
    useKey(key, isKept) {
      writeStored(local, STORED.key, null);
      writeStored(session, STORED.key, null);
      store.update({ key, isKeyKept: isKept && key !== "", asksForKey: false, isKeyRefused: false, isKeyDeclined: false });
      if (!key) return;
      checkKey(key, isKept);
      if (store.state.text.trim()) translator.tryAgain();
    },
    closeKey: () => store.update({ asksForKey: false, isKeyRefused: false, isKeyDeclined: true }),

    async chooseInterfaceLanguage(language) {
      if (await showLanguage(language)) change({ chosenInterfaceLanguage: language });
    },
  };
}

// The language of the text becomes that of the translation, so what was the source is the new target.
function otherTarget(languages, source, before) {
  const targets = targetOptions(languages, source, "en");
  const ready = targets.find((each) => each.ready);
  return (targets.find((each) => each.lang === before) ?? ready ?? targets[0])?.lang ?? "";
}

// The control that had the focus is going away.
function focusOn(id) {
  document.getElementById(id)?.focus();
}

function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  focused?.focus();
}
