// Sections of the page: head, motion, joint loads, record.

import { prettyUnit, significant, quantity, seconds, element } from "./numbers.js";
import { report, clock, samples } from "./data.js";
import { TimePlot } from "./curves.js";
import { fold } from "./tables.js";

export const plots = [];

// `place` is the id of the part of the page that the section goes to.
export function section(place, id, title, ...children) {
  document.getElementById("contents").append(element("a", { href: `#${id}` }, title));
  document.getElementById(place).append(element("section", { id }, element("h2", {}, title), ...children));
}

function timePlot(names, options) {
  const plot = new TimePlot(samples, names, options);
  plots.push(plot);
  return plot;
}

export function note(text) {
  return element("p", { class: "note" }, text);
}

export function buildHead() {
  const facts = report.facts.map(([label, text]) => [element("dt", {}, label), element("dd", {}, text)]);
  const list = element("dl", { class: "facts" }, facts.flat());
  if (report.outcome) {
    const kind = report.outcome === "complete" ? "good" : "bad";
    list.append(
      element("dt", {}, "Outcome"),
      element("dd", {}, element("span", { class: `badge ${kind}` }, report.outcome)),
    );
  }
  const head = document.getElementById("head");
  head.append(list);
  const sentences = [...report.warnings];
  if (report.outcome && report.outcome !== "complete" && !report.optimal) {
    sentences.unshift(`This run did not reach its end: it is ${report.outcome} at ${seconds(report.span[1])}.`);
  }
  if (sentences.length) {
    const items = sentences.map((text) => element("li", {}, text));
    head.append(
      element("div", { class: "warning", role: "note" }, element("b", {}, "Warnings"), element("ul", {}, items)),
    );
  }
}

export function buildMotion() {
  const shown = report.panels.filter(({ role }) => role !== "Bodies" && role !== "Monitors");
  const bodies = report.panels.filter(({ role }) => role === "Bodies");
  const { samples, bucket } = report.reduction;
  const grid = (panels) =>
    element(
      "div",
      { class: "plots" },
      panels.map(({ names, title }) => timePlot(names, { label: title }).element),
    );
  const children = [];
  if (!report.scene.bodies) children.push(note(report.scene.note));
  const thinned =
    bucket > 1
      ? ` Of every ${bucket} of the ${samples} samples the least and the greatest are drawn: ` +
        "peaks are whole, what lies between them is not."
      : "";
  children.push(
    element(
      "p",
      { class: "small" },
      `Point to read, drag to zoom all plots in time, double-click to see everything again, press a name to hide it.${thinned}`,
    ),
  );
  children.push(
    element(
      "p",
      { class: "zoom-bar", id: "zoom-bar", hidden: true },
      element("span", {}),
      " ",
      element("button", { type: "button", onclick: () => clock.reset() }, "Show all"),
    ),
  );
  if (shown.length) children.push(grid(shown));
  const tell = (names, words) => {
    if (!names.length) return;
    const more = names.length > 12 ? `, ${names.length - 12} more` : "";
    children.push(element("p", { class: "small" }, `${words}: ${names.slice(0, 12).join(", ")}${more}.`));
  };
  tell(report.zero, "Zero throughout, and not drawn");
  tell(report.memory, "States of forces for their equations alone, in the files and not drawn");
  if (bodies.length)
    children.push(
      fold(`Velocities and accelerations of the bodies, in their axes (${bodies.length} plots)`, grid(bodies)),
    );
  const plain = shown.every(({ role }) => role === "Channels" || role === "Rates");
  section("main", "motion", plain ? "Channels" : "Motion", ...children);
  clock.on("range", () => {
    const bar = document.getElementById("zoom-bar");
    bar.hidden = !clock.zoomed;
    bar.firstChild.textContent = `All plots show ${seconds(clock.range[0])} to ${seconds(clock.range[1])}.`;
  });
}

const AXES = {
  child: "axes of the joint frame fixed in the child",
  parent: "axes of the joint frame fixed in the parent",
  body: "axes of the body it acts on",
  world: "world axes",
};

function conventionOf(joint) {
  const [parent, child] = joint.bodies;
  const acts = {
    child: child ? `of ${parent} on ${child}` : "on the child",
    parent: child ? `of ${child} on ${parent}` : "on the parent",
  };
  const shift = joint.at.some((x) => x !== 0)
    ? `, shifted by (${joint.at.map((x) => significant(x, 3)).join(", ")}) m`
    : "";
  const axes = AXES[joint.frame] || "axes that are not stated";
  return `Load ${acts[joint.side] || "of the joint"}, in ${axes}, about the joint origin${shift}.`;
}

function jointCard(joint) {
  const parts = Object.keys(joint.parts);
  const six = (part) => [joint.parts[part].slice(0, 3), joint.parts[part].slice(3)];
  const label = (what, part) => (part === "total" ? what : `${what}, ${part} part`);
  const pair = six("total").map((names, i) => timePlot(names, { label: ["Moments", "Forces"][i], extremes: true }));
  const choose = (part) =>
    six(part).forEach((names, i) => pair[i].setNames(names, label(["Moments", "Forces"][i], part)));
  const buttons = parts.map((part) =>
    element(
      "button",
      {
        type: "button",
        "aria-pressed": String(part === "total"),
        onclick: (event) => {
          for (const other of buttons) other.setAttribute("aria-pressed", String(other === event.currentTarget));
          choose(part);
        },
      },
      part,
    ),
  );
  const title = element("h3", {}, joint.name, joint.kind ? element("span", { class: "unit" }, ` ${joint.kind}`) : "");
  const switches =
    parts.length > 1
      ? element("div", { class: "segments", role: "group", "aria-label": `Part of the load of ${joint.name}` }, buttons)
      : "";
  return element(
    "div",
    { class: "card" },
    element("div", { class: "card-head" }, title, switches),
    element("p", { class: "small" }, conventionOf(joint)),
    element(
      "div",
      { class: "plots" },
      pair.map((plot) => plot.element),
    ),
  );
}

export function buildLoads() {
  if (!report.joints.length) {
    section("main", "loads", "Joint loads", ...report.notes.map(note));
    return;
  }
  const children = [];
  if (report.quality.length) children.push(qualityLine());
  children.push(...report.joints.map(jointCard));
  section("main", "loads", "Joint loads", ...children);
}

// How well the loads balance the motion: the residual of Newton's and Euler's equations, beside the loads themselves.
function qualityLine() {
  const words = report.quality.map(({ name, unit, max, time, scale }) => {
    const what = name.endsWith("force") ? "force" : "moment";
    const share =
      scale > 0 ? `, ${significant(max / scale, 2)} of the greatest joint ${what} (${quantity(scale, unit, 3)})` : "";
    return `${what} at most ${significant(max, 2)} ${prettyUnit(unit)} (at ${seconds(time)})${share}`;
  });
  const balanced = report.quality.every(({ max, scale, limit }) => max <= limit * scale || max === 0);
  const verdict = balanced ? ["good", "balanced"] : ["bad", "check"];
  const figures = report.quality.map(({ name }) => timePlot([name], { label: name, height: 130 }).element);
  return fold(
    element(
      "span",
      {},
      element("b", {}, "Newton-Euler residual "),
      element("span", { class: `badge ${verdict[0]}` }, verdict[1]),
      ` ${words.join("; ")}`,
    ),
    element("div", { class: "plots" }, figures),
  );
}

// What physics says about the run: energy balance, momentum, and how well constraints are kept.
export function buildMonitors() {
  const panels = report.panels.filter(({ role }) => role === "Monitors");
  if (!panels.length) return;
  const lines = report.monitors.map(({ what, text, verdict }) =>
    element(
      "li",
      {},
      element("b", {}, `${what} `),
      element("span", { class: `badge ${verdict === "check" ? "bad" : "good"}` }, verdict),
      ` ${text}`,
    ),
  );
  const figures = panels.map(({ names, title, log, unit }) => {
    const common = unit === samples.of.get(names[0]).unit;
    return timePlot(names, { label: title, log, whole: names[0] === "constraints.rank", unit: common ? "" : unit }).element;
  });
  section(
    "main",
    "monitors",
    "Monitors",
    lines.length ? element("ul", { class: "small" }, lines) : "",
    element("div", { class: "plots" }, figures),
  );
}

export function buildFoot() {
  section("wide", "record", "Record of the run", ...provenanceParts());
  document.getElementById("foot").textContent = "One file, no network: keep it with the results it describes.";
}
