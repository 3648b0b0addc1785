// A canvas that follows its element's size, is drawn only while it can be seen, and again when something changed.

import { SUPERSCRIPTS, withResolution, counted, niceTicks, element } from "./numbers.js";
import { colours } from "./clock.js";

export class Chart {
  static all = [];
  static pending = false;

  constructor(height, label) {
    this.canvas = element("canvas", { role: "img", "aria-label": label, class: "chart" });
    this.canvas.style.height = `${height}px`;
    this.context = this.canvas.getContext("2d");
    this.visible = false;
    this.dirty = true;
    Chart.all.push(this);
    Chart.sizes.observe(this.canvas);
    Chart.sights.observe(this.canvas);
    this.canvas.chart = this;
  }

  static sizes = new ResizeObserver((entries) => {
    for (const entry of entries) entry.target.chart.changed();
  });

  static sights = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        entry.target.chart.visible = entry.isIntersecting;
        if (entry.isIntersecting) Chart.schedule();
      }
    },
    { rootMargin: "200px" },
  );

  // Charts that are no longer in the page, where pages change.
  static forgetLost() {
    for (const { canvas } of Chart.all.filter(({ canvas }) => !canvas.isConnected)) {
      Chart.sizes.unobserve(canvas);
      Chart.sights.unobserve(canvas);
    }
    Chart.all = Chart.all.filter(({ canvas }) => canvas.isConnected);
  }

  static schedule() {
    if (Chart.pending) return;
    Chart.pending = true;
    requestAnimationFrame(() => {
      Chart.pending = false;
      for (const chart of Chart.all) if (chart.visible && chart.dirty) chart.redraw();
    });
  }

  static changedAll() {
    for (const chart of Chart.all) chart.changed();
  }

  // For paper: everything, seen or not, in fine resolution.
  static drawAll(density) {
    for (const chart of Chart.all) chart.redraw(density);
  }

  changed() {
    this.dirty = true;
    Chart.schedule();
  }

  redraw(density = Math.max(1, window.devicePixelRatio || 1)) {
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.dirty = false;
    this.width = clientWidth;
    this.height = clientHeight;
    const [wide, high] = [Math.round(clientWidth * density), Math.round(clientHeight * density)];
    if (this.canvas.width !== wide || this.canvas.height !== high)
      [this.canvas.width, this.canvas.height] = [wide, high];
    this.context.setTransform(density, 0, 0, density, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.context.font = "12px system-ui, sans-serif";
    this.draw(this.context);
  }
}

// Two axes in a chart: linear or logarithmic scales, grid, numbers.
export class Axes {
  constructor(chart, x, y, margin = {}) {
    const { left = 58, right = 14, top = 12, bottom = 26 } = margin;
    this.box = { left, top, right: chart.width - right, bottom: chart.height - bottom };
    this.x = x;
    this.y = y;
  }

  static part({ low, high, log }, value) {
    if (log) return (Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low));
    return (value - low) / (high - low);
  }

  px(value) {
    return this.box.left + Axes.part(this.x, value) * (this.box.right - this.box.left);
  }

  py(value) {
    return this.box.bottom - Axes.part(this.y, value) * (this.box.bottom - this.box.top);
  }

  xAt(pixel) {
    const share = (pixel - this.box.left) / (this.box.right - this.box.left);
    const { low, high, log } = this.x;
    return log ? low * (high / low) ** share : low + share * (high - low);
  }

  static ticks({ low, high, log }, room) {
    if (!log) {
      const { ticks, resolution } = niceTicks(low, high, room);
      const exponent = Math.max(Math.abs(low), Math.abs(high));
      const plain = exponent < 1e6 && exponent >= 1e-3;
      return ticks.map((value) => ({ value, text: plain ? withResolution(value, resolution) : counted(value, 3) }));
    }
    const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
    if (last - first < 2) return Axes.fineTicks(low, high);
    const every = Math.max(1, Math.ceil((last - first + 1) / room));
    const ticks = [];
    for (let power = first; power <= last; power++) {
      ticks.push({ value: 10 ** power, text: (power - first) % every === 0 ? Axes.powerText(power) : "" });
    }
    return ticks;
  }

  // Within a decade or two: 1, 2 and 5 times the powers of ten.
  static fineTicks(low, high) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
      for (const factor of [1, 2, 5]) {
        const value = factor * 10 ** power;
        if (value >= low && value <= high) ticks.push({ value, text: counted(value, 1) });
      }
    }
    return ticks;
  }

  static powerText(power) {
    if (power >= -2 && power <= 3) return String(Number((10 ** power).toPrecision(1)));
    const raised = [...String(Math.abs(power))].map((digit) => SUPERSCRIPTS[digit]).join("");
    return `10${power < 0 ? "⁻" : ""}${raised}`;
  }

  draw(context) {
    const { left, right, top, bottom } = this.box;
    context.lineWidth = 1;
    context.strokeStyle = colours.line;
    context.fillStyle = colours.muted;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const { value, text } of Axes.ticks(this.y, Math.max(2, (bottom - top) / 42))) {
      const y = Math.round(this.py(value)) + 0.5;
      strokeLine(context, left, y, right, y);
      context.fillText(text, left - 7, y);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const { value, text } of Axes.ticks(this.x, Math.max(2, (right - left) / 90))) {
      const x = Math.round(this.px(value)) + 0.5;
      strokeLine(context, x, top, x, bottom);
      context.fillText(text, Math.min(x, right - 6), bottom + 6);
    }
  }

  clip(context, draw) {
    const { left, right, top, bottom } = this.box;
    context.save();
    context.beginPath();
    context.rect(left, top - 2, right - left, bottom - top + 4);
    context.clip();
    draw();
    context.restore();
  }
}

export function strokeLine(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

// Text on a patch of background, kept inside the given bounds.
export function tag(context, text, x, y, { left, right, top, bottom }, colour = colours.ink) {
  const width = context.measureText(text).width + 8;
  const boxX = Math.min(Math.max(x, left), right - width);
  const boxY = Math.min(Math.max(y, top), bottom - 16);
  context.globalAlpha = 0.85;
  context.fillStyle = colours.panel;
  context.fillRect(boxX, boxY, width, 16);
  context.globalAlpha = 1;
  context.fillStyle = colour;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, boxX + 4, boxY + 8.5);
}

// A range with some air; a constant gets an axis around it.
export function padded(low, high, share = 0.07) {
  if (!(low <= high)) return { low: -1, high: 1 };
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low <= 1e-9 * size || high === low) {
    const around = size > 0 ? 0.1 * size : 1;
    return { low: low - around, high: high + around };
  }
  const air = share * (high - low);
  return { low: low - air, high: high + air };
}

// Whole powers of ten around a range; at least one of them.
export function decades(low, high) {
  if (!(low <= high)) return { low: 0.1, high: 10, log: true };
  const [first, last] = [Math.floor(Math.log10(low) + 1e-9), Math.ceil(Math.log10(high) - 1e-9)];
  return { low: 10 ** first, high: 10 ** Math.max(last, first + 1), log: true };
}
