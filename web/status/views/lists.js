// Pairs, events, and the proxies with Redis.

import { Table } from "../../common/elements.js";
import { html } from "../../common/view.js";
import { Drained, Entry, Level, More, RunbookLink, SinceTime, Unfold } from "./elements.js";

const FIGURES = [["pair.ready", "figure"], ["pair.failing", "figure"], ["pair.expected", "figure"], ["pair.requests", "figure wide"], ["pair.failed", "figure wide"]];
const PAIR_COLUMNS = [["pair"], ...FIGURES, ["runbook", undefined, true]];
/** What is shown without asking; pairs with trouble always are. */
const SHOWN = 12;

/** All pairs: ready, failing and expected replicas. */
export function Pairs(properties) {
  const { state, actions, text, format, fresh } = properties;
  const { pairs, more_pairs: more } = state.status;
  const least = Math.max(SHOWN, pairs.filter(({ level }) => level !== "ok").length);
  const shown = state.open.has("all-pairs") ? pairs : pairs.slice(0, least);
  return html`<section class="card" aria-labelledby="pairs-title">
    <h2 id="pairs-title">${text("pairs.title")} <span class="number">${format.count(pairs.length + more)}</span></h2>
    ${pairs.length === 0
      ? html`<p class="empty">${text("pairs.none")}</p>`
      : html`<${Table} name="rows pairs" columns=${PAIR_COLUMNS} text=${text}>
          ${shown.map(
            (each) => html`<tr key=${each.pair} class=${`row ${each.level}`}>
              <th scope="row"><${Level} level=${each.level} label=${text(`level.${each.level}`)} />${each.pair}
                ${each.level !== "ok" && html`<span class="when"><${SinceTime} text=${text} format=${format} of=${each} now=${fresh.serverNow} /></span>`}</th>
              <td class="figure">${format.count(each.ready)}</td>
              <td class=${`figure ${each.failing ? "bad" : ""}`}>${format.count(each.failing)}</td>
              <td class="figure">${each.expected === null ? text("pair.not-stated") : format.count(each.expected)}</td>
              <td class="figure wide">${format.count(each.requests)}</td>
              <td class=${`figure wide ${each.failed ? "bad" : ""}`}>${format.count(each.failed)}</td>
              <td>
                <${RunbookLink} text=${text} runbook=${each.runbook} subject=${each.pair} />
                <${Drained} ...${{ state, actions, text }} pairs=${[each.pair]} />
              </td>
            </tr>`,
          )}
        <//>`}
    ${pairs.length > least && html`<${Unfold} ...${properties} id="all-pairs" words=${text("show.all", { count: format.count(pairs.length) })} />`}
    <${More} ...${{ text, format, count: more }} />
  </section>`;
}

/** What happened, the latest first. */
export function Events(properties) {
  const { state, text, format, fresh } = properties;
  const { events } = state.status;
  const now = fresh.serverNow;
  const shown = state.open.has("all-events") ? events : events.slice(0, SHOWN);
  return html`<section class="card" aria-labelledby="events-title">
    <h2 id="events-title">${text("events.title")}</h2>
    ${events.length === 0
      ? html`<p class="empty">${text("events.none")}</p>`
      : html`<ol class="events">
          ${shown.map(
            (event) => html`<${Entry} key=${`${event.at} ${event.kind} ${event.subject}`} level=${event.level} why=${event.why}
              what=${text(`event.${event.kind}`, { subject: event.subject }) + (event.after_s === null ? "" : `, ${text("event.after", { length: format.length(event.after_s) })}`)}>
              <p class="when">
                <time datetime=${format.iso(event.at)} title=${format.ago(now - event.at)}>${format.time(event.at, now)}</time>
                ${event.proxies.length > 1 && html`<span>${text("event.proxies", { count: format.count(event.proxies.length) })}</span>`}
                <${RunbookLink} text=${text} runbook=${event.runbook} subject=${event.subject} />
              </p>
            <//>`,
          )}
        </ol>`}
    ${events.length > SHOWN && html`<${Unfold} ...${properties} id="all-events" words=${text("show.all", { count: format.count(events.length) })} />`}
  </section>`;
}

/** The proxies, who probes, and Redis. */
export function Proxies({ state, text, format, fresh }) {
  const { proxies, redis, redis_runbook: runbook } = state.status;
  const now = fresh.serverNow;
  return html`<section class="card" aria-labelledby="proxies-title">
    <h2 id="proxies-title">${text("proxies.title")}</h2>
    <ul class="proxies">
      <${Entry} level=${redis.up ? "ok" : "warn"} what=${`Redis: ${text(redis.up ? "redis.up" : "redis.away")}`} why=${redis.error} links=${html`<${RunbookLink} text=${text} runbook=${runbook} />`} />
      ${proxies.map((each) => {
        const badges = [each.leader && ["", "proxy.leader"], each.this && ["quiet", "proxy.this"], each.draining && ["quiet", "cause.stopping"]].filter(Boolean);
        const what = html`<span class="url">${each.name}</span>${badges.map(([kind, name]) => html` <span class=${`badge ${kind}`}>${text(name)}</span>`)}`;
        return html`<${Entry} key=${each.name} level=${each.silent_since === null ? "ok" : "off"} what=${what}>
          <p class="when">
            ${each.version} · ${text("proxy.started", { ago: format.ago(now - each.started_at) })}
            ${each.heard_at && ` · ${text("proxy.silent", { ago: format.ago(now - each.heard_at) })}`}
          </p>
        <//>`;
      })}
    </ul>
    ${!proxies.some(({ leader }) => leader) && html`<p class="hint">${text("proxy.alone")}</p>`}
  </section>`;
}
