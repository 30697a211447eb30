// Since when something is as it is, and how long that is.

import { html } from "../../common/view.js";

/** @param {{of: {since: number | null, at_least: boolean}, now: number}} properties */
export function SinceTime({ text, format, of: { since, at_least: isLeast }, now }) {
  if (since === null) return null;
  const values = { time: format.time(since, now), length: format.length(now - since) };
  return html`<time datetime=${format.iso(since)}>${text(isLeast ? "since.least" : "since", values)}</time>`;
}
