// The languages: source, swap, target.

import { languageName } from "../../common/strings.js";
import { html } from "../../common/view.js";
import { byLastUse, servedSource, sourceOptions, targetOptions } from "../logic/languages.js";
import { isDone } from "../logic/request_body.js";
import { knownSource } from "../state.js";
import { IconButton } from "./icons.js";

export function LanguageBar({ state, actions, text }) {
  const { languages, source, target, interfaceLanguage } = state;
  const known = knownSource(state);
  const isReady = isDone(state) || !state.text.trim();
  const canSwap = isReady && known && known !== target && servedSource(languages, target);
  const detected = known && text("source.detected", { language: languageName(known, interfaceLanguage) });
  const targets = targetOptions(languages, servedSource(languages, known), interfaceLanguage);
  return html`<div class="languages">
    <${LanguageSelect} id="source-language" label=${text("source.language")} state=${state} options=${sourceOptions(languages, interfaceLanguage)} chosen=${source} onChoose=${actions.chooseSource} text=${text}>
      <option value="auto" selected=${source === "auto"}>${source === "auto" && detected ? detected : text("source.auto")}</option>
    <//>
    <${IconButton} id="swap" icon="swap" title=${text("swap")} aria-disabled=${canSwap ? "false" : "true"} onClick=${actions.swap} />
    <${LanguageSelect} id="target-language" label=${text("target.language")} state=${state} options=${targets} chosen=${target} onChoose=${actions.chooseTarget} text=${text} />
  </div>`;
}

function LanguageSelect({ id, label, state, options, chosen, onChoose, text, children }) {
  const [used, others] = byLastUse(withChosen(options, chosen, state, knownSource(state)), state.recent);
  const option = (each) => html`<option key=${each.lang} value=${each.lang} selected=${each.lang === chosen} disabled=${each.ready === false && each.lang !== chosen}>
    ${optionText(each, text)}
  </option>`;
  return html`
    <label class="visually-hidden" for=${id}>${label}</label>
    <select id=${id} class="field plain" onChange=${(event) => onChoose(event.target.value)}>
      ${children}${used.map(option)}${used.length > 0 && others.length > 0 && html`<hr />`}${others.map(option)}
    </select>
  `;
}

function optionText({ name, ready, through }, text) {
  if (ready === false) return text("target.unavailable", { language: name });
  return through ? text("target.through", { language: name, pivot: through }) : name;
}

// The chosen language stays in the list, whatever the fleet serves at the moment, or a link says; its region may be served as
// any, and a text that is in it already needs no server.
function withChosen(options, chosen, { languagesLoaded, interfaceLanguage }, known) {
  const isListed = (tag) => options.some(({ lang }) => lang === tag);
  if (!chosen || chosen === "auto" || isListed(chosen)) return options;
  const ready = !languagesLoaded || chosen === known || isListed(chosen.split("-")[0]);
  return [{ lang: chosen, name: languageName(chosen, interfaceLanguage), ready, through: null }, ...options];
}
