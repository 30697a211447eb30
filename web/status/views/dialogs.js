// Dialogs: the operator's token, and the confirmation of a change.

import { Dialog } from "../../common/dialog.js";
import { html } from "../../common/view.js";

export function TokenDialog({ state, actions, text, isOpen, onClose }) {
  const submit = (event) => {
    event.preventDefault();
    actions.useToken(String(new FormData(event.target).get("token")).trim());
  };
  return html`<${Dialog} id="token-dialog" title=${text("token.title")} isOpen=${isOpen} onClose=${onClose}>
    <form onSubmit=${submit}>
      <p id="token-hint" class=${state.isTokenRefused ? "bad" : "hint"} role=${state.isTokenRefused ? "alert" : undefined}>
        ${text(state.isTokenRefused ? "token.refused" : "token.hint")}
      </p>
      <label for="token">${text("token.label")}</label>
      <input id="token" name="token" class="field" type="password" autocomplete="off" spellcheck="false" required autofocus aria-describedby="token-hint" aria-invalid=${String(state.isTokenRefused)} />
      <p class="buttons">
        <button id="cancel-token" class="button outlined" type="button" onClick=${onClose}>${text("cancel")}</button>
        <button id="use-token" class="button primary" type="submit">${text("token.use")}</button>
      </p>
    </form>
  <//>`;
}

export function ChangeDialog({ state, actions, text, format, isOpen, onClose }) {
  const { action = "drain", url = "", isWarned = false } = state.change ?? {};
  const sole = action === "resume" ? null : state.status?.replicas.find((each) => each.url === url)?.sole;
  const isLast = Boolean(sole?.pairs.length);
  return html`<${Dialog} id="change-dialog" title=${text(`confirm.${action}`)} isOpen=${isOpen} onClose=${onClose}>
    <p class="subject">${url}</p>
    <p>${text(`confirm.${action}.means`)}</p>
    ${sole && html`<p id="effect" class=${isLast ? "bad" : ""}>${effectText(sole, text, format)}</p>`}
    ${isLast && isWarned && html`<p id="sure" class="bad" role="alert">${text("confirm.again")}</p>`}
    <p class="buttons">
      <button id="cancel-change" class="button outlined" type="button" autofocus onClick=${onClose}>${text("cancel")}</button>
      <button id="confirm-change" class=${`button primary ${action}`} type="button" aria-disabled=${String(state.isChanging)} onClick=${() => actions.confirm(isLast && !isWarned)}>
        ${text(isLast && isWarned ? `anyway.${action}` : `operate.${action}`)}
      </button>
    </p>
  <//>`;
}

function effectText({ pairs, more, requests }, text, format) {
  if (pairs.length === 0) return text("confirm.safe");
  const named = [...pairs, ...(more ? [text("more", { count: format.count(more) })] : [])].join(", ");
  return text(requests === null ? "confirm.breaks" : "confirm.breaks.requests", { pairs: named, count: format.count(requests ?? 0) });
}
