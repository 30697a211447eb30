// The translate page: its parts are put together here.

import { CLOCK as clock, readConfig } from "../common/document.js";
import { createStore, openStorage, readStored, writeStored } from "../common/storage.js";
import { languageShower, pickLanguage } from "../common/strings.js";
import { html, render } from "../common/view.js";
import { createActions } from "./actions.js";
import { Advisor } from "./advisor.js";
import { LanguageWatch } from "./language_watch.js";
import { draftOf, fragmentOfQuery, readDraft, readFragment } from "./logic/texts.js";
import { isOutage } from "./logic/messages.js";
import { initialState, STORED } from "./state.js";
import english from "./strings/en.json" with { type: "json" };
import { TranslationClient } from "./translation_client.js";
import { Translator } from "./translator.js";
import { PageView } from "./views/page_view.js";

/** How much typing a browser that dies may lose; one that goes to another page loses none. */
const DRAFT_MS = 1000;

const local = openStorage("localStorage");
const session = openStorage("sessionStorage");
const root = document.getElementById("page");

// The text of a query is in the server's log already; from here on it is behind the #, which no server sees.
const linkedBefore = fragmentOfQuery(location.search);
if (linkedBefore) history.replaceState(null, "", location.pathname + linkedBefore);
const draft = readDraft(readStored(session, STORED.draft, null));

const store = createStore(initialState({ config: readConfig(), local, session, draft }), show);
const showLanguage = languageShower({ english, folder: new URL("./strings/", import.meta.url), store });
const client = new TranslationClient(new URL(".", location.href).href, () => store.state.key);
const translator = new Translator({ store, client, clock, onResult: noteResult, onFailure: () => isOutage(store.state.failure.problem) && watch.refresh() });
const advisor = new Advisor({ store, client, clock });
const preferred = navigator.languages;
const actions = { ...createActions({ store, translator, client, local, session, preferred, showLanguage }), askOthers: () => advisor.askOthers() };

const watch = new LanguageWatch({
  store,
  client,
  clock,
  preferred,
  isVisible: () => document.visibilityState !== "hidden",
  onFirstTarget: () => translator.sendSoon(),
  onServed: () => translator.goOn(),
});
let draftTimer = null;

function noteResult(done) {
  actions.addToHistory(done);
  actions.noteUsed(done.result);
  actions.fitTarget(done.result);
}

function keepDraft() {
  clearTimeout(draftTimer);
  draftTimer = null;
  writeStored(session, STORED.draft, draftOf(store.state, location.hash));
}

function show(state) {
  const { findText: text } = state;
  if (!text) return;
  root.querySelector(".loading")?.remove();
  document.title = text("page.title");
  advisor.note(state);
  draftTimer ??= setTimeout(keepDraft, DRAFT_MS);
  render(html`<${PageView} state=${state} actions=${actions} text=${text} />`, root);
}

function openLink() {
  const linked = readFragment(location.hash);
  if (linked) actions.openLink(linked);
}

store.update({ isOnline: navigator.onLine });
const language = pickLanguage([store.state.chosenInterfaceLanguage, ...navigator.languages]);
const loaded = watch.refresh(); // beside the texts, not after them
await showLanguage(language);
document.getElementById("source-text")?.focus();
// Before somebody types, because the dialog takes the focus.
if (store.state.config.keys && !store.state.key) actions.askForKey();
// In place of the draft, which Ctrl+Z brings back; a reload brings the draft of a link, not its text again.
if (linkedBefore || draft?.address !== location.hash) openLink();
window.addEventListener("hashchange", openLink);
window.addEventListener("offline", () => store.update({ isOnline: false }));
window.addEventListener("online", () => {
  store.update({ isOnline: true });
  translator.goOn();
  watch.refresh();
});
document.addEventListener("visibilitychange", () => {
  keepDraft();
  watch.refresh();
});
window.addEventListener("pagehide", keepDraft);
window.addEventListener("storage", actions.noteShared);
if (store.state.glossary) actions.loadGlossaries();
translator.sendSoon();
await loaded;
