// The whole page, what is worst first.

import { Fragment, html } from "../../common/view.js";
import { Charts, SuccessRate } from "./charts.js";
import { ChangeDialog, RunbookDialog, TokenDialog } from "./dialogs.js";
import { Events } from "./events.js";
import { Header } from "./header.js";
import { Issues } from "./issues.js";
import { Pairs } from "./pairs.js";
import { Proxies } from "./proxies.js";
import { Replicas } from "./replicas.js";

/** What stands in place of the first status. */
const WAITING = { locked: "locked", lost: "waiting.lost" };

/** Of the properties, `fresh` says how old the status is, and `asOf` its time in words; `verdict` may be null. */
export function PageView(properties) {
  const { state, actions, text } = properties;
  const { status } = state;
  // Elements of their own before the first status: what comes with it pushes nothing away.
  return html`<${Fragment}>
    <${Fragment} key=${status ? "status" : "waiting"}>
    <${Header} ...${properties} />
    <main>
      <h1 class="visually-hidden">${text("title")}</h1>
      <${Changed} ...${properties} />
      ${!status && html`<p class="waiting">${text(WAITING[state.connection] ?? "waiting")}</p>`}
      ${status &&
      html`<${Fragment}>
        <${SuccessRate} ...${properties} />
        <${Issues} ...${properties} />
        <${Charts} ...${properties} />
        <div class="columns">
          <div>
            <${Replicas} ...${properties} />
            <${Pairs} ...${properties} />
          </div>
          <div>
            <${Events} ...${properties} />
            <${Proxies} ...${properties} />
          </div>
        </div>
      <//>`}
    </main>
    <footer><p>${text("footer", { version: state.config.version })}</p></footer>
    <//>
    <${TokenDialog} ...${properties} isOpen=${state.asksForToken} onClose=${actions.closeToken} />
    <${ChangeDialog} ...${properties} isOpen=${Boolean(state.change) && !state.asksForToken} onClose=${actions.cancel} />
    <${RunbookDialog} ...${properties} isOpen=${state.runbook !== null} onClose=${actions.closeRunbook} />
  <//>`;
}

/** The outcome of an operator's change. */
function Changed({ state, actions, text }) {
  const { changed } = state;
  return html`<div role="status" class="changed-region">
    ${changed &&
    html`<p class=${`changed ${changed.problem ? "bad" : "good"}`}>
      <span>
        ${text(changed.problem ? "change.failed" : `changed.${changed.action}`, { url: changed.url })}
        ${changed.problem && html` <span lang="en">${changed.problem.detail || changed.problem.code}</span>`}
      </span>
      <button class="button" type="button" onClick=${actions.closeChanged}>${text("close")}</button>
    </p>`}
  </div>`;
}
