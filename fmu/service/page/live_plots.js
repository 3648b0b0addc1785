// Signals of a live session that are watched, drawn over the last stretch of time.

import { Clock } from "./report/clock.js";
import { TimePlot } from "./report/curves.js";
import { Samples } from "./report/samples.js";
import { h } from "./parts.js";

const MOST = 40_000;
const EVERY = 80; // ms between pictures
const STRETCHES = [5, 10, 30, 60, 300];

export class LivePlots {
  constructor(channels, onwatch) {
    this.channels = channels.map((channel) => (typeof channel === "string" ? { name: channel, unit: "1" } : channel));
    this.onwatch = onwatch;
    this.clock = new Clock([0, 30]);
    this.samples = new Samples(this.clock);
    this.time = [];
    this.columns = new Map();
    this.stretch = 30;
    this.holder = h("div", { class: "live-plots" });
    this.chosen = usual(this.channels);
    this.element = h("div", {}, this.chooser(), this.holder);
  }

  chooser() {
    const listed = h(
      "datalist",
      { id: "live-channels" },
      this.channels.map(({ name }) => h("option", { value: name })),
    );
    const box = h("input", {
      type: "text",
      list: "live-channels",
      placeholder: "name of a signal",
      "aria-label": "Watch a signal",
      spellcheck: "false",
    });
    const watch = (event) => {
      event.preventDefault();
      const name = box.value.trim();
      if (!this.channels.some((channel) => channel.name === name) || this.chosen.includes(name)) return;
      box.value = "";
      this.chosen.push(name);
      this.begin();
    };
    const stretch = h("select", {
      "aria-label": "Stretch of time",
      onchange: () => (this.stretch = Number(stretch.value)),
    });
    stretch.append(
      ...STRETCHES.map((s) => h("option", { value: String(s), selected: s === this.stretch }, `last ${s} s`)),
    );
    this.list = h("div", { class: "legend" });
    return h("form", { class: "row", onsubmit: watch }, box, h("button", {}, "Watch"), stretch, listed, this.list);
  }

  // Says to the server what is watched; columns begin anew where they are new.
  begin() {
    this.onwatch();
    for (const name of this.chosen)
      if (!this.columns.has(name)) this.columns.set(name, new Array(this.time.length).fill(NaN));
    for (const name of [...this.columns.keys()]) if (!this.chosen.includes(name)) this.columns.delete(name);
    this.list.replaceChildren(
      ...this.chosen.map((name) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            "aria-label": `Stop watching ${name}`,
            title: "Stop watching",
            onclick: () => this.drop(name),
          },
          `${name} ×`,
        ),
      ),
    );
    this.arranged = null;
    this.changed();
  }

  drop(name) {
    this.chosen = this.chosen.filter((other) => other !== name);
    this.begin();
  }

  add(t, watched) {
    // After going back, what came later is given up.
    while (this.time.length && this.time.at(-1) >= t - 1e-9) {
      this.time.pop();
      for (const column of this.columns.values()) column.pop();
    }
    this.time.push(t);
    for (const [name, column] of this.columns) column.push(watched[name] ?? NaN);
    if (this.time.length > MOST) {
      this.time = this.time.slice(-MOST / 2);
      for (const [name, column] of this.columns) this.columns.set(name, column.slice(-MOST / 2));
    }
    this.changed();
  }

  changed() {
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => {
      this.waiting = false;
      this.draw();
    }, EVERY);
  }

  draw() {
    const now = this.time.at(-1);
    if (now === undefined) return;
    const begin = Math.max(this.time[0], now - this.stretch);
    const first = Math.max(0, this.time.findIndex((t) => t >= begin) - 1);
    const time = this.time.slice(first);
    const unit = new Map(this.channels.map((channel) => [channel.name, channel.unit || "1"]));
    const series = [...this.columns].map(([name, column]) => {
      const values = column.slice(first);
      return { name, unit: unit.get(name) || "1", values, ...Samples.extremes(time, values) };
    });
    this.samples.set(time, series);
    this.clock.span = [this.time[0], Math.max(now, this.time[0] + 1e-6)];
    this.clock.range = [begin, Math.max(now, begin + Math.min(this.stretch, 1))];
    this.clock.time = now;
    this.arrange(series);
  }

  // One plot for each unit.
  arrange(series) {
    const groups = new Map();
    for (const { name, unit } of series) groups.set(unit, [...(groups.get(unit) || []), name]);
    const wanted = JSON.stringify([...groups.values()]);
    if (wanted !== this.arranged) {
      this.arranged = wanted;
      this.plots = [...groups.values()].map((names) => new TimePlot(this.samples, names, { height: 150, label: "" }));
      this.holder.replaceChildren(...this.plots.map((plot) => plot.element));
    } else for (const plot of this.plots) plot.unitsChanged();
  }
}

// What is watched at first: outputs and coordinates, of few units.
function usual(channels) {
  const rank = ({ name, role }) =>
    /output/i.test(role || "")
      ? 0
      : /coordinate/i.test(role || "")
        ? 1
        : /\.(angle|x|y|z)$/.test(name) && !/pose/.test(name)
          ? 2
          : 5;
  const sorted = channels
    .map((channel, i) => ({ channel, key: rank(channel) * 1e5 + i }))
    .sort((a, b) => a.key - b.key);
  const units = new Map();
  for (const { channel } of sorted) {
    if (/gravity|residuals|repeats|memory/.test(channel.role || "")) continue;
    if (/\.q[wxyz]$|\.pose\./.test(channel.name) || (!units.has(channel.unit) && units.size >= 3)) continue;
    const alike = units.get(channel.unit) || [];
    if (alike.length < 3) units.set(channel.unit, [...alike, channel.name]);
  }
  return [...units.values()].flat();
}
