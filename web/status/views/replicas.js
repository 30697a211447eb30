// All replicas; a row opens to its details: its models, its pairs, and what operators can do with it.

import { Table } from "../../common/elements.js";
import { Fragment, html } from "../../common/view.js";
import { UNKNOWN } from "../logic/format.js";
import { FEW, commonDomain, listReplicas, shortName } from "../logic/replica_list.js";
import { ChangeButton, Level, More, RunbookLink, SinceTime, Unfold } from "./elements.js";

const COLUMNS = [["replica"], ["replica.state"], ["replica.in_flight", "figure wide"], ["replica.latency", "figure wide"], ["replica.version", "wide"]];
const MODEL_FIGURES = ["model.running", "model.waiting", "model.steps", "model.memory"].map((name) => [name, "figure"]);
const MODEL_COLUMNS = [["model"], ...MODEL_FIGURES, ["model.revision"]];
const BREAKER_LEVELS = { open: "bad", "half-open": "warn" };

export function Replicas(properties) {
  const { state, actions, text, format } = properties;
  const { replicas, more_replicas: more } = state.status;
  const domain = commonDomain(replicas);
  const list = listReplicas(replicas, { filter: state.replicaFilter, showsReady: state.open.has("ready-replicas"), opened: state.open });
  return html`<section class="card" aria-labelledby="replicas-title">
    <h2 id="replicas-title" tabindex="-1">${text("replicas.title")} <span class="number">${format.count(replicas.length + more)}</span></h2>
    ${replicas.length > FEW &&
    html`<input id="replica-filter" class="field" type="search" autocomplete="off" placeholder=${text("replicas.filter")} aria-label=${text("replicas.filter")} value=${state.replicaFilter} onInput=${(event) => actions.filterReplicas(event.target.value)} />`}
    ${domain && html`<p class="hint">${text("replicas.domain", { domain })}</p>`}
    ${replicas.length === 0
      ? html`<p class="empty">${text("replicas.none")}</p>`
      : html`<${Table} name="rows replicas" columns=${COLUMNS} text=${text}>
          ${list.shown.map((replica) => html`<${Row} key=${replica.url} ...${properties} replica=${replica} domain=${domain} />`)}
        <//>`}
    ${list.ready > FEW && html`<${Unfold} ...${properties} id="ready-replicas" words=${text("replicas.ready", { count: format.count(list.ready) })} />`}
    <${More} ...${{ text, format, count: more }} />
  </section>`;
}

function Row(properties) {
  const { state, actions, text, format, fresh, replica, domain } = properties;
  const isOpen = state.open.has(replica.url);
  const details = `details-${replica.url}`; // no spaces: aria-controls is a list
  return html`<${Fragment}>
    <tr class=${`row ${replica.level} ${isOpen ? "open" : ""}`}>
      <th scope="row">
        <button id=${`replica-${replica.url}`} class="opener" type="button" aria-expanded=${String(isOpen)}
          aria-controls=${isOpen ? details : undefined} onClick=${() => actions.toggle(replica.url)}>
          <span class="arrow" aria-hidden="true"></span>
          <span class="url" title=${replica.url}>${shortName(replica.url, domain)}</span>
        </button>
      </th>
      <td class="state">
        <span class="state-words"><${Level} level=${replica.level} />${text(replica.cause ? `cause.${replica.cause}` : "cause.ready")}</span>
        ${replica.why && html`<span class="why" lang="en">${replica.why}</span>`}
        <span class="when"><${SinceTime} text=${text} format=${format} of=${replica} now=${fresh.serverNow} /></span>
      </td>
      <td class="figure wide">${format.count(replica.in_flight)}</td>
      <td class="figure wide">${format.duration(replica.latency_s)}</td>
      <td class="wide version">${replica.version ?? UNKNOWN}</td>
    </tr>
    ${isOpen &&
    html`<tr class="details-row"><td colspan="5" id=${details}><${Details} ...${properties} /></td></tr>`}
  <//>`;
}

function Details({ state, actions, text, format, replica, fresh }) {
  const now = fresh.serverNow;
  const restarts = replica.restarts ? `, ${text("replica.restarts", { count: format.count(replica.restarts) })}` : "";
  const facts = {
    names: replica.names.filter((name) => name !== replica.url).join(", "),
    reported: replica.reported_at === null ? "" : format.ago(now - replica.reported_at),
    id: replica.replica_id ?? UNKNOWN,
    started: replica.started_at === null ? UNKNOWN : format.time(replica.started_at, now) + restarts,
    version: replica.version ?? UNKNOWN,
    in_flight: format.count(replica.in_flight),
    load: format.count(replica.load),
    latency: format.duration(replica.latency_s),
    weight: format.rate(replica.weight),
    breakers: replica.open_breakers ? text("breakers.open", { count: format.count(replica.open_breakers) }) : text("breakers.closed"),
  };
  return html`<div class="details">
    <p class="details-head">
      <${RunbookLink} text=${text} runbook=${replica.runbook} subject=${replica.url} />
      ${state.status.can_operate
        ? html`<span class="buttons">
            ${
              // without keys: the focus stays on the first one when the other action replaces it
              [replica.drained ? "resume" : "drain", "remove"].map((action) => html`<${ChangeButton} ...${{ actions, text, action, url: replica.url }} />`)
            }
          </span>`
        : html`<span class="hint">${text("operate.off")}</span>`}
    </p>
    <dl>
      ${Object.entries(facts).map(([name, value]) => value && html`<div key=${name}><dt>${text(`replica.${name}`)}</dt><dd>${value}</dd></div>`)}
    </dl>
    ${replica.models.length > 0 && html`<${Models} text=${text} format=${format} replica=${replica} />`}
    ${replica.pairs.length > 0 && html`<${PairList} text=${text} format=${format} pairs=${replica.pairs} more=${replica.more_pairs} />`}
  </div>`;
}

function Models({ text, format, replica }) {
  return html`<div class="scrolled" tabindex="0" role="region" aria-label=${`${text("models")}: ${replica.url}`}>
    <${Table} name="inner" columns=${MODEL_COLUMNS} text=${text}>
      ${replica.models.map(
        (model) => html`<tr key=${model.name}>
          <th scope="row">${model.name}</th>
          <td class="figure">${format.count(model.running)} / ${format.count(model.limit)}</td>
          <td class="figure">${format.count(model.waiting)}</td>
          <td class="figure">${format.count(model.steps)}</td>
          <td class="figure">${format.percent(model.kv_used)}</td>
          <td class="revision">${model.revision ?? UNKNOWN}</td>
        </tr>`,
      )}
    <//>
  </div>`;
}

function PairList({ text, format, pairs, more }) {
  return html`<ul class="pair-list" aria-label=${text("pairs.title")}>
    ${pairs.map((each) => {
      const out = BREAKER_LEVELS[each.breaker];
      const level = out ?? (each.ready ? "ok" : "warn");
      return html`<li key=${each.pair} class=${level}>
        <${Level} level=${level} />
        <span class="pair">${each.pair}</span>
        <span class="model">${each.model}</span>
        ${out && html`<span>${text(`breaker.${each.breaker}`)}</span>`}
        ${!each.ready && html`<span class="why" lang="en">${each.why}</span>`}
      </li>`;
    })}
    ${more > 0 && html`<li>${text("more", { count: format.count(more) })}</li>`}
  </ul>`;
}
