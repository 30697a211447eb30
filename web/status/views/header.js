// The top of the page: the verdict and its age, the connection, the token and the language of the interface.

import { InterfaceLanguage } from "../../common/elements.js";
import { html } from "../../common/view.js";
import { Level } from "./elements.js";

export function Header({ state, actions, text, format, fresh, asOf, issues, verdict }) {
  const { connection, token } = state;
  const count = issues.length ? text("issues.count", { count: format.count(issues.length) }) : text("issues.none");
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
