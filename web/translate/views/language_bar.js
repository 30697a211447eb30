// The languages: source, swap, target.

import { html } from "../../common/view.js";
import { languageName, servedSource, sourceOptions, targetOptions } from "../logic/languages.js";
import { isDone } from "../logic/shown.js";
import { knownSource } from "../state.js";
import { Icon } from "./icons.js";

export function LanguageBar({ state, actions, text }) {
  const isReady = isDone(state) || !state.text.trim();
  const canSwap = isReady && knownSource(state) && servedSource(state.languages, state.target);
  return html`
    <div class="languages">
      <${SourceSelect} state=${state} actions=${actions} text=${text} />
      <button id="swap" class="button round" type="button" aria-disabled=${canSwap ? "false" : "true"} onClick=${actions.swap} title=${text("swap")}>
        <${Icon} name="swap" /><span class="visually-hidden">${text("swap")}</span>
      </button>
      <${TargetSelect} state=${state} actions=${actions} text=${text} />
    </div>
  `;
}

function SourceSelect({ state, actions, text }) {
  const { source, interfaceLanguage } = state;
  const options = withChosen(sourceOptions(state.languages, interfaceLanguage), source, interfaceLanguage);
  const detected = source === "auto" && knownSource(state);
  const name = detected && languageName(detected, interfaceLanguage);
  return html`
    <label class="visually-hidden" for="source-language">${text("source.language")}</label>
    <select id="source-language" class="field plain" onChange=${(event) => actions.chooseSource(event.target.value)}>
      <option value="auto" selected=${source === "auto"}>
        ${detected ? text("source.detected", { language: name }) : text("source.auto")}
      </option>
      ${options.map((each) => html`<option key=${each.lang} value=${each.lang} selected=${each.lang === source}>${each.name}</option>`)}
    </select>
  `;
}

function TargetSelect({ state, actions, text }) {
  const { target, interfaceLanguage } = state;
  const source = servedSource(state.languages, knownSource(state));
  const options = withChosen(targetOptions(state.languages, source, interfaceLanguage), target, interfaceLanguage);
  return html`
    <label class="visually-hidden" for="target-language">${text("target.language")}</label>
    <select id="target-language" class="field plain" onChange=${(event) => actions.chooseTarget(event.target.value)}>
      ${options.map((each) => html`
        <option key=${each.lang} value=${each.lang} selected=${each.lang === target} disabled=${!each.ready && each.lang !== target}>
          ${optionText(each, text)}
        </option>
      `)}
    </select>
  `;
}

function optionText({ name, ready, through }, text) {
  if (!ready) return text("target.unavailable", { language: name });
  return through ? text("target.through", { language: name, pivot: through }) : name;
}

// The chosen language stays in the list, whatever the fleet serves at the moment.
function withChosen(options, chosen, interfaceLanguage) {
  if (!chosen || chosen === "auto" || options.some((each) => each.lang === chosen)) return options;
  return [{ lang: chosen, name: languageName(chosen, interfaceLanguage), ready: true, through: null }, ...options];
}
