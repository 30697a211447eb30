// What views of both pages are made of.

import { INTERFACE_LANGUAGES, languageName } from "./strings.js";
import { Component, html } from "./view.js";

/** Dialog that opens and closes with `isOpen`; Escape closes it. */
export class Dialog extends Component {
  #dialog = null;

  componentDidMount() {
    this.componentDidUpdate();
  }

  componentDidUpdate() {
    const { isOpen } = this.props;
    if (isOpen && !this.#dialog.open) this.#dialog.showModal();
    if (isOpen || !this.#dialog.open) return;
    this.#dialog.close();
    restoreCaret();
  }

  // Escape closed it; the page does not know yet.
  #noteClose() {
    const { isOpen, onClose } = this.props;
    if (!isOpen) return;
    onClose();
    if (!this.#dialog.open) restoreCaret();
  }

  render({ id, title, isOpen, children }) {
    return html`<dialog id=${id} ref=${(element) => (this.#dialog = element)} aria-labelledby=${`${id}-title`} onClose=${() => this.#noteClose()}>
      ${isOpen && html`<h2 id=${`${id}-title`}>${title}</h2>${children}`}
    </dialog>`;
  }
}

// Chromium gives a text its focus back without the caret, and drops what is typed then.
function restoreCaret() {
  const focused = document.activeElement;
  focused?.blur();
  focused?.focus({ preventScroll: true });
}

/** Dialog that asks for a secret, such as a key: `name` begins its ids and texts, `onUse` is given the secret and all fields. */
export function SecretDialog({ name, text, value, isOpen, isRefused, onUse, onClose, buttons, children }) {
  const submit = (event) => {
    event.preventDefault();
    const fields = new FormData(event.target);
    onUse(fields.get(name).trim(), fields);
  };
  return html`<${Dialog} id=${`${name}-dialog`} title=${text(`${name}.title`)} isOpen=${isOpen} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p id=${`${name}-hint`} class=${isRefused ? "bad" : "hint"} role=${isRefused ? "alert" : undefined}>
        ${text(`${name}.${isRefused ? "refused" : "hint"}`)}
      </p>
      <label for=${name}>${text(`${name}.label`)}</label>
      <input id=${name} name=${name} class="field" type="password" autocomplete="off" spellcheck="false" required autofocus aria-describedby=${`${name}-hint`} aria-invalid=${String(isRefused)} defaultValue=${value} />
      ${children}
      <p class="buttons">
        ${buttons}
        <button id=${`cancel-${name}`} class="button outlined" type="button" onClick=${onClose}>${text("cancel")}</button>
        <button id=${`use-${name}`} class="button primary" type="submit">${text(`${name}.use`)}</button>
      </p>
    </form>
  <//>`;
}

/** The list of the interface's languages, and the one that could not be loaded. */
export function InterfaceLanguage({ state, onChoose, text }) {
  const { interfaceLanguage: language, lostLanguage: lost } = state;
  return html`
    <label class="visually-hidden" for="interface-language">${text("interface.language")}</label>
    <select id="interface-language" class="field plain" value=${language} onChange=${(event) => onChoose(event.target.value)}>
      ${INTERFACE_LANGUAGES.map((lang) => html`<option value=${lang} lang=${lang} selected=${lang === language}>${languageName(lang, lang)}</option>`)}
    </select>
    ${lost &&
    html`<p id="lost-language" class="notice" role="alert">
      ${text("interface.lost", { language: languageName(lost, lost) })}
      <button class="button outlined small" type="button" onClick=${() => onChoose(lost)}>${text("interface.again")}</button>
    </p>`}
  `;
}

/** Table of `columns`: the name of a text, the class of its heading, and whether that is only read aloud. */
export function Table({ name, caption, columns, text, children }) {
  return html`<table class=${name}>
    ${caption && html`<caption>${caption}</caption>`}
    <thead>
      <tr>${columns.map(([title, kind, isHidden]) => html`<th scope="col" class=${kind}>${isHidden ? html`<span class="visually-hidden">${text(title)}</span>` : text(title)}</th>`)}</tr>
    </thead>
    <tbody>${children}</tbody>
  </table>`;
}
