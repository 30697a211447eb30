// One chart: uPlot draws it, and its legend says the numbers in words.

import { Component, html } from "../../common/view.js";
import { singlePoints } from "../logic/traffic.js";

const HEIGHT = 132;
/** The top of an axis, at least: a chart of zeros has labels that differ. */
const LEAST_TOP = 0.1;
const AXIS_WIDTH = 58;
const DARK = "(prefers-color-scheme: dark)";

/** Of the shades of a colour, by their opacity. */
const OPACITIES = ["", "b8", "8a", "60"];

/** Shows the numbers at the pointer, else those of the latest slot. */
export class Chart extends Component {
  #box = null;
  #plot = null;
  #drawnFor = "";
  #drawnNumbers = "";
  #resizes = new ResizeObserver(() => this.#resize());
  #theme = () => this.#draw(true);
  state = { index: null };

  componentDidMount() {
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
    const { series, times, marks, isEmpty, language } = this.props;
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
    const numbers = JSON.stringify([data, marks]);
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
        ...series.map((each) => ({ label: each.label, stroke: color(each.color) + OPACITIES[each.shade ?? 0], width: 1.75, spanGaps: false, points: { show: false, size: 4, filter: (plot, index) => singlePoints(plot.data[index]) } })),
      ],
      hooks: { draw: [(plot) => this.#mark(plot, color)], setCursor: [({ cursor }) => cursor.idx !== this.state.index && this.setState({ index: cursor.idx ?? null })] },
    };
  }

  /** Draws a line at each event. */
  #mark({ ctx, bbox, valToPos }, color) {
    for (const { at, color: name } of this.props.marks) {
      ctx.fillStyle = color(name);
      ctx.fillRect(Math.round(valToPos(at, "x", true)), bbox.top, devicePixelRatio, bbox.height);
    }
  }

  render({ id, title, series, show, times, latest, format, isEmpty, emptyText, text }, { index }) {
    const at = index !== null && index < times.length ? index : latest;
    const number = ({ values }) => ((values[at] ?? null) === null ? text("unknown") : show(values[at]));
    const time = at < 0 ? "" : format.time(times[at], times[at]);
    return html`<figure id=${id} class="card chart">
      <figcaption>
        <span class="chart-title">${title}</span>
        <span class="chart-time">${at === latest ? `${text("chart.latest")} ${time}` : time}</span>
      </figcaption>
      ${isEmpty
        ? html`<p class="empty">${emptyText}</p>`
        : html`<div class="plot" aria-hidden="true" ref=${(element) => (this.#box = element)}></div>
            <ul class="legend">
              ${series.map(
                (each) => html`<li key=${each.name}>
                  <span class=${`line ${each.color.slice(2)} shade-${each.shade ?? 0}`} aria-hidden="true"></span>
                  ${each.isCode ? html`<code>${each.label}</code>` : html`<span>${each.label}</span>`}
                  <strong>${number(each)}</strong>
                </li>`,
              )}
            </ul>`}
    </figure>`;
  }
}
