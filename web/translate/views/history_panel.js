// The history, if its user wants one.

import { html } from "../../common/view.js";
import { directionOf, languageName } from "../logic/languages.js";
import { IconButton } from "./icons.js";

export function HistoryPanel({ state, actions, text }) {
  return html`<section id="history-panel" class="card panel" aria-labelledby="history-title">
    <h2 id="history-title">${text("history")}</h2>
    <label class="check">
      <input id="keep-history" type="checkbox" checked=${state.keepsHistory} onChange=${(event) => actions.keepHistory(event.target.checked)} />
      <span>${text("history.keep")}</span>
    </label>
    ${state.keepsHistory && state.history.length === 0 && html`<p class="hint">${text("history.empty")}</p>`}
    ${state.history.length > 0 &&
    html`<ul id="history-entries" class="entries">
        ${state.history.map((entry) => html`<${Entry} key=${entry.at} entry=${entry} state=${state} actions=${actions} text=${text} />`)}
      </ul>
      <button id="clear-history" class="button outlined" type="button" onClick=${actions.clearHistory}>${text("history.clear")}</button>`}
  </section>`;
}

function Entry({ entry, state, actions, text }) {
  const name = (lang) => (lang === "auto" ? text("source.auto") : languageName(lang, state.interfaceLanguage));
  const time = new Intl.DateTimeFormat(state.interfaceLanguage, { dateStyle: "medium", timeStyle: "short" });
  return html`<li class="kept">
    <button class="entry" type="button" onClick=${() => actions.openEntry(entry)}>
      <span class="hint">${name(entry.source)} → ${name(entry.target)}${entry.at > 0 && ` · ${time.format(entry.at)}`}</span>
      <span class="line" lang=${entry.source} dir=${directionOf(entry.source)}>${entry.text}</span>
      <span class="line" lang=${entry.target} dir=${directionOf(entry.target)}>${entry.translation}</span>
    </button>
    <${IconButton} icon="clear" title=${text("history.remove")} label=${`${text("history.remove")}: ${entry.text}`} onClick=${() => actions.removeEntry(entry)} />
  </li>`;
}
