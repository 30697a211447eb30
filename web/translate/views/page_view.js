// The whole page.

import { Fragment, html } from "../../common/view.js";
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
        <div class="panes">
          <${SourcePane} ...${properties} />
          <${TargetPane} ...${properties} />
        </div>
      </div>
      <${Options} ...${properties} />
    </main>
    <footer><p>${text("footer", { version: state.config.version })}</p></footer>
    <${KeyDialog} ...${properties} />
  <//>`;
}

function NoLanguages({ state, text }) {
  const { languages, languagesLoaded, languagesProblem } = state;
  if (languages.length > 0 || !(languagesLoaded || languagesProblem)) return null;
  const why = languagesProblem && problemText(languagesProblem, text, state.isOnline);
  return html`<p id="no-languages" class="notice">${why ? text("languages.failed", { why }) : text("languages.none")}</p>`;
}
