// The success rate, and three small charts of the last 15 minutes: uPlot draws, and legends say the numbers in words.

import { Component, html } from "../../common/view.js";
import { UNKNOWN } from "../logic/format.js";
import { answered, latestSlot, reasonRates, requestRates, singlePoints, slotTimes } from "../logic/traffic.js";

const COLORS = { ok: "--good-line", refused: "--warn-line", failed: "--bad-line", client: "--quiet-line" };
const MARKS = { bad: "--bad-line", warn: "--warn-line", good: "--good-line", info: "--quiet-line" };
/** Of the shades of a colour. */
const OPACITIES = [1, 0.72, 0.54, 0.38];
/** Of a mark: the lines behind it stay to be seen. */
const MARK_OPACITY = 0.3;
const MINUTE_SLOTS = 6;
const HEIGHT = 132;
const LOGARITHMIC = 3; // uPlot's number for it
/** The top of an axis, at least: a chart of zeros has labels that differ. */
const LEAST_TOP = 0.1;
const AXIS_WIDTH = 58;
const DARK = "(prefers-color-scheme: dark)";

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
  const common = { times, marks, latest: latestSlot(traffic), text, format };
  const chart = (name, series, show, none = null, isLog = false) => {
    const emptyText = none && series.every(({ values }) => values.every((value) => value === null)) ? text(hasTraffic ? none : "chart.none") : null;
    // Another chart where what is drawn once differs.
    const shape = [name, state.interfaceLanguage, matchMedia(DARK).matches, emptyText, ...series.map((each) => each.name + each.color)].join(" ");
    return html`<${Chart} key=${shape} ...${{ ...common, id: `chart-${name}`, title: text(`chart.${name}`), series, data: [times, ...series.map(({ values }) => values)], show, isLog, emptyText }} />`;
  };
  return html`<section aria-labelledby="traffic-title">
    <h2 id="traffic-title" class="section-title">${text("traffic.title")}</h2>
    <div class="charts">
      ${chart("requests", requests, perSecond)}
      ${chart("reasons", reasons, perSecond, "chart.reasons.none")}
      ${chart("latency", latencies, format.duration, "chart.latency.none", true)}
    </div>
  </section>`;
}

/** Shows the numbers at the pointer, else those of the latest slot. */
class Chart extends Component {
  #box = null;
  #plot = null;
  #numbers = "";
  #resizes = new ResizeObserver(() => this.#resize());
  state = { index: null };

  componentDidMount() {
    // Without the library (a browser whose language tag it cannot read) the legend still has the numbers.
    if (!this.#box || !window.uPlot) return;
    this.#plot = new window.uPlot(this.#options(), this.props.data, this.#box);
    this.#resizes.observe(this.#box);
  }

  componentDidUpdate() {
    const numbers = JSON.stringify([this.props.data, this.props.marks]);
    if (numbers !== this.#numbers) this.#plot?.setData(this.props.data);
    this.#numbers = numbers;
  }

  componentWillUnmount() {
    this.#resizes.disconnect();
    this.#plot?.destroy();
  }

  #resize() {
    const width = Math.floor(this.#box?.clientWidth ?? 0);
    if (width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height: HEIGHT });
  }

  #options() {
    const { series, format, show, isLog } = this.props;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: color("--text-soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    return {
      width: Math.max(160, Math.floor(this.#box.clientWidth)),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { setScale: false }, sync: { key: "pairway" } },
      // One long text must not flatten the times of all others.
      scales: { y: isLog ? { distr: LOGARITHMIC } : { range: (_, __, highest) => [0, Math.max((highest ?? 0) * 1.15, LEAST_TOP)] } },
      axes: [
        { ...axis, space: 70, size: 24, values: (_, ticks) => ticks.map(format.minute) },
        { ...axis, space: 32, size: AXIS_WIDTH, values: (_, ticks) => ticks.map((value) => (value === null ? "" : show(value))) },
      ],
      series: [
        {},
        ...series.map((each) => ({ label: each.label, stroke: color(each.color), alpha: OPACITIES[each.shade ?? 0], width: 1.75, spanGaps: false, points: { show: false, size: 4, filter: (plot, index) => singlePoints(plot.data[index]) } })),
      ],
      hooks: { draw: [(plot) => this.#mark(plot, color)], setCursor: [({ cursor }) => cursor.idx !== this.state.index && this.setState({ index: cursor.idx ?? null })] },
    };
  }

  /** Draws a line at each event. */
  #mark({ ctx, bbox, valToPos }, color) {
    ctx.globalAlpha = MARK_OPACITY;
    for (const { at, color: name } of this.props.marks) {
      ctx.fillStyle = color(name);
      ctx.fillRect(Math.round(valToPos(at, "x", true)), bbox.top, devicePixelRatio, bbox.height);
    }
    ctx.globalAlpha = 1;
  }

  render({ id, title, series, show, times, latest, format, emptyText, text }, { index }) {
    const at = index !== null && index < times.length ? index : latest;
    const number = ({ values }) => ((values[at] ?? null) === null ? UNKNOWN : show(values[at]));
    const time = at < 0 ? "" : format.time(times[at], times[at]);
    return html`<figure id=${id} class="card chart">
      <figcaption>
        <span class="chart-title">${title}</span>
        <span class="chart-time">${at === latest ? `${text("chart.latest")} ${time}` : time}</span>
      </figcaption>
      ${emptyText
        ? html`<p class="empty">${emptyText}</p>`
        : html`<div class="plot" aria-hidden="true" ref=${(element) => (this.#box = element)}></div>
            <ul class="legend">
              ${series.map(
                (each) => html`<li key=${each.name}>
                  <span class="line" style=${{ background: `var(${each.color})`, opacity: OPACITIES[each.shade ?? 0] }} aria-hidden="true"></span>
                  ${each.isCode ? html`<code>${each.label}</code>` : html`<span>${each.label}</span>`}
                  <strong>${number(each)}</strong>
                </li>`,
              )}
            </ul>`}
    </figure>`;
  }
}
