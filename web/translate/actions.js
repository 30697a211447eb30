// What a person can do on the page; each action changes the state, and what the browser keeps.

import { writeStored } from "../common/storage.js";
import { copyBySelection, focusOn, replaceText } from "./elements.js";
import { createKeptActions } from "./kept_actions.js";
import { servedSource, targetOptions } from "./logic/languages.js";
import { MAX_LINKED_CHARS, linkFragment } from "./logic/link.js";
import { needsKey } from "./logic/messages.js";
import { curlCommand, requestBody } from "./logic/request_body.js";
import { isDone } from "./logic/shown.js";
import { knownSource, STORED } from "./state.js";

const COPIED_MS = 2000;
const OPERATE = "operate";
// Each step holds two texts.
const MAX_STEPS = 20;

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
  const kept = createKeptActions({ store, translator, local });
  let copiedTimer;
  /** @type {{before: object, after: object}[]} texts that came with other languages: Ctrl+Z takes back both */
  let steps = [];

  function change(changes) {
    store.update(changes);
    const { source, format, keepsHistory, chosenInterfaceLanguage, isTargetChosen } = store.state;
    const target = isTargetChosen ? store.state.target : "";
    writeStored(local, STORED.settings, { source, target, format, keepsHistory, interfaceLanguage: chosenInterfaceLanguage });
    translator.sendSoon();
  }

  function replaceAll(changes) {
    const { text, source, target, format } = store.state;
    const before = { text, source, target, format };
    const after = { ...before, ...changes };
    steps = [...steps, { before, after }].slice(-MAX_STEPS);
    store.update({ ...after, text, translation: null, isTargetChosen: after.target !== "" });
    replaceText(after.text);
    store.update({ text: after.text });
  }

  function replaceAndKeep(changes) {
    replaceAll(changes);
    change({});
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
    ...kept,

    /** An input method composes its text first: what it has so far is no word yet, and is not sent. */
    typeText(text, isComposing) {
      store.update({ text });
      if (!isComposing) translator.noteTyping();
    },
    setText(text) {
      store.update({ text });
      translator.sendSoon();
    },
    /** Ctrl+Z has taken a change of the text back, or brought it again. */
    undoText(text) {
      const was = store.state.text;
      const moves = steps.flatMap(({ before, after }) => [{ from: after, to: before }, { from: before, to: after }]);
      const move = moves.findLast(({ from, to }) => from.text === was && to.text === text);
      store.update({ text });
      if (move) change(move.to);
      else translator.noteTyping();
    },
    clearText() {
      focusOn("source-text");
      replaceText("");
      store.update({ text: "", copied: "" });
      translator.sendSoon();
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
      if (!state.text.trim()) change({ source, target, isTargetChosen: true });
      else if (isDone(state)) replaceAndKeep({ text: state.translation.text, source, target });
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
    cancel() {
      translator.cancel();
      focusOn("source-text");
    },
    showPreview: (showsPreview) => store.update({ showsPreview }),
    openPanel: (panel) => store.update({ panel: store.state.panel === panel ? null : panel }),

    copyTranslation: () => isDone(store.state) && copy(store.state.translation.text, "translation"),
    copyCurl: () => copy(curlCommand(client.translateUrl, requestBody(store.state), Boolean(store.state.key)), "curl"),
    copyLink: () => copy(new URL(linkFragment(store.state), location.href).href, "link"),
    canLink: (text) => text.length <= MAX_LINKED_CHARS,

    keepHistory(keepsHistory) {
      change({ keepsHistory, history: [] });
      writeStored(local, STORED.history, null);
      if (isDone(store.state)) kept.addToHistory(store.state.translation);
    },
    /** A link in place of what is there; its languages are not remembered for other texts. */
    openLink(linked) {
      replaceAll({ ...linked, target: linked.target || store.state.target });
      translator.sendSoon();
    },
    openEntry({ text, source, target, format }) {
      store.update({ panel: null });
      replaceAndKeep({ text, source, target, format });
      focusOn("source-text");
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
