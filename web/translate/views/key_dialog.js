// The dialog for an API key.

import { Dialog } from "../../common/elements.js";
import { html } from "../../common/view.js";

/** Opens with the page's wish for a key. */
export function KeyDialog({ state, actions, text }) {
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
