// The dialog for an API key.

import { Component, html } from "../../common/view.js";

/** Opens with the page's wish for a key; Escape closes it. */
export class KeyDialog extends Component {
  #dialog = null;

  componentDidMount() {
    this.#show();
  }

  componentDidUpdate() {
    this.#show();
  }

  #show() {
    const { asksForKey } = this.props.state;
    if (asksForKey && !this.#dialog.open) this.#dialog.showModal();
    if (!asksForKey && this.#dialog.open) this.#dialog.close();
  }

  #noteClose() {
    const { state, actions } = this.props;
    if (state.asksForKey) actions.closeKey();
    if (this.#dialog.open) return;
    // Chromium gives a text its focus back without the caret, and drops what is typed then.
    const focused = document.activeElement;
    focused?.blur();
    focused?.focus({ preventScroll: true });
  }

  render({ state, actions, text }) {
    const keep = (element) => {
      this.#dialog = element ?? this.#dialog;
    };
    return html`<dialog id="key-dialog" ref=${keep} aria-labelledby="key-title" onClose=${() => this.#noteClose()}>
      ${state.asksForKey &&
      html`<form method="dialog" onSubmit=${(event) => submit(event, actions)}>
        <h2 id="key-title">${text("key.title")}</h2>
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
          <button id="cancel-key" class="button outlined" type="button" onClick=${actions.closeKey}>${text("key.cancel")}</button>
          <button id="use-key" class="button primary" type="submit">${text("key.use")}</button>
        </p>
      </form>`}
    </dialog>`;
  }
}

function submit(event, actions) {
  event.preventDefault();
  const fields = new FormData(event.target);
  actions.useKey(String(fields.get("key")).trim(), fields.has("kept"));
}
