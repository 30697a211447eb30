// The whole page, with its top and the dialog for a key.

import { InterfaceLanguage, SecretDialog } from "../../common/elements.js";
import { Component, html } from "../../common/view.js";
import { problemText } from "../logic/messages.js";
import { Icon } from "./icons.js";
import { LanguageBar } from "./language_bar.js";
import { Options } from "./panels.js";
import { SourcePane } from "./source_pane.js";
import { TargetPane } from "./target_pane.js";

export function PageView(properties) {
  const { state, text } = properties;
  return html`
    <${Header} ...${properties} />
    <main>
      <h1 class="visually-hidden">${text("title")}</h1>
      <div role="status"><${NoLanguages} ...${properties} /></div>
      <div class="card">
        <${LanguageBar} ...${properties} />
        <${Panes} ...${properties} />
      </div>
      <${Options} ...${properties} />
    </main>
    <footer><p>${text("footer", { version: state.config.version })}</p></footer>
    <${KeyDialog} ...${properties} />
  `;
}

/** Text and translation, which show about the same part of a long text. */
class Panes extends Component {
  /** Where the pane that follows the other one was put: that scrolling is not a person's. */
  #followed = [];

  componentDidUpdate({ state }) {
    if (state.translation?.result !== this.props.state.translation?.result) this.#follow("source-text", "translation");
  }

  #noteScroll({ target: { id, scrollTop } }) {
    if (this.#followed[0] === id && this.#followed[1] === scrollTop) return;
    if (id === "source-text") this.#follow(id, "translation");
    if (id === "translation") this.#follow(id, "source-text");
  }

  #follow(...ids) {
    const [leader, follower] = ids.map((id) => document.getElementById(id));
    const hidden = leader ? leader.scrollHeight - leader.clientHeight : 0;
    if (!follower || hidden <= 0) return;
    follower.scrollTop = (leader.scrollTop / hidden) * (follower.scrollHeight - follower.clientHeight);
    this.#followed = [follower.id, follower.scrollTop];
  }

  render(properties) {
    return html`<div class="panes" onScrollCapture=${(event) => this.#noteScroll(event)}>
      <${SourcePane} ...${properties} />
      <${TargetPane} ...${properties} />
    </div>`;
  }
}

function Header({ state, actions, text }) {
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

function NoLanguages({ state, text }) {
  const { languages, languagesLoaded, languagesProblem } = state;
  if (languages.length > 0 || !(languagesLoaded || languagesProblem)) return null;
  const why = languagesProblem && problemText(languagesProblem, text, state.isOnline);
  return html`<p id="no-languages" class="notice">${why ? text("languages.failed", { why }) : text("languages.none")}</p>`;
}

function KeyDialog({ state, actions, text }) {
  const use = (key, fields) => actions.useKey(key, fields.has("kept"));
  const forget = html`<button id="forget-key" class="button" type="button" onClick=${() => actions.useKey("", false)}>${text("key.forget")}</button>`;
  return html`<${SecretDialog} name="key" text=${text} value=${state.key} isOpen=${state.asksForKey} isRefused=${state.isKeyRefused} onUse=${use} onClose=${actions.closeKey} buttons=${state.key && forget}>
    <label class="check">
      <input id="keep-key" name="kept" type="checkbox" defaultChecked=${state.isKeyKept} />
      <span>${text("key.keep")}</span>
    </label>
  <//>`;
}
