// Details of one replica: its models, its pairs, and what operators can do with it.

import { Table } from "../../common/elements.js";
import { html } from "../../common/view.js";
import { Level, RunbookLink } from "./elements.js";

const FIGURES = ["model.running", "model.waiting", "model.steps", "model.memory"].map((name) => [name, "figure"]);
const MODEL_COLUMNS = [["model"], ...FIGURES, ["model.revision"]];

export function ReplicaDetails({ state, actions, text, format, replica, fresh }) {
  const now = fresh.serverNow;
  const canOperate = state.status.can_operate;
  return html`<div class="details">
    <p class="details-head">
      <${RunbookLink} text=${text} runbook=${replica.runbook} subject=${replica.url} />
      ${canOperate && html`<${Buttons} actions=${actions} text=${text} replica=${replica} />`}
      ${!canOperate && html`<span class="hint">${text("operate.off")}</span>`}
    </p>
    <dl>
      <${Fact} name=${text("replica.names")} value=${[...new Set([replica.url, ...replica.names])].join(", ")} />
      ${replica.reported_at !== null && html`<${Fact} name=${text("replica.reported")} value=${format.ago(now - replica.reported_at)} />`}
      <${Fact} name=${text("replica.id")} value=${replica.replica_id ?? text("unknown")} />
      <${Fact} name=${text("replica.started")} value=${replica.started_at === null ? text("unknown") : `${format.time(replica.started_at, now)}${replica.restarts ? `, ${text("replica.restarts", { count: format.count(replica.restarts) })}` : ""}`} />
      <${Fact} name=${text("replica.version")} value=${replica.version ?? text("unknown")} />
      <${Fact} name=${text("replica.in_flight")} value=${replica.in_flight === null ? text("unknown") : format.count(replica.in_flight)} />
      <${Fact} name=${text("replica.load")} value=${format.count(replica.load)} />
      <${Fact} name=${text("replica.latency")} value=${replica.latency_s === null ? text("unknown") : format.duration(replica.latency_s)} />
      <${Fact} name=${text("replica.weight")} value=${format.rate(replica.weight)} />
      <${Fact} name=${text("replica.breakers")} value=${replica.open_breakers ? text("breakers.open", { count: format.count(replica.open_breakers) }) : text("breakers.closed")} />
    </dl>
    ${replica.models.length > 0 && html`<${Models} text=${text} format=${format} replica=${replica} />`}
    ${replica.pairs.length > 0 && html`<${PairList} text=${text} format=${format} pairs=${replica.pairs} more=${replica.more_pairs} />`}
  </div>`;
}

function Fact({ name, value }) {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function Buttons({ actions, text, replica }) {
  const drain = replica.drained ? "resume" : "drain";
  return html`<span class="buttons">
    ${[drain, "remove"].map(
      // without keys: the focus stays on the first one when the other action replaces it
      (action) => html`<button class=${`button outlined small ${action}`} type="button" onClick=${() => actions.ask(action, replica.url)}>
        ${text(`operate.${action}`)}<span class="visually-hidden"> ${replica.url}</span>
      </button>`,
    )}
  </span>`;
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
          <td class="revision">${model.revision ?? text("unknown")}</td>
        </tr>`,
      )}
    <//>
  </div>`;
}

function PairList({ text, format, pairs, more }) {
  return html`<ul class="pair-list" aria-label=${text("pairs.title")}>
    ${pairs.map((each) => {
      const isOut = each.breaker !== null && each.breaker !== "closed";
      const level = isOut ? "bad" : each.ready ? "ok" : "warn";
      return html`<li key=${each.pair} class=${level}>
        <${Level} level=${level} />
        <span class="pair">${each.pair}</span>
        <span class="model">${each.model}</span>
        ${isOut && html`<span>${text(`breaker.${each.breaker}`)}</span>`}
        ${!each.ready && html`<span class="why" lang="en">${each.why}</span>`}
      </li>`;
    })}
    ${more > 0 && html`<li>${text("more", { count: format.count(more) })}</li>`}
  </ul>`;
}
