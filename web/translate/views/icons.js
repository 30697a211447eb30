// Icons, drawn in the colour of the text, and buttons of them; none is read aloud.

import { html } from "../../common/view.js";

const PATHS = {
  swap: "M4 8h13l-4-4m7 12H7l4 4",
  clear: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1m2 4a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  terminal: "M5 7l5 5-5 5m7 1h7",
  book: "M5 4h10a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h10",
  clock: "M12 7v5l3 2m6-2a9 9 0 1 1-18 0 9 9 0 0 1 18 0z",
  key: "M14 10a4 4 0 1 0-3 4l2 2h2v2h2v2h3v-3z",
  check: "M5 13l4 4L19 7",
  plus: "M12 5v14M5 12h14",
  warning: "M12 9v4m0 3v.5M12 4l9 16H3z",
};

/** @param {{name: keyof typeof PATHS}} properties */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false"><path d=${PATHS[name]} /></svg>`;
}

/** A round button; `title` is shown at the pointer, `label` is read aloud. */
export function IconButton({ icon, title, label = title, place = "", ...attributes }) {
  return html`<button class=${`button round ${place}`} type="button" title=${title} ...${attributes}>
    <${Icon} name=${icon} /><span class="visually-hidden">${label}</span>
  </button>`;
}
