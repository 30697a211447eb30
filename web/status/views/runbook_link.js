// A link to a section of the runbooks, which opens in a dialog.

import { html } from "../../common/view.js";

export function RunbookLink({ text, runbook }) {
  if (!runbook) return null;
  return html`<a class="runbook" href=${`#runbook=${runbook}`}>${text("runbook")}</a>`;
}
