// Replicas that an operator drained, where pairs have no ready one; each can be resumed.

import { html } from "../../common/view.js";

export function Drained({ state, actions, text, pairs }) {
  const { status } = state;
  const urls = new Set(status.pairs.filter(({ pair, ready }) => ready === 0 && pairs.includes(pair)).flatMap(({ drained }) => drained));
  return [...urls].map(
    (url) => html`<p key=${url} class="why">
      ${text("pair.drained", { url })}${" "}
      ${status.can_operate &&
      html`<button class="button outlined small resume" type="button" onClick=${() => actions.ask("resume", url)}>
        ${text("operate.resume")}<span class="visually-hidden"> ${url}</span>
      </button>`}
    </p>`,
  );
}
