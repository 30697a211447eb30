// The table of terms.

import { html } from "../../common/view.js";
import { MAX_TERMS } from "../logic/terms.js";
import { Icon } from "./icons.js";

export function TermsPanel({ state, actions, text }) {
  return html`
    <section id="terms-panel" class="card panel" aria-labelledby="terms-title">
      <h2 id="terms-title">${text("terms")}</h2>
      <p class="hint">${text("terms.hint")}</p>
      ${state.terms.length > 0 &&
      html`<table>
        <thead>
          <tr>
            <th scope="col">${text("terms.source")}</th>
            <th scope="col">${text("terms.target")}</th>
            <th scope="col">${text("terms.keep")}</th>
            <th scope="col"><span class="visually-hidden">${text("terms.remove")}</span></th>
          </tr>
        </thead>
        <tbody>
          ${state.terms.map((term, index) => html`<${TermRow} key=${index} term=${term} index=${index} actions=${actions} text=${text} />`)}
        </tbody>
      </table>`}
      <button id="add-term" class="button outlined" type="button" disabled=${state.terms.length >= MAX_TERMS} onClick=${() => addTerm(actions, state)}>
        <${Icon} name="plus" />${text("terms.add")}
      </button>
    </section>
  `;
}

function TermRow({ term, index, actions, text }) {
  const number = index + 1;
  return html`<tr>
    <td>
      <input
        id=${`term-${index}`}
        class="field"
        dir="auto"
        aria-label=${text("terms.source.number", { number })}
        value=${term.source}
        onInput=${(event) => actions.changeTerm(index, { source: event.target.value })}
      />
    </td>
    <td>
      <input
        class="field"
        dir="auto"
        aria-label=${text("terms.target.number", { number })}
        value=${term.keep ? term.source : term.target}
        disabled=${term.keep}
        onInput=${(event) => actions.changeTerm(index, { target: event.target.value })}
      />
    </td>
    <td class="narrow-cell">
      <input
        type="checkbox"
        aria-label=${text("terms.keep.number", { number })}
        checked=${term.keep}
        onChange=${(event) => actions.changeTerm(index, { keep: event.target.checked })}
      />
    </td>
    <td class="narrow-cell">
      <button class="button round" type="button" onClick=${() => actions.removeTerm(index)} title=${text("terms.remove")}>
        <${Icon} name="clear" /><span class="visually-hidden">${text("terms.remove.number", { number })}</span>
      </button>
    </td>
  </tr>`;
}

function addTerm(actions, state) {
  const index = state.terms.length;
  actions.addTerm();
  requestAnimationFrame(() => document.getElementById(`term-${index}`)?.focus());
}
