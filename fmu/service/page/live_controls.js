// What is changed while a session runs: sliders for inputs, numbers for parameters, keys and a gamepad.

import { counted, prettyUnit } from "./report/numbers.js";
import { h } from "./parts.js";

const KEYS = [
  ["a", "d"],
  ["s", "w"],
  ["q", "e"],
  ["f", "r"],
  ["g", "t"],
  ["h", "z"],
];
const DEAD = 0.12; // a stick at rest is never quite at rest

export class Controls {
  constructor(session, onset) {
    this.onset = onset;
    this.waiting = new Map();
    this.held = new Set();
    this.name = session.name || session.model || "session";
    const kept = JSON.parse(localStorage.getItem(`kingpost-keys ${this.name}`) || "{}");
    const inputs = (session.inputs || [])
      .map((input, i) => ({ input, key: rank(input.name) * 1e4 + i }))
      .sort((a, b) => a.key - b.key);
    this.inputs = inputs.map(({ input }, i) => this.input(input, kept[input.name] || usual(i)));
    this.parameters = (session.parameters || []).map((parameter) => this.parameter(parameter));
    this.rows = new Map([...this.inputs, ...this.parameters].map((row) => [row.name, row]));
    const search = h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": "Filter parameters",
      class: "search",
    });
    search.addEventListener("input", () => {
      for (const { name, line } of this.parameters)
        line.hidden = !name.toLowerCase().includes(search.value.toLowerCase());
    });
    this.element = h(
      "div",
      { class: "live-controls" },
      this.inputs.length ? h("h2", {}, "Inputs") : null,
      this.inputs.map(({ line }) => line),
      this.inputs.length ? h("details", {}, h("summary", {}, "Keys and gamepad"), this.mapping()) : null,
      this.parameters.length
        ? h(
            "details",
            {},
            h("summary", {}, `Parameters (${this.parameters.length})`),
            this.parameters.length > 8 ? search : null,
            h(
              "div",
              { class: "settings-rows" },
              this.parameters.map(({ line }) => line),
            ),
          )
        : null,
    );
    this.down = (event) => this.keyed(event, true);
    this.up = (event) => this.keyed(event, false);
    this.lost = () => this.held.clear();
    document.addEventListener("keydown", this.down);
    document.addEventListener("keyup", this.up);
    window.addEventListener("blur", this.lost);
    this.before = performance.now();
    this.turning = setInterval(() => this.turn(), 40);
  }

  close() {
    clearInterval(this.turning);
    document.removeEventListener("keydown", this.down);
    document.removeEventListener("keyup", this.up);
    window.removeEventListener("blur", this.lost);
  }

  input({ name, unit, value, min, max, description, type }, keys) {
    const [low, high] = reach({ unit, value, min, max });
    const slider = h("input", {
      type: "range",
      min: low,
      max: high,
      step: type === "integer" || type === "boolean" ? "1" : (high - low) / 1000,
      "aria-label": name,
      value,
      "data-input": name,
    });
    const number = h("input", {
      type: "number",
      step: "any",
      value: short(value),
      "aria-label": `${name}, as a number`,
      min: min ?? null,
      max: max ?? null,
    });
    const row = {
      name,
      keys,
      value,
      show(now) {
        row.value = now;
        if (now > Number(slider.max)) slider.max = now;
        if (now < Number(slider.min)) slider.min = now;
        if (document.activeElement !== slider) slider.value = now;
        if (document.activeElement !== number) number.value = short(now);
        slider.setAttribute("aria-valuetext", `${short(now)} ${prettyUnit(unit || "1")}`);
      },
      limit: (wanted) => Math.min(Math.max(wanted, min ?? Number(slider.min)), max ?? Number(slider.max)),
      speed: (high - low) / 6, // of a held key, per second
    };
    slider.addEventListener("input", () => {
      row.value = Number(slider.value);
      number.value = short(row.value);
      this.set(name, row.value);
    });
    number.addEventListener("change", () => {
      if (number.value === "" || !Number.isFinite(Number(number.value))) return;
      row.show(Number(number.value));
      this.set(name, row.value);
    });
    const hint = h("span", { class: "keys" });
    row.hint = () =>
      hint.replaceChildren(
        ...(row.keys.less || row.keys.more
          ? [h("kbd", {}, row.keys.less || "–"), h("kbd", {}, row.keys.more || "–")]
          : []),
      );
    row.hint();
    row.line = h(
      "div",
      { class: "live-input", title: description || null },
      h("span", { class: "live-name" }, name, " ", hint),
      slider,
      h("span", { class: "entry-value" }, number, h("span", { class: "unit" }, prettyUnit(unit || "1"))),
    );
    row.show(value);
    return row;
  }

  parameter({ name, unit, value, description, min, max }) {
    const number = h("input", {
      type: "number",
      step: "any",
      value: short(value),
      "aria-label": name,
      min: min ?? null,
      max: max ?? null,
    });
    number.addEventListener("change", () => {
      if (number.value !== "" && Number.isFinite(Number(number.value))) this.set(name, Number(number.value));
    });
    const line = h(
      "label",
      { class: "entry setting" },
      h("span", { class: "entry-name" }, name),
      h("span", { class: "entry-value" }, number, h("span", { class: "unit" }, prettyUnit(unit || "1"))),
      h("span", { class: "small" }, description || ""),
    );
    return {
      name,
      line,
      show: (now) => {
        if (document.activeElement !== number) number.value = short(now);
      },
    };
  }

  // Which keys and which axis of a gamepad move an input.
  mapping() {
    const rows = this.inputs.map((row) => {
      const key = (side, label) =>
        h("input", {
          type: "text",
          maxlength: "1",
          size: "2",
          class: "key",
          value: row.keys[side] || "",
          "aria-label": `${label} ${row.name}`,
          oninput: (event) => this.map(row, side, event.target.value.toLowerCase()),
        });
      const axis = h("select", {
        "aria-label": `Gamepad axis for ${row.name}`,
        onchange: () => this.map(row, "axis", axis.value),
      });
      axis.append(
        h("option", { value: "" }, "none"),
        ...[0, 1, 2, 3].flatMap((n) => [
          h("option", { value: `${n}` }, `axis ${n}`),
          h("option", { value: `-${n}` }, `axis ${n}, turned`),
        ]),
      );
      axis.value = row.keys.axis || "";
      return h(
        "tr",
        {},
        [row.name, key("less", "Key for less of"), key("more", "Key for more of"), axis].map((cell) =>
          h("td", {}, cell),
        ),
      );
    });
    const heads = ["Input", "Less", "More", "Gamepad"].map((text) => h("th", { scope: "col" }, text));
    return h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
  }

  map(row, side, value) {
    row.keys = { ...row.keys, [side]: value };
    row.hint();
    localStorage.setItem(
      `kingpost-keys ${this.name}`,
      JSON.stringify(Object.fromEntries(this.inputs.map(({ name, keys }) => [name, keys]))),
    );
  }

  keyed(event, down) {
    if (!down) this.held.delete(event.key.toLowerCase());
    else if (
      !event.ctrlKey &&
      !event.metaKey &&
      !event.altKey &&
      !event.target.closest("input:not([type=range]), select, textarea")
    )
      this.held.add(event.key.toLowerCase());
  }

  // Held keys and sticks move inputs at an even speed.
  turn() {
    const now = performance.now();
    const passed = Math.min((now - this.before) / 1000, 0.2);
    this.before = now;
    const pad = navigator.getGamepads?.().find(Boolean);
    for (const row of this.inputs) {
      let push = (this.held.has(row.keys.more) ? 1 : 0) - (this.held.has(row.keys.less) ? 1 : 0);
      if (pad && row.keys.axis) {
        const stick = pad.axes[Math.abs(Number(row.keys.axis))] || 0;
        if (Math.abs(stick) > DEAD) push += row.keys.axis.startsWith("-") ? -stick : stick;
      }
      if (!push) continue;
      const value = row.limit(row.value + push * row.speed * passed);
      if (value === row.value) continue;
      row.show(value);
      this.set(row.name, value);
    }
  }

  // Changes of a twentieth of a second go together.
  set(name, value) {
    const first = this.waiting.size === 0;
    this.waiting.set(name, value);
    if (!first) return;
    setTimeout(() => {
      this.onset(Object.fromEntries(this.waiting));
      this.waiting.clear();
    }, 50);
  }

  show(values) {
    for (const [name, value] of Object.entries(values)) {
      if (this.waiting.has(name) || typeof value !== "number") continue;
      this.rows.get(name)?.show(value);
    }
  }
}

// What an operator moves comes first, disturbances last.
function rank(name) {
  if (/target$|setpoint|command/.test(name)) return 0;
  if (/target_rate|torque|drive|effort|speed|valve/.test(name)) return 1;
  return /moment_[xyz]|force_[xyz]/.test(name) ? 3 : 2;
}

function short(value) {
  return typeof value === "number" ? counted(value, 6).replace("−", "-") : value;
}

function usual(i) {
  const [less, more] = KEYS[i] || ["", ""];
  return { less, more, axis: i < 4 ? String(i) : "" };
}

// How far a slider goes where nobody said: by the unit, and so that the present value is well inside.
function reach({ unit, value, min, max }) {
  const usualOf = { rad: Math.PI, "rad/s": 1, m: 5, "m/s": 2, N: 1e4, "N.m": 1e4, deg: 180, 1: 1 };
  const half = Math.max(usualOf[unit] ?? 1, 2 * Math.abs(value || 0));
  return [min ?? (value || 0) - half, max ?? (value || 0) + half];
}
