// How bad something is: a shape and a colour, so that neither is needed alone.

import { html } from "../../common/view.js";

const SHAPES = {
  bad: "M12 2 22 12 12 22 2 12z",
  warn: "M12 3 22 21H2z",
  ok: "M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18z",
  good: "M12 3a9 9 0 1 0 0 18a9 9 0 0 0 0-18z",
  off: "M4 9h16v6H4z",
  info: "M5 5h14v14H5z",
};

/** @param {{level: keyof typeof SHAPES, label?: string}} properties */
export function Level({ level, label }) {
  return html`<svg class=${`level ${level}`} viewBox="0 0 24 24" role=${label ? "img" : undefined} aria-label=${label} aria-hidden=${label ? undefined : "true"} focusable="false">
    <path d=${SHAPES[level]} />
  </svg>`;
}
