// The whole page, what is worst first.

import { Fragment, html } from "../../common/view.js";
import { findIssues } from "../logic/issues.js";
import { Charts } from "./charts.js";
import { ChangeDialog, RunbookDialog, TokenDialog } from "./dialogs.js";
import { Events } from "./events.js";
import { Header } from "./header.js";
import { Issues } from "./issues.js";
import { Pairs } from "./pairs.js";
import { Proxies } from "./proxies.js";
import { Replicas } from "./replicas.js";

/** @param {{state: object, actions: object, text: (name: string, values?: object) => string, format: object}} properties */
export function PageView(properties) {
  const { state, text } = properties;
  const { status } = state;
  const issues = status ? findIssues(status) : [];
  return html`<${Fragment}>
    <${Header} ...${properties} issues=${issues} />
    <main>
      <h1 class="visually-hidden">${text("title")}</h1>
      <${Changed} ...${properties} />
      ${!status && html`<p class="waiting">${text(state.connection === "locked" ? "locked" : "waiting")}</p>`}
      ${status &&
      html`<${Fragment}>
        <${Issues} ...${properties} issues=${issues} />
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
    <${TokenDialog} ...${properties} isOpen=${state.asksForToken} onClose=${properties.actions.closeToken} />
    <${ChangeDialog} ...${properties} isOpen=${Boolean(state.change) && !state.asksForToken} onClose=${properties.actions.cancel} />
    <${RunbookDialog} ...${properties} isOpen=${state.runbook !== null} onClose=${() => closeRunbook(properties.actions)} />
  <//>`;
}

// An empty fragment would scroll to the top.
function closeRunbook(actions) {
  history.pushState(null, "", location.pathname + location.search);
  actions.openRunbook(null);
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
