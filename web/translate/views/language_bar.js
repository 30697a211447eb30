// The languages: source, swap, target.

import { html } from "../../common/view.js";
import { byLastUse, languageName, servedSource, sourceOptions, targetOptions } from "../logic/languages.js";
import { isDone } from "../logic/request_body.js";
import { knownSource } from "../state.js";
import { IconButton } from "./icons.js";

export function LanguageBar({ state, actions, text }) {
  const isReady = isDone(state) || !state.text.trim();
  const canSwap = isReady && knownSource(state) && servedSource(state.languages, state.target);
  return html`<div class="languages">
    <${SourceSelect} state=${state} actions=${actions} text=${text} />
    <${IconButton} id="swap" icon="swap" title=${text("swap")} aria-disabled=${canSwap ? "false" : "true"} onClick=${actions.swap} />
    <${TargetSelect} state=${state} actions=${actions} text=${text} />
  </div>`;
}

function SourceSelect({ state, actions, text }) {
  const { source, interfaceLanguage } = state;
  const detected = source === "auto" && knownSource(state);
  const name = detected && languageName(detected, interfaceLanguage);
  const options = sourceOptions(state.languages, interfaceLanguage);
  return html`<${LanguageSelect} id="source-language" label=${text("source.language")} state=${state} options=${options} chosen=${source} onChoose=${actions.chooseSource} text=${text}>
    <option value="auto" selected=${source === "auto"}>${detected ? text("source.detected", { language: name }) : text("source.auto")}</option>
  <//>`;
}

function TargetSelect({ state, actions, text }) {
  const options = targetOptions(state.languages, servedSource(state.languages, knownSource(state)), state.interfaceLanguage);
  return html`<${LanguageSelect} id="target-language" label=${text("target.language")} state=${state} options=${options} chosen=${state.target} onChoose=${actions.chooseTarget} text=${text} />`;
}

function LanguageSelect({ id, label, state, options, chosen, onChoose, text, children }) {
  const [used, others] = byLastUse(withChosen(options, chosen, state), state.recent);
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

// The chosen language stays in the list, whatever the fleet serves at the moment, or a link says; its region may be served as any.
function withChosen(options, chosen, { languagesLoaded, interfaceLanguage }) {
  const isListed = (tag) => options.some(({ lang }) => lang === tag);
  if (!chosen || chosen === "auto" || isListed(chosen)) return options;
  const ready = !languagesLoaded || isListed(chosen.split("-")[0]);
  return [{ lang: chosen, name: languageName(chosen, interfaceLanguage), ready, through: null }, ...options];
}
