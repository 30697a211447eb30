// The list of the interface's languages, on both pages.

import { INTERFACE_LANGUAGES } from "./strings.js";
import { html } from "./view.js";

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
