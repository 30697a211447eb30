// A dialog of either page.

import { Component, Fragment, html } from "./view.js";

/** Dialog that opens and closes with `isOpen`; Escape closes it. */
export class Dialog extends Component {
  #dialog = null;

  componentDidMount() {
    this.#show();
  }

  componentDidUpdate() {
    this.#show();
  }

  #show() {
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
      ${isOpen && html`<${Fragment}><h2 id=${`${id}-title`}>${title}</h2>${children}<//>`}
    </dialog>`;
  }
}

// Chromium gives a text its focus back without the caret, and drops what is typed then.
function restoreCaret() {
  const focused = document.activeElement;
  focused?.blur();
  focused?.focus({ preventScroll: true });
}
