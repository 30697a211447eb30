// Other translations of the text, of which one can take the place of what is shown.

import { html } from "../../common/view.js";
import { directionOf } from "../logic/languages.js";
import { problemText } from "../logic/messages.js";
import { isDone, isSameRequest } from "../logic/request_body.js";

/** Three more translations of a longer text are a long wait, and nobody compares them. */
const MAX_CHARS = 1000;

export function OthersButton({ state, actions, text }) {
  const isOffered = isDone(state) && state.translation.result.model && state.format === "text" && state.text.length <= MAX_CHARS;
  if (!isOffered) return null;
  const others = present(state);
  const isComing = Boolean(others && !others.texts);
  const press = () => isComing || (others ? actions.hideOthers() : actions.askOthers());
  return html`<button id="other-translations" class="button small" type="button" aria-expanded=${String(Boolean(others))} aria-disabled=${String(isComing)} onClick=${press}>
    ${text(isComing ? "status.busy" : "others")}
  </button>`;
}

export function Others({ state, actions, text }) {
  const { texts, problem } = present(state) ?? {};
  const { target } = state;
  const words = texts && (problem ? problemText(problem, text, state.isOnline) : texts.length === 0 && text("others.none"));
  return html`<div class="others" role="status">
    ${words && html`<p class="hint">${words}</p>`}
    ${texts?.length > 0 &&
    html`<ul id="others" class="entries" aria-label=${text("others")} lang=${target} dir=${directionOf(target)}>
      ${texts.map((each, index) => html`<li><button class="entry" type="button" onClick=${() => actions.useOther(index)}>${each}</button></li>`)}
    </ul>`}
  </div>`;
}

// Those of the text that is there now.
function present(state) {
  const { others } = state;
  return others && isDone(state) && isSameRequest(others.request, state.translation.request) ? others : null;
}
