// The section on optimal control: inputs as steps, the path, bounds that bite, costates, and how the optimum was found.

import { indexAt, significant, quantity, timeText, seconds, element, selectBox } from "./numbers.js";
import { colours } from "./clock.js";
import { report, clock, samples } from "./data.js";
import { Chart, Axes, strokeLine } from "./plot.js";
import { TimePlot } from "./curves.js";
import { CurveChart } from "./charts.js";
import { plainTable } from "./tables.js";
import { plots, section, note } from "./sections.js";

// Channels over time with their bounds as broken lines, the stretches where these bite, and what is asked for at the end.
class BoundedPlot extends TimePlot {
  constructor(names, { steps = false, limits = [null, null], end = null, stretches = [], zero = false, ...options } = {}) {
    super(samples, names, options);
    Object.assign(this, { steps, limits, end, stretches, zero });
    this.changed();
  }

  // Limits far from all values stay outside.
  span(from, to) {
    let [low, high] = super.span(from, to);
    const reach = Math.max(high - low, 0.1 * Math.max(Math.abs(low), Math.abs(high)));
    const wanted = [...(this.limits || []), ...(this.end || []), this.zero ? 0 : null];
    const [least, greatest] = [low - 1.5 * reach, high + 1.5 * reach];
    for (const value of wanted) {
      if (value === null || value < least || value > greatest) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    return [low, high];
  }

  sampleAt(t) {
    return this.steps ? indexAt(samples.time, t) : super.sampleAt(t);
  }

  drawBehind(context) {
    super.drawBehind(context);
    if (!this.limits) return; // not yet made
    const { left, right, top, bottom } = this.axes.box;
    const inside = (x) => Math.min(Math.max(x, left), right);
    for (const { from_s, until_s, limit } of this.stretches) {
      const [x0, x1] = [inside(this.axes.px(from_s)), inside(this.axes.px(until_s))];
      const wide = Math.max(x1 - x0, 3);
      const shade = context.createLinearGradient(0, limit === "upper" ? top : bottom, 0, limit === "upper" ? bottom : top);
      shade.addColorStop(0, colours.force);
      shade.addColorStop(0.5, "transparent");
      context.globalAlpha = 0.3;
      context.fillStyle = shade;
      context.fillRect(x0 - (x1 > x0 ? 0 : 1.5), top, wide, bottom - top);
      context.globalAlpha = 1;
    }
    this.drawLimits(context);
    if (this.zero) this.drawLevel(context, 0, colours.muted, []);
  }

  drawLimits(context) {
    const { factor } = this.scale;
    const { low, high } = this.axes.y;
    for (const value of this.limits) {
      if (value === null || value * factor < low || value * factor > high) continue;
      this.drawLevel(context, value * factor, colours.force, [6, 4]);
    }
    if (!this.end) return;
    const x = this.axes.px(report.span[1]);
    if (x > this.axes.box.right + 1) return;
    const [first, last] = this.end.map((value, i) => this.axes.py(value === null ? [low, high][i] : value * factor));
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    strokeLine(context, x, first, x, last);
    for (const y of [first, last]) strokeLine(context, x - 9, y, x + 4, y);
    context.lineWidth = 1;
  }

  drawLevel(context, value, colour, dashes) {
    const { left, right } = this.axes.box;
    const y = Math.round(this.axes.py(value)) + 0.5;
    context.save();
    context.strokeStyle = colour;
    context.lineWidth = 1.2;
    context.setLineDash(dashes);
    strokeLine(context, left, y, right, y);
    context.restore();
  }

  drawCurve(context, name, from, to) {
    if (!this.steps) {
      super.drawCurve(context, name, from, to);
      return;
    }
    const { values } = samples.of.get(name);
    const { factor } = this.scale;
    context.strokeStyle = colours.lines[this.names.indexOf(name) % 8];
    context.lineWidth = 1.6;
    context.lineJoin = "miter";
    context.beginPath();
    let before = NaN;
    for (let i = from; i < to; i++) {
      const [x0, x1, y] = [this.axes.px(samples.time[i]), this.axes.px(samples.time[i + 1]), this.axes.py(values[i] * factor)];
      if (Number.isNaN(before)) context.moveTo(x0, y);
      else context.lineTo(x0, y);
      if (!Number.isNaN(y)) context.lineTo(x1, y);
      before = y;
    }
    context.stroke();
  }
}

// One row for each bound that bites: bars where it does.
class Timeline extends Chart {
  constructor(rows) {
    super(34 + 26 * rows.length, `When bounds bite: ${rows.map((row) => row.label).join("; ")}`);
    this.rows = rows;
    this.element = element("figure", { class: "plot" }, element("h4", {}, "When they bite"), this.canvas);
    clock.on("range", () => this.changed());
    clock.on("time", () => this.changed());
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.axes || clock.playing) return;
      clock.set(this.axes.xAt(event.clientX - this.canvas.getBoundingClientRect().left));
    });
  }

  draw(context) {
    const widest = Math.max(...this.rows.map((row) => context.measureText(row.label).width));
    const left = Math.min(widest + 16, this.width * 0.5);
    this.axes = new Axes(this, { low: clock.range[0], high: clock.range[1] }, { low: 0, high: 1 }, { left, top: 6 });
    const { right, top, bottom } = this.axes.box;
    context.strokeStyle = colours.line;
    context.fillStyle = colours.muted;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const { value, text } of Axes.ticks(this.axes.x, Math.max(2, (right - left) / 90))) {
      const x = Math.round(this.axes.px(value)) + 0.5;
      strokeLine(context, x, top, x, bottom);
      context.fillText(text, Math.min(x, right - 6), bottom + 6);
    }
    this.rows.forEach(({ label, stretches, upper }, k) => {
      const y = top + 26 * k + 13;
      context.textAlign = "right";
      context.textBaseline = "middle";
      context.fillStyle = colours.ink;
      context.fillText(label, left - 8, y, left - 10);
      this.axes.clip(context, () => {
        context.fillStyle = upper ? colours.force : colours.moment;
        for (const { from_s, until_s } of stretches) {
          const [x0, x1] = [this.axes.px(from_s), this.axes.px(until_s)];
          context.beginPath();
          if (x1 - x0 < 4) context.arc((x0 + x1) / 2, y, 4, 0, 2 * Math.PI);
          else context.roundRect(x0, y - 6, x1 - x0, 12, 3);
          context.fill();
        }
      });
    });
    if (clock.time < clock.range[0] || clock.time > clock.range[1]) return;
    context.strokeStyle = colours.accent;
    const x = this.axes.px(clock.time);
    strokeLine(context, x, top, x, bottom);
  }
}

const SIDES = { upper: "at most", lower: "at least" };

function bitingParts(biting) {
  if (!biting.length) return [element("h3", {}, "Bounds that bite"), note("No bound is reached on the way.")];
  const rows = biting.map(({ name, limit, value, unit, stretches }) => ({
    label: `${name} ${SIDES[limit]} ${quantity(value, unit)}`,
    stretches: stretches || [],
    upper: limit === "upper",
  }));
  const numbers = biting.map((item, i) => {
    const once = item.duration_s === 0 && item.stretches?.length === 1;
    const whole = `${significant(item.duration_s, 3)}\u202fs`;
    return [
      rows[i].label,
      (item.stretches || [])
        .map(({ from_s, until_s }) => (from_s === until_s ? seconds(from_s) : `${timeText(from_s)} to ${seconds(until_s)}`))
        .join(", "),
      once ? "touched" : `${whole} (${significant(100 * item.share, 3)} %)`,
      item.multiplier === null || item.multiplier === undefined ? "–" : significant(item.multiplier, 4),
    ];
  });
  return [
    element("h3", {}, "Bounds that bite"),
    new Timeline(rows).element,
    element("div", { class: "plot" }, plainTable(["Bound", "When", "How long", "Multiplier"], numbers)),
    element(
      "p",
      { class: "small" },
      "The multiplier is by how much the cost would fall, to first order, if the bound were wider by one SI unit all the time.",
    ),
  ];
}

function convergenceParts({ starts, chosen }) {
  if (!starts.length) return [];
  const [cost, violation] = [new CurveChart("Cost"), new CurveChart("Violation")];
  const show = (i) => {
    const { course, start } = starts[i];
    const words = (key) => (k) => `iteration ${course.iteration[k]}: ${significant(course[key][k], 5)}`;
    const curve = (chart, key, name, y) => {
      if (y.length < 2) return chart.show({ heading: name, note: `Of the start ${start} no iterations are recorded.` });
      const known = y.filter((value) => value !== null);
      const logY = key === "violation" || (Math.min(...known) > 0 && Math.max(...known) > 30 * known[known.length - 1]);
      chart.show({
        heading: `${name}, from start “${start}”`,
        x: course.iteration,
        y: y.map((value) => (value === null ? NaN : value)),
        logY,
        xName: "iteration",
        yName: "",
        summary: `${significant(known[known.length - 1], key === "cost" ? 9 : 2)} after ${course.iteration[y.length - 1]} iterations`,
        point: words(key),
      });
    };
    curve(cost, "cost", "Cost", course.cost);
    // What vanishes has no logarithm.
    curve(violation, "violation", "Violation", course.violation.map((value) => value && Math.max(value, 1e-16)));
  };
  const names = starts.map(({ start, formulation }, i) => ({ value: String(i), text: `${start} (${formulation})` }));
  const which = selectBox("Search", names, (value) => show(Number(value)), String(chosen ?? starts.length - 1));
  show(chosen ?? starts.length - 1);
  const rows = starts.map((item, i) => [
    i === chosen ? `${item.start} ★` : item.start,
    item.formulation,
    item.intervals,
    item.status,
    item.cost === null ? "–" : significant(item.cost, 9),
    item.violation === null ? "–" : significant(item.violation, 2),
    item.iterations,
    significant(item.seconds, 3),
  ]);
  const heads = ["Start", "Formulation", "Intervals", "Outcome", "Cost", "Violation", "Iterations", "Seconds"];
  return [
    element("h3", {}, "Starts and convergence"),
    element("div", { class: "plot" }, plainTable(heads, rows)),
    element("p", { class: "small" }, chosen === null ? "" : "★ The search that gave this result."),
    starts.length > 1 ? element("div", { class: "row" }, which.element) : "",
    element("div", { class: "plots halves" }, cost.element, violation.element),
  ];
}

export function buildOptimal() {
  const { optimal } = report;
  if (!optimal) return;
  const plot = (names, options) => {
    const made = new BoundedPlot(names, options);
    plots.push(made);
    return made.element;
  };
  const grid = (figures) => element("div", { class: "plots" }, figures);
  const bounded =
    (steps) =>
    ({ name, limits, end, stretches }) =>
      plot([name], { label: name, steps, limits, end, stretches });
  const facts = optimal.facts.map(([label, text]) => [element("dt", {}, label), element("dd", {}, text)]);
  const kind = optimal.status === "optimal" ? "good" : "bad";
  const status = [element("dt", {}, "Status"), element("dd", {}, element("span", { class: `badge ${kind}` }, optimal.status))];
  const children = [
    element("dl", { class: "facts" }, status, facts.flat()),
    element("h3", {}, "Inputs"),
    element("p", { class: "small" }, "Held over each interval. Broken lines are bounds; where one bites, its side is shaded."),
    grid(optimal.inputs.map(bounded(true))),
  ];
  if (optimal.path.length)
    children.push(
      element("h3", {}, "Path"),
      element("p", { class: "small" }, "What is bounded on the way, or asked for at the end: the bracket at the right."),
      grid(optimal.path.map(bounded(false))),
    );
  children.push(...bitingParts(optimal.biting));
  const steps = (title) => (names) => plot(names, { label: title, steps: true, zero: true });
  const duals = [...optimal.costates.map(steps("Costates")), ...optimal.switching.map(steps("Switching functions"))];
  if (optimal.hamiltonian) duals.push(plot([optimal.hamiltonian], { label: "Discrete Hamiltonian", steps: true }));
  children.push(
    element("h3", {}, "Costates"),
    element(
      "p",
      { class: "small" },
      "Of every interval, in units of the cost: costates of the momenta; what inputs cost through the motion alone, per unit and second; " +
        `and the discrete Hamiltonian. ${optimal.hamiltonian_text}`,
    ),
    grid(duals),
    ...convergenceParts(optimal),
  );
  section("main", "optimal", "Optimal control", ...children);
}
