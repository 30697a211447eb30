// The status page: its parts are put together here.

import { CLOCK, readConfig } from "../common/document.js";
import { createStore, openStorage } from "../common/storage.js";
import { languageShower, pickLanguage } from "../common/strings.js";
import { html, render } from "../common/view.js";
import { createActions } from "./actions.js";
import { createFormat } from "./logic/format.js";
import { presentOutcome } from "./logic/replica_list.js";
import { arrival, freshness, tabOf, verdictOf } from "./logic/verdict.js";
import { enterRunbook, openHistory } from "./runbook_history.js";
import { initialState } from "./state.js";
import { StatusClient } from "./status_client.js";
import english from "./strings/en.json" with { type: "json" };
import { PageView } from "./views/page_view.js";

const STRINGS = new URL("./strings/", import.meta.url).href;
const ICONS = new URL("./icons/", import.meta.url).href;
/** How often times that pass are shown again. */
const TICK_MS = 1000;

const local = openStorage("localStorage");
const root = document.getElementById("page");
let format = createFormat("en");

const store = createStore(initialState({ config: readConfig(), local }), show);
const showLanguage = languageShower({ english, folder: STRINGS, store });
const client = new StatusClient({
  base: location.href,
  token: () => store.state.token,
  clock: CLOCK,
  onStatus: (status) => store.update({ status, arrived: arrival(status, clock()), changed: presentOutcome(store.state.changed, status) }),
  onAlive: (times) => store.update({ arrived: arrival(times, clock()) }),
  onState: (connection, problem) => {
    const isLocked = connection === "locked";
    store.update({ connection, ...(isLocked && { asksForToken: true, isTokenRefused: problem.code === "key-refused" }) });
  },
});
const actions = createActions({ store, client, local, showLanguage });
const openRunbook = () => actions.openRunbook(enterRunbook());

function clock() {
  return { date: Date.now() / 1000, steady: performance.now() / 1000 };
}

function show(state) {
  const { findText: text, interfaceLanguage } = state;
  if (!text) return;
  root.querySelector(".loading")?.remove();
  if (format.language !== interfaceLanguage) format = createFormat(interfaceLanguage);
  const now = clock();
  const fresh = freshness(state.arrived, now);
  const asOf = format.time(fresh.at, now.date);
  const issueCount = (state.status?.issues.length ?? 0) + (state.status?.more_issues ?? 0);
  const known = verdictOf(state.status, fresh);
  const verdict = known && { ...known, words: text(known.text, { time: asOf }) };
  showTab(tabOf({ verdict, issueCount, connection: state.connection, title: text("page.title") }));
  render(html`<${PageView} ...${{ state, actions, text, format, fresh, asOf, issueCount, verdict }} />`, root);
}

function showTab({ title, icon }) {
  if (document.title !== title) document.title = title;
  const link = document.querySelector('link[rel="icon"]');
  const address = icon && `${ICONS}${icon}.svg`;
  if (address && link.href !== address) link.href = address;
}

client.start(); // beside the texts, not after them
await showLanguage(pickLanguage([store.state.chosenInterfaceLanguage, ...navigator.languages]));
window.addEventListener("hashchange", openRunbook);
window.addEventListener("popstate", openRunbook);
// Whatever the browser believes of its network, the server is asked at once.
for (const change of ["online", "offline"]) window.addEventListener(change, () => client.start());
document.addEventListener("visibilitychange", () => store.update({})); // a hidden tab's timers may wait a minute
setInterval(() => store.update({}), TICK_MS);
openHistory();
openRunbook();
