// What is selected in the co-simulation editor: the numbers of a component, or of a connection.

import { Settings, numberInput, numberOf } from "./choices.js";
import { field, h, press } from "./parts.js";

export class Inspector {
  // `editor` has the system and the graph, and is told of changes.
  constructor(editor) {
    this.editor = editor;
    this.element = h("aside", { class: "inspector", "aria-label": "What is selected" });
  }

  show(thing) {
    if (!thing)
      this.element.replaceChildren(
        h("p", { class: "small" }, "Select a component or a connection to see its numbers."),
      );
    else if (this.editor.system.components.includes(thing)) this.inspectComponent(thing);
    else this.inspectWire(thing);
  }

  inspectComponent(component) {
    const name = field("Name", h("input", { type: "text", value: component.name, spellcheck: "false" }));
    name.input.addEventListener("change", () => {
      if (name.input.value === component.name) return;
      if (
        !name.say(
          this.editor.system.rename(component, name.input.value.trim()) ? "" : "taken, or not letters, digits, - and _",
        )
      )
        return;
      this.editor.changed();
    });
    const step = field("Internal step", numberInput({ value: component.rest.step ?? "", placeholder: "its own" }), {
      unit: "s",
    });
    step.input.addEventListener("change", () => {
      const value = numberOf(step, { above: 0 });
      if (value === undefined) return;
      if (value === null) delete component.rest.step;
      else component.rest.step = value;
      this.editor.keep();
    });
    const fed = new Set(this.editor.system.connections.map(({ to }) => to));
    const groups = [
      [
        "Inputs that are not connected",
        component.inputs.filter((input) => !fed.has(`${component.name}.${input.name}`)),
      ],
      ["Parameters", component.parameters],
    ];
    const tables = groups
      .filter(([, entries]) => entries.length)
      .map(([title, entries]) => this.values(component, title, entries));
    this.element.replaceChildren(
      h("h2", {}, component.name),
      h("p", { class: "small" }, component.model ? `model ${component.model}` : `FMU ${component.label}`),
      name.element,
      step.element,
      this.finder(component),
      ...tables,
      press("Remove component", () => this.editor.remove(component)),
    );
  }

  // A port that is not drawn is found by its name.
  finder(component) {
    const all = [...component.outputs, ...component.inputs];
    if (all.length <= 16) return "";
    const id = "find-port";
    const box = h("input", {
      type: "text",
      list: id,
      placeholder: "name of a port",
      "aria-label": "Show a port in the graph",
      spellcheck: "false",
    });
    const show = () => {
      if (!all.some(({ name }) => name === box.value)) return;
      component.pinned.add(box.value);
      box.value = "";
      this.editor.graph.draw();
    };
    box.addEventListener("change", show);
    return h(
      "div",
      {},
      h("label", { class: "entry" }, h("span", { class: "entry-name" }, "Show a port"), box),
      h(
        "datalist",
        { id },
        all.map(({ name }) => h("option", { value: name })),
      ),
    );
  }

  values(component, title, entries) {
    const settings = new Settings(entries, title);
    settings.fill(component.set);
    settings.element.addEventListener("change", () => {
      const given = settings.read();
      if (!given) return;
      for (const { name } of entries) delete component.set[name];
      Object.assign(component.set, given);
      this.editor.keep();
    });
    return settings.element;
  }

  inspectWire(wire) {
    const factor = field("Factor", numberInput({ value: wire.factor ?? "", placeholder: "1" }));
    const offset = field("Offset", numberInput({ value: wire.offset ?? "", placeholder: "0" }));
    for (const [name, entry] of [
      ["factor", factor],
      ["offset", offset],
    ]) {
      entry.input.addEventListener("change", () => {
        const value = numberOf(entry);
        if (value === undefined) return;
        if (value === null) delete wire[name];
        else wire[name] = value;
        this.editor.changed();
      });
    }
    const flag = (name, words) => {
      const box = h("input", { type: "checkbox", checked: Boolean(wire[name]) });
      box.addEventListener("change", () => {
        if (box.checked) wire[name] = true;
        else delete wire[name];
        this.editor.changed();
      });
      return h("label", { class: "field" }, box, ` ${words}`);
    };
    this.element.replaceChildren(
      h("h2", {}, "Connection"),
      h("p", { class: "small" }, `${wire.from} → ${wire.to}`),
      factor.element,
      offset.element,
      h(
        "div",
        { class: "row" },
        flag("convert", "convert units"),
        flag("hold", "hold over a step"),
        flag("add", "add to others"),
      ),
      press("Remove connection", () => this.editor.remove(wire)),
    );
  }
}
