// Extremes of seeds on Gumbel's paper: a straight line is his distribution.

import { scaleFor, prettyUnit, significant, counted, element, selectBox } from "./numbers.js";
import { colours } from "./clock.js";
import { report } from "./data.js";
import { Chart, Axes, strokeLine, tag, padded } from "./plot.js";
import { section } from "./sections.js";
import { percent } from "./study_map.js";
import { runLink, caseText } from "./study_runs.js";

class GumbelPlot extends Chart {
  constructor() {
    super(300, "");
    this.heading = element("h4", {});
    this.readout = element("p", { class: "readout" });
    this.element = element("figure", { class: "plot" }, this.heading, this.canvas, this.readout);
  }

  show(extreme) {
    this.extreme = extreme;
    const sign = extreme.side === "max" ? 1 : -1;
    const sorted = extreme.values.map((value) => sign * value).sort((a, b) => a - b);
    // Plotting positions i / (n + 1).
    this.points = sorted.map((value, i) => [value, -Math.log(-Math.log((i + 1) / (sorted.length + 1)))]);
    this.scale = scaleFor(extreme.unit, Math.max(...sorted.map(Math.abs)));
    this.sign = sign;
    const which = extreme.side === "max" ? "Largest" : "Smallest";
    this.heading.textContent = `${which} ${extreme.channel}: ${caseText(extreme.labels)}`;
    const each = `in ${counted(extreme.duration_s)} s each`;
    this.readout.textContent = `${extreme.values.length} values ${each}${extreme.note ? `; ${extreme.note}` : ""}`;
    this.canvas.setAttribute("aria-label", `${this.heading.textContent}. ${this.readout.textContent}`);
    this.changed();
  }

  line() {
    const { fit, duration_s } = this.extreme;
    if (!fit) return null;
    return { at: (y) => fit.location + fit.scale * y, three: Math.log(10800 / duration_s) };
  }

  draw(context) {
    if (!this.extreme) return;
    const line = this.line();
    const ys = this.points.map(([, y]) => y);
    const top = Math.max(...ys, line ? line.three + 0.4 : 0, 2);
    const bottom = Math.min(...ys, -1) - 0.3;
    const shown = (value) => this.sign * value * this.scale.factor;
    const xs = this.points.map(([x]) => shown(x));
    if (line) xs.push(shown(line.at(bottom)), shown(line.at(top)));
    const x = padded(Math.min(...xs), Math.max(...xs));
    this.axes = new Axes(this, x, { low: bottom, high: top + 0.2 }, { bottom: 42, left: 62, top: 24 });
    this.axes.draw(context);
    const { left, right } = this.axes.box;
    context.fillStyle = colours.muted;
    context.textBaseline = "bottom";
    context.textAlign = "center";
    context.fillText(`${this.extreme.channel} [${prettyUnit(this.scale.unit)}]`, (left + right) / 2, this.height - 4);
    context.textAlign = "left";
    context.fillText("−ln(−ln F): 0 most probable, 2.25 exceeded by 10 %", 6, 16);
    this.axes.clip(context, () => {
      if (line) this.drawLine(context, line, shown, bottom, top);
      context.fillStyle = colours.lines[0];
      for (const [value, y] of this.points) {
        context.beginPath();
        context.arc(this.axes.px(shown(value)), this.axes.py(y), 3.5, 0, 2 * Math.PI);
        context.fill();
      }
    });
    if (!line) return;
    const expected = this.extreme.expected_3h;
    const words = `3 h: ${significant(expected.most_probable * this.scale.factor)} ${prettyUnit(this.scale.unit)}`;
    tag(context, words, this.axes.px(shown(line.at(line.three))) + 6, this.axes.py(line.three) - 18, this.axes.box, colours.accent);
  }

  drawLine(context, line, shown, bottom, top) {
    context.strokeStyle = colours.lines[2];
    context.lineWidth = 1.8;
    strokeLine(
      context,
      this.axes.px(shown(line.at(bottom))),
      this.axes.py(bottom),
      this.axes.px(shown(line.at(top))),
      this.axes.py(top),
    );
    const expected = this.extreme.expected_3h;
    const y = this.axes.py(line.three);
    context.strokeStyle = colours.accent;
    context.lineWidth = 3;
    context.globalAlpha = 0.5;
    strokeLine(
      context,
      this.axes.px(expected.most_probable_low * this.scale.factor),
      y,
      this.axes.px(expected.most_probable_high * this.scale.factor),
      y,
    );
    context.globalAlpha = 1;
    context.fillStyle = colours.accent;
    context.beginPath();
    context.arc(this.axes.px(shown(line.at(line.three))), y, 4, 0, 2 * Math.PI);
    context.fill();
  }
}

export function buildExtremes() {
  if (!report.study.extremes.length) return;
  const plot = new GumbelPlot();
  const sides = [...new Map(report.study.extremes.map((item) => [`${item.channel} ${item.side}`, item])).keys()];
  const of = (side) => report.study.extremes.filter((item) => `${item.channel} ${item.side}` === side);
  const size = (side) => Math.abs(of(side)[0].largest);
  const holder = element("div", {});
  const show = (side) => {
    const items = of(side);
    plot.show(items[0]);
    holder.replaceChildren(extremesTable(items, plot));
  };
  const first = sides[0].split(" ")[0].split(".")[0];
  const chosen = sides.filter((side) => side.startsWith(first)).sort((a, b) => size(b) - size(a))[0];
  const box = selectBox(
    "Extreme",
    sides.map((side) => ({ value: side, text: side.replace(/ max$/, ", largest").replace(/ min$/, ", smallest") })),
    show,
    chosen,
  );
  show(chosen);
  const rules = report.study.extremes_rules;
  section(
    "main",
    "extremes",
    "Extreme loads",
    element("div", { class: "row" }, box.element),
    plot.element,
    holder,
    element(
      "p",
      { class: "small" },
      `Points: ${rules.distribution}. Most probable: ${rules.most_probable}. In brackets: ${rules.confidence}. ` +
        "The conditions with the largest means are listed; press one to see its seeds.",
    ),
  );
}

function extremesTable(items, plot) {
  const { factor, unit } = plot.scale;
  const number = (value, digits = 4) => (value === null ? "–" : significant(value * factor, digits));
  const range = (low, high) => (low === null ? "" : ` (${number(low, 3)} to ${number(high, 3)})`);
  const rows = items.map((item) => {
    const press = element("button", { type: "button", onclick: () => plot.show(item) }, caseText(item.labels));
    const expected = item.expected_3h;
    return element(
      "tr",
      {},
      [
        press,
        percent(item.weight),
        number(item.largest),
        number(item.mean),
        number(item.standard_deviation, 3),
        expected ? number(expected.most_probable) + range(expected.most_probable_low, expected.most_probable_high) : "–",
        expected ? number(expected.fractile) + range(expected.fractile_low, expected.fractile_high) : "–",
        runLink(item.worst),
      ].map((cell, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, cell)),
    );
  });
  const heads = ["Condition", "Time", "Extreme", "Mean", "Spread", "Most probable in 3 h", "90 % fractile in 3 h", "Worst run"];
  const head = element(
    "tr",
    {},
    heads.map((text, i) => element("th", { scope: "col" }, i > 1 && i < 7 ? `${text} [${prettyUnit(unit)}]` : text)),
  );
  const table = element("table", { class: "numbers" }, element("thead", {}, head), element("tbody", {}, rows));
  return element("div", { class: "scroll" }, table);
}
