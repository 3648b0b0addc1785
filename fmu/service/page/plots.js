// Histories of a job as plots: channels to choose from, one plot per unit, zoomed by asking for a finer part.

import { Clock } from "./report/clock.js";
import { TimePlot } from "./report/curves.js";
import { Samples } from "./report/samples.js";
import { display, seconds } from "./report/numbers.js";
import { ApiError, get } from "./api.js";
import { gathered, h } from "./parts.js";

const POINTS = 1200;
const MOST_LISTED = 300;
const MOST_IN_A_PLOT = 8;

// The least and the greatest of every piece, one after the other, so that peaks stay whole.
export function zigzag(time, channels) {
  const thin = Object.values(channels).every(({ min, max }) => min.every((value, i) => value === max[i]));
  if (thin) {
    return {
      time: Float64Array.from(time),
      columns: new Map(Object.entries(channels).map(([name, { min }]) => [name, numbers(min)])),
    };
  }
  const times = new Float64Array(2 * time.length);
  for (let i = 0; i < time.length; i++) {
    const after = i + 1 < time.length ? time[i + 1] - time[i] : 0;
    times[2 * i] = time[i];
    times[2 * i + 1] = time[i] + after / 2;
  }
  const columns = new Map();
  for (const [name, { min, max }] of Object.entries(channels)) {
    const both = new Float64Array(2 * min.length);
    let before = 0;
    for (let i = 0; i < min.length; i++) {
      // First the end that is nearer to where the curve comes from.
      const rising = Math.abs((min[i] ?? NaN) - before) <= Math.abs((max[i] ?? NaN) - before);
      [both[2 * i], both[2 * i + 1]] = (rising ? [min[i], max[i]] : [max[i], min[i]]).map((value) => value ?? NaN);
      before = both[2 * i + 1];
    }
    columns.set(name, both);
  }
  return { time: times, columns };
}

function numbers(list) {
  return Float64Array.from(list, (value) => value ?? NaN);
}

export class HistoryPlots {
  constructor(job, signal) {
    this.job = job;
    this.signal = signal;
    this.clock = new Clock([0, 1]);
    this.samples = new Samples(this.clock);
    this.chosen = [];
    this.plots = [];
    this.note = h("p", { class: "note" }, "Plots appear here as soon as there are samples.");
    this.holder = h("div", { class: "plots" });
    this.zoomed = h("span", { class: "small" });
    this.element = h("div", { hidden: true }, this.chooser(), this.bar(), this.holder);
    this.whole = h("div", {}, this.note, this.element);
    this.finer = gathered(200, () => this.refine());
    this.clock.on("range", () => {
      const { range, zoomed } = this.clock;
      this.zoomed.textContent = zoomed ? `${seconds(range[0])} to ${seconds(range[1])}` : "all of it";
      if (!this.filling) this.finer();
    });
  }

  chooser() {
    this.search = h("input", {
      type: "search",
      class: "search",
      placeholder: "Filter channels",
      "aria-label": "Filter channels",
      oninput: () => this.list(),
    });
    this.listed = h("div", { class: "channel-list" });
    this.count = h("span", { class: "small" });
    return h(
      "details",
      { class: "channels" },
      h("summary", {}, "Channels ", this.count),
      h("div", { class: "row" }, this.search),
      this.listed,
    );
  }

  // Buttons do with keys what dragging does with the mouse.
  bar() {
    const by = (scale, shift) => () => {
      const [low, high] = this.clock.range;
      const half = ((high - low) / 2) * scale;
      const middle = (low + high) / 2 + shift * (high - low);
      const [first, last] = this.clock.span;
      const centre = Math.min(Math.max(middle, first + half), last - half);
      if (half * 2 >= last - first) this.clock.reset();
      else this.clock.zoom(centre - half, centre + half);
    };
    const button = (label, text, onclick) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick }, text);
    return h(
      "div",
      { class: "row" },
      h(
        "span",
        { class: "segments" },
        button("Earlier", "◀", by(1, -0.5)),
        button("Zoom in", "+", by(0.5, 0)),
        button("Zoom out", "−", by(2, 0)),
        button("Later", "▶", by(1, 0.5)),
      ),
      button("Show all", "Show all", () => this.clock.reset()),
      this.zoomed,
      h("span", { class: "small" }, "Drag in a plot to zoom, double-click for all of it."),
    );
  }

  // Asks which channels there are; returns whether there are any yet.
  async open() {
    if (this.channels) return true;
    let channels;
    try {
      channels = await get(`jobs/${this.job}/channels`, {}, this.signal);
    } catch (error) {
      if (error instanceof ApiError && error.status < 500 && error.status !== 401) return false;
      throw error;
    }
    if (!channels.length) return false;
    this.channels = channels;
    this.unit = new Map(channels.map(({ name, unit }) => [name, unit]));
    const kept = this.chosen.filter((name) => this.unit.has(name));
    this.chosen = kept.length ? kept : usual(channels);
    this.list();
    return true;
  }

  list() {
    const wanted = this.search.value.toLowerCase().split(/\s+/);
    const fitting = this.channels.filter(({ name, role }) =>
      wanted.every((word) => `${name} ${role || ""}`.toLowerCase().includes(word)),
    );
    this.listed.replaceChildren(
      ...fitting.slice(0, MOST_LISTED).map(({ name, unit }) => {
        const box = h("input", {
          type: "checkbox",
          checked: this.chosen.includes(name),
          onchange: () => this.choose(name, box.checked),
        });
        return h(
          "label",
          { class: "field" },
          box,
          ` ${name} `,
          h("span", { class: "unit" }, unit && unit !== "1" ? unit : ""),
        );
      }),
      fitting.length > MOST_LISTED
        ? h("p", { class: "small" }, `${fitting.length - MOST_LISTED} more; filter to see them.`)
        : "",
    );
    this.count.textContent = `(${this.chosen.length} of ${this.channels.length} shown)`;
  }

  choose(name, on) {
    this.chosen = on ? [...this.chosen, name] : this.chosen.filter((other) => other !== name);
    this.count.textContent = `(${this.chosen.length} of ${this.channels.length} shown)`;
    this.load();
  }

  // All of the history, or what there is of it.
  async load() {
    if (!(await this.open())) return;
    const answer = await this.ask({});
    if (!answer || !answer.time.length) return;
    if (answer.complete && this.growing) {
      // The run has ended: there are all channels now, and every sample.
      this.growing = false;
      this.channels = null;
      await this.load();
      return;
    }
    this.growing = !answer.complete;
    const last = answer.time.at(-1);
    display.timeStep = (last - answer.time[0]) / Math.max(answer.time.length - 1, 1);
    this.filling = true;
    if (!this.plots.length || answer.time[0] !== this.clock.span[0])
      this.clock.begin([answer.time[0], Math.max(last, answer.time[0] + 1e-9)]);
    else if (last > this.clock.span[1]) this.clock.extend(last);
    this.show(answer);
    this.keepUp(last);
    this.clock.tell("range");
    this.filling = false;
    if (this.clock.zoomed) this.finer();
  }

  // The numbers beside the curves are those of now, unless somebody has put the cursor elsewhere.
  keepUp(last) {
    if (this.growing && (this.cursor === undefined || this.clock.time === this.cursor)) {
      this.clock.set(last);
      this.cursor = this.clock.time;
    }
  }

  async refine() {
    const [from, to] = this.clock.range;
    const margin = (to - from) / 2;
    const answer = await this.ask(
      this.clock.zoomed ? { from: from - margin, to: to + margin, points: 2 * POINTS } : {},
    );
    if (answer?.time.length) this.show(answer);
  }

  async ask(part) {
    if (!this.chosen.length) return { time: [0, 1], channels: {} };
    try {
      return await get(
        `jobs/${this.job}/history`,
        { channels: this.chosen.join(","), points: POINTS, ...part },
        this.signal,
      );
    } catch (error) {
      if (error.name === "AbortError" || (error instanceof ApiError && error.status < 500)) return null;
      throw error;
    }
  }

  show({ time, channels }) {
    const drawn = zigzag(time, channels);
    const series = [...drawn.columns].map(([name, values]) => ({
      name,
      unit: channels[name].unit || "1",
      values,
      ...Samples.extremes(drawn.time, values),
    }));
    this.samples.set(drawn.time, series);
    this.arrange(series.map(({ name }) => name));
    this.note.hidden = !this.growing;
    if (this.growing) this.note.textContent = "Samples so far, thinned; all of them are here when the job has ended.";
    this.element.hidden = false;
  }

  // One plot for each unit, and for not too many channels.
  arrange(names) {
    const groups = new Map();
    for (const name of names) {
      const unit = this.samples.of.get(name).unit;
      let key = unit;
      for (let n = 2; groups.get(key)?.length >= MOST_IN_A_PLOT; n++) key = `${unit} ${n}`;
      groups.set(key, [...(groups.get(key) || []), name]);
    }
    const wanted = JSON.stringify([...groups.values()]);
    if (wanted === this.arranged) {
      for (const plot of this.plots) plot.unitsChanged();
      return;
    }
    this.arranged = wanted;
    this.plots = [...groups.values()].map((group) => new TimePlot(this.samples, group, { label: common(group) }));
    this.holder.replaceChildren(...this.plots.map((plot) => plot.element));
  }
}

// What the names of some channels have in common, as a title.
function common(names) {
  if (names.length === 1) return names[0];
  const firsts = new Set(names.map((name) => name.split(".")[0]));
  return firsts.size === 1 ? [...firsts][0] : `${names.length} channels`;
}

// What is shown before anything is chosen: outputs and coordinates rather than everything.
function usual(channels) {
  const rank = (channel) => {
    const role = channel.role || "";
    if (/\.pose\.|\.q[wxyz]$/.test(channel.name)) return 9;
    if (/output/i.test(role)) return 0;
    if (/coordinate/i.test(role)) return 1;
    if (/load/i.test(role) && /\.(M|F)[xyz]$/.test(channel.name)) return 2;
    if (/pose|rate|bod/i.test(role)) return 9;
    return 5;
  };
  return [...channels]
    .map((channel, i) => ({ channel, key: rank(channel) * 1e6 + i }))
    .sort((a, b) => a.key - b.key)
    .filter(({ key }) => key < 9e6)
    .slice(0, 12)
    .map(({ channel }) => channel.name);
}
