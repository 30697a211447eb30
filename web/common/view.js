// Elements and rendering for both pages: preact, and htm's HTML templates.

import { Component, Fragment, h, render } from "../vendor/preact/preact.mjs";
import htm from "../vendor/htm/htm.module.js";

/** Builds elements of a template: html`<p class=${name}>${text}</p>`. Text is never read as HTML. */
export const html = htm.bind(h);

export { Component, Fragment, render };
