// Charts that are not over time: a curve of one quantity against another, load roses, range-mean matrices.

import { scaleFor, prettyUnit, withResolution, significant, quantity, counted, niceTicks, element } from "./numbers.js";
import { colours } from "./clock.js";
import { Chart, Axes, strokeLine, tag } from "./plot.js";
import { path } from "./scene3d.js";

export class CurveChart extends Chart {
  constructor(title, height = 250) {
    super(height, title);
    this.title = title;
    this.heading = element("h4", {}, title);
    this.readout = element("p", { class: "readout" });
    this.element = element("figure", { class: "plot" }, this.heading, this.canvas, this.readout);
    this.canvas.addEventListener("pointermove", (event) => {
      this.pointer = event.clientX - this.canvas.getBoundingClientRect().left;
      this.changed();
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.changed();
    });
  }

  // {x, y: arrays; logX, logY; xName, yName: with units; steps; point(i): words; note: words instead of a curve}
  show(data) {
    this.data = data;
    this.heading.textContent = data.heading || this.title;
    this.canvas.hidden = Boolean(data.note);
    this.readout.textContent = data.note || data.summary || "\u00a0";
    this.canvas.setAttribute("aria-label", `${this.heading.textContent}. ${data.note || data.summary || ""}`);
    this.changed();
  }

  limits(values, log) {
    const known = Array.from(values).filter((value) => Number.isFinite(value) && (!log || value > 0));
    const [low, high] = [Math.min(...known), Math.max(...known)];
    if (!log) return { ...padded(Math.min(0, low), high), low: Math.min(0, low) };
    if (high / low < 1.01) return { low: low / 10, high: high * 10, log };
    return { low: low / (high / low) ** 0.02, high: high * (high / low) ** 0.04, log };
  }

  draw(context) {
    const { data } = this;
    if (!data || data.note) return;
    const x = this.limits(data.x, data.logX);
    let y = this.limits(data.y, data.logY);
    if (data.logY) y = { ...y, low: Math.max(y.low, y.high * 1e-12) }; // below that there is only rounding
    this.axes = new Axes(this, x, y, { bottom: 42, left: 62, top: 24 });
    this.axes.draw(context);
    const { left, right, top, bottom } = this.axes.box;
    context.fillStyle = colours.muted;
    context.textBaseline = "bottom";
    context.textAlign = "center";
    context.fillText(data.xName, (left + right) / 2, this.height - 4);
    context.textAlign = "left";
    context.fillText(data.yName, 6, 16);
    this.axes.clip(context, () => {
      context.strokeStyle = colours.lines[2];
      context.lineWidth = 1.8;
      context.beginPath();
      let before = null;
      data.x.forEach((value, i) => {
        const [px, py] = [this.axes.px(value), this.axes.py(data.y[i])];
        if (before === null) {
          if (data.steps)
            path(context, [
              [left, py],
              [px, py],
            ]);
          else context.moveTo(px, py);
        } else {
          if (data.steps) context.lineTo(before, py);
          context.lineTo(px, py);
        }
        before = px;
      });
      if (data.steps) context.lineTo(before, bottom);
      context.stroke();
      this.drawPointer(context, top, bottom);
    });
  }

  drawPointer(context, top, bottom) {
    const { data } = this;
    if (this.pointer === null || this.pointer === undefined) {
      this.readout.textContent = data.summary || "\u00a0";
      return;
    }
    let nearest = 0;
    data.x.forEach((value, i) => {
      if (Math.abs(this.axes.px(value) - this.pointer) < Math.abs(this.axes.px(data.x[nearest]) - this.pointer))
        nearest = i;
    });
    const px = this.axes.px(data.x[nearest]);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1;
    strokeLine(context, px, top, px, bottom);
    context.fillStyle = colours.accent;
    context.beginPath();
    context.arc(px, this.axes.py(data.y[nearest]), 3.5, 0, 2 * Math.PI);
    context.fill();
    this.readout.textContent = data.point(nearest);
  }
}

// Sectors around a joint: how large the resultant of two components gets in each direction, or how often it points there.
export class Rose extends Chart {
  constructor() {
    super(280, "");
    this.heading = element("h4", {});
    this.readout = element("p", { class: "readout" });
    this.element = element("figure", { class: "plot" }, this.heading, this.canvas, this.readout);
  }

  show(rose, [first, second], unit, way) {
    Object.assign(this, { rose, first, second, unit, way });
    const most = Math.max(...rose.max);
    const sector = rose.max.indexOf(most);
    const often = Math.max(...rose.share);
    this.heading.textContent = `Resultant of ${first} and ${second}`;
    this.readout.textContent =
      `greatest ${quantity(most, unit)} towards ${this.degrees(sector)}; ` +
      `most often towards ${this.degrees(rose.share.indexOf(often))} (${significant(100 * often, 3)} % of the time)`;
    this.canvas.setAttribute("aria-label", `Load rose. ${this.heading.textContent}: ${this.readout.textContent}`);
    this.changed();
  }

  degrees(sector) {
    return `${Math.round((sector * 360) / this.rose.max.length)}°`;
  }

  draw(context) {
    if (!this.rose) return;
    const outer = this.way === "share" ? this.rose.share.map((share) => 100 * share) : this.rose.max;
    const inner = this.way === "share" ? null : this.rose.mean;
    const most = Math.max(...outer);
    const { factor, unit } = this.way === "share" ? { factor: 1, unit: "%" } : scaleFor(this.unit, most);
    const [x, y] = [this.width / 2, this.height / 2];
    const radius = Math.min(x, y) - 26;
    const { ticks, resolution } = niceTicks(0, most * factor || 1, 4);
    const limit = Math.max(most * factor, 1.02 * ticks[ticks.length - 1]) || 1;
    const wedge = (k, value, colour, alpha) => {
      const width = (2 * Math.PI) / outer.length;
      context.fillStyle = colour;
      context.globalAlpha = alpha;
      context.beginPath();
      context.moveTo(x, y);
      context.arc(x, y, (radius * value * factor) / limit, -(k + 0.46) * width, -(k - 0.46) * width);
      context.closePath();
      context.fill();
      context.globalAlpha = 1;
    };
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    for (let k = 0; k < 12; k++) {
      strokeLine(context, x, y, x + radius * Math.cos((k * Math.PI) / 6), y + radius * Math.sin((k * Math.PI) / 6));
    }
    for (const tick of ticks.slice(1)) {
      context.beginPath();
      context.arc(x, y, (radius * tick) / limit, 0, 2 * Math.PI);
      context.stroke();
    }
    outer.forEach((value, k) => wedge(k, value, colours.lines[2], 0.45));
    if (inner) inner.forEach((value, k) => wedge(k, value, colours.lines[2], 1));
    context.fillStyle = colours.muted;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.fillText(this.first, x + radius + 4, y);
    context.textAlign = "center";
    context.fillText(this.second, x, y - radius - 12);
    for (const tick of ticks.slice(1)) {
      const at = (radius * tick) / limit;
      tag(
        context,
        `${withResolution(tick, resolution)}${tick === ticks[ticks.length - 1] ? ` ${prettyUnit(unit)}` : ""}`,
        x + at * 0.707 - 4,
        y + at * 0.707 - 8,
        { left: 0, top: 0, right: this.width, bottom: this.height },
        colours.muted,
      );
    }
  }
}

// From dark blue through green to yellow: ordered in lightness, also for those who see few colours.
const SCALE_STOPS = [
  [68, 1, 84],
  [65, 68, 135],
  [42, 120, 142],
  [34, 168, 132],
  [122, 209, 81],
  [253, 231, 37],
];

export function scaleColour(share) {
  const dark = document.documentElement.dataset.theme === "dark";
  const stops = dark ? SCALE_STOPS.slice(1) : SCALE_STOPS; // the darkest would not be seen there
  const place = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  const parts = stops[i].map((part, k) => Math.round(part + (stops[i + 1][k] - part) * (place - i)));
  return `rgb(${parts.join(",")})`;
}

export class HeatMap extends Chart {
  constructor() {
    super(290, "");
    this.heading = element("h4", {}, "Rainflow matrix");
    this.readout = element("p", { class: "readout" });
    this.element = element("figure", { class: "plot" }, this.heading, this.canvas, this.readout);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => (this.readout.textContent = this.summary || "\u00a0"));
  }

  show(name, unit, cycles, note) {
    this.matrix = cycles ? cycles.matrix : null;
    this.canvas.hidden = !this.matrix;
    this.heading.textContent = `Rainflow matrix of ${name}`;
    if (this.matrix) {
      this.scale = scaleFor(unit, Math.max(this.matrix.range[1], ...this.matrix.mean.map(Math.abs)));
      this.counts = new Map(this.matrix.cells.map(([i, j, count]) => [i * this.matrix.classes + j, count]));
      this.most = Math.max(...this.counts.values());
      this.least = Math.min(...this.counts.values());
      this.summary = `${counted(cycles.count)} cycles, the largest with a range of ${quantity(this.matrix.range[1], unit)}`;
    }
    this.readout.textContent = this.matrix ? this.summary : note;
    this.canvas.setAttribute("aria-label", `${this.heading.textContent}. ${this.readout.textContent}`);
    this.changed();
  }

  cell(i, j) {
    const { classes, range, mean } = this.matrix;
    const [dr, dm] = [(range[1] - range[0]) / classes, (mean[1] - mean[0]) / classes];
    return { range: [range[0] + i * dr, range[0] + (i + 1) * dr], mean: [mean[0] + j * dm, mean[0] + (j + 1) * dm] };
  }

  draw(context) {
    if (!this.matrix) return;
    const { classes, range, mean } = this.matrix;
    const { factor, unit } = this.scale;
    const ends = ([low, high]) => ({ low: low * factor, high: high * factor });
    this.axes = new Axes(this, ends(mean), ends(range), { bottom: 42, left: 62, top: 24, right: 74 });
    const { left, right, top, bottom } = this.axes.box;
    this.axes.draw(context);
    const share = (count) =>
      this.most > this.least ? Math.log(count / this.least) / Math.log(this.most / this.least) : 1;
    for (const [key, count] of this.counts) {
      const { range: r, mean: m } = this.cell(Math.floor(key / classes), key % classes);
      const [x0, x1] = m.map((value) => this.axes.px(value * factor));
      const [y1, y0] = r.map((value) => this.axes.py(value * factor));
      context.fillStyle = scaleColour(share(count));
      context.fillRect(x0, y0, Math.max(x1 - x0 - 0.5, 1), Math.max(y1 - y0 - 0.5, 1));
    }
    for (let k = 0; k < 60; k++) {
      context.fillStyle = scaleColour(k / 59);
      context.fillRect(right + 16, bottom - ((k + 1) / 60) * (bottom - top), 10, (bottom - top) / 60 + 1);
    }
    context.fillStyle = colours.muted;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(counted(this.most, 3), right + 30, top + 4);
    if (this.most > this.least) context.fillText(counted(this.least, 3), right + 30, bottom - 4);
    context.fillText("cycles", right + 16, top - 12);
    context.fillText(`range [${prettyUnit(unit)}]`, 6, 10);
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(`mean [${prettyUnit(unit)}]`, (left + right) / 2, this.height - 4);
  }

  point(event) {
    if (!this.matrix || !this.axes) return;
    const box = this.canvas.getBoundingClientRect();
    const { left, right, top, bottom } = this.axes.box;
    const j = Math.floor(((event.clientX - box.left - left) / (right - left)) * this.matrix.classes);
    const i = Math.floor(((bottom - (event.clientY - box.top)) / (bottom - top)) * this.matrix.classes);
    const inside = i >= 0 && j >= 0 && i < this.matrix.classes && j < this.matrix.classes;
    if (!inside) return void (this.readout.textContent = this.summary);
    const { range, mean } = this.cell(i, j);
    const { factor, unit } = this.scale;
    const words = (pair) => pair.map((value) => significant(value * factor, 3)).join(" to ");
    const count = this.counts.get(i * this.matrix.classes + j) || 0;
    this.readout.textContent = `range ${words(range)}, mean ${words(mean)} ${prettyUnit(unit)}: ${counted(count)} cycles`;
  }
}
