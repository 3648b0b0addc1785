// Channels over time. All plots of a page show the same stretch of time and the same cursor.

import {
  lazily,
  indexAt,
  nearestIndex,
  scaleFor,
  prettyUnit,
  withResolution,
  significant,
  seconds,
  element,
} from "./numbers.js";
import { colours } from "./clock.js";
import { Chart, Axes, strokeLine, tag, padded, decades } from "./plot.js";

export class TimePlot extends Chart {
  constructor(samples, names, { extremes = false, height = 210, label = "", log = false, whole = false, unit = "" } = {}) {
    super(height, "");
    this.samples = samples;
    this.clock = samples.clock;
    this.log = log;
    this.whole = whole; // counts, shown from 0
    this.unit = unit; // words at the axis, where the channels have no unit in common
    this.names = names;
    this.label = label;
    this.extremes = extremes;
    this.hidden = new Set();
    this.legend = element("div", { class: "legend", role: "group", "aria-label": "Channels; press to hide or show" });
    this.title = element("h4", {});
    this.element = element("figure", { class: "plot" }, this.title, this.legend, this.canvas);
    this.base = document.createElement("canvas");
    this.setNames(names, label);
    this.clock.on("range", () => this.changed());
    this.clock.on("time", () => this.cursorMoved());
    this.listen();
  }

  setNames(names, label) {
    this.names = names;
    this.label = label;
    this.hidden.clear();
    this.legend.replaceChildren(...names.map((name, i) => this.chip(name, i)));
    this.unitsChanged();
  }

  unitsChanged() {
    const unit = this.samples.of.get(this.names[0]).unit;
    this.scale = scaleFor(unit, this.samples.magnitude(this.names));
    this.title.replaceChildren(
      this.label + " ",
      element("span", { class: "unit" }, `[${prettyUnit(this.unit || this.scale.unit)}]`),
    );
    const said = this.names.map((name) => this.extremeWords(name)).join("; ");
    this.canvas.setAttribute("aria-label", `Plot over time, ${this.label}: ${said}`);
    this.changed();
  }

  extremeWords(name) {
    const series = this.samples.of.get(name);
    if (series.max === null) return `${name} has no numbers`;
    const { factor, unit } = this.scale;
    const word = (value, t) => `${significant(value * factor)} ${prettyUnit(unit)} at ${seconds(t)}`;
    return `${name} greatest ${word(series.max, series.tmax)}, least ${word(series.min, series.tmin)}`;
  }

  chip(name, i) {
    const value = element("output", {});
    const swatch = element("i", { class: `swatch s${i % 8}` });
    const button = element(
      "button",
      { type: "button", class: "chip", "aria-pressed": "true" },
      swatch,
      name,
      " ",
      value,
    );
    button.addEventListener("click", () => {
      if (!this.hidden.delete(name)) this.hidden.add(name);
      button.setAttribute("aria-pressed", String(!this.hidden.has(name)));
      this.changed();
    });
    lazily(button, "words", () => this.extremeWords(name));
    button.addEventListener("pointerenter", () => (button.title = this.extremeWords(name)));
    return button;
  }

  listen() {
    const { canvas } = this;
    let from = null;
    const timeAt = (event) => this.axes && this.axes.xAt(event.clientX - canvas.getBoundingClientRect().left);
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.axes) return;
      from = { x: event.clientX, t: timeAt(event) };
      if (event.pointerType !== "touch") canvas.setPointerCapture(event.pointerId);
      this.clock.set(from.t);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.axes) return;
      if (from && event.pointerType !== "touch" && Math.abs(event.clientX - from.x) > 4) {
        this.band = [from.t, timeAt(event)];
        this.cursorMoved();
      } else if (!this.clock.playing || from) {
        this.clock.set(timeAt(event));
      }
    });
    const release = (event) => {
      if (this.band && event.type === "pointerup") this.clock.zoom(Math.min(...this.band), Math.max(...this.band));
      from = null;
      this.band = null;
      this.cursorMoved();
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("dblclick", () => this.clock.reset());
  }

  cursorMoved() {
    if (!this.visible) {
      this.dirty = true; // drawn when it comes into sight
      return;
    }
    this.moved = true;
    this.dirtyCursor();
  }

  // The curves stay in a picture of their own; only the cursor is drawn over it.
  dirtyCursor() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.dirty || !this.axes) return;
      this.context.save();
      this.context.setTransform(1, 0, 0, 1, 0, 0);
      this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
      this.context.drawImage(this.base, 0, 0);
      this.context.restore();
      this.drawCursor(this.context);
    });
  }

  get shown() {
    return this.names.filter((name) => !this.hidden.has(name));
  }

  draw(context) {
    const { factor } = this.scale;
    const [from, to] = [
      indexAt(this.samples.time, this.clock.range[0]),
      Math.min(indexAt(this.samples.time, this.clock.range[1]) + 1, this.samples.time.length - 1),
    ];
    const [low, high] = this.span(from, to);
    const air = this.extremes ? 0.13 : 0.07;
    const y = this.log ? decades(low, high) : this.whole ? { low: 0, high: high + 1 } : padded(low * factor, high * factor, air);
    this.axes = new Axes(this, { low: this.clock.range[0], high: this.clock.range[1] }, y);
    this.drawBehind(context);
    this.axes.draw(context);
    this.axes.clip(context, () => {
      for (const name of this.shown) this.drawCurve(context, name, from, to);
      if (this.extremes) this.markExtremes(context);
    });
    context.fillStyle = colours.muted;
    context.textAlign = "right";
    context.textBaseline = "bottom";
    context.fillText("s", this.axes.box.right + 12, this.height - 7);
    this.base.width = this.canvas.width;
    this.base.height = this.canvas.height;
    this.base.getContext("2d").drawImage(this.canvas, 0, 0);
    this.drawCursor(context);
  }

  // The least and the greatest of what is shown.
  span(from, to) {
    let [low, high] = [Infinity, -Infinity];
    for (const name of this.shown) {
      const { values } = this.samples.of.get(name);
      for (let i = from; i <= to; i++) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
      }
    }
    return [low, high];
  }

  // The sample that the cursor reads.
  sampleAt(t) {
    return nearestIndex(this.samples.time, t);
  }

  drawBehind(context) {
    if (this.samples.leftOut === null) return;
    const { left, top, bottom, right } = this.axes.box;
    const edge = Math.min(Math.max(this.axes.px(this.samples.leftOut), left), right);
    context.fillStyle = colours.shade;
    context.fillRect(left, top, edge - left, bottom - top);
  }

  drawCurve(context, name, from, to) {
    const { values } = this.samples.of.get(name);
    const { factor } = this.scale;
    context.strokeStyle = colours.lines[this.names.indexOf(name) % 8];
    context.lineWidth = 1.5;
    context.lineJoin = "round";
    context.beginPath();
    let broken = true;
    for (let i = from; i <= to; i++) {
      if (Number.isNaN(values[i])) {
        broken = true;
        continue;
      }
      const [x, y] = [this.axes.px(this.samples.time[i]), this.axes.py(values[i] * factor)];
      if (broken) context.moveTo(x, y);
      else context.lineTo(x, y);
      broken = false;
    }
    context.stroke();
  }

  // A triangle at the greatest and least of each curve, and the numbers for the greatest and least of all.
  markExtremes(context) {
    const { factor, unit } = this.scale;
    const marks = [];
    for (const name of this.shown) {
      const series = this.samples.of.get(name);
      if (series.max === null || series.max === series.min) continue;
      const colour = colours.lines[this.names.indexOf(name) % 8];
      marks.push({ t: series.tmax, value: series.max * factor, up: true, colour });
      marks.push({ t: series.tmin, value: series.min * factor, up: false, colour });
    }
    const seen = marks.filter(({ t }) => t >= this.clock.range[0] && t <= this.clock.range[1]);
    for (const { t, value, up, colour } of seen) {
      const [x, y, side] = [this.axes.px(t), this.axes.py(value), up ? -1 : 1];
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(x, y + side);
      context.lineTo(x - 4, y + 8 * side);
      context.lineTo(x + 4, y + 8 * side);
      context.fill();
    }
    const top = seen.filter(({ up }) => up).sort((a, b) => b.value - a.value)[0];
    const bottom = seen.filter(({ up }) => !up).sort((a, b) => a.value - b.value)[0];
    for (const mark of [top, bottom]) {
      if (!mark) continue;
      const text = `${significant(mark.value)} ${prettyUnit(unit)} at ${seconds(mark.t)}`;
      const y = this.axes.py(mark.value) + (mark.up ? -17 : 1);
      tag(context, text, this.axes.px(mark.t) + 7, y, this.axes.box, mark.colour);
    }
  }

  drawCursor(context) {
    const { left, right, top, bottom } = this.axes.box;
    if (this.band) {
      const [a, b] = this.band.map((t) => Math.min(Math.max(this.axes.px(t), left), right));
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.18;
      context.fillRect(Math.min(a, b), top, Math.abs(b - a), bottom - top);
      context.globalAlpha = 1;
    }
    const { factor } = this.scale;
    const i = this.sampleAt(this.clock.time);
    const resolution = 10 ** Math.floor(Math.log10((this.axes.y.high - this.axes.y.low) / 2000));
    this.names.forEach((name, k) => {
      const value = this.samples.of.get(name).values[i] * factor;
      this.legend.children[k].lastChild.textContent = this.log
        ? significant(value, 3)
        : withResolution(value, this.whole ? 1 : resolution);
    });
    if (this.clock.time < this.clock.range[0] || this.clock.time > this.clock.range[1]) return;
    const x = this.axes.px(this.clock.time);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1;
    strokeLine(context, x, top, x, bottom);
    this.shown.forEach((name) => {
      const value = this.samples.of.get(name).values[i];
      if (Number.isNaN(value)) return;
      context.fillStyle = colours.lines[this.names.indexOf(name) % 8];
      context.beginPath();
      context.arc(x, this.axes.py(value * factor), 3, 0, 2 * Math.PI);
      context.fill();
    });
    tag(context, seconds(this.clock.time), x + 4, bottom - 17, this.axes.box, colours.accent);
  }
}
