// The translate page: its parts are put together here.

import { readConfig } from "../common/config.js";
import { openStorage, readStored } from "../common/storage.js";
import { createStore } from "../common/store.js";
import { loadStrings, pickLanguage, textFinder } from "../common/strings.js";
import { html, render } from "../common/view.js";
import { createActions } from "./actions.js";
import { firstTarget } from "./logic/languages.js";
import { readFragment } from "./logic/link.js";
import { readTerms } from "./logic/terms.js";
import { initialState, STORED } from "./state.js";
import { TranslationClient } from "./translation_client.js";
import { Translator } from "./translator.js";
import { PageView } from "./views/page_view.js";

const STRINGS = new URL("./strings/", import.meta.url).href;
/** How often a visible page asks what the fleet serves. */
const LANGUAGES_MS = 30_000;

const local = openStorage("localStorage");
const session = openStorage("sessionStorage");
const root = document.getElementById("page");
/** @type {ReturnType<typeof textFinder> | null} null until the texts are loaded: the page shows none of its own before. */
let text = null;

const store = createStore(initialState({ config: readConfig(), local, session }), show);
const client = new TranslationClient(new URL(".", location.href).href, () => store.state.key);
const clock = {
  now: () => performance.now(),
  setTimeout: (call, wait) => setTimeout(call, wait),
  clearTimeout: (timer) => clearTimeout(timer),
};
const translator = new Translator({ store, client, clock, onResult: noteResult });
const actions = createActions({ store, translator, client, local, session, showLanguage });

function noteResult(done) {
  actions.addToHistory(done);
  actions.avoidSameLanguage(done.result);
}

function show(state) {
  if (text === null) return;
  render(html`<${PageView} state=${state} actions=${actions} text=${text} />`, root);
}

/** Returns whether the language could be loaded; otherwise everything stays as it is. */
async function showLanguage(language) {
  const strings = await loadStrings(STRINGS, language).catch(() => null);
  if (strings === null) return false;
  if (text === null) root.replaceChildren();
  text = textFinder(strings);
  document.documentElement.lang = language;
  document.title = text("page.title");
  store.update({ interfaceLanguage: language });
  return true;
}

async function refreshLanguages() {
  if (document.visibilityState === "hidden") return;
  const languages = await client.languages().catch(() => null);
  if (languages === null) return;
  const target = firstTarget(languages, store.state.target, navigator.languages);
  const isFirst = !store.state.target && target !== "";
  store.update({ languages, languagesLoaded: true, target: store.state.target || target });
  if (isFirst) translator.sendSoon();
}

function openLink() {
  const linked = readFragment(location.hash);
  if (!linked) return;
  const target = linked.target || store.state.target;
  store.update({ ...linked, target, isTargetChosen: target !== "" });
  translator.sendSoon();
}

function watchBrowser() {
  window.addEventListener("hashchange", openLink);
  window.addEventListener("offline", () => store.update({ isOnline: false }));
  window.addEventListener("online", () => {
    store.update({ isOnline: true });
    if (store.state.failure?.problem.status === 0) translator.tryAgain();
    refreshLanguages();
  });
  document.addEventListener("visibilitychange", refreshLanguages);
  // Another tab has changed the terms.
  window.addEventListener("storage", ({ key }) => {
    if (key === STORED.terms) store.update({ terms: readTerms(readStored(local, STORED.terms, [])) });
  });
  setInterval(refreshLanguages, LANGUAGES_MS);
}

store.update({ isOnline: navigator.onLine });
const language = pickLanguage([store.state.chosenInterfaceLanguage, ...navigator.languages]);
(await showLanguage(language)) || (await showLanguage("en"));
document.getElementById("source-text")?.focus();
// Before somebody types, because the dialog takes the focus.
if (store.state.config.keys && !store.state.key) actions.askForKey();
watchBrowser();
openLink();
await refreshLanguages();
