// Tables: extremes and equivalent loads, sortable and downloadable; the record of the run.

import { scaleFor, prettyUnit, significant, minus, timeText, element } from "./numbers.js";
import { report } from "./data.js";

const BODY = ["max", "tmax", "min", "tmin", "mean", "std"];

export class ExtremesTable {
  constructor() {
    this.loads = new Map(report.table.map((row) => [row.name, row]));
    this.totals = new Set(report.joints.flatMap((joint) => joint.parts.total));
    this.sorted = { column: null, down: false };
    const { slopes } = report.cycles;
    this.columns = [
      { title: "Channel", text: (series) => series.name },
      { title: "Unit", text: (series) => prettyUnit(this.scaleOf(series).unit), sort: (series) => series.unit },
      ...BODY.map((key) => ({
        title: { max: "Max", tmax: "at [s]", min: "Min", tmin: "at [s]", mean: "Mean", std: "Std" }[key],
        label: { tmax: "time of the maximum", tmin: "time of the minimum" }[key],
        number: (series) => series[key],
        text: (series) => (key[0] === "t" ? timeText(series[key]) : this.shown(series, series[key])),
      })),
      ...slopes.map((slope, i) => ({
        title: `DEL m=${slope}`,
        number: (series) => this.equivalent(series, i),
        text: (series) => this.shown(series, this.equivalent(series, i)),
      })),
    ];
    this.head = element(
      "tr",
      {},
      this.columns.map((column, i) => this.header(column, i)),
    );
    this.body = element("tbody");
    this.element = element(
      "div",
      { class: "scroll" },
      element("table", { class: "numbers" }, element("thead", {}, this.head), this.body),
    );
  }

  equivalent(series, i) {
    const cycles = report.cycles.channels[series.name];
    return cycles ? cycles.del[i] : null;
  }

  // One prefix for all rows of a unit, so that numbers can be compared down a column.
  scaleOf(series) {
    const alike = report.series.filter((other) => other.unit === series.unit);
    const magnitude = Math.max(...alike.map((other) => Math.max(Math.abs(other.max || 0), Math.abs(other.min || 0))));
    return scaleFor(series.unit, magnitude);
  }

  shown(series, value) {
    if (value === null) return "–";
    const row = this.loads.get(series.name);
    return row && row.negligible ? "≈ 0" : significant(value * this.scaleOf(series).factor);
  }

  header(column, i) {
    const button = element(
      "button",
      { type: "button", "aria-label": column.label || null, onclick: () => this.sort(i) },
      column.title,
    );
    return element("th", { scope: "col" }, button);
  }

  sort(i) {
    this.sorted = { column: i, down: this.sorted.column === i ? !this.sorted.down : i > 1 };
    this.fill();
  }

  show(which) {
    this.which = which;
    this.fill();
  }

  fill() {
    const wanted = {
      totals: (name) => this.totals.has(name) || (this.loads.has(name) && !this.isPart(name)),
      loads: (name) => this.loads.has(name),
      all: () => true,
    };
    const rows = report.series.filter((series) => wanted[this.which](series.name));
    const { column, down } = this.sorted;
    if (column !== null) {
      const { number, sort, text } = this.columns[column];
      const key = number || sort || text;
      const order = (a, b) => (typeof a === "string" ? a.localeCompare(b) : (a ?? -Infinity) - (b ?? -Infinity));
      rows.sort((a, b) => order(key(a), key(b)) * (down ? -1 : 1));
    }
    [...this.head.children].forEach((cell, i) =>
      cell.setAttribute("aria-sort", i !== column ? "none" : down ? "descending" : "ascending"),
    );
    this.body.replaceChildren(
      ...rows.map((series) => {
        const faint = this.loads.get(series.name)?.negligible;
        const cells = this.columns.map((c, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, c.text(series)));
        return element("tr", { class: faint ? "faint" : null }, cells);
      }),
    );
  }

  isPart(name) {
    return report.joints.some((joint) => name.startsWith(`${joint.name}.`) && !joint.parts.total.includes(name));
  }

  // SI units and all digits, for a spreadsheet.
  csv() {
    const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
    const heads = ["channel", "unit", "max", "max_time_s", "min", "min_time_s", "mean", "std"];
    const slopes = report.cycles.slopes.map((slope) => `del_m${slope}_neq${report.cycles.n_eq}`);
    const lines = report.series.map((series) => {
      const numbers = [...BODY.map((key) => series[key]), ...slopes.map((_, i) => this.equivalent(series, i))];
      return [quoted(series.name), quoted(series.unit), ...numbers.map((number) => number ?? "")].join(",");
    });
    return [[...heads, ...slopes].join(","), ...lines].join("\r\n") + "\r\n";
  }

  download() {
    const url = URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" }));
    const name = report.title.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "report";
    element("a", { href: url, download: `${name}-extremes.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }
}

export function plainTable(heads, rows) {
  const head = element(
    "thead",
    {},
    element(
      "tr",
      {},
      heads.map((text) => element("th", { scope: "col" }, text)),
    ),
  );
  const body = element(
    "tbody",
    {},
    rows.map((row) =>
      element(
        "tr",
        {},
        row.map((text) => element("td", {}, written(text))),
      ),
    ),
  );
  return element("div", { class: "scroll" }, element("table", {}, head, body));
}

function written(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (typeof value === "number") return minus(String(Number(value.toPrecision(9))));
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

export function fold(title, content, open = false) {
  return element("details", { open }, element("summary", {}, title), content);
}

// Any record, however deep, as lists that fold.
export function tree(data) {
  if (data === null || typeof data !== "object") return element("span", {}, written(data));
  const flat = Array.isArray(data) && data.every((item) => item === null || typeof item !== "object");
  if (flat) return element("span", {}, data.length ? data.map(written).join(", ") : "–");
  const entries = Array.isArray(data) ? data.map((item, i) => [String(i + 1), item]) : Object.entries(data);
  const list = element("ul", { class: "tree" });
  for (const [key, value] of entries) {
    const nested =
      value !== null &&
      typeof value === "object" &&
      Object.keys(value).length > 0 &&
      !(Array.isArray(value) && value.every((item) => item === null || typeof item !== "object"));
    list.append(element("li", {}, nested ? fold(key, tree(value)) : [element("b", {}, `${key}: `), tree(value)]));
  }
  return entries.length ? list : element("span", {}, "–");
}

function provenanceParts() {
  const { parameters, start, inputs, plugins, ...rest } = report.provenance;
  const parts = [];
  const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const valued = (entry) => (isRecord(entry) ? [entry.value ?? entry.first, entry.unit] : [entry, ""]);
  if (isRecord(parameters)) {
    const rows = Object.entries(parameters).map(([name, entry]) => [name, ...valued(entry)]);
    if (rows.length)
      parts.push(fold(`Parameters (${rows.length})`, plainTable(["Parameter", "Value", "Unit"], rows), true));
  }
  if (isRecord(start)) {
    const units = new Map(report.channels.map(([name, unit]) => [name, unit]));
    const rows = Object.entries(start).map(([name, value]) => [name, value, units.get(name) || ""]);
    if (rows.length) parts.push(fold(`Start values (${rows.length})`, plainTable(["Channel", "Start", "Unit"], rows)));
  }
  if (isRecord(inputs)) {
    const rows = Object.entries(inputs).map(([name, entry]) => [name, ...valued(entry)]);
    if (rows.length)
      parts.push(fold(`Inputs at the start (${rows.length})`, plainTable(["Input", "Value", "Unit"], rows)));
  }
  if (Array.isArray(plugins) && plugins.every(isRecord) && plugins.length) {
    const heads = [...new Set(plugins.flatMap(Object.keys))];
    parts.push(
      fold(
        `Plugins (${plugins.length})`,
        plainTable(
          heads,
          plugins.map((row) => heads.map((key) => (isRecord(row[key]) ? JSON.stringify(row[key]) : row[key]))),
        ),
      ),
    );
  }
  const heads = ["Channel", "Unit", "Axes", "Acts on", "Shifted by [m]"];
  parts.push(fold(`Channels (${report.channels.length})`, plainTable(heads, report.channels)));
  if (Object.keys(rest).length) parts.push(fold("Everything else in the record", tree(rest)));
  return parts;
}
