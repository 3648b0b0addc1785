// Uploaded files: what each is, what is in it, and what can be done with it.

import { get, getText, send, start, address } from "./api.js";
import { Settings, numberInput, numberOf } from "./choices.js";
import { uploadButton } from "./drop.js";
import { bytesText, field, h, link, momentText, pageHead, press, table } from "./parts.js";
import { prettyUnit } from "./report/numbers.js";
import { RunForm } from "./model.js";
import { numberIn } from "./system.js";

const WORDS = { toml: "TOML", fmu: "FMU", ssp: "SSP", ssd: "SSD", xml: "XML", csv: "table" };

export async function showFiles(root, { signal }) {
  root.append(pageHead("Files", "Drop files anywhere on the page, or choose some.", uploadButton()));
  const answer = await get("files", {}, signal);
  const files = answer.files || answer;
  if (!files.length) {
    root.append(
      h(
        "p",
        { class: "note" },
        "Nothing has been uploaded yet. TOML files are data: models, systems, studies, scenarios. FMUs and SSPs hold code of others, which runs apart.",
      ),
    );
    return;
  }
  const rows = files.map(({ hash, name, bytes, kind, created, summary }) => [
    link(name, `#/files/${hash}`),
    `${WORDS[kind] || kind}${summary?.holds ? `: ${summary.holds}` : ""}`,
    bytesText(bytes),
    momentText(created),
  ]);
  root.append(table(["Name", "Kind", "Size", "Uploaded"], rows, { class: "wide-table" }));
}

export async function showFile(root, { name: hash, signal }) {
  const answer = await get("files", {}, signal);
  const record = (answer.files || answer).find((file) => file.hash === hash) || {
    hash,
    name: hash.slice(0, 12),
    kind: "",
    bytes: 0,
  };
  let described = null;
  let wrong = null;
  try {
    described = await get(`files/${hash}/description`, {}, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    wrong = error.message;
  }
  const what = whatIs(record, described);
  root.append(
    pageHead(
      record.name,
      `${WORDS[record.kind] || record.kind}${what && what !== record.kind ? `: ${what}` : ""}, ${bytesText(record.bytes)}`,
      link("Download", address(`files/${hash}`).href, { class: "button", download: record.name }),
      link("All files", "#/files", { class: "button" }),
    ),
  );
  if (wrong) root.append(h("p", { class: "warning" }, wrong));
  const parts = { fmu: fmuParts, system: systemParts, study: studyParts, scenario: scenarioParts, model: modelParts }[
    what
  ];
  if (parts) root.append(...parts(record, described || {}));
}

// What a file is, by its kind and by what is in it.
export function whatIs(record, described) {
  if (record.kind === "fmu") return "fmu";
  if (["ssp", "ssd"].includes(record.kind)) return "system";
  if (["system", "study", "scenario", "model"].includes(record.summary?.holds)) return record.summary.holds;
  if (described?.components) return "system";
  return described?.parameters ? "model" : "";
}

function begin(text, job, attributes = {}) {
  return press(
    text,
    async () => {
      const { id } = await start(job());
      location.hash = `#/jobs/${id}`;
    },
    attributes,
  );
}

function fmuParts(record, described) {
  const variables = described.variables || [];
  const settable = variables
    .filter(({ causality }) => causality === "input" || causality === "parameter")
    .map((variable) => ({ ...variable, start: numberIn(variable.start) }))
    .filter(({ start: value }) => value === null || value === undefined || typeof value === "number");
  const settings = new Settings(
    settable.map(({ name, unit, start: value, description, causality }) => ({
      name,
      unit,
      default: value,
      description: description || causality,
    })),
    "Inputs and parameters",
  );
  const end = field("End time", numberInput({ placeholder: "the FMU's own" }), { unit: "s" });
  const options = () => {
    const t_end = numberOf(end, { above: 0 });
    return t_end === null || t_end === undefined ? {} : { t_end };
  };
  const rows = variables
    .slice(0, 500)
    .map(({ name, causality, variability, unit, start: value }) =>
      [name, causality, variability, unit ? prettyUnit(unit) : "", value ?? ""].map(String),
    );
  return [
    facts(described),
    h(
      "div",
      { class: "run-form" },
      h("div", { class: "entries" }, end.element),
      settings.rows.length ? settings.element : null,
      h(
        "div",
        { class: "form-foot" },
        begin(
          "Run",
          () => ({
            kind: "fmu-run",
            file: record.hash,
            name: stem(record.name),
            settings: right(settings.read()),
            options: options(),
          }),
          { class: "primary" },
        ),
        begin("Check", () => ({
          kind: "fmu-check",
          file: record.hash,
          name: `check of ${record.name}`,
          settings: {},
          options: {},
        })),
        link("Use in a co-simulation", `#/cosim?add=${record.hash}`, { class: "button" }),
        goLive({ file: record.hash }),
      ),
    ),
    h(
      "section",
      {},
      h("h2", {}, `Variables (${variables.length})`),
      table(["Name", "Causality", "Variability", "Unit", "Start"], rows, { class: "wide-table" }),
    ),
  ];
}

function facts({ model, summary, fmi, interface: kind, tool, t_end: end, step, platforms }) {
  const known = [
    ["Model", model],
    ["About", summary],
    ["FMI", [fmi, kind].filter(Boolean).join(", ")],
    ["Made by", tool],
    ["End time", end === null || end === undefined ? "" : `${end} s`],
    ["Step", step === null || step === undefined ? "" : `${step} s`],
    ["Platforms", (platforms || []).join(", ")],
  ].filter(([, value]) => value);
  return h(
    "dl",
    { class: "facts" },
    known.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))]),
  );
}

// Wrong numbers are marked where they stand; nothing is started with them.
function right(numbers) {
  if (!numbers) throw new Error("Some numbers are not right; they are marked.");
  return numbers;
}

function goLive(what) {
  return press("Go live", async () => {
    const { id } = await send("live", { settings: {}, options: {}, ...what });
    location.hash = `#/live/${id}`;
  });
}

function systemParts(record, described) {
  const components = described.components || [];
  const listed = Array.isArray(components)
    ? components
    : Object.entries(components).map(([name, entry]) => ({ name, ...entry }));
  return [
    h(
      "div",
      { class: "form-foot" },
      begin("Run", () => ({ kind: "cosim", file: record.hash, name: stem(record.name), settings: {}, options: {} }), {
        class: "primary",
      }),
      link("Open in the editor", `#/cosim?file=${record.hash}`, { class: "button" }),
      goLive({ file: record.hash }),
    ),
    h(
      "section",
      {},
      h("h2", {}, "Components"),
      table(
        ["Name", "What"],
        listed.map(({ name, model, fmu }) => [name, model || fmu || ""]),
      ),
    ),
  ];
}

function studyParts(record) {
  return [
    h(
      "div",
      { class: "form-foot" },
      begin(
        "Run the study",
        () => ({ kind: "study", file: record.hash, name: stem(record.name), settings: {}, options: {} }),
        { class: "primary" },
      ),
      begin("Plan only", () => ({
        kind: "study",
        file: record.hash,
        name: `plan of ${stem(record.name)}`,
        settings: {},
        options: { plan: true },
      })),
    ),
  ];
}

function scenarioParts(record) {
  const load = press("Open as a live session", async () => {
    const scenario = await getText(`files/${record.hash}`);
    const { id } = await send("live", { scenario, name: stem(record.name) });
    location.hash = `#/live/${id}`;
  });
  return [
    h("p", {}, "What was done in a live session; playing it repeats it."),
    h("div", { class: "form-foot" }, load),
  ];
}

function modelParts(record, described) {
  return [new RunForm({ file: record.hash }, { name: stem(record.name), ...described }).element];
}

function stem(name) {
  return name.replace(/\.[^.]*$/, "");
}
