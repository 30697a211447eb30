// Dialogs: the confirmation of a change, and a runbook with its commands filled in.

import { Dialog } from "../../common/elements.js";
import { html } from "../../common/view.js";
import { fillIn, linkedDocument, placeValues, readCommands, readInline } from "../logic/runbook.js";
import { addressOf } from "../runbook_history.js";
import { SmallButton } from "./elements.js";

export function ChangeDialog({ state, actions, text, format, isOpen, onClose }) {
  const { action = "drain", url = "", isWarned = false } = state.change ?? {};
  const sole = action === "resume" ? null : state.status?.replicas.find((each) => each.url === url)?.sole;
  const isLast = Boolean(sole?.pairs.length);
  return html`<${Dialog} id="change-dialog" title=${text(`confirm.${action}`)} isOpen=${isOpen} onClose=${onClose}>
    <p class="subject">${url}</p>
    <p>${text(`confirm.${action}.means`)}</p>
    ${sole && html`<p id="effect" class=${isLast ? "bad" : ""}>${effectText(sole, text, format)}</p>`}
    ${isLast && isWarned && html`<p id="sure" class="bad" role="alert">${text("confirm.again")}</p>`}
    <p class="buttons">
      <button id="cancel-change" class="button outlined" type="button" autofocus onClick=${onClose}>${text("cancel")}</button>
      <button id="confirm-change" class=${`button primary ${action}`} type="button" aria-disabled=${String(state.isChanging)} onClick=${() => actions.confirm(isLast && !isWarned)}>
        ${text(isLast && isWarned ? `anyway.${action}` : `operate.${action}`)}
      </button>
    </p>
  <//>`;
}

function effectText({ pairs, more, requests }, text, format) {
  if (pairs.length === 0) return text("confirm.safe");
  const named = [...pairs, ...(more ? [text("more", { count: format.count(more) })] : [])].join(", ");
  return text(requests === null ? "confirm.breaks" : "confirm.breaks.requests", { pairs: named, count: format.count(requests ?? 0) });
}

/** A runbook, or another document of operators. */
export function RunbookDialog({ state, actions, text, isOpen, onClose }) {
  const { path, subject, at } = state.runbook ?? {};
  const document = isOpen ? state.documents.get(path) : undefined;
  const values = isOpen && placeValues(state.status, subject, new URL(".", location.href).href.slice(0, -1));
  const show = (block) => showBlock(block, { state, actions, text, values, path, subject, at });
  return html`<${Dialog} id="runbook-dialog" title=${text("runbook")} isOpen=${isOpen} onClose=${onClose}>
    ${document &&
    html`<article key=${path} lang="en" tabindex="0" aria-label=${document.title}>
      <h3 ref=${at ? null : scrollUp}>${document.title}</h3>
      ${document.blocks.map(show)}
    </article>`}
    ${document === null && html`<p>${text("runbook.elsewhere")}</p>`}
    <p class="source"><code>docs/operations/${path}</code></p>
    <p class="buttons"><button id="close-runbook" class="button primary" type="button" onClick=${onClose}>${text("close")}</button></p>
  <//>`;
}

// One function each for all renderings: it is called when a heading becomes the one that was asked for.
function scrollTo(heading) {
  heading?.scrollIntoView();
}

function scrollUp(heading) {
  heading?.closest("dialog").scrollTo(0, 0);
}

function showBlock(block, page) {
  const inline = (line) => showInline(line, page);
  const items = () => block.items.map((item) => html`<li>${inline(item)}</li>`);
  if (block.kind === "heading") return html`<${`h${Math.min(6, block.level + 2)}`} ref=${block.anchor === page.at ? scrollTo : null}>${block.text}<//>`;
  if (block.kind === "code") return readCommands(block, page.values).map((each) => showCommand(each, page));
  if (block.kind === "list") return html`<ol>${items()}</ol>`;
  if (block.kind === "bullets") return html`<ul>${items()}</ul>`;
  if (block.kind === "table") return showTable(block.items, inline);
  return html`<p>${inline(block.text)}</p>`;
}

function showCommand({ command, note }, page) {
  const { state, actions, text, values } = page;
  const pieces = fillIn(command, values);
  const filled = pieces.map((piece) => piece.text).join("");
  return html`<div class="command">
    <code>${showPieces(pieces)}</code>
    <${SmallButton} kind="copy" words=${text(state.copied === filled ? "copied" : "copy")} subject=${command} onClick=${() => actions.copy(filled)} />
    ${note && html`<p class="why">${showInline(note, page)}</p>`}
  </div>`;
}

function showPieces(pieces) {
  return pieces.map((piece) => (piece.isGap ? html`<mark>${piece.text}</mark>` : piece.text));
}

function showTable([head, ...rows], inline) {
  return html`<table>
    <thead><tr>${head.map((cell) => html`<th scope="col">${inline(cell)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell)}</td>`)}</tr>`)}</tbody>
  </table>`;
}

/** Links to documents that the proxy does not serve are plain words. */
function showInline(line, page) {
  return readInline(line).map(({ kind, text, target }) => {
    if (kind === "code") return html`<code>${showPieces(fillIn(text, page.values))}</code>`;
    if (kind === "strong") return html`<strong>${showInline(text, page)}</strong>`;
    const linked = kind === "link" && linkedDocument(target, page.path);
    return linked ? html`<a href=${addressOf({ ...linked, subject: page.subject })}>${text}</a>` : text;
  });
}
