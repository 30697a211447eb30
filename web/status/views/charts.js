// Three small charts of the last 15 minutes.

import { html } from "../../common/view.js";
import { latest, reasonRates, requestRates, slotTimes, sum } from "../logic/traffic.js";
import { Chart } from "./chart.js";

const COLORS = { ok: "--good-line", refused: "--warn-line", failed: "--bad-line", client: "--quiet-line" };
/** Cancelled by its caller, as while somebody types on the translate page: no fault. */
const CANCELLED = "client-gone";
const PALETTE = ["--bad-line", "--warn-line", "--accent-line", "--violet-line", "--quiet-line"];

export function Charts({ state, text, format }) {
  const { traffic } = state.status;
  const times = slotTimes(traffic);
  const requests = requestRates(traffic).map((each) => ({ ...each, label: text(`class.${each.name}`), color: COLORS[each.name] }));
  const reasons = withColors(reasonRates(traffic));
  const latencies = [
    { name: "p50", label: "p50", values: traffic.p50_s, color: "--accent-line" },
    { name: "p95", label: "p95", values: traffic.p95_s, color: "--violet-line" },
  ];
  const perSecond = (value) => text("per.second", { rate: format.rate(value) });
  const common = { times, text, format, language: state.interfaceLanguage };
  return html`<section aria-labelledby="traffic-title">
    <h2 id="traffic-title" class="section-title">${text("traffic.title")}</h2>
    <div class="charts">
      <${Chart} ...${common} id="chart-requests" title=${text("chart.requests")} series=${requests} show=${perSecond} isEmpty=${false} />
      <${Chart} ...${common} id="chart-reasons" title=${text("chart.reasons")} series=${reasons} show=${perSecond} isEmpty=${reasons.length === 0} emptyText=${text("chart.reasons.none")} />
      <${Chart}
        ...${common}
        id="chart-latency"
        title=${text("chart.latency")}
        series=${latencies}
        show=${format.duration}
        isEmpty=${sum(traffic.p50_s) === 0 && latest(traffic.p50_s) === null}
        emptyText=${text("chart.latency.none")}
      />
    </div>
  </section>`;
}

function withColors(reasons) {
  const faults = reasons.filter(({ name }) => name !== CANCELLED);
  return reasons.map((each) => ({ ...each, label: each.name, isCode: true, color: PALETTE[faults.indexOf(each)] ?? COLORS.client }));
}
