// The whole page.

import { Component, Fragment, html } from "../../common/view.js";
import { problemText } from "../logic/messages.js";
import { Header } from "./header.js";
import { KeyDialog } from "./key_dialog.js";
import { LanguageBar } from "./language_bar.js";
import { Options } from "./options.js";
import { SourcePane } from "./source_pane.js";
import { TargetPane } from "./target_pane.js";

export function PageView(properties) {
  const { state, text } = properties;
  return html`<${Fragment}>
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
  <//>`;
}

/** Text and translation, which show about the same part of a long text. */
class Panes extends Component {
  /** The pane that follows the other one: its scrolling is not a person's. */
  #follower = null;

  componentDidUpdate({ state }) {
    const isNew = state.translation?.result !== this.props.state.translation?.result;
    if (isNew) this.#follow("source-text", "translation");
  }

  #noteScroll({ target }) {
    if (target === this.#follower) this.#follower = null;
    else if (target.id === "source-text") this.#follow("source-text", "translation");
    else if (target.id === "translation") this.#follow("translation", "source-text");
  }

  #follow(...ids) {
    const [leader, follower] = ids.map((id) => document.getElementById(id));
    const hidden = leader ? leader.scrollHeight - leader.clientHeight : 0;
    if (!follower || hidden <= 0) return;
    const before = follower.scrollTop;
    follower.scrollTop = (leader.scrollTop / hidden) * (follower.scrollHeight - follower.clientHeight);
    if (follower.scrollTop !== before) this.#follower = follower;
  }

  render(properties) {
    return html`<div class="panes" onScrollCapture=${(event) => this.#noteScroll(event)}>
      <${SourcePane} ...${properties} />
      <${TargetPane} ...${properties} />
    </div>`;
  }
}

function NoLanguages({ state, text }) {
  const { languages, languagesLoaded, languagesProblem } = state;
  if (languages.length > 0 || !(languagesLoaded || languagesProblem)) return null;
  const why = languagesProblem && problemText(languagesProblem, text, state.isOnline);
  return html`<p id="no-languages" class="notice">${why ? text("languages.failed", { why }) : text("languages.none")}</p>`;
}
