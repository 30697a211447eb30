// The list of the interface's languages, on both pages.

import { INTERFACE_LANGUAGES } from "./strings.js";
import { html } from "./view.js";

/** @param {{language: string, onChoose: (language: string) => void, text: (name: string) => string}} properties */
export function InterfaceLanguage({ language, onChoose, text }) {
  return html`
    <label class="visually-hidden" for="interface-language">${text("interface.language")}</label>
    <select id="interface-language" class="field plain" value=${language} onChange=${(event) => onChoose(event.target.value)}>
      ${Object.entries(INTERFACE_LANGUAGES).map(
        ([lang, name]) => html`<option value=${lang} lang=${lang} selected=${lang === language}>${name}</option>`,
      )}
    </select>
  `;
}
