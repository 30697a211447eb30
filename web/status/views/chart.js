// One chart: uPlot draws it, and its legend says the numbers in words.

import { Component, html } from "../../common/view.js";
import { latest, singlePoints } from "../logic/traffic.js";

const HEIGHT = 132;
/** The top of an axis, at least: a chart of zeros has labels that differ. */
const LEAST_TOP = 0.1;
const AXIS_WIDTH = 58;
const DARK = "(prefers-color-scheme: dark)";

/** Shows the numbers at the pointer, else the latest. */
export class Chart extends Component {
  #box = null;
  #plot = null;
  #drawnFor = "";
  #drawnNumbers = "";
  #resizes = null;
  #theme = null;

  constructor(properties) {
    super(properties);
    this.state = { index: null };
  }

  componentDidMount() {
    this.#resizes = new ResizeObserver(() => this.#resize());
    this.#theme = () => this.#draw(true);
    matchMedia(DARK).addEventListener("change", this.#theme);
    this.#draw(false);
  }

  componentDidUpdate() {
    this.#draw(false);
  }

  componentWillUnmount() {
    matchMedia(DARK).removeEventListener("change", this.#theme);
    this.#resizes.disconnect();
    this.#plot?.destroy();
  }

  /** Draws again what only has other numbers, and anew where series, colours or language differ. */
  #draw(hasChanged) {
    const { series, times, isEmpty, language } = this.props;
    const shape = isEmpty ? "" : `${language} ${series.map(({ name, color }) => name + color).join()}`;
    if (shape !== this.#drawnFor || hasChanged) {
      this.#plot?.destroy();
      this.#plot = null;
      this.#resizes.disconnect();
      this.#drawnFor = shape;
    }
    // Without the library (a browser whose language tag it cannot read) the legend still has the numbers.
    if (isEmpty || !this.#box || !window.uPlot) return;
    const data = [times, ...series.map(({ values }) => values)];
    const numbers = JSON.stringify(data);
    if (!this.#plot) {
      this.#plot = new window.uPlot(this.#options(), data, this.#box);
      this.#resizes.observe(this.#box);
    } else if (numbers !== this.#drawnNumbers) this.#plot.setData(data);
    this.#drawnNumbers = numbers;
  }

  #resize() {
    const width = Math.floor(this.#box?.clientWidth ?? 0);
    if (this.#plot && width > 0 && width !== this.#plot.width) this.#plot.setSize({ width, height: HEIGHT });
  }

  #options() {
    const { series, format, show } = this.props;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const axis = { stroke: color("--text-soft"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    return {
      width: Math.max(160, Math.floor(this.#box.clientWidth)),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { setScale: false }, sync: { key: "pairway" } },
      scales: { y: { range: (_, __, highest) => [0, Math.max((highest ?? 0) * 1.15, LEAST_TOP)] } },
      axes: [
        { ...axis, space: 70, size: 24, values: (_, ticks) => ticks.map(format.minute) },
        { ...axis, space: 32, size: AXIS_WIDTH, values: (_, ticks) => ticks.map((value) => show(value)) },
      ],
      series: [
        {},
        ...series.map((each) => ({ label: each.label, stroke: color(each.color), width: 1.75, spanGaps: false, points: { show: false, size: 4, filter: (plot, index) => singlePoints(plot.data[index]) } })),
      ],
      hooks: { setCursor: [({ cursor }) => cursor.idx !== this.state.index && this.setState({ index: cursor.idx ?? null })] },
    };
  }

  render({ id, title, series, show, times, format, isEmpty, emptyText, text }, { index }) {
    const at = index !== null && index < times.length ? index : null;
    const number = ({ values }) => {
      const value = at === null ? latest(values) : values[at];
      return value === null ? text("unknown") : show(value);
    };
    return html`<figure id=${id} class="card chart">
      <figcaption>
        <span class="chart-title">${title}</span>
        <span class="chart-time">${at === null ? text("chart.latest") : format.time(times[at], times[at])}</span>
      </figcaption>
      ${isEmpty
        ? html`<p class="empty">${emptyText}</p>`
        : html`<div class="plot" aria-hidden="true" ref=${(element) => (this.#box = element)}></div>
            <ul class="legend">
              ${series.map(
                (each) => html`<li key=${each.name}>
                  <span class=${`line ${each.color.slice(2)}`} aria-hidden="true"></span>
                  ${each.isCode ? html`<code>${each.label}</code>` : html`<span>${each.label}</span>`}
                  <strong>${number(each)}</strong>
                </li>`,
              )}
            </ul>`}
    </figure>`;
  }
}
