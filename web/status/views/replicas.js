// All replicas; a row opens to its details.

import { Table } from "../../common/elements.js";
import { Fragment, html } from "../../common/view.js";
import { FEW, commonDomain, listReplicas, shortName } from "../logic/replica_list.js";
import { Level, SinceTime } from "./elements.js";
import { ReplicaDetails } from "./replica_details.js";

const COLUMNS = [["replica"], ["replica.state"], ["replica.in_flight", "figure wide"], ["replica.latency", "figure wide"], ["replica.version", "wide"]];

export function Replicas(properties) {
  const { state, actions, text, format } = properties;
  const { replicas, more_replicas: more } = state.status;
  const domain = commonDomain(replicas);
  const list = listReplicas(replicas, { filter: state.replicaFilter, showsReady: state.showsReadyReplicas, opened: state.openReplicas });
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
    ${list.ready > FEW &&
    html`<button id="ready-replicas" class="button" type="button" aria-expanded=${String(!list.isFolded)} onClick=${actions.showReadyReplicas}>
      ${list.isFolded ? text("replicas.ready", { count: format.count(list.ready) }) : text("show.fewer")}
    </button>`}
    ${more > 0 && html`<p class="more">${text("more", { count: format.count(more) })}</p>`}
  </section>`;
}

function Row(properties) {
  const { state, actions, text, format, replica, domain } = properties;
  const isOpen = state.openReplicas.has(replica.url);
  const details = `details-${replica.url}`; // no spaces: aria-controls is a list
  return html`<${Fragment}>
    <tr class=${`row ${replica.level} ${isOpen ? "open" : ""}`}>
      <th scope="row">
        <button id=${`replica-${replica.url}`} class="opener" type="button" aria-expanded=${String(isOpen)}
          aria-controls=${isOpen ? details : undefined} onClick=${() => actions.toggleReplica(replica.url)}>
          <span class="arrow" aria-hidden="true"></span>
          <span class="url" title=${replica.url}>${shortName(replica.url, domain)}</span>
        </button>
      </th>
      <td class="state">
        <span class="state-words"><${Level} level=${replica.level} />${text(replica.cause ? `cause.${replica.cause}` : "cause.ready")}</span>
        ${replica.why && html`<span class="why" lang="en">${replica.why}</span>`}
        <span class="when"><${SinceTime} text=${text} format=${format} of=${replica} now=${properties.fresh.serverNow} /></span>
      </td>
      <td class="figure wide">${replica.in_flight === null ? text("unknown") : format.count(replica.in_flight)}</td>
      <td class="figure wide">${replica.latency_s === null ? text("unknown") : format.duration(replica.latency_s)}</td>
      <td class="wide version">${replica.version ?? text("unknown")}</td>
    </tr>
    ${isOpen &&
    html`<tr class="details-row"><td colspan="5" id=${details}><${ReplicaDetails} ...${properties} /></td></tr>`}
  <//>`;
}
