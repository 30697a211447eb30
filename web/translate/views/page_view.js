// The whole page, with its top and the dialog for a key.

import { Dialog, InterfaceLanguage } from "../../common/elements.js";
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
  return html`<${Dialog} id="key-dialog" title=${text("key.title")} isOpen=${state.asksForKey} onClose=${actions.closeKey}>
    <form method="dialog" onSubmit=${(event) => submit(event, actions)}>
      <p class=${state.isKeyRefused ? "bad" : "hint"} role=${state.isKeyRefused ? "alert" : undefined} id="key-hint">
        ${text(state.isKeyRefused ? "key.refused" : "key.hint")}
      </p>
      <label for="key">${text("key.label")}</label>
      <input id="key" name="key" class="field" type="password" autocomplete="off" spellcheck="false" autofocus aria-describedby="key-hint" aria-invalid=${state.isKeyRefused ? "true" : "false"} defaultValue=${state.key} />
      <label class="check">
        <input id="keep-key" name="kept" type="checkbox" defaultChecked=${state.isKeyKept} />
        <span>${text("key.keep")}</span>
      </label>
      <p class="buttons">
        ${state.key && html`<button id="forget-key" class="button" type="button" onClick=${() => actions.useKey("", false)}>${text("key.forget")}</button>`}
        <button id="cancel-key" class="button outlined" type="button" onClick=${actions.closeKey}>${text("cancel")}</button>
        <button id="use-key" class="button primary" type="submit">${text("key.use")}</button>
      </p>
    </form>
  <//>`;
}

function submit(event, actions) {
  event.preventDefault();
  const fields = new FormData(event.target);
  actions.useKey(String(fields.get("key")).trim(), fields.has("kept"));
}
