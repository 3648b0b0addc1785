// One machine: its picture, its numbers, and the form that starts a run or a live session.

import { start, send } from "./api.js";
import { HowChoice, SeaChoice, Settings, choice } from "./choices.js";
import { field, h, link, pageHead, press } from "./parts.js";
import { machineBox, modelDetail } from "./picture.js";

export async function showModel(root, { name, query }) {
  const model = await modelDetail(name);
  const picture = model.scene?.bodies
    ? machineBox(model.scene).element
    : h("p", { class: "note" }, model.scene?.note || "There is no picture of this model.");
  const form = new RunForm({ model: name }, model);
  const given = query.get("set");
  if (given) form.fill(JSON.parse(given));
  root.append(
    pageHead(name, model.summary, link("All models", "#/models", { class: "button" })),
    h("div", { class: "halves" }, h("div", { class: "sticky" }, picture, facts(model)), form.element),
  );
}

function facts({ bodies, joints, outputs, tasks }) {
  const words = [
    ["Bodies", bodies],
    ["Joints", joints],
    ["Outputs", outputs],
    ["Tasks", tasks],
  ].filter(([, list]) => list?.length);
  if (!words.length) return null;
  const named = (list) =>
    list
      .map((item) => item.name || item)
      .slice(0, 30)
      .join(", ") + (list.length > 30 ? " …" : "");
  return h(
    "dl",
    { class: "facts" },
    words.flatMap(([title, list]) => [h("dt", {}, title), h("dd", {}, named(list))]),
  );
}

// The form of a model by name, or of a model in an uploaded file ({file: hash}).
export class RunForm {
  constructor(subject, model) {
    this.subject = subject;
    this.model = model;
    this.name = field(
      "Name of the run",
      h("input", { type: "text", maxlength: "200", placeholder: model.name || subject.model || "run" }),
    );
    this.settings = new Settings(model.parameters || [], "Parameters");
    this.inputs = new Settings(model.inputs || [], "Inputs, held");
    this.how = new HowChoice({ t_end: model.t_end, ...(model.options || {}) });
    this.sea = takesSea(model) ? new SeaChoice() : null;
    this.kind = choice("What", kinds(model));
    this.task = choice(
      "Task",
      (model.tasks || []).map((task) => ({ value: task.name || task, text: task.name || task })),
    );
    this.task.element.hidden = true;
    this.kind.input.addEventListener("change", () => this.kindChanged());
    this.button = h("button", { class: "primary", type: "submit" }, "Run");
    const live = press("Go live", () => this.live(), {
      title: "Run in step with the clock, change inputs while it runs, go back in time",
    });
    this.element = h(
      "form",
      { class: "run-form", onsubmit: (event) => this.submit(event), novalidate: true },
      h("div", { class: "entries" }, this.name.element, this.kind.element, this.task.element),
      this.how.element,
      this.sea?.element,
      this.settings.rows.length ? this.settings.element : null,
      this.inputs.rows.length ? this.inputs.element : null,
      h(
        "div",
        { class: "form-foot" },
        this.button,
        live,
        h("span", { class: "small" }, "Empty fields keep the value that is shown in grey."),
      ),
      (this.told = h("p", { class: "wrong", role: "alert" })),
    );
  }

  fill(settings) {
    this.settings.fill(settings);
    this.inputs.fill(settings);
  }

  kindChanged() {
    const kind = this.kind.input.value;
    this.task.element.hidden = !["inverse", "optimise"].includes(kind);
    this.how.element.hidden = ["inverse", "optimise"].includes(kind);
    this.button.textContent = { export: "Export", inverse: "Find the inputs", optimise: "Optimise" }[kind] || "Run";
  }

  // The numbers and options of the form, or null where something is wrong.
  read() {
    const settings = this.settings.read();
    const inputs = settings && this.inputs.read();
    const options = inputs && (this.how.element.hidden ? {} : this.how.read());
    const sea = options && (this.sea ? this.sea.read() : "");
    if (!settings || !inputs || !options || sea === null) {
      this.told.textContent = "Some numbers are not right; they are marked.";
      return null;
    }
    this.told.textContent = "";
    return { ...this.subject, settings: { ...settings, ...inputs }, options: { ...options, ...(sea ? { sea } : {}) } };
  }

  async submit(event) {
    event.preventDefault();
    const read = this.read();
    if (!read) return;
    this.button.disabled = true;
    try {
      const kind = this.kind.input.value;
      if (kind.startsWith("export:")) {
        read.options = { to: kind.slice(7), ...forExport(read.options) };
      }
      if (!this.task.element.hidden && this.task.input.value) read.options.task = this.task.input.value;
      const { id } = await start({ kind: kind.split(":")[0], name: this.name.input.value.trim(), ...read });
      location.hash = `#/jobs/${id}`;
    } catch (error) {
      this.told.textContent = error.message;
    } finally {
      this.button.disabled = false;
    }
  }

  async live() {
    const read = this.read();
    if (!read) return;
    const { id } = await send("live", read);
    location.hash = `#/live/${id}`;
  }
}

// An FMU is sampled by its master, and has no end of its own.
function forExport({ output_step: _, t_end: __, ...rest }) {
  return rest;
}

function kinds({ tasks }) {
  const found = [{ value: "run", text: "simulate" }];
  if (tasks?.length) {
    found.push({ value: "inverse", text: "find the inputs that follow a path (inverse dynamics)" });
    found.push({ value: "optimise", text: "optimal control" });
  }
  found.push(
    { value: "export:native-fmu", text: "export as an FMU in C" },
    { value: "export:fmu", text: "export as an FMU with Python inside" },
  );
  return found;
}

function takesSea({ takes_sea: told, options, scene }) {
  return Boolean(told ?? options?.sea ?? scene?.sea);
}
