// A coupled system as data: components with their ports, connections, how it is run; from and to the words of a system file.

import { get } from "./api.js";
import { modelDetail } from "./picture.js";

// Keys of components and connections that the editor itself holds; all others go through unchanged.
const HELD = ["name", "model", "fmu", "set", "settings"];

export class CoupledSystem {
  constructor() {
    this.name = "system";
    this.run = { t_end: 10, step: 0.01, master: "gauss-seidel" };
    this.components = [];
    this.connections = [];
    this.bonds = [];
  }

  component(name) {
    return this.components.find((component) => component.name === name);
  }

  // The component and the variable of an end of a connection; names of components have no dots.
  end(text) {
    const component = this.component(text.split(".")[0]);
    return component && text.length > component.name.length + 1
      ? { component, variable: text.slice(component.name.length + 1) }
      : null;
  }

  freeName(wanted) {
    const base = wanted.replace(/\.fmu$/i, "").replace(/[^\w-]+/g, "-") || "component";
    let name = base;
    for (let n = 2; this.component(name); n++) name = `${base}-${n}`;
    return name;
  }

  // Adds a model by name, or an uploaded FMU by hash.
  async add({ model, fmu, label }, entry = {}) {
    const component = {
      name: entry.name || this.freeName(model || label || "fmu"),
      model: model || null,
      fmu: fmu || null,
      label: model || label || fmu,
      set: numbersIn(entry.set || entry.settings || {}),
      rest: Object.fromEntries(Object.entries(entry).filter(([key]) => !HELD.includes(key))),
      x: null,
      y: null,
      wide: false,
      pinned: new Set(),
      ...(await portsOf({ model, fmu })),
    };
    this.components.push(component);
    return component;
  }

  rename(component, name) {
    if (!name || this.component(name) || !/^[\w-]+$/.test(name)) return false;
    const moved = (end) => (this.end(end)?.component === component ? `${name}.${this.end(end).variable}` : end);
    this.connections = this.connections.map((wire) => ({ ...wire, from: moved(wire.from), to: moved(wire.to) }));
    component.name = name;
    return true;
  }

  remove(component) {
    this.connections = this.connections.filter(
      ({ from, to }) => ![from, to].some((end) => this.end(end)?.component === component),
    );
    this.components = this.components.filter((other) => other !== component);
  }

  // Returns why two ends cannot be connected, or "".
  connect(from, to) {
    const [source, target] = [this.end(from), this.end(to)];
    if (!source || !target) return "Both ends are written component.variable.";
    if (this.connections.some((wire) => wire.from === from && wire.to === to)) return `${from} already feeds ${to}.`;
    const fed = this.connections.find((wire) => wire.to === to && !wire.add);
    if (fed) return `${to} is fed by ${fed.from}; remove that connection first.`;
    const wire = { from, to };
    const [a, b] = [unitOf(source, "outputs"), unitOf(target, "inputs")];
    if (a && b && a !== b && baseUnit(a) === baseUnit(b)) wire.convert = true;
    this.connections.push(wire);
    return "";
  }

  // What there is to say about the units of two ends.
  unitWords(from, to) {
    const [a, b] = [unitOf(this.end(from), "outputs"), unitOf(this.end(to), "inputs")];
    if (!a || !b || a === b) return "";
    if (baseUnit(a) === baseUnit(b)) return `${a} is converted to ${b}.`;
    return `Their units differ (${a} and ${b}): give the connection a factor, or it will be refused.`;
  }

  feeds(end) {
    return this.connections.filter((wire) => wire.to === end || wire.from === end);
  }

  // Plain data as in a system file; `named` gives the word for an FMU: its hash for the server, its file name for a file.
  data(named) {
    const components = Object.fromEntries(
      this.components.map(({ name, model, fmu, label, set, rest }) => [
        name,
        { ...(model ? { model } : { fmu: named(fmu, label) }), ...rest, ...(Object.keys(set).length ? { set } : {}) },
      ]),
    );
    return {
      name: this.name,
      run: Object.fromEntries(
        Object.entries(this.run).filter(([, value]) => value !== null && value !== undefined && value !== ""),
      ),
      components,
      ...(this.connections.length ? { connections: this.connections } : {}),
      ...(this.bonds.length ? { bonds: this.bonds } : {}),
    };
  }

  forServer() {
    return this.data((hash) => hash);
  }

  toml() {
    return tomlText(this.data((hash, label) => label || hash));
  }

  // From plain data; FMUs are hashes, or names of uploaded files. Returns sentences on what is not there.
  static async from(data, files = []) {
    const system = new CoupledSystem();
    system.name = data.name || "system";
    const { t_end, step, master } = data; // as the server describes a file
    for (const [name, value] of Object.entries({ t_end, step, master, ...(data.run || {}) })) {
      if (value !== undefined && value !== null) system.run[name] = value;
    }
    const listed = Array.isArray(data.components)
      ? data.components
      : Object.entries(data.components || {}).map(([name, entry]) => ({ name, ...entry }));
    const notes = [];
    for (const entry of listed) {
      const file =
        entry.fmu && files.find(({ hash, name }) => hash === entry.fmu || name === entry.fmu.split("/").at(-1));
      if (entry.fmu && !file) notes.push(`${entry.name}: ${entry.fmu} is not among the uploaded files; drop it here.`);
      try {
        await system.add(
          {
            model: entry.model,
            fmu: entry.fmu && (file?.hash || entry.fmu),
            label: file?.name || entry.model || entry.fmu,
          },
          entry,
        );
      } catch (error) {
        notes.push(`${entry.name}: ${error.message}`);
        system.components.push({
          ...{
            name: entry.name,
            model: entry.model || null,
            fmu: entry.fmu || null,
            label: entry.model || entry.fmu || "",
            set: entry.set || {},
          },
          ...{ rest: {}, x: null, y: null, wide: false, pinned: new Set(), inputs: [], outputs: [], parameters: [] },
        });
      }
    }
    system.connections = (data.connections || []).map(({ source, target, from, to, ...rest }) => ({
      from: from ?? source,
      to: to ?? target,
      ...rest,
    }));
    system.bonds = Array.isArray(data.bonds) ? data.bonds : [];
    return { system, notes };
  }
}

// Descriptions write numbers as text.
export function numberIn(value) {
  return typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
}

function numbersIn(values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, numberIn(value)]));
}

// A unit without prefixes, to see whether two of them are of one dimension.
function baseUnit(unit) {
  return unit.replace(/\b[kMGmc](?=(N|Pa|W|J|g|m|s|rad)\b)/g, "").replace(/\bdeg\b/g, "rad");
}

function unitOf({ component, variable }, side) {
  return component[side].find(({ name }) => name === variable)?.unit || "";
}

async function portsOf({ model, fmu }) {
  if (model) {
    const [detail, { outputs }] = await Promise.all([
      modelDetail(model),
      get(`models/${encodeURIComponent(model)}/ports`),
    ]);
    return { inputs: detail.inputs, outputs, parameters: detail.parameters };
  }
  const described = await get(`files/${fmu}/description`);
  const of = (...kinds) =>
    (described.variables || [])
      .filter(({ causality }) => kinds.includes(causality))
      .map(({ name, unit, start, description }) => ({ name, unit, default: numberIn(start), description }));
  return { inputs: of("input"), outputs: of("output"), parameters: of("parameter") };
}

const BARE = /^[A-Za-z0-9_-]+$/;

function key(name) {
  return BARE.test(name) ? name : JSON.stringify(name);
}

function value(item) {
  if (typeof item === "number")
    return Number.isInteger(item) ? String(item) : String(item).replace(/^(-?\d+)e/, "$1.0e");
  if (typeof item === "boolean") return String(item);
  if (typeof item === "string") return JSON.stringify(item).replaceAll("\u007f", "\\u007f");
  if (Array.isArray(item)) return `[${item.map(value).join(", ")}]`;
  return `{ ${Object.entries(item)
    .filter(([, one]) => one !== null && one !== undefined)
    .map(([name, one]) => `${key(name)} = ${value(one)}`)
    .join(", ")} }`;
}

// TOML of a system: what is simple stands first, then its tables, then the connections.
export function tomlText({ name, run, components, connections = [], bonds = [] }) {
  const table = (title, entries) => [
    `[${title}]`,
    ...entries.map(([word, item]) => `${key(word)} = ${value(item)}`),
    "",
  ];
  const lines = [`name = ${value(name)}`, "", ...table("run", Object.entries(run))];
  for (const [component, entry] of Object.entries(components))
    lines.push(...table(`components.${key(component)}`, Object.entries(entry)));
  for (const [kind, list] of [
    ["connections", connections],
    ["bonds", bonds],
  ]) {
    for (const entry of list)
      lines.push(`[[${kind}]]`, ...Object.entries(entry).map(([word, item]) => `${key(word)} = ${value(item)}`), "");
  }
  return lines.join("\n");
}
