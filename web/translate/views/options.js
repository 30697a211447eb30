// Below the panes: the format of the text, and what opens the panels.

import { html } from "../../common/view.js";
import { FORMATS } from "../logic/request_body.js";
import { usedTerms } from "../logic/terms.js";
import { Icon } from "./icons.js";
import { HistoryPanel, TermsPanel } from "./panels.js";

export function Options({ state, actions, text }) {
  const count = usedTerms(state).length;
  return html`
    <div class="options">
      <fieldset class="formats">
        <legend class="visually-hidden">${text("format")}</legend>
        ${FORMATS.map(
          (each) => html`<label>
            <input type="radio" name="format" value=${each} checked=${state.format === each} onChange=${() => actions.chooseFormat(each)} />
            <span>${text(`format.${each}`)}</span>
          </label>`,
        )}
      </fieldset>
      <span class="spacer"></span>
      <${PanelButton} panel="terms" icon="book" state=${state} actions=${actions}>
        ${count ? text("terms.count", { count }) : text("terms")}
      <//>
      <${PanelButton} panel="history" icon="clock" state=${state} actions=${actions}>${text("history")}<//>
    </div>
    ${state.panel === "terms" && html`<${TermsPanel} state=${state} actions=${actions} text=${text} />`}
    ${state.panel === "history" && html`<${HistoryPanel} state=${state} actions=${actions} text=${text} />`}
  `;
}

function PanelButton({ panel, icon, state, actions, children }) {
  const isOpen = state.panel === panel;
  return html`<button id=${`${panel}-button`} class="button" type="button" aria-expanded=${String(isOpen)} aria-controls=${isOpen ? `${panel}-panel` : undefined} onClick=${() => actions.openPanel(panel)}>
    <${Icon} name=${icon} />${children}
  </button>`;
}
