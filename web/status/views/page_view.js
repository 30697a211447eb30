// The whole page, what is worst first.

import { InterfaceLanguage, SecretDialog } from "../../common/elements.js";
import { Fragment, html } from "../../common/view.js";
import { addressOf } from "../runbook_history.js";
import { Charts, SuccessRate } from "./charts.js";
import { ChangeDialog, RunbookDialog } from "./dialogs.js";
import { Level } from "./elements.js";
import { Issues } from "./issues.js";
import { Events, Pairs, Proxies } from "./lists.js";
import { Replicas } from "./replicas.js";

/** What stands in place of the first status. */
const WAITING = { locked: "locked", lost: "waiting.lost" };

/** Of the properties, `fresh` says how old the status is, and `asOf` its time in words; `verdict` may be null. */
export function PageView(properties) {
  const { state, actions, text, verdict, asOf } = properties;
  const { status } = state;
  // Elements of their own before the first status: what comes with it pushes nothing away.
  return html`<${Fragment}>
    <${Fragment} key=${status ? "status" : "waiting"}>
    <${Header} ...${properties} />
    <main class=${verdict?.isKnown === false ? "then" : ""}>
      <h1 class="visually-hidden">${text("title")}</h1>
      <${Changed} ...${properties} />
      ${!status && html`<p class="waiting">${text(WAITING[state.connection] ?? "waiting")}</p>`}
      ${status &&
      html`<${Fragment}>
        ${!verdict.isKnown && html`<p id="then" class="notice">${text("then", { time: asOf })}</p>`}
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
    <footer>
      <p>${text("footer", { version: state.config.version })} <a href=${addressOf({ path: "status-page.md", at: "words" })}>${text("words")}</a></p>
    </footer>
    <//>
    <${SecretDialog} name="token" text=${text} isOpen=${state.asksForToken} isRefused=${state.isTokenRefused} onUse=${actions.useToken} onClose=${actions.closeToken} />
    <${ChangeDialog} ...${properties} isOpen=${Boolean(state.change) && !state.asksForToken} onClose=${actions.cancel} />
    <${RunbookDialog} ...${properties} isOpen=${state.runbook !== null} onClose=${actions.closeRunbook} />
  <//>`;
}

/** The top of the page: the verdict and its age, the connection, the token and the language of the interface. */
function Header({ state, actions, text, format, fresh, asOf, issueCount, verdict }) {
  const { connection, token } = state;
  const count = issueCount ? text("issues.count", { count: format.count(issueCount) }) : text("issues.none");
  return html`<header class="top">
    <p class="brand"><a href=".">Pairway</a></p>
    ${verdict && html`<p id="fleet-status" class=${`fleet ${verdict.level}`}><${Level} level=${verdict.level} />${verdict.words}</p>`}
    <p id="connection" class=${`connection ${connection}`}>${text(`connection.${connection}`)}</p>
    ${verdict && html`<p id="age" class=${`connection ${fresh.level}`}>${text("age", { time: asOf, ago: format.ago(fresh.age) })}</p>`}
    <nav aria-label=${text("nav")}>
      ${(token || state.config.keys) &&
      html`<button id="token-button" class="button" type="button" onClick=${token ? () => actions.useToken("") : actions.askForToken}>
        ${text(token ? "token.forget" : "token.give")}
      </button>`}
      <${InterfaceLanguage} state=${state} onChoose=${actions.chooseInterfaceLanguage} text=${text} />
    </nav>
    <p class="visually-hidden" role="status">
      ${verdict && `${verdict.words}. ${verdict.isKnown ? count : ""}`}
    </p>
  </header>`;
}

/** The outcome of an operator's change. */
function Changed({ state: { changed }, actions, text }) {
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
