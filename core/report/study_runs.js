// Runs in a table that can be sorted, and how to see one of them whole.

import { scaleFor, prettyUnit, significant, element } from "./numbers.js";
import { report } from "./data.js";
import { labelText } from "./study_map.js";

const MOST_ROWS = 200;
// Enough of a key to find its run.
const SHOWN_OF_KEY = 10;

// Where a column stands.
export function columnAt(name) {
  return report.runs.columns.findIndex((column) => column.name === name);
}

// One prefix for a column, so that its numbers can be compared.
function runScale({ unit, kind }, i) {
  if (kind !== "number") return { factor: 1, unit };
  let most = 0;
  for (const row of report.runs.rows) if (row[i] !== null) most = Math.max(most, Math.abs(row[i]));
  return scaleFor(unit, most);
}

export class RunTable {
  constructor() {
    this.sorted = { column: null, down: true };
    this.columns = report.runs.columns;
    this.scales = this.columns.map(runScale);
    this.state = columnAt("state");
    this.heading = element("h3", { "aria-live": "polite" });
    this.told = element("p", { class: "small" });
    this.head = element(
      "tr",
      {},
      this.columns.map((column, i) =>
        element("th", { scope: "col" }, element("button", { type: "button", onclick: () => this.sort(i) }, this.title(column, i))),
      ),
    );
    this.body = element("tbody");
    this.element = element(
      "div",
      {},
      this.heading,
      this.told,
      element(
        "div",
        { class: "scroll runs-box", tabindex: "0", role: "region", "aria-label": "Runs" },
        element("table", { class: "numbers runs" }, element("thead", {}, this.head), this.body),
      ),
    );
  }

  title({ name, kind }, i) {
    const shown = prettyUnit(this.scales[i].unit || "1");
    return kind === "number" && shown !== "–" ? `${name} [${shown}]` : name;
  }

  text(row, i) {
    const { kind } = this.columns[i];
    const value = row[i];
    if (value === null) return "–";
    if (kind === "label") return labelText(value);
    if (kind === "key" || kind === "state") return value;
    return significant(value * this.scales[i].factor, kind === "weight" ? 3 : 4);
  }

  show(rows, heading) {
    this.rows = rows;
    this.heading.textContent = heading;
    this.fill();
  }

  sort(i) {
    this.sorted = { column: i, down: this.sorted.column === i ? !this.sorted.down : true };
    this.fill();
  }

  fill() {
    const { column, down } = this.sorted;
    const rows = [...this.rows];
    if (column !== null) {
      const order = (a, b) =>
        typeof a === "string" || typeof b === "string"
          ? String(a ?? "").localeCompare(String(b ?? ""), undefined, { numeric: true })
          : (a ?? -Infinity) - (b ?? -Infinity);
      rows.sort((a, b) => order(a[column], b[column]) * (down ? -1 : 1));
    }
    [...this.head.children].forEach((cell, i) =>
      cell.setAttribute("aria-sort", i !== column ? "none" : down ? "descending" : "ascending"),
    );
    const cut = rows.length > MOST_ROWS ? ` The first ${MOST_ROWS} of ${rows.length} are listed; sort to see others.` : "";
    this.told.textContent = `Press a heading to sort.${cut}${report.runs.note ? ` ${report.runs.note}` : ""}`;
    this.body.replaceChildren(...rows.slice(0, MOST_ROWS).map((row) => this.row(row)));
  }

  row(row) {
    const failed = ["failed", "outside linear theory"].includes(row[this.state]);
    const cells = this.columns.map((column, i) => {
      const tag = i ? "td" : "th";
      if (column.kind === "key") return element(tag, { scope: "row" }, runLink(row[i]));
      return element(tag, {}, this.text(row, i));
    });
    return element("tr", { class: failed ? "faint" : null }, cells);
  }
}

// A run that was kept whole has a report; any other can be made again.
export function runLink(key) {
  const short = key.slice(0, SHOWN_OF_KEY);
  const folder = report.folder || ""; // of the study, where it is not the page's own
  if (report.study.kept_runs.includes(key))
    return element("a", { href: `${folder}runs/${key}/report.html`, title: `Report of run ${key}` }, short);
  return element("code", { title: key }, short);
}

export function caseText(labels) {
  const words = Object.entries(labels).map(([name, value]) => `${name} ${labelText(value)}`);
  return words.length ? words.join(", ") : "all cases";
}
