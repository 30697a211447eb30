// All pairs: ready, failing and expected replicas.

import { Table } from "../../common/elements.js";
import { html } from "../../common/view.js";
import { Drained, Level, RunbookLink, SinceTime } from "./elements.js";

const FIGURES = [["pair.ready", "figure"], ["pair.failing", "figure"], ["pair.expected", "figure"], ["pair.requests", "figure wide"], ["pair.failed", "figure wide"]];
const COLUMNS = [["pair"], ...FIGURES, ["runbook", undefined, true]];
/** Pairs that are shown without asking; those with trouble always are. */
const SHOWN = 12;

export function Pairs({ state, actions, text, format, fresh }) {
  const { pairs, more_pairs: more } = state.status;
  const troubled = pairs.filter(({ level }) => level !== "ok").length;
  const shown = state.showsAllPairs ? pairs : pairs.slice(0, Math.max(SHOWN, troubled));
  return html`<section class="card" aria-labelledby="pairs-title">
    <h2 id="pairs-title">${text("pairs.title")} <span class="number">${format.count(pairs.length + more)}</span></h2>
    ${pairs.length === 0
      ? html`<p class="empty">${text("pairs.none")}</p>`
      : html`<${Table} name="rows pairs" columns=${COLUMNS} text=${text}>
          ${shown.map(
            (each) => html`<tr key=${each.pair} class=${`row ${each.level}`}>
              <th scope="row"><${Level} level=${each.level} label=${text(`level.${each.level}`)} />${each.pair}
                ${each.level !== "ok" && html`<span class="when"><${SinceTime} text=${text} format=${format} of=${each} now=${fresh.serverNow} /></span>`}</th>
              <td class="figure">${format.count(each.ready)}</td>
              <td class=${`figure ${each.failing ? "bad" : ""}`}>${format.count(each.failing)}</td>
              <td class="figure">${each.expected === null ? text("pair.not-stated") : format.count(each.expected)}</td>
              <td class="figure wide">${each.requests === null ? text("unknown") : format.count(each.requests)}</td>
              <td class=${`figure wide ${each.failed ? "bad" : ""}`}>${each.failed === null ? text("unknown") : format.count(each.failed)}</td>
              <td>
                <${RunbookLink} text=${text} runbook=${each.runbook} subject=${each.pair} />
                <${Drained} ...${{ state, actions, text }} pairs=${[each.pair]} />
              </td>
            </tr>`,
          )}
        <//>`}
    ${(state.showsAllPairs || shown.length < pairs.length) &&
    html`<button id="all-pairs" class="button" type="button" aria-expanded=${String(state.showsAllPairs)} onClick=${actions.showAllPairs}>
      ${text(state.showsAllPairs ? "show.fewer" : "show.all", { count: format.count(pairs.length) })}
    </button>`}
    ${more > 0 && html`<p class="more">${text("more", { count: format.count(more) })}</p>`}
  </section>`;
}
