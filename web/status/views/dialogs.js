// Dialogs: the operator's token, the confirmation of a change, and a runbook.

import { Dialog } from "../../common/dialog.js";
import { html } from "../../common/view.js";
import { findSection, readInline } from "../logic/runbook.js";

export function TokenDialog({ state, actions, text, isOpen, onClose }) {
  const submit = (event) => {
    event.preventDefault();
    actions.useToken(String(new FormData(event.target).get("token")).trim());
  };
  return html`<${Dialog} id="token-dialog" title=${text("token.title")} isOpen=${isOpen} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p id="token-hint" class=${state.isTokenRefused ? "bad" : "hint"} role=${state.isTokenRefused ? "alert" : undefined}>
        ${text(state.isTokenRefused ? "token.refused" : "token.hint")}
      </p>
      <label for="token">${text("token.label")}</label>
      <input id="token" name="token" class="field" type="password" autocomplete="off" spellcheck="false" required autofocus aria-describedby="token-hint" aria-invalid=${String(state.isTokenRefused)} />
      <p class="buttons">
        <button id="cancel-token" class="button outlined" type="button" onClick=${onClose}>${text("cancel")}</button>
        <button id="use-token" class="button primary" type="submit">${text("token.use")}</button>
      </p>
    </form>
  <//>`;
}

export function ChangeDialog({ state, actions, text, isOpen, onClose }) {
  const { action = "drain", url = "" } = state.change ?? {};
  return html`<${Dialog} id="change-dialog" title=${text(`confirm.${action}`)} isOpen=${isOpen} onClose=${onClose}>
    <p class="subject">${url}</p>
    <p>${text(`confirm.${action}.means`)}</p>
    <p class="buttons">
      <button id="cancel-change" class="button outlined" type="button" autofocus onClick=${onClose}>${text("cancel")}</button>
      <button id="confirm-change" class=${`button primary ${action}`} type="button" aria-disabled=${String(state.isChanging)} onClick=${actions.confirm}>
        ${text(`operate.${action}`)}
      </button>
    </p>
  <//>`;
}

export function RunbookDialog({ state, text, isOpen, onClose }) {
  const section = isOpen && state.runbookText !== null ? findSection(state.runbookText, state.runbook) : null;
  return html`<${Dialog} id="runbook-dialog" title=${text("runbook")} isOpen=${isOpen} onClose=${onClose}>
    ${section
      ? html`<article lang="en" tabindex="0" aria-label=${section.title}>
          <h3>${section.title}</h3>
          ${section.blocks.map(showBlock)}
        </article>`
      : html`<p>${text("runbook.elsewhere")}</p>`}
    <p class="source"><code>docs/operations/runbooks.md#${state.runbook}</code></p>
    <p class="buttons"><button id="close-runbook" class="button primary" type="button" onClick=${onClose}>${text("close")}</button></p>
  <//>`;
}

function showBlock(block) {
  if (block.kind === "code") return html`<pre>${block.lines.join("\n")}</pre>`;
  if (block.kind === "list") return html`<ol>${block.items.map((item) => html`<li>${showInline(item)}</li>`)}</ol>`;
  if (block.kind === "table") return showTable(block.items);
  return html`<p>${showInline(block.text)}</p>`;
}

function showTable([head, ...rows]) {
  return html`<table>
    <thead><tr>${head.map((cell) => html`<th scope="col">${showInline(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${showInline(cell)}</td>`)}</tr>`)}</tbody>
  </table>`;
}

/** Links to other sections lead there; other documents are named, because the proxy does not serve them. */
function showInline(line) {
  return readInline(line).map(({ kind, text, target }) => {
    if (kind === "code") return html`<code>${text}</code>`;
    if (kind === "strong") return html`<strong>${text}</strong>`;
    if (kind === "link" && target.startsWith("#")) return html`<a href=${`#runbook=${target.slice(1)}`}>${text}</a>`;
    if (kind === "link") return text === target ? html`<code>${target}</code>` : html`${text} (<code>${target}</code>)`;
    return text;
  });
}
