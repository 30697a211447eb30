// What several parts of the page are made of.

import { html } from "../../common/view.js";
import { addressOf } from "../runbook_history.js";

const CIRCLE = "M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18z";
const SHAPES = { bad: "M12 2 22 12 12 22 2 12z", warn: "M12 3 22 21H2z", ok: CIRCLE, good: CIRCLE, off: "M4 9h16v6H4z", info: "M5 5h14v14H5z" };

/** How bad something is: a shape and a colour, so that neither is needed alone. */
export function Level({ level, label }) {
  return html`<svg class=${`level ${level}`} viewBox="0 0 24 24" role=${label ? "img" : undefined} aria-label=${label} aria-hidden=${label ? undefined : "true"} focusable="false">
    <path d=${SHAPES[level]} />
  </svg>`;
}

/** An entry of a list: how bad it is, what it is and why, and links. */
export function Entry({ level, label, what, why, links, children }) {
  return html`<li class=${level}>
    <${Level} level=${level} label=${label} />
    <div>
      <p class="what">${what}</p>
      ${why && html`<p class="why" lang="en">${why}</p>`}
      ${children}
    </div>
    ${links}
  </li>`;
}

/** A button whose words need their subject where only they are heard. */
export function SmallButton({ kind = "", words, subject, onClick }) {
  return html`<button class=${`button outlined small ${kind}`} type="button" onClick=${onClick}>
    ${words}<span class="visually-hidden"> ${subject}</span>
  </button>`;
}

/** A button with which operators change a replica. */
export function ChangeButton({ actions, text, action, url }) {
  return html`<${SmallButton} kind=${action} words=${text(`operate.${action}`)} subject=${url} onClick=${() => actions.ask(action, url)} />`;
}

/** Since when something is as it is, and how long that is. */
export function SinceTime({ text, format, of: { since, at_least: isLeast }, now }) {
  if (since === null) return null;
  const values = { time: format.time(since, now), length: format.length(now - since) };
  return html`<time datetime=${format.iso(since)}>${text(isLeast ? "since.least" : "since", values)}</time>`;
}

/** A link to a runbook, which opens in a dialog with its commands filled in for a subject. */
export function RunbookLink({ text, runbook, subject = "" }) {
  if (!runbook) return null;
  return html`<a class="runbook" href=${addressOf({ path: `runbooks/${runbook}.md`, subject })}>
    ${text("runbook")}${subject && html`<span class="visually-hidden"> ${subject}</span>`}
  </a>`;
}

/** Replicas that an operator drained, where pairs have no ready one; each can be resumed. */
export function Drained({ state, actions, text, pairs }) {
  const { status } = state;
  const urls = new Set(status.pairs.filter(({ pair, ready }) => ready === 0 && pairs.includes(pair)).flatMap(({ drained }) => drained));
  return [...urls].map(
    (url) => html`<p key=${url} class="why">
      ${text("pair.drained", { url })}${" "}
      ${status.can_operate && html`<${ChangeButton} ...${{ actions, text, action: "resume", url }} />`}
    </p>`,
  );
}

/** A button that unfolds a list, and folds it again. */
export function Unfold({ state, actions, text, id, words }) {
  const isOpen = state.open.has(id);
  return html`<button id=${id} class="button" type="button" aria-expanded=${String(isOpen)} onClick=${() => actions.toggle(id)}>
    ${isOpen ? text("show.fewer") : words}
  </button>`;
}

/** How many are not shown. */
export function More({ text, format, count }) {
  return count > 0 && html`<p class="more">${text("more", { count: format.count(count) })}</p>`;
}
