// The pane for the translation: its text, what is wrong with it, and what to do with it.

import { languageName } from "../../common/strings.js";
import { Component, html } from "../../common/view.js";
import { directionOf, tagOrNone } from "../logic/languages.js";
import { needsKey, problemDetail, problemText, warningText } from "../logic/messages.js";
import { isDone, isSameRequest, isStale, isTooLong, piecesOf } from "../logic/request_body.js";
import { previewHtml } from "../logic/rich_text.js";
import { MAX_LINKED_CHARS } from "../logic/texts.js";
import { MAX_COUNTDOWN_SECONDS } from "../translator.js";
import { Icon, IconButton } from "./icons.js";

const SECOND_MS = 1000;
/** Three more translations of a longer text are a long wait, and nobody compares them. */
const MAX_CHARS = 1000;

export function TargetPane({ state, actions, text }) {
  return html`<div class="pane target">
    <${Translation} state=${state} text=${text} />
    <div role="status"><${Warnings} state=${state} text=${text} /></div>
    <${Others} state=${state} actions=${actions} text=${text} />
    <${Failure} state=${state} actions=${actions} text=${text} />
    <div class="pane-foot">
      <${Progress} state=${state} actions=${actions} text=${text} />
      <${Tools} state=${state} actions=${actions} text=${text} />
    </div>
  </div>`;
}

function Translation({ state, text }) {
  const { translation } = state;
  const { format = "text", target_lang: target = state.target } = translation?.request ?? {};
  const stale = isStale(state) ? " stale" : "";
  if (format === "html" && state.showsPreview && translation.result) {
    return html`<${Preview} content=${translation.text} language=${target} title=${text("translation.preview")} stale=${stale} />`;
  }
  return html`<div id="translation" class=${`output${format === "text" ? "" : " code"}${stale}`} role="region" tabindex="0"
    aria-label=${text("translation")} aria-live="polite" aria-busy=${state.isBusy ? "true" : "false"}
    lang=${target} dir=${format === "html" ? "ltr" : directionOf(target)}>${translation
    ? html`<${Words} words=${translation.text} spans=${translation.result?.uncertain} title=${text("uncertain")} /><span class="rest" aria-hidden="true">${translation.rest}</span>`
    : html`<span class="empty">${text("translation.empty")}</span>`}</div>`;
}

/** Is rendered only for other content, because reading a long one takes a while. */
class Stable extends Component {
  shouldComponentUpdate(next) {
    return Object.keys(next).some((name) => next[name] !== this.props[name]);
  }
}

class Words extends Stable {
  render({ words, spans, title }) {
    if (!spans?.length) return words;
    return piecesOf(words, spans).map((each) => (each.isUncertain ? html`<mark class="uncertain" title=${title}>${each.text}</mark>` : each.text));
  }
}

class Preview extends Stable {
  render({ content, language, title, stale }) {
    return html`<iframe id="translation-preview" class=${stale.trim()} title=${title} sandbox="" lang=${language} srcdoc=${previewDocument(content, language)}></iframe>`;
  }
}

// Its frame has no scripts, and the page's policy loads nothing into it.
function previewDocument(translation, target) {
  return `<!doctype html><html lang="${tagOrNone(target)}" dir="${directionOf(target)}"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><body>${previewHtml(translation)}`;
}

function Warnings({ state, text }) {
  const { uncertain = [], warnings = [] } = state.translation?.result ?? {};
  const [first] = uncertain;
  const isWhole = first && first[1] - first[0] === Array.from(state.translation.text).length;
  // Those of an older text stay, dimmed, only while a newer one is on its way, so that nothing jumps at each key.
  if (!(warnings.length || uncertain.length) || (isStale(state) && !isComing(state))) return null;
  return html`<ul id="warnings" class=${isStale(state) ? "warnings stale" : "warnings"} aria-label=${text("warnings")}>
    ${uncertain.length > 0 && html`<li data-code="uncertain"><${Icon} name="warning" /><span>${text(isWhole ? "uncertain" : "uncertain.parts")}</span></li>`}
    ${warnings.map((each) => html`<li data-code=${each.code}><${Icon} name="warning" /><span>${warningText(each, text)}</span></li>`)}
  </ul>`;
}

function Failure({ state, actions, text }) {
  const { failure, isOnline } = state;
  if (!failure) return null;
  const { problem, seconds, retries } = failure;
  const language = problem.unserved && languageName(problem.unserved.lang, state.interfaceLanguage);
  const words = language ? text("looks.unserved", { language }) : problemText(problem, text, isOnline);
  // Somebody who begins to type has done nothing wrong.
  const isMild = ["language-undetected", "cancelled"].includes(problem.code);
  return html`<div id="failure" class=${isMild ? "failure mild" : "failure"} data-code=${problem.code}>
    <p role="alert">${words} ${problemDetail(problem) && html`<span class="detail">${problemDetail(problem)}</span>`}</p>
    ${needsKey(problem) &&
    html`<p class="retry"><button id="enter-key" class="button outlined small" type="button" onClick=${actions.askForKey}>${text("key.enter")}</button></p>`}
    ${(problem.code === "cancelled" || (seconds !== null && isOnline)) &&
    html`<p class="retry">
      ${seconds !== null && html`<span id="countdown" data-seconds=${seconds}>${waitText(seconds, retries, state.interfaceLanguage, text)}</span>`}
      <button id="try-again" class="button outlined small" type="button" onClick=${actions.tryAgain}>${text("retry.now")}</button>
    </p>`}
  </div>`;
}

function waitText(seconds, retries, language, text) {
  if (seconds > MAX_COUNTDOWN_SECONDS) {
    const when = new Date(Date.now() + seconds * SECOND_MS);
    const time = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(when);
    return text("retry.at", { time });
  }
  if (seconds <= 0) return "";
  return text(retries ? "retry.in" : "retry.wait", { seconds });
}

function Progress({ state, actions, text }) {
  const { isSlow } = state;
  return html`<div class="detected">
    <p id="status">${isSlow ? "" : statusText(state, text)}</p>
    ${!isSlow && html`<${OthersButton} state=${state} actions=${actions} text=${text} />`}
    <p id="slow" role="status">${isSlow ? text("status.slow") : ""}</p>
    ${isSlow && html`<button id="cancel" class="button small" type="button" onClick=${actions.cancel}>${text("cancel")}</button>`}
  </div>`;
}

// A newer translation is on its way, or will be after the next pause.
function isComing(state) {
  return state.isBusy || (isStale(state) && !state.failure && !isTooLong(state));
}

function statusText(state, text) {
  if (isComing(state)) return text("status.busy");
  const route = state.translation?.result?.route ?? [];
  return route.length < 3 ? "" : text("status.through", { pivot: languageName(route[1], state.interfaceLanguage) });
}

function Tools({ state, actions, text }) {
  const { translation, copied } = state;
  const isWhole = isDone(state);
  const isHtml = translation?.request.format === "html";
  return html`<div class="tools" role="group" aria-label=${text("tools")}>
    ${isHtml &&
    isWhole &&
    html`<button id="preview" class="button small" type="button" aria-pressed=${state.showsPreview ? "true" : "false"} onClick=${() => actions.showPreview(!state.showsPreview)}>
      ${text("preview")}
    </button>`}
    <${Tool} id="copy" icon="copy" name="copy" disabled=${!isWhole} isDone=${copied === "translation"} onClick=${actions.copyTranslation} text=${text} />
    <${Tool} id="copy-link" icon="link" name="copy.link" disabled=${!state.text.trim() || state.text.length > MAX_LINKED_CHARS} isDone=${copied === "link"} onClick=${actions.copyLink} text=${text} />
    <${Tool} id="copy-curl" icon="terminal" name="copy.curl" disabled=${!state.text.trim()} isDone=${copied === "curl"} onClick=${actions.copyCurl} text=${text} />
    <span class="visually-hidden" role="status">${copied ? text("copied") : ""}</span>
  </div>`;
}

function Tool({ icon, name, isDone, text, ...attributes }) {
  return html`<${IconButton} icon=${isDone ? "check" : icon} title=${text(isDone ? "copied" : name)} label=${text(name)} ...${attributes} />`;
}

function OthersButton({ state, actions, text }) {
  const isOffered = isDone(state) && state.translation.result.model && state.format === "text" && state.text.length <= MAX_CHARS;
  if (!isOffered) return null;
  const others = present(state);
  const isComing = Boolean(others && !others.texts);
  const press = () => isComing || (others ? actions.hideOthers() : actions.askOthers());
  return html`<button id="other-translations" class="button small" type="button" aria-expanded=${String(Boolean(others))} aria-disabled=${String(isComing)} onClick=${press}>
    ${text(isComing ? "status.busy" : "others")}
  </button>`;
}

function Others({ state, actions, text }) {
  const { texts, problem } = present(state) ?? {};
  const { target } = state;
  const words = texts && (problem ? problemText(problem, text, state.isOnline) : texts.length === 0 && text("others.none"));
  return html`<div class="others" role="status">
    ${words && html`<p class="hint">${words}</p>`}
    ${texts?.length > 0 &&
    html`<ul id="others" class="entries" aria-label=${text("others")} lang=${target} dir=${directionOf(target)}>
      ${texts.map((each, index) => html`<li><button class="entry" type="button" onClick=${() => actions.useOther(index)}>${each}</button></li>`)}
    </ul>`}
  </div>`;
}

// Those of the text that is there now.
function present(state) {
  const { others } = state;
  return others && isDone(state) && isSameRequest(others.request, state.translation.request) ? others : null;
}
