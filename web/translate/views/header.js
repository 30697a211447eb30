// The top of the page: name, API, key and the language of the interface.

import { InterfaceLanguage } from "../../common/elements.js";
import { html } from "../../common/view.js";
import { Icon } from "./icons.js";

export function Header({ state, actions, text }) {
  const usesKey = state.config.keys || state.key;
  return html`<header class="top">
    <p class="brand"><span class="mark"><${Icon} name="swap" /></span>Pairway</p>
    <nav aria-label=${text("nav")}>
      ${usesKey &&
      html`<button id="key-button" class="button" type="button" onClick=${actions.askForKey}>
        <${Icon} name="key" /><span class="wide">${text("key.title")}</span><span class="visually-hidden narrow">${text("key.title")}</span>
      </button>`}
      <a id="api-link" class="button" href="docs">${text("api")}</a>
      <${InterfaceLanguage} state=${state} onChoose=${actions.chooseInterfaceLanguage} text=${text} />
    </nav>
  </header>`;
}
