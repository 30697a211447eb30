// A table of either page.

import { html } from "./view.js";

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
