// The status page: its parts are put together here.

import { readConfig } from "../common/config.js";
import { openStorage } from "../common/storage.js";
import { createStore } from "../common/store.js";
import { loadStrings, pickLanguage, textFinder } from "../common/strings.js";
import { html, render } from "../common/view.js";
import { createActions } from "./actions.js";
import { createFormat } from "./logic/format.js";
import { initialState } from "./state.js";
import { StatusClient } from "./status_client.js";
import { PageView } from "./views/page_view.js";

const STRINGS = new URL("./strings/", import.meta.url).href;
const RUNBOOK = "#runbook=";
/** How often times that pass are shown again. */
const TICK_MS = 5000;

const local = openStorage("localStorage");
const root = document.getElementById("page");
let text = textFinder({});
let format = createFormat("en");

const store = createStore(initialState({ config: readConfig(), local }), show);
const client = new StatusClient({
  base: location.href,
  token: () => store.state.token,
  clock: { setTimeout: (call, wait) => setTimeout(call, wait), clearTimeout: (timer) => clearTimeout(timer) },
  onStatus: (status) => store.update({ status, receivedAt: Date.now() / 1000, clockOffset: status.now - Date.now() / 1000 }),
  onState: (connection, problem) => {
    const isLocked = connection === "locked";
    store.update({ connection, ...(isLocked && { asksForToken: true, isTokenRefused: problem.code === "key-refused" }) });
  },
});
const actions = createActions({ store, client, local, showLanguage });

function show(state) {
  const word = state.status ? `${text(`fleet.${state.status.status}`)} · ` : "";
  document.title = word + text("page.title");
  render(html`<${PageView} state=${state} actions=${actions} text=${text} format=${format} />`, root);
}

async function showLanguage(language) {
  text = textFinder(await loadStrings(STRINGS, language));
  format = createFormat(language);
  document.documentElement.lang = language;
  store.update({ interfaceLanguage: language });
}

function openRunbook() {
  actions.openRunbook(location.hash.startsWith(RUNBOOK) ? location.hash.slice(RUNBOOK.length) : null);
}

await showLanguage(pickLanguage([store.state.chosenInterfaceLanguage, ...navigator.languages]));
window.addEventListener("hashchange", openRunbook);
window.addEventListener("popstate", openRunbook);
window.addEventListener("online", () => store.state.connection === "lost" && client.start());
setInterval(() => store.update({}), TICK_MS);
openRunbook();
client.start();
