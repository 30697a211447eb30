// The top of the page: the fleet's status, the connection, the token and the language of the interface.

import { InterfaceLanguage } from "../../common/interface_language.js";
import { html } from "../../common/view.js";
import { Level } from "./level.js";

const LEVELS = { ok: "ok", degraded: "warn", down: "bad" };

export function Header({ state, actions, text, format, issues }) {
  const { status, connection, token } = state;
  const fleet = status?.status;
  return html`
    <header class="top">
      <p class="brand"><a href=".">Pairway</a></p>
      ${fleet && html`<p id="fleet-status" class=${`fleet ${LEVELS[fleet]}`}><${Level} level=${LEVELS[fleet]} />${text(`fleet.${fleet}`)}</p>`}
      <p id="connection" class=${`connection ${connection}`}>${connectionText(state, text, format)}</p>
      <nav aria-label=${text("nav")}>
        ${(token || state.config.keys) &&
        html`<button id="token-button" class="button" type="button" onClick=${token ? () => actions.useToken("") : actions.askForToken}>
          ${text(token ? "token.forget" : "token.give")}
        </button>`}
        <${InterfaceLanguage} language=${state.interfaceLanguage} onChoose=${actions.chooseInterfaceLanguage} text=${text} />
      </nav>
      <p class="visually-hidden" role="status">
        ${fleet && `${text(`fleet.${fleet}`)}. ${issues.length ? text("issues.count", { count: format.count(issues.length) }) : text("issues.none")}`}
      </p>
    </header>
  `;
}

function connectionText({ connection, receivedAt }, text, format) {
  if (connection !== "lost" || !receivedAt) return text(`connection.${connection}`);
  return text("connection.lost.since", { time: format.time(receivedAt, receivedAt) });
}
