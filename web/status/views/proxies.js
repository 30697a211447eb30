// The proxies, who probes, and Redis.

import { html } from "../../common/view.js";
import { Level, RunbookLink } from "./elements.js";

export function Proxies({ state, text, format, fresh }) {
  const { proxies, redis, redis_runbook: runbook } = state.status;
  const now = fresh.serverNow;
  const hasLeader = proxies.some(({ leader }) => leader);
  return html`<section class="card" aria-labelledby="proxies-title">
    <h2 id="proxies-title">${text("proxies.title")}</h2>
    <ul class="proxies">
      <li class=${redis.up ? "ok" : "warn"}>
        <${Level} level=${redis.up ? "ok" : "warn"} />
        <div>
          <p class="what">Redis: ${text(redis.up ? "redis.up" : "redis.away")}</p>
          ${redis.error && html`<p class="why" lang="en">${redis.error}</p>`}
        </div>
        <${RunbookLink} text=${text} runbook=${runbook} />
      </li>
      ${proxies.map(
        (each) => html`<li key=${each.name}>
          <${Level} level=${each.silent_since === null ? "ok" : "off"} />
          <div>
            <p class="what">
              <span class="url">${each.name}</span>
              ${each.leader && html` <span class="badge">${text("proxy.leader")}</span>`}
              ${each.this && html` <span class="badge quiet">${text("proxy.this")}</span>`}
              ${each.draining && html` <span class="badge quiet">${text("cause.stopping")}</span>`}
            </p>
            <p class="when">
              ${each.version} · ${text("proxy.started", { ago: format.ago(now - each.started_at) })}
              ${each.silent_since !== null && html` · ${text("proxy.silent", { ago: format.ago(now - each.silent_since) })}`}
            </p>
          </div>
        </li>`,
      )}
    </ul>
    ${!hasLeader && html`<p class="hint">${text("proxy.alone")}</p>`}
  </section>`;
}
