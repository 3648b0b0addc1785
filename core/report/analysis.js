// Sections of the page that count and sort: load roses, spectra, cycles, the table of extremes.

import { unpack, scaleFor, prettyUnit, significant, counted, seconds, element, selectBox } from "./numbers.js";
import { report, samples } from "./data.js";
import { CurveChart, Rose, HeatMap } from "./charts.js";
import { ExtremesTable } from "./tables.js";
import { section, note } from "./sections.js";

export function buildRoses() {
  if (!report.joints.length) return;
  const pair = [new Rose(), new Rose()];
  const state = { joint: report.joints[0], way: "size" };
  const told = element("p", { class: "small" });
  const show = () => {
    const { joint, way } = state;
    ["F", "M"].forEach((letter, i) => {
      const names = joint.plane.map((axis) => `${letter}${axis}`);
      pair[i].show(joint.roses[letter], names, samples.of.get(`${joint.name}.${letter}x`).unit, way);
    });
    told.textContent =
      `Total load of ${joint.name} in the ${joint.plane.join("-")} plane of its axes, in sectors of ` +
      `${Math.round(360 / joint.roses.F.max.length)}°, counted from ${joint.plane[0]} towards ${joint.plane[1]}. ` +
      (way === "size"
        ? "Light: the greatest resultant in a sector; dark: its mean."
        : "Length: share of time in a sector.");
  };
  const joints = selectBox(
    "Joint",
    report.joints.map(({ name }) => ({ value: name, text: name })),
    (name) => {
      state.joint = report.joints.find((joint) => joint.name === name);
      show();
    },
  );
  const ways = selectBox(
    "Show",
    [
      { value: "size", text: "greatest and mean" },
      { value: "share", text: "share of time" },
    ],
    (way) => {
      state.way = way;
      show();
    },
  );
  show();
  section(
    "main",
    "roses",
    "Load roses",
    element("div", { class: "row" }, joints.element, ways.element),
    told,
    element(
      "div",
      { class: "plots halves" },
      pair.map((rose) => rose.element),
    ),
  );
}

export function buildAnalysis() {
  const { spectra, cycles } = report;
  const known = report.series.filter(
    ({ name }) =>
      spectra.channels?.[name] ||
      cycles.channels[name] ||
      report.table.some((row) => row.name === name && !row.negligible),
  );
  const children = [spectra, cycles].filter((part) => part.note).map((part) => note(part.note));
  if (!known.length) {
    section(
      "main",
      "cycles",
      "Spectra and cycles",
      ...children,
      note("There is no channel here with a spectrum or cycles."),
    );
    return;
  }
  const rank = new Map(
    report.joints.flatMap((joint) =>
      Object.entries(joint.parts).flatMap(([part, names]) =>
        names.map((name) => [name, [part === "total" ? `${joint.name}` : `${joint.name}: ${part} part`, part]]),
      ),
    ),
  );
  const groupOf = (name) =>
    rank.get(name)?.[0] || (report.table.some((row) => row.name === name) ? "Other loads" : "Motion");
  const order = (name) =>
    rank.has(name) ? (rank.get(name)[1] === "total" ? 0 : 2) : groupOf(name) === "Other loads" ? 1 : 3;
  const options = known
    .map(({ name }) => ({ value: name, text: name, group: groupOf(name) }))
    .sort((a, b) => order(a.value) - order(b.value));
  const [spectrum, map, curve] = [new CurveChart("Spectrum"), new HeatMap(), new CurveChart("Exceedance")];
  const show = (name) => {
    showSpectrum(spectrum, name);
    showCycles(map, curve, name);
  };
  const largest = options
    .filter(({ value }) => cycles.channels[value] && order(value) < 2)
    .sort((a, b) => cycles.channels[b.value].del[0] - cycles.channels[a.value].del[0])[0];
  const chosen = (largest || options[0]).value;
  const channel = selectBox("Channel", options, show, chosen);
  show(chosen);
  const shown = element(
    "div",
    { class: "plots halves" },
    spectra.note ? null : element("div", { class: "whole" }, spectrum.element),
    cycles.note ? null : [map.element, curve.element],
  );
  const told = [];
  if (!spectra.note) {
    const windows = `Hann windows of ${counted(spectra.segment_s, 3)} s that overlap by half, ${spectra.averaged} averaged`;
    told.push(`Spectra: one-sided power spectral density by Welch's method, ${windows}.`);
  }
  if (!cycles.note) told.push(`Cycles: ${cycles.rule}. All numbers are ranges, never amplitudes.`);
  section(
    "main",
    "cycles",
    "Spectra and cycles",
    ...children,
    element("div", { class: "row" }, channel.element),
    shown,
    element("p", { class: "small" }, told.join(" ")),
  );
}

function showSpectrum(chart, name) {
  const column = report.spectra.channels?.[name];
  const { unit } = samples.of.get(name);
  const heading = `Spectrum of ${name}`;
  if (!column) return chart.show({ heading, note: `${name} has no spectrum: it does not change, or has gaps.` });
  const scale = scaleFor(unit, samples.magnitude([name]));
  const x = Array.from(unpack(report.spectra.frequency), (power) => 10 ** power);
  const y = Array.from(unpack(column), (power) => 10 ** power * scale.factor ** 2);
  const words = (i) => `${significant(y[i], 3)} at ${significant(x[i], 3)} Hz (period ${significant(1 / x[i], 3)} s)`;
  const peak = y.indexOf(Math.max(...y));
  const yUnit = prettyUnit(scale.unit);
  chart.show({
    heading,
    x,
    y,
    logX: true,
    logY: true,
    xName: "frequency [Hz]",
    yName: yUnit === "–" ? "density [1/Hz]" : `density [(${yUnit})²/Hz]`,
    summary: `highest at ${significant(x[peak], 3)} Hz, a period of ${significant(1 / x[peak], 3)} s`,
    point: words,
  });
}

function showCycles(map, curve, name) {
  const { unit } = samples.of.get(name);
  const cycles = report.cycles.channels[name];
  const loadlike = report.table.some((row) => row.name === name);
  const why = loadlike
    ? `${name} has no cycles: it never turns, or has gaps.`
    : `Cycles are counted for forces, moments and stresses; ${name} is none (${prettyUnit(unit)}).`;
  map.show(name, unit, cycles, why);
  const heading = `Exceedance of ranges of ${name}`;
  if (!cycles) return curve.show({ heading, note: why });
  const scale = scaleFor(unit, cycles.matrix.range[1]);
  const [x, y] = [cycles.exceedance.map(([n]) => n), cycles.exceedance.map(([, range]) => range * scale.factor)];
  curve.show({
    heading,
    x,
    y,
    logX: true,
    steps: true,
    xName: "cycles with this range or more",
    yName: `range [${prettyUnit(scale.unit)}]`,
    summary: `${counted(cycles.count)} cycles in ${counted(report.counted.duration)} s`,
    point: (i) => `${counted(x[i])} cycles reach ${significant(y[i], 4)} ${prettyUnit(scale.unit)}`,
  });
}

export function buildTable() {
  const table = new ExtremesTable();
  const ways = [];
  if (report.table.length) ways.push({ value: "totals", text: "loads" });
  if (report.joints.some((joint) => Object.keys(joint.parts).length > 1))
    ways.push({ value: "loads", text: "loads and their parts" });
  ways.push({ value: "all", text: "all channels" });
  const which = selectBox("Rows", ways, (value) => table.show(value), ways[0].value);
  table.show(ways[0].value);
  const { skip, duration, from } = report.counted;
  const period = `Over ${counted(duration)} s${skip > 0 ? `, from ${seconds(from)} on` : ""}.`;
  const reference = `N_eq = T · f_ref = ${counted(report.cycles.n_eq)} cycles (f_ref = ${counted(report.cycles.reference_hz)} Hz)`;
  const del = report.cycles.note ? "" : ` DEL: damage-equivalent range (Σ nᵢ Rᵢᵐ / N_eq)^(1/m) with ${reference}.`;
  const some = report.table.some((row) => row.negligible);
  const faint = some ? " “≈ 0”: below 10⁻⁹ of the largest load of its unit." : "";
  section(
    "wide",
    "numbers",
    "Extremes and equivalent loads",
    report.cycles.note ? note(report.cycles.note) : "",
    element(
      "div",
      { class: "row" },
      which.element,
      element("button", { type: "button", onclick: () => table.download() }, "Download CSV (SI units, all channels)"),
    ),
    element("p", { class: "small" }, `${period}${del}${faint} Press a heading to sort.`),
    table.element,
  );
  return table;
}
