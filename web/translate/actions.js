// What a person can do on the page; each action changes the state, and what the browser keeps.

import { copyText, focusOn } from "../common/document.js";
import { writeStored } from "../common/storage.js";
import { replaceText } from "./elements.js";
import { createKeptActions } from "./kept_actions.js";
import { servedSource, SURE, usualTarget } from "./logic/languages.js";
import { linkFragment } from "./logic/texts.js";
import { curlCommand, isDone, requestBody } from "./logic/request_body.js";
import { cleanHtml } from "./logic/rich_text.js";
import { knownSource, STORED } from "./state.js";

const COPIED_MS = 2000;
// Each holds two texts; a change has one forth and one back.
const MAX_STEPS = 40;

/** Returns the actions of the page; `preferred` are the person's languages, and `showLanguage` loads the interface's texts. */
export function createActions({ store, translator, client, local, session, preferred, showLanguage }) {
  const kept = createKeptActions({ store, translator, client, local, session });
  let copiedTimer;
  /** @type {{from: object, to: object}[]} between texts that came with other languages: Ctrl+Z takes back both */
  let steps = [];

  function change(changes) {
    store.update(changes);
    const { source, format, keepsHistory, chosenInterfaceLanguage, isTargetChosen, glossary } = store.state;
    const target = isTargetChosen ? store.state.target : "";
    writeStored(local, STORED.settings, { source, target, format, keepsHistory, glossary, interfaceLanguage: chosenInterfaceLanguage });
    translator.sendSoon();
  }

  function replaceAll(changes) {
    const { text, source, target, format } = store.state;
    const before = { text, source, target, format };
    const after = { ...before, ...changes };
    steps = [...steps, { from: after, to: before }, { from: before, to: after }].slice(-MAX_STEPS);
    store.update({ ...after, text, translation: null, isTargetChosen: after.target !== "" });
    replaceText(after.text);
    store.update({ text: after.text });
  }

  async function copy(text, what, html) {
    await copyText(text, html);
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
      const step = steps.findLast(({ from, to }) => from.text === was && to.text === text);
      store.update({ text });
      if (step) change(step.to);
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
      // The language of the text becomes that of the translation, so what was the source is the new target.
      const other = usualTarget(languages, source, before ? [before, ...preferred] : preferred);
      change({ source, target: source === target ? other : target });
    },
    chooseTarget(target) {
      const { state } = store;
      const source = state.source === target ? servedSource(state.languages, state.target) : state.source;
      change({ target, source: source ?? "auto", isTargetChosen: true });
    },
    /** A target that nobody has chosen gives way to a text in the same language, and comes back after it. */
    fitTarget({ detected, target_lang: target }) {
      const { state } = store;
      if (state.isTargetChosen || !detected || state.target !== target) return;
      if (detected.lang !== target && detected.confidence < SURE) return;
      const usual = usualTarget(state.languages, servedSource(state.languages, detected.lang), preferred);
      if (!usual || usual === target) return;
      store.update({ target: usual });
      translator.sendSoon();
    },
    chooseFormat: (format) => change({ format }),
    swap() {
      const { state } = store;
      const source = servedSource(state.languages, state.target);
      const target = knownSource(state);
      if (!source || !target || source === target) return;
      if (!state.text.trim()) change({ source, target, isTargetChosen: true });
      else if (isDone(state)) {
        replaceAll({ text: state.translation.text, source, target });
        change({});
      }
    },
    /** One of the languages that the text may have; who clicks on it types on. */
    chooseCandidate(source) {
      this.chooseSource(source);
      focusOn("source-text");
    },
    /** Another translation takes the place of the one that is shown, which takes its place. */
    useOther(index) {
      const { translation, others } = store.state;
      const { request } = translation;
      const original = others.original ?? translation.result;
      const chosen = others.texts[index];
      const result = chosen === original.translation ? original : { ...original, translation: chosen, uncertain: [], warnings: [] };
      const texts = others.texts.map((each, at) => (at === index ? translation.text : each));
      store.update({ translation: { ...translation, text: result.translation, result }, others: { ...others, texts, original } });
      this.addToHistory({ request, result });
    },
    tryAgain() {
      translator.tryAgain();
      focusOn("translation");
    },
    cancel() {
      translator.cancel();
      focusOn("source-text");
    },
    hideOthers: () => store.update({ others: null }),
    showPreview: (showsPreview) => store.update({ showsPreview }),
    openPanel(panel) {
      store.update({ panel: store.state.panel === panel ? null : panel, imported: null });
      if (store.state.panel === "terms") kept.loadGlossaries();
    },
    chooseGlossary: (glossary) => change({ glossary }),

    copyTranslation() {
      const { text, request } = store.state.translation;
      copy(text, "translation", request.format === "html" ? cleanHtml(text) : "");
    },
    copyCurl: () => copy(curlCommand(client.translateUrl, requestBody(store.state), Boolean(store.state.key)), "curl"),
    copyLink: () => copy(new URL(linkFragment(store.state), location.href).href, "link"),

    keepHistory(keepsHistory) {
      change({ keepsHistory });
      kept.clearHistory();
      if (isDone(store.state)) kept.addToHistory(store.state.translation);
    },
    /** A link in place of what is there; its languages are not remembered for other texts. */
    openLink(linked) {
      replaceAll({ ...linked, target: linked.target || store.state.target });
      translator.sendSoon();
    },
    openEntry({ text, source, target, format }) {
      store.update({ panel: null });
      replaceAll({ text, source, target, format });
      change({});
      focusOn("source-text");
    },

    async chooseInterfaceLanguage(language) {
      if (await showLanguage(language)) change({ chosenInterfaceLanguage: language });
    },
  };
}
