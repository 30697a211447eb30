// The pane for the text.

import { languageName } from "../../common/strings.js";
import { html } from "../../common/view.js";
import { insertText } from "../elements.js";
import { textDirection } from "../logic/languages.js";
import { characterCount, isTooLong } from "../logic/request_body.js";
import { cleanHtml } from "../logic/rich_text.js";
import { detection, knownSource } from "../state.js";
import { IconButton } from "./icons.js";

export function SourcePane({ state, actions, text }) {
  const language = knownSource(state);
  return html`<div class="pane">
    <label class="visually-hidden" for="source-text">${text("source.text")}</label>
    <textarea id="source-text" class=${state.format === "text" ? "" : "code"} lang=${language ?? ""}
      dir=${state.format === "html" ? "ltr" : textDirection(state.text, language)} placeholder=${text(`source.placeholder.${state.format}`)}
      spellcheck="true" autocomplete="off" aria-describedby="character-count" value=${state.text}
      onInput=${(event) => noteInput(event, actions)} onCompositionEnd=${(event) => actions.typeText(event.target.value, false)}
      onPaste=${(event) => paste(event, state, actions)}></textarea>
    ${state.text &&
    html`<${IconButton} id="clear" icon="clear" place="corner" title=${text("clear")} onClick=${actions.clearText} />`}
    <div class="pane-foot">
      <${Detected} ...${{ state, actions, text }} />
      <${Count} ...${{ state, text }} />
    </div>
  </div>`;
}

function Detected({ state, actions, text }) {
  const detected = state.source === "auto" && detection(state);
  const problem = state.source === "auto" && state.failure?.problem;
  const { looksLike } = state;
  const name = (lang) => languageName(lang, state.interfaceLanguage);
  if (looksLike) {
    const language = name(looksLike.lang);
    return html`<p id="looks-like" class="detected" role="status">
      ${looksLike.isServed ? text("looks.like", { language }) : text("looks.unserved", { language })}
      ${looksLike.isServed &&
      html`<button id="change-language" class="button small" type="button" onClick=${() => actions.chooseCandidate(looksLike.lang)}>${text("looks.change")}</button>`}
    </p>`;
  }
  if (problem?.candidates?.length && !problem.unserved) {
    return html`<p id="candidates" class="detected">
      ${text("detected.choose")}
      ${problem.candidates.map(
        ({ lang }) => html`<button class="button outlined small" type="button" onClick=${() => actions.chooseCandidate(lang)}>${name(lang)}</button>`,
      )}
    </p>`;
  }
  if (!detected) return html`<span></span>`;
  const percent = new Intl.NumberFormat(state.interfaceLanguage, { style: "percent" }).format(detected.confidence);
  return html`<p id="detected" class="detected">
    ${text("detected", { language: name(detected.lang), percent })}
    <button id="correct-language" class="button small" type="button" onClick=${chooseLanguage}>${text("detected.correct")}</button>
  </p>`;
}

function Count({ state, text }) {
  const limit = state.config.max_text_chars;
  const count = characterCount(state.text);
  const format = new Intl.NumberFormat(state.interfaceLanguage);
  const isOver = isTooLong(state);
  return html`
    <p id="character-count" class=${isOver ? "count over" : "count"}>
      <span class="visually-hidden">${text("count.label")} </span>
      ${text("count", { count: format.format(count), limit: format.format(limit) })}
    </p>
    <p id="too-long" class=${isOver ? "count over" : "visually-hidden"} role="status">${isOver ? text("count.over") : ""}</p>
  `;
}

function paste(event, state, actions) {
  const rich = state.format === "html" && event.clipboardData?.getData("text/html");
  const clean = rich && cleanHtml(rich);
  if (!clean) return;
  event.preventDefault();
  insertText(event.target, clean);
  actions.setText(event.target.value);
}

// Pasted, dropped and filled in texts are whole at once.
const WHOLE_TEXTS = new Set([undefined, "insertFromPaste", "insertFromDrop"]);
const UNDONE_TEXTS = new Set(["historyUndo", "historyRedo"]);

function noteInput({ target, inputType, isComposing }, actions) {
  if (UNDONE_TEXTS.has(inputType)) {
    // Chromium selects a text that comes back, so that the next key would take it away again.
    if (target.selectionEnd - target.selectionStart === target.value.length) target.setSelectionRange(target.value.length, target.value.length);
    actions.undoText(target.value);
  } else if (WHOLE_TEXTS.has(inputType)) actions.setText(target.value);
  else actions.typeText(target.value, isComposing);
}

function chooseLanguage() {
  const select = document.getElementById("source-language");
  select.focus();
  select.showPicker?.();
}
