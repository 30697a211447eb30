// A link to a runbook, which opens in a dialog with its commands filled in for a subject.

import { html } from "../../common/view.js";
import { addressOf } from "../runbook_history.js";

export function RunbookLink({ text, runbook, subject = "" }) {
  if (!runbook) return null;
  return html`<a class="runbook" href=${addressOf({ path: `runbooks/${runbook}.md`, subject })}>
    ${text("runbook")}${subject && html`<span class="visually-hidden"> ${subject}</span>`}
  </a>`;
}
