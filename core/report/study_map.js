// Sea states as a map: a button for each height and period, coloured and labelled by what is asked for.

import { significant, counted, element, selectBox } from "./numbers.js";
import { report } from "./data.js";

export function labelText(value) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? counted(value, 6) : value;
}

export function cellKey(labels) {
  return `${labels.Hs} ${labels.Tp}`;
}

export function percent(share, digits = 3) {
  return share === null ? "–" : `${counted(100 * share, digits)}\u202f%`;
}

// What can be shown of the cells: {title, of(cell) -> number or null, text(number), low, high, good: whether much is good}
function mapViews() {
  const views = [];
  if (report.study.operability?.cells.length) {
    const cells = new Map(report.study.operability.cells.map((cell) => [cellKey(cell.labels), cell]));
    views.push({
      title: "within limits",
      words: "Share of the runs of a sea state, by their weights, that keep all limits.",
      of: (key) => cells.get(key)?.within ?? null,
      text: (value) => percent(value, 3),
      range: [0, 1],
      good: true,
    });
  }
  for (const spot of report.study.damage) {
    if (!spot.cells.length) continue;
    const cells = new Map(spot.cells.map((cell) => [cellKey(cell.labels), cell]));
    const most = Math.max(...spot.cells.map((cell) => cell.damage_per_year), 0);
    views.push({
      title: `damage per year at ${spot.name}`,
      words: `Damage that a sea state adds in a year at ${spot.name}, as a share of all of it (${significant(spot.damage_per_year)}).`,
      of: (key) => (cells.has(key) && spot.damage_per_year ? cells.get(key).damage_per_year / spot.damage_per_year : null),
      text: (value) => percent(value, 2),
      range: [0, spot.damage_per_year ? most / spot.damage_per_year : 1],
      good: false,
    });
    const rates = spot.cells.map((cell) => cell.if_always).filter((value) => value !== null);
    views.push({
      title: `damage per year at ${spot.name} if the sea were always so`,
      words: `Damage in a year that would be nothing but this sea state, at ${spot.name}.`,
      of: (key) => cells.get(key)?.if_always ?? null,
      text: (value) => significant(value, 2),
      range: [0, Math.max(...rates, 0)],
      good: false,
    });
  }
  // Of a study that is not finished: how far each sea state is.
  const parts = new Map(
    report.runs.cells.filter((cell) => cell.runs).map((cell) => [cellKey(cell), cell]),
  );
  if (parts.size) {
    views.push({
      title: "runs done",
      words: "Runs of a sea state that have ended, of those that are planned.",
      of: (key) => (parts.has(key) ? parts.get(key).ended / parts.get(key).runs : null),
      text: (value, key) => (key ? `${parts.get(key).ended}/${parts.get(key).runs}` : percent(value, 3)),
      range: [0, 1],
      good: true,
    });
  }
  const weights = new Map();
  for (const row of report.runs.cells) weights.set(cellKey(row), row.weight);
  views.push({
    title: "probability",
    words: "The part of the time in which a sea state prevails.",
    of: (key) => weights.get(key) ?? null,
    text: (value) => percent(value, 2),
    range: [0, Math.max(...weights.values(), 0)],
    good: true,
  });
  return views;
}

function mapColour({ range: [low, high], good }, value) {
  const part = high > low ? Math.min(Math.max((value - low) / (high - low), 0), 1) : 1;
  const share = Math.round(100 * part);
  return good
    ? `color-mix(in srgb, color-mix(in srgb, var(--good) ${share}%, var(--bad)) 45%, var(--panel))`
    : `color-mix(in srgb, var(--s3) ${Math.round(0.75 * share)}%, var(--panel))`;
}

export class SeaMap {
  constructor(onchoose) {
    this.onchoose = onchoose;
    this.heights = [...new Set(report.runs.cells.map((cell) => cell.Hs))].sort((a, b) => b - a);
    this.periods = [...new Set(report.runs.cells.map((cell) => cell.Tp))].sort((a, b) => a - b);
    this.known = new Set(report.runs.cells.map(cellKey));
    this.views = mapViews();
    this.buttons = new Map();
    this.words = element("p", { class: "small" });
    this.legend = element("p", { class: "small" });
    this.element = element("div", {}, this.chooser(), this.words, element("div", { class: "scroll" }, this.table()), this.legend);
    this.show(0);
  }

  chooser() {
    const options = this.views.map(({ title }, i) => ({ value: String(i), text: title }));
    return element("div", { class: "row" }, selectBox("Show", options, (value) => this.show(Number(value))).element);
  }

  table() {
    const rows = this.heights.map((height, i) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, labelText(height)),
        this.periods.map((period, j) => element("td", {}, this.cell(height, period, i, j))),
      ),
    );
    const foot = element(
      "tr",
      {},
      element("th", {}, "Hs [m] \\ Tp [s]"),
      this.periods.map((period) => element("th", { scope: "col" }, labelText(period))),
    );
    return element("table", { class: "map" }, element("tbody", {}, rows), element("tfoot", {}, foot));
  }

  cell(height, period, i, j) {
    const key = cellKey({ Hs: height, Tp: period });
    if (!this.known.has(key)) return null;
    const button = element("button", {
      type: "button",
      "aria-pressed": "false",
      onclick: () => this.choose(key),
      onkeydown: (event) => this.move(event, i, j),
    });
    this.buttons.set(key, button);
    return button;
  }

  // Arrows go to the next sea state in their direction.
  move(event, i, j) {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    let [a, b] = [i + step[0], j + step[1]];
    while (a >= 0 && b >= 0 && a < this.heights.length && b < this.periods.length) {
      const next = this.buttons.get(cellKey({ Hs: this.heights[a], Tp: this.periods[b] }));
      if (next) {
        next.focus();
        return;
      }
      [a, b] = [a + step[0], b + step[1]];
    }
  }

  choose(key) {
    this.chosen = this.chosen === key ? null : key;
    for (const [other, button] of this.buttons) button.setAttribute("aria-pressed", String(other === this.chosen));
    this.onchoose(this.chosen);
  }

  // Draw what the report says now; the same sea states, with other numbers.
  update() {
    this.views = mapViews();
    this.show(this.number);
  }

  show(number) {
    const view = this.views[number];
    this.number = number;
    this.view = view;
    this.words.textContent = `${view.words} Press a sea state to see its runs; arrow keys go on.`;
    for (const [key, button] of this.buttons) {
      const value = view.of(key);
      button.textContent = value === null ? "?" : view.text(value, key);
      const [height, period] = key.split(" ");
      button.setAttribute("aria-label", `Hs ${height} m, Tp ${period} s: ${view.title} ${button.textContent}`);
      button.style.background = value === null ? "var(--shade)" : mapColour(view, value);
    }
    const scale = element("span", { class: "scale" });
    const stops = [0, 0.25, 0.5, 0.75, 1].map((part) => mapColour(view, view.range[0] + part * (view.range[1] - view.range[0])));
    scale.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    this.legend.replaceChildren(view.text(view.range[0]), scale, view.text(view.range[1]));
  }
}
