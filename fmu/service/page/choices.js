// Forms that say how a machine is run: settings with units and checks, end time, integrator, sea.

import { prettyUnit, counted } from "./report/numbers.js";
import { get } from "./api.js";
import { field, h } from "./parts.js";

let plugins = null;

// Names of the plugins of a kind, for lists to choose from.
export async function pluginNames(kind) {
  plugins ??= get("plugins").catch(() => ({}));
  const known = await plugins;
  const listed = known[kind] || known[`${kind}s`] || (known.plugins || []).filter((plugin) => plugin.kind === kind);
  return listed.map((plugin) => (typeof plugin === "string" ? { name: plugin } : plugin));
}

export function numberInput(attributes = {}) {
  return h("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", ...attributes });
}

// The number in a field; null where it is empty. Says what is wrong in the field itself.
export function numberOf(entry, { low = -Infinity, high = Infinity, above = null, whole = false } = {}) {
  const text = entry.input.value.trim().replace("−", "-");
  if (text === "") {
    entry.say("");
    return null;
  }
  const value = Number(text.replace(/^(-?\d+),(\d+)$/, "$1.$2"));
  if (!Number.isFinite(value)) return refused(entry, "not a number");
  if (above !== null && !(value > above)) return refused(entry, `must be greater than ${counted(above)}`);
  if (value < low) return refused(entry, `must be at least ${counted(low)}`);
  if (value > high) return refused(entry, `must be at most ${counted(high)}`);
  if (whole && !Number.isInteger(value)) return refused(entry, "must be a whole number");
  entry.say("");
  return value;
}

function refused(entry, words) {
  entry.say(words);
  return undefined;
}

export function choice(label, options, { hint = "", unit = "" } = {}) {
  const box = h(
    "select",
    {},
    options.map(({ value, text, title }) => h("option", { value, title: title || null }, text)),
  );
  return field(label, box, { hint, unit });
}

// A table of numbers that a model takes, each with its default, unit and meaning; only what differs is given.
export class Settings {
  constructor(entries, title) {
    this.rows = entries.map((entry) => this.row(entry));
    this.count = h("span", { class: "small", "aria-live": "polite" });
    const search = h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": `Filter ${title}`,
      class: "search",
    });
    search.addEventListener("input", () => {
      const wanted = search.value.toLowerCase().split(/\s+/);
      for (const { line, words, input } of this.rows)
        line.hidden = !(input.value || wanted.every((word) => words.includes(word)));
    });
    this.element = h(
      "fieldset",
      { class: "settings" },
      h("legend", {}, title),
      entries.length > 8 ? h("div", { class: "row" }, search, this.count) : null,
      h(
        "div",
        { class: "settings-rows" },
        this.rows.map(({ line }) => line),
      ),
    );
  }

  row({ name, default: usual, unit, description, minimum, maximum, start }) {
    const value = usual ?? start ?? 0;
    const shown = typeof value === "number" ? counted(value, 6).replace("−", "-") : String(value ?? "");
    const input = numberInput({ placeholder: shown, "aria-label": `${name}${unit ? ` in ${prettyUnit(unit)}` : ""}` });
    const entry = field(name, input, { unit: unit ? prettyUnit(unit) : "", hint: description || "" });
    entry.element.classList.add("setting");
    input.addEventListener("input", () => {
      entry.element.classList.toggle("changed", input.value.trim() !== "");
      const changed = this.rows.filter((row) => row.input.value.trim() !== "").length;
      this.count.textContent = changed ? `${changed} changed` : "";
    });
    const limits = { low: minimum ?? -Infinity, high: maximum ?? Infinity };
    input.addEventListener("change", () => numberOf(entry, limits));
    return { name, input, entry, limits, line: entry.element, words: `${name} ${description || ""}`.toLowerCase() };
  }

  fill(values) {
    for (const row of this.rows) {
      if (!(row.name in values)) continue;
      row.input.value = String(values[row.name]);
      row.input.dispatchEvent(new Event("input"));
    }
  }

  // {name: number} of what was changed, or null where a number is wrong.
  read() {
    const given = {};
    let right = true;
    for (const { name, entry, limits } of this.rows) {
      const value = numberOf(entry, limits);
      if (value === undefined) {
        if (right) entry.input.focus();
        right = false;
      } else if (value !== null) given[name] = value;
    }
    return right ? given : null;
  }
}

// A sea in words of the command line, e.g. jonswap:Hs=2.5,Tp=8,heading=150,seed=3.
export class SeaChoice {
  constructor() {
    this.kind = choice("Sea", [
      { value: "", text: "as the model has it" },
      { value: "jonswap", text: "JONSWAP" },
      { value: "pierson-moskowitz", text: "Pierson-Moskowitz" },
      { value: "torsethaugen", text: "Torsethaugen" },
    ]);
    this.parts = [
      ["Hs", field("Significant height Hs", numberInput({ value: "1.5" }), { unit: "m" }), { above: 0, high: 30 }],
      ["Tp", field("Peak period Tp", numberInput({ value: "7" }), { unit: "s" }), { above: 0, high: 60 }],
      [
        "heading",
        field("Heading", numberInput({ value: "150" }), { unit: "°", hint: "where waves go to; 180 is a head sea" }),
        { low: -360, high: 360 },
      ],
      ["seed", field("Seed", numberInput({ value: "1" })), { low: 0, whole: true }],
    ];
    const more = h(
      "div",
      { class: "entries", hidden: true },
      this.parts.map(([, entry]) => entry.element),
    );
    this.kind.input.addEventListener("change", () => (more.hidden = !this.kind.input.value));
    this.element = h("fieldset", {}, h("legend", {}, "Sea"), this.kind.element, more);
  }

  // Words, "" for none, or null where a number is wrong.
  read() {
    if (!this.kind.input.value) return "";
    const words = [];
    for (const [name, entry, limits] of this.parts) {
      const value = numberOf(entry, limits);
      if (value === undefined) {
        entry.input.focus();
        return null;
      }
      if (value !== null) words.push(`${name}=${value}`);
    }
    return `${this.kind.input.value}:${words.join(",")}`;
  }
}

// End time, step, integrator and formulation; what is left empty is the model's own.
export class HowChoice {
  constructor({ t_end: end, step } = {}) {
    const usual = (value) => (typeof value === "number" ? String(value) : "the model's own");
    this.end = field("End time", numberInput({ placeholder: usual(end), name: "t_end" }), { unit: "s" });
    this.step = field("Step", numberInput({ placeholder: usual(step), name: "step" }), { unit: "s" });
    this.output = field("Time between samples", numberInput({ placeholder: "about 0.01", name: "output_step" }), {
      unit: "s",
    });
    this.integrator = choice("Integrator", [{ value: "", text: "the model's own" }]);
    this.formulation = choice("Formulation", [{ value: "", text: "the model's own" }]);
    this.loads = choice("Joint loads", [
      { value: "", text: "as usual" },
      { value: "all", text: "of all joints" },
      { value: "none", text: "none" },
    ]);
    this.from = choice("Begin", [
      { value: "", text: "at the start values" },
      { value: "equilibrium", text: "at rest in equilibrium" },
    ]);
    for (const [kind, entry] of [
      ["integrator", this.integrator],
      ["formulation", this.formulation],
    ]) {
      pluginNames(kind).then((names) => {
        for (const { name, summary } of names)
          entry.input.append(h("option", { value: name, title: summary || null }, name));
      });
    }
    const all = [this.end, this.step, this.output, this.integrator, this.formulation, this.loads, this.from];
    this.element = h(
      "fieldset",
      {},
      h("legend", {}, "How"),
      h(
        "div",
        { class: "entries" },
        all.map((entry) => entry.element),
      ),
    );
  }

  // Options of a job, or null where a number is wrong.
  read() {
    const options = {};
    for (const [name, entry] of [
      ["t_end", this.end],
      ["step", this.step],
      ["output_step", this.output],
    ]) {
      const value = numberOf(entry, { above: 0 });
      if (value === undefined) {
        entry.input.focus();
        return null;
      }
      if (value !== null) options[name] = value;
    }
    for (const [name, entry] of [
      ["integrator", this.integrator],
      ["formulation", this.formulation],
      ["loads", this.loads],
      ["from", this.from],
    ]) {
      if (entry.input.value) options[name] = entry.input.value;
    }
    return options;
  }
}
