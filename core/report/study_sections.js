// Sections of the page of a study: sea states, limits, hot spots, worst runs, step check, failures, record.

import { significant, quantity, counted, element, selectBox } from "./numbers.js";
import { report } from "./data.js";
import { plainTable, fold, tree } from "./tables.js";
import { buildHead, section } from "./sections.js";
import { cellKey, percent, SeaMap } from "./study_map.js";
import { buildExtremes } from "./study_extremes.js";
import { columnAt, RunTable, runLink, caseText } from "./study_runs.js";

function buildSea() {
  const table = new RunTable();
  const all = report.runs.rows;
  const [height, period] = [columnAt("Hs"), columnAt("Tp")];
  const choose = (key) => {
    if (key === null) return table.show(all, `All ${all.length} runs`);
    const rows = all.filter((row) => cellKey({ Hs: row[height], Tp: row[period] }) === key);
    const [Hs, Tp] = key.split(" ");
    table.show(rows, `Runs in Hs ${Hs} m, Tp ${Tp} s: ${rows.length}`);
  };
  choose(null);
  const cells = report.runs.cells.length > 0;
  const kept = report.study.kept_runs.length;
  const children = cells ? [element("div", { class: "sea" }, new SeaMap(choose).element, table.element)] : [table.element];
  const replay = element(
    "p",
    { class: "small" },
    "To see a run whole, in motion: ",
    element("code", {}, "kingpost study FOLDER --replay KEY"),
    kept ? ` Of ${kept} runs there is a report beside this page; their keys are links.` : "",
  );
  section("main", "runs", cells ? "Sea states" : "Runs", ...children, replay);
}

function labelledTable(parts, columns) {
  const rows = parts.map((part) => [caseText(part.labels), ...columns.map(([, text]) => text(part))]);
  return plainTable(["", ...columns.map(([title]) => title)], rows);
}

function buildLimits() {
  const { operability } = report.study;
  if (!operability) return;
  const { parts } = operability;
  const year = [
    ["within all limits", percent(parts.workable)],
    ["beyond a limit", percent(parts.beyond)],
    ...(parts.outside_linear_theory ? [["of that outside linear theory", percent(parts.outside_linear_theory)]] : []),
    ...(parts.calm ? [["calm", percent(parts.calm)]] : []),
    ...(parts.unknown ? [["without result", percent(parts.unknown)]] : []),
  ];
  const limits = Object.entries(operability.by_limit).map(([words, part]) => [words, percent(part)]);
  const children = [
    element("div", { class: "plots halves" }, plainTable(["Part of the year", ""], year), plainTable(["Limit", "Beyond it"], limits)),
  ];
  if (operability.positions.length) {
    const columns = [
      ["Time", (share) => percent(share.weight)],
      ["Within limits", (share) => percent(share.within)],
      ["Runs", (share) => share.runs],
      ["Failed", (share) => share.failed],
      ["Outside linear theory", (share) => share.outside_linear_theory],
      ["Limit that bites most", (share) => share.limiting || "none"],
    ];
    children.push(element("h3", {}, "By position"), labelledTable(operability.positions, columns));
  }
  section("main", "limits", `Workable ${counted(operability.percent_of_year)} % of the year`, ...children);
}

function buildDamage() {
  const { damage, damage_rules: rules } = report.study;
  if (!damage.length) return;
  const rows = damage.map((spot) => [
    spot.name,
    spot.curve,
    significant(spot.damage_per_year),
    spot.damage_error === null ? "one seed" : significant(spot.damage_error, 2),
    counted(spot.dff),
    spot.life_years === null ? "no damage" : significant(spot.life_years),
    quantity(spot.largest_range_Pa, "Pa"),
    significant(spot.cycles_per_year),
  ]);
  const heads = ["Hot spot", "S-N curve", "Damage per year", "± of seeds", "DFF", "Life [years]", "Largest range", "Cycles per year"];
  const holder = element("div", {});
  const show = (name) => holder.replaceChildren(...spotParts(damage.find((spot) => spot.name === name)));
  const options = damage.map(({ name }) => ({ value: name, text: name }));
  const box = selectBox("Hot spot", options, show, options[0].value);
  show(options[0].value);
  section(
    "main",
    "damage",
    "Fatigue",
    plainTable(heads, rows),
    element(
      "p",
      { class: "small" },
      `${rules.rule}; ${rules.life}. ± is the standard error that comes from the scatter of seeds.`,
    ),
    element("div", { class: "row" }, box.element),
    holder,
  );
}

function spotParts(spot) {
  const parts = [];
  for (const [title, groups] of [
    ["By position", spot.positions],
    ["By heading", spot.headings],
    ["By sea state", spot.cells],
  ]) {
    if (groups.length < 2 && title !== "By sea state") continue;
    if (!groups.length) continue;
    const sorted = [...groups].sort((a, b) => b.damage_per_year - a.damage_per_year);
    const table = damageTable(sorted, spot.damage_per_year);
    parts.push(title === "By sea state" ? fold(`${title} (${sorted.length})`, table) : element("div", {}, element("h3", {}, title), table));
  }
  return parts;
}

function damageTable(groups, total) {
  const rows = groups.map((part) => {
    const share = total ? part.damage_per_year / total : 0;
    const bar = element("span", { class: "bar" });
    bar.style.width = `${Math.max(1, Math.round(120 * share))}px`;
    const cells = [caseText(part.labels), percent(part.weight), [bar, percent(share)], significant(part.damage_per_year)];
    cells.push(part.if_always === null ? "–" : significant(part.if_always));
    return element(
      "tr",
      {},
      cells.map((cell) => element("td", {}, cell)),
    );
  });
  const heads = ["", "Time", "Share of damage", "Damage per year", "If always so"].map((text) => element("th", { scope: "col" }, text));
  const head = element("thead", {}, element("tr", {}, heads));
  return element("div", { class: "scroll" }, element("table", {}, head, element("tbody", {}, rows)));
}

function buildWorst() {
  const { by, runs } = report.study.worst;
  if (!runs.length) return;
  const rows = runs.map((run) => [runLink(run.key), caseText(run.labels), significant(run.value)]);
  section("main", "worst", "Worst runs", element("p", { class: "small" }, `By ${by}.`), nodeTable(["Run", "Case", "Value"], rows));
}

function nodeTable(heads, rows) {
  const head = element("thead", {}, element("tr", {}, heads.map((text) => element("th", { scope: "col" }, text))));
  const body = rows.map((row) => element("tr", {}, row.map((cell) => element("td", {}, cell))));
  return element("div", { class: "scroll" }, element("table", {}, head, element("tbody", {}, body)));
}

function buildStepCheck() {
  const { runs, limit } = report.study.step_check;
  if (!runs.length) return;
  const rows = runs.map((run) => {
    const bad = run.error || run.part === null || run.part > limit;
    const badge = element("span", { class: `badge ${bad ? "bad" : "good"}` }, bad ? "changes" : "holds");
    const words = run.error || `${run.number}: ${significant(run.before)} → ${significant(run.after)}`;
    return [runLink(run.key), badge, run.error ? "–" : percent(run.part), words];
  });
  section(
    "main",
    "step-check",
    "Step check",
    element(
      "p", { class: "small" },
      "The worst runs with half the step: the peak that changes most, as a part of the largest load of the same joint. " +
      `Up to ${percent(limit)} is taken to hold.`,
    ),
    nodeTable(["Run", "", "Change", "Peak"], rows),
  );
}

function buildFailed() {
  if (!report.study.failed.length) return;
  const rows = report.study.failed.map((run) => [runLink(run.key), caseText(run.labels), run.error]);
  const more = report.study.cases.failed - rows.length;
  section(
    "main",
    "failed",
    `Failed runs (${report.study.cases.failed})`,
    more > 0 ? element("p", { class: "small" }, `${more} more are in the table of cases.`) : "",
    nodeTable(["Run", "Case", "Why"], rows),
  );
}

function buildOutside() {
  const { runs, cells, part_of_time } = report.study.outside_linear_theory;
  if (!runs.length) return;
  const count = report.study.cases.outside_linear_theory;
  const more = count - runs.length;
  const children = [
    element(
      "p", {},
      "In these runs a floating body tilts farther than linear restoring, wave forces and motion RAOs hold. They are counted in " +
      `no damage, life or extreme: ${percent(part_of_time, 3)} of the time is missing there. They do not count as workable.`,
    ),
  ];
  if (cells.length && Object.keys(cells[0].labels).length) {
    children.push(labelledTable(cells, [["Time left out", (cell) => percent(cell.part_of_time, 3)]]));
  }
  if (more > 0) children.push(element("p", { class: "small" }, `${more} more are in the table of cases.`));
  children.push(nodeTable(["Run", "Case", "How far"], runs.map((run) => [runLink(run.key), caseText(run.labels), run.why])));
  section("main", "outside", `Outside linear theory (${count})`, ...children);
}

function buildSpectra() {
  const { channels, formula, f_ref_Hz, time } = report.study.equivalent_ranges;
  if (!channels.length) return;
  const slopes = channels[0].ranges.map(({ slope }) => `m = ${slope}`);
  const rows = channels.map(({ channel, unit, ranges }) => [channel, ...ranges.map(({ range }) => quantity(range, unit))]);
  section(
    "main",
    "equivalent",
    "Damage-equivalent ranges",
    plainTable(["Channel", ...slopes], rows),
    element("p", { class: "small" }, `${formula} with f_ref = ${counted(f_ref_Hz)} Hz over ${time}; every case as often as it occurs.`),
  );
}

function buildRecord() {
  const { study: spec, plugins, ran, model, recipe, file, kingpost, written: when } = report.study;
  section(
    "wide",
    "record",
    "Record",
    fold("What was studied", tree(spec), true),
    fold("How", tree({ kingpost, written: when, file, model, recipe, ran })),
    fold(`Plugins (${plugins.length})`, tree(plugins)),
  );
}

// Everything, into the parts "head", "main" and "wide" of a page, with links in "contents".
export function buildStudy() {
  buildHead();
  buildSea();
  buildOutside();
  buildLimits();
  buildDamage();
  buildExtremes();
  buildSpectra();
  buildWorst();
  buildStepCheck();
  buildFailed();
  buildRecord();
}
