// What views of both pages are made of.

import { INTERFACE_LANGUAGES } from "./strings.js";
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
    const keep = (element) => {
      this.#dialog = element ?? this.#dialog;
    };
    return html`<dialog id=${id} ref=${keep} aria-labelledby=${`${id}-title`} onClose=${() => this.#noteClose()}>
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

/** The list of the interface's languages, and the one that could not be loaded. */
export function InterfaceLanguage({ state, onChoose, text }) {
  const { interfaceLanguage: language, lostLanguage: lost } = state;
  return html`
    <label class="visually-hidden" for="interface-language">${text("interface.language")}</label>
    <select id="interface-language" class="field plain" value=${language} onChange=${(event) => onChoose(event.target.value)}>
      ${Object.entries(INTERFACE_LANGUAGES).map(
        ([lang, name]) => html`<option value=${lang} lang=${lang} selected=${lang === language}>${name}</option>`,
      )}
    </select>
    ${lost &&
    html`<p id="lost-language" class="notice" role="alert">
      ${text("interface.lost", { language: INTERFACE_LANGUAGES[lost] })}
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
