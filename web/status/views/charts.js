// Three small charts of the last 15 minutes.

import { html } from "../../common/view.js";
import { answered, latestSlot, reasonRates, requestRates, slotTimes } from "../logic/traffic.js";
import { Chart } from "./chart.js";

const COLORS = { ok: "--good-line", refused: "--warn-line", failed: "--bad-line", client: "--quiet-line" };
const MARKS = { bad: "--bad-line", warn: "--warn-line", good: "--good-line", info: "--quiet-line" };
const MINUTE_SLOTS = 6;

/** The first figure of the page: how many requests were answered. */
export function SuccessRate({ state, text, format }) {
  const { traffic, issues } = state.status;
  const isBad = issues.some(({ code }) => code === "requests-failing");
  const periods = { minute: answered(traffic, MINUTE_SLOTS), quarter: answered(traffic, traffic.p50_s.length) };
  return html`<p id="success-rate" class=${`card rate ${isBad ? "bad" : ""}`}>
    ${Object.entries(periods).map(
      ([name, { count, ok }]) => html`<span key=${name}>
        ${text(`rate.${name}`)}${" "}
        <strong>${count ? format.successRate(ok / count) : text("rate.none")}</strong>
        ${count > 0 && ` ${text("rate.count", { count: format.count(count) })}`}
      </span>`,
    )}
  </p>`;
}

export function Charts({ state, text, format }) {
  const { traffic, events } = state.status;
  const times = slotTimes(traffic);
  const requests = requestRates(traffic).map((each) => ({ ...each, label: text(`class.${each.name}`), color: COLORS[each.name] }));
  const reasons = reasonRates(traffic).map((each) => ({ ...each, label: each.name, isCode: true, color: COLORS[each.class] }));
  const hasTraffic = answered(traffic, times.length).count > 0;
  const marks = events.filter(({ at }) => at >= times[0]).map(({ at, level }) => ({ at, color: MARKS[level] }));
  const latencies = [
    { name: "p50", label: "p50", values: traffic.p50_s, color: "--accent-line" },
    { name: "p95", label: "p95", values: traffic.p95_s, color: "--violet-line" },
  ];
  const perSecond = (value) => text("per.second", { rate: format.rate(value) });
  const common = { times, marks, latest: latestSlot(traffic), text, format, language: state.interfaceLanguage };
  return html`<section aria-labelledby="traffic-title">
    <h2 id="traffic-title" class="section-title">${text("traffic.title")}</h2>
    <div class="charts">
      <${Chart} ...${common} id="chart-requests" title=${text("chart.requests")} series=${requests} show=${perSecond} isEmpty=${false} />
      <${Chart} ...${common} id="chart-reasons" title=${text("chart.reasons")} series=${reasons} show=${perSecond} isEmpty=${reasons.length === 0} emptyText=${text(hasTraffic ? "chart.reasons.none" : "chart.none")} />
      <${Chart} ...${common} id="chart-latency" title=${text("chart.latency")} series=${latencies} show=${format.duration}
        isEmpty=${traffic.p50_s.every((value) => value === null)} emptyText=${text(hasTraffic ? "chart.latency.none" : "chart.none")} />
    </div>
  </section>`;
}
