// What happened, the latest first.

import { html } from "../../common/view.js";
import { Level, RunbookLink } from "./elements.js";

const SHOWN = 12;

export function Events({ state, actions, text, format, fresh }) {
  const { events } = state.status;
  const now = fresh.serverNow;
  const shown = state.showsAllEvents ? events : events.slice(0, SHOWN);
  return html`<section class="card" aria-labelledby="events-title">
    <h2 id="events-title">${text("events.title")}</h2>
    ${events.length === 0
      ? html`<p class="empty">${text("events.none")}</p>`
      : html`<ol class="events">
          ${shown.map(
            (event) => html`<li key=${`${event.at} ${event.kind} ${event.subject}`} class=${event.level}>
              <${Level} level=${event.level} />
              <div>
                <p class="what">${text(`event.${event.kind}`, { subject: event.subject })}${event.after_s !== null && `, ${text("event.after", { length: format.length(event.after_s) })}`}</p>
                ${event.why && html`<p class="why" lang="en">${event.why}</p>`}
                <p class="when">
                  <time datetime=${format.iso(event.at)} title=${format.ago(now - event.at)}>${format.time(event.at, now)}</time>
                  ${event.proxies.length > 1 && html`<span>${text("event.proxies", { count: format.count(event.proxies.length) })}</span>`}
                  <${RunbookLink} text=${text} runbook=${event.runbook} subject=${event.subject} />
                </p>
              </div>
            </li>`,
          )}
        </ol>`}
    ${events.length > SHOWN &&
    html`<button id="all-events" class="button" type="button" aria-expanded=${String(state.showsAllEvents)} onClick=${actions.showAllEvents}>
      ${text(state.showsAllEvents ? "show.fewer" : "show.all", { count: format.count(events.length) })}
    </button>`}
  </section>`;
}
