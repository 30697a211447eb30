// Below the panes: the format of the text, and the panels of terms with glossaries, and of the history.

import { Table } from "../../common/elements.js";
import { languageName } from "../../common/strings.js";
import { html } from "../../common/view.js";
import { directionOf } from "../logic/languages.js";
import { FORMATS } from "../logic/request_body.js";
import { isFor, MAX_KEPT_TERMS, termFile, usedGlossary, usedTerms } from "../logic/terms.js";
import { Icon, IconButton } from "./icons.js";

const COLUMNS = [["terms.source"], ["terms.target"], ["terms.keep"], ["terms.remove", undefined, true]];

/** Below the panes: the format of the text, and the panels. */
export function Options({ state, actions, text }) {
  const count = usedTerms(state).length;
  return html`
    <div class="options">
      <fieldset class="formats">
        <legend class="visually-hidden">${text("format")}</legend>
        ${FORMATS.map(
          (each) => html`<label>
            <input type="radio" name="format" value=${each} checked=${state.format === each} onChange=${() => actions.chooseFormat(each)} />
            <span>${text(`format.${each}`)}</span>
          </label>`,
        )}
      </fieldset>
      <span class="spacer"></span>
      <${PanelButton} panel="terms" icon="book" state=${state} actions=${actions}>
        ${count ? text("terms.count", { count }) : text("terms")}
      <//>
      <${PanelButton} panel="history" icon="clock" state=${state} actions=${actions}>${text("history")}<//>
    </div>
    ${state.panel === "terms" && html`<${TermsPanel} state=${state} actions=${actions} text=${text} />`}
    ${state.panel === "history" && html`<${HistoryPanel} state=${state} actions=${actions} text=${text} />`}
  `;
}

function PanelButton({ panel, icon, state, actions, children }) {
  const isOpen = state.panel === panel;
  return html`<button id=${`${panel}-button`} class="button" type="button" aria-expanded=${String(isOpen)} aria-controls=${isOpen ? `${panel}-panel` : undefined} onClick=${() => actions.openPanel(panel)}>
    <${Icon} name=${icon} />${children}
  </button>`;
}

/** The terms: those of the present languages, of any, and of others; their files; the key's glossaries. */
function TermsPanel({ state, actions, text }) {
  const { terms, imported, interfaceLanguage } = state;
  const pairName = ({ from, to }) => [from, to].map((tag) => (tag ? languageName(tag, interfaceLanguage) : text("terms.any"))).join(" → ");
  const groups = {};
  terms.forEach((term, index) => (groups[pairName(term)] ??= []).push(index));
  const tables = { present: [], any: [], others: [] };
  for (const [name, indices] of Object.entries(groups)) {
    const { from, to } = terms[indices[0]];
    const kind = !from && !to ? "any" : isFor({ from, to }, state) ? "present" : "others";
    tables[kind].push(html`<${Table} key=${name} caption=${name} columns=${COLUMNS} text=${text}>
      ${indices.map((index) => html`<${TermRow} key=${index} term=${terms[index]} index=${index} actions=${actions} text=${text} />`)}
    <//>`);
  }
  return html`<section id="terms-panel" class="card panel" aria-labelledby="terms-title">
    <h2 id="terms-title">${text("terms")}</h2>
    <p class="hint">${text("terms.hint")}</p>
    ${tables.present}
    ${tables.any.length > 0 && html`<div id="terms-any"><p class="hint">${text("terms.any.hint")}</p>${tables.any}</div>`}
    ${tables.others.length > 0 && html`<details id="other-terms"><summary>${text("terms.others")}</summary>${tables.others}</details>`}
    <div class="options">
      <button id="add-term" class="button outlined" type="button" disabled=${terms.length >= MAX_KEPT_TERMS} onClick=${actions.addTerm}>
        <${Icon} name="plus" />${text("terms.add")}
      </button>
      <label class="button outlined file">${text("terms.import")}<input id="import-terms" class="visually-hidden" type="file" accept=".csv,.tsv,.txt" onChange=${(event) => importFile(event, actions)} /></label>
      ${terms.length > 0 &&
      ["csv", "tsv"].map(
        (kind) => html`<a id=${`export-${kind}`} class="button" download=${`terms.${kind}`} href=${fileAddress(state, kind)}>
          ${text("terms.export", { kind: kind.toUpperCase() })}
        </a>`,
      )}
    </div>
    <p id="terms-imported" class="hint" role="status">${imported && text(imported.words, imported)}</p>
    <${Glossaries} state=${state} actions=${actions} text=${text} />
  </section>`;
}

// TSV has no place for languages: it gets the terms of the present ones.
function fileAddress(state, kind) {
  const terms = kind === "csv" ? state.terms : state.terms.filter((each) => isFor(each, state));
  return `data:text/plain;charset=utf-8,${encodeURIComponent(termFile(terms, kind))}`;
}

function Glossaries({ state, actions, text }) {
  const { glossaries, glossary } = state;
  if (!glossaries.length) return null;
  const isUnused = glossaries.some(({ id }) => id === glossary) && !usedGlossary(state);
  return html`<p>
    <label for="glossary">${text("glossary")} </label>
    <select id="glossary" class="field" aria-describedby="glossary-unused" onChange=${(event) => actions.chooseGlossary(event.target.value)}>
      <option value="">${text("glossary.none")}</option>
      ${glossaries.map(({ id, name }) => html`<option value=${id} selected=${id === glossary}>${name}</option>`)}
    </select>
    <span id="glossary-unused" class="hint" role="status">${isUnused ? ` ${text("glossary.unused")}` : ""}</span>
  </p>`;
}

function TermRow({ term, index, actions, text }) {
  const number = index + 1;
  const change = (changes) => actions.changeTerm(index, changes);
  return html`<tr>
    <td>
      <input id=${`term-${index}`} class="field" dir="auto" aria-label=${text("terms.source.number", { number })} value=${term.source} onInput=${(event) => change({ source: event.target.value })} />
    </td>
    <td>
      <input class="field" dir="auto" aria-label=${text("terms.target.number", { number })} value=${term.keep ? term.source : term.target} disabled=${term.keep}
        onInput=${(event) => change({ target: event.target.value })} />
    </td>
    <td class="narrow-cell">
      <input type="checkbox" aria-label=${text("terms.keep.number", { number })} checked=${term.keep} onChange=${(event) => change({ keep: event.target.checked })} />
    </td>
    <td class="narrow-cell">
      <${IconButton} icon="clear" title=${text("terms.remove")} label=${text("terms.remove.number", { number })} onClick=${() => actions.removeTerm(index)} />
    </td>
  </tr>`;
}

async function importFile({ target }, actions) {
  if (target.files.length) await actions.importTerms(target.files[0]);
  target.value = ""; // the same file can be chosen again
}

/** The history, if its user wants one. */
function HistoryPanel({ state, actions, text }) {
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
