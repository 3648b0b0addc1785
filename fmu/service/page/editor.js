// The co-simulation editor: a graph, what is selected in it, how the system is run, and its file.

import { get, send, start } from "./api.js";
import { choice, numberInput, numberOf, pluginNames } from "./choices.js";
import { takeUploads, uploadButton } from "./drop.js";
import { Graph } from "./graph.js";
import { download, field, h, pageHead, press, toast } from "./parts.js";
import { Inspector } from "./inspector.js";
import { CoupledSystem } from "./system.js";

const KEPT = "kingpost-system";

export async function showEditor(root, { query, leave, signal }) {
  const editor = new Editor();
  root.append(editor.element);
  await editor.open(query, signal);
  leave(takeUploads((records) => editor.takes(records)));
}

class Editor {
  constructor() {
    this.system = new CoupledSystem();
    this.said = h("p", { class: "small", role: "status", "aria-live": "polite" });
    this.inspector = new Inspector(this);
    this.graph = new Graph(this.system, this.listeners());
    this.wires = h("div", {});
    this.told = h("p", { class: "wrong", role: "alert" });
    this.element = h(
      "div",
      {},
      pageHead(
        "Co-simulation",
        "Put models and FMUs side by side and connect their ports: drag from an output to an input, or take one up with Enter and press Enter on the other.",
      ),
      this.toolbar(),
      this.said,
      h(
        "div",
        { class: "editor" },
        h("div", {}, this.graph.element, this.connector(), this.wires, this.runBar(), this.told),
        this.inspector.element,
      ),
    );
    this.changed();
  }

  listeners() {
    return {
      select: (thing) => this.inspector.show(thing),
      connect: (from, to) => this.connect(from, to),
      remove: (thing) => this.remove(thing),
      moved: () => this.keep(),
      say: (text) => (this.said.textContent = text),
    };
  }

  toolbar() {
    this.sources = h("select", { "aria-label": "Model or FMU to add" });
    const add = press("Add component", () => this.addChosen(), { class: "primary" });
    const save = press("Save as TOML", () =>
      download(`${this.system.name}.toml`, this.system.toml(), "application/toml"),
    );
    const fresh = press("New", () => {
      if (this.system.components.length && !window.confirm("Begin a new system? What is not saved is lost.")) return;
      this.use(new CoupledSystem());
    });
    return h("div", { class: "row toolbar" }, this.sources, add, uploadButton("Load TOML or FMU"), save, fresh);
  }

  // The same as dragging, by two fields.
  connector() {
    this.outputs = h("datalist", { id: "all-outputs" });
    this.inputs = h("datalist", { id: "all-inputs" });
    const from = h("input", {
      type: "text",
      list: "all-outputs",
      "aria-label": "Output, as component.variable",
      placeholder: "component.output",
      spellcheck: "false",
    });
    const to = h("input", {
      type: "text",
      list: "all-inputs",
      "aria-label": "Input, as component.variable",
      placeholder: "component.input",
      spellcheck: "false",
    });
    const connect = (event) => {
      event.preventDefault();
      if (!this.connect(from.value.trim(), to.value.trim())) return;
      from.value = "";
      to.value = "";
      from.focus();
    };
    return h(
      "form",
      { class: "row connector", onsubmit: connect },
      "Connect",
      from,
      "→",
      to,
      h("button", {}, "Connect"),
      this.outputs,
      this.inputs,
    );
  }

  runBar() {
    this.name = field("Name", h("input", { type: "text", maxlength: "100" }));
    this.end = field("End time", numberInput({ name: "t_end" }), { unit: "s" });
    this.step = field("Communication step", numberInput({ name: "step" }), { unit: "s" });
    this.master = choice("Master", []);
    pluginNames("master").then((masters) => {
      const names = masters.length
        ? masters
        : ["jacobi", "gauss-seidel", "iterated", "interface-inertia", "ecco"].map((name) => ({ name }));
      this.master.input.append(
        ...names.map(({ name, summary }) => h("option", { value: name, title: summary || null }, name)),
      );
      this.showRun();
    });
    const take = () => {
      this.readRun();
      this.keep();
    };
    for (const entry of [this.name, this.end, this.step, this.master]) entry.input.addEventListener("change", take);
    const run = press("Run", () => this.run({}), { class: "primary" });
    const check = press("Check only", () => this.run({ check: true }));
    const live = press("Go live", async () => {
      if (!this.readRun()) return;
      const { id } = await send("live", { system: this.system.forServer(), settings: {}, options: {} });
      location.hash = `#/live/${id}`;
    });
    const entries = [this.name, this.end, this.step, this.master].map((entry) => entry.element);
    return h(
      "div",
      { class: "run-bar" },
      h("div", { class: "entries" }, entries),
      h("div", { class: "form-foot" }, run, check, live),
    );
  }

  async open(query, signal) {
    const [models, answer] = await Promise.all([get("models", {}, signal), get("files", {}, signal)]);
    this.files = answer.files || answer;
    this.models = models;
    this.fillSources();
    const kept = sessionStorage.getItem(KEPT);
    if (query.get("file")) await this.load(query.get("file"));
    else if (kept) await this.restore(JSON.parse(kept));
    if (query.get("add")) {
      const file = this.files.find(({ hash }) => hash === query.get("add"));
      await this.add({ fmu: query.get("add"), label: file?.name });
    }
    if (query.get("model")) await this.add({ model: query.get("model") });
    history.replaceState(null, "", "#/cosim");
  }

  fillSources() {
    const fmus = this.files
      .filter(({ kind }) => kind === "fmu")
      .map(({ hash, name }) => h("option", { value: `fmu:${hash}` }, name));
    const models = this.models.map(({ name }) => h("option", { value: `model:${name}` }, name));
    this.sources.replaceChildren(
      ...(fmus.length ? [h("optgroup", { label: "Uploaded FMUs" }, fmus)] : []),
      h("optgroup", { label: "Models" }, models),
    );
  }

  async addChosen() {
    const [kind, ...rest] = this.sources.value.split(":");
    const source = rest.join(":");
    if (kind === "model") await this.add({ model: source });
    else await this.add({ fmu: source, label: this.files.find(({ hash }) => hash === source)?.name });
  }

  async add(source) {
    const component = await this.system.add(source);
    this.changed();
    this.graph.select(component);
    this.said.textContent = `${component.name} was added: ${component.inputs.length} inputs, ${component.outputs.length} outputs.`;
  }

  // Files that are dropped on the editor become components, or a system that is opened.
  async takes(records) {
    const answer = await get("files");
    this.files = answer.files || answer;
    this.fillSources();
    let taken = false;
    for (const { hash, name, kind } of records) {
      if (kind === "fmu") await this.add({ fmu: hash, label: name });
      else if (["toml", "ssp", "ssd", "xml"].includes(kind)) await this.load(hash);
      else continue;
      taken = true;
    }
    return taken;
  }

  async load(hash) {
    try {
      const described = await get(`files/${hash}/description`);
      if (!described.components) throw new Error("This file is not a coupled system.");
      await this.restore({ data: described.source || described });
    } catch (error) {
      toast(error.message, "bad");
    }
  }

  async restore({ data, places = {} }) {
    const { system, notes } = await CoupledSystem.from(data, this.files);
    for (const component of system.components) Object.assign(component, places[component.name] || {});
    this.use(system);
    for (const words of notes) toast(words, "bad");
  }

  use(system) {
    this.system = system;
    const graph = new Graph(system, this.listeners());
    this.graph.element.replaceWith(graph.element);
    this.graph = graph;
    this.inspector.show(null);
    this.showRun();
    this.changed();
  }

  connect(from, to) {
    const why = this.system.connect(from, to);
    this.said.textContent = why || `${from} feeds ${to}. ${this.system.unitWords(from, to)}`;
    if (why) toast(why, "bad");
    this.changed();
    return !why;
  }

  remove(thing) {
    if (this.system.components.includes(thing)) this.system.remove(thing);
    else this.system.connections = this.system.connections.filter((wire) => wire !== thing);
    this.graph.selected = null;
    this.inspector.show(null);
    this.changed();
  }

  changed() {
    this.graph.draw();
    const ends = (side) =>
      this.system.components.flatMap((component) =>
        component[side].map(({ name }) => h("option", { value: `${component.name}.${name}` })),
      );
    this.outputs.replaceChildren(...ends("outputs"));
    this.inputs.replaceChildren(...ends("inputs"));
    this.listWires();
    // What is connected is no longer among the inputs that can be set.
    if (this.graph.selected && !this.inspector.element.contains(document.activeElement))
      this.inspector.show(this.graph.selected);
    this.keep();
  }

  listWires() {
    const rows = this.system.connections.map((wire) =>
      h(
        "tr",
        {},
        h("td", {}, wire.from),
        h("td", {}, "→"),
        h("td", {}, wire.to),
        h("td", {}, wireWords(wire)),
        h(
          "td",
          {},
          press("Remove", () => this.remove(wire), {
            "aria-label": `Remove the connection from ${wire.from} to ${wire.to}`,
          }),
        ),
      ),
    );
    this.wires.replaceChildren(
      rows.length ? h("div", { class: "scroll" }, h("table", { class: "wires" }, h("tbody", {}, rows))) : "",
    );
  }

  keep() {
    const places = Object.fromEntries(this.system.components.map(({ name, x, y, wide }) => [name, { x, y, wide }]));
    sessionStorage.setItem(KEPT, JSON.stringify({ data: this.system.forServer(), places }));
  }

  showRun() {
    const { run, name } = this.system;
    this.name.input.value = name;
    this.end.input.value = run.t_end ?? "";
    this.step.input.value = run.step ?? "";
    const master = typeof run.master === "object" && run.master ? run.master.name : run.master;
    if (master) this.master.input.value = master;
  }

  readRun() {
    const [end, step] = [numberOf(this.end, { above: 0 }), numberOf(this.step, { above: 0 })];
    if (end === undefined || step === undefined) return false;
    const { run } = this.system;
    this.system.name = this.name.input.value.trim() || "system";
    run.t_end = end;
    run.step = step;
    // Options of a master stay as they are while the master does.
    if (run.master?.name !== this.master.input.value) run.master = this.master.input.value || null;
    return true;
  }

  async run(options) {
    this.told.textContent = "";
    if (!this.readRun()) return;
    if (!this.system.components.length) {
      this.told.textContent = "Add a component first.";
      return;
    }
    try {
      const { id } = await start({
        kind: "cosim",
        system: this.system.forServer(),
        name: this.system.name,
        settings: {},
        options,
      });
      location.hash = `#/jobs/${id}`;
    } catch (error) {
      this.told.textContent = error.message;
    }
  }
}

function wireWords({ factor, offset, convert, hold, add }) {
  const words = [];
  if (factor !== undefined) words.push(`× ${factor}`);
  if (offset !== undefined) words.push(`+ ${offset}`);
  if (convert) words.push("units converted");
  if (hold) words.push("held");
  if (add) words.push("added");
  return words.join(", ");
}
