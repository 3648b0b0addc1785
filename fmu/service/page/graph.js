// The graph of a coupled system in SVG: boxes with ports, wires between them, moved and connected by mouse and by keys.

import { h } from "./parts.js";
import { prettyUnit } from "./report/numbers.js";

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 260;
const GAP = 90;
const MOST_WIDE = 1300;
const HEAD = 44;
const ROW = 22;
const SHOWN = 8;

function s(tag, attributes = {}, ...children) {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

export class Graph {
  // `on` is told of {select(component or wire), connect(from, to), remove(thing), moved(), say(text)}.
  constructor(system, on) {
    this.system = system;
    this.on = on;
    this.picked = null; // an output that waits for an input
    this.svg = s("svg", { class: "graph", role: "group", "aria-label": "Components and connections" });
    this.element = h("div", { class: "graph-box" }, this.svg);
    this.svg.addEventListener("pointermove", (event) => this.pointerMoved(event));
    this.svg.addEventListener("pointerup", (event) => this.pointerUp(event));
    this.svg.addEventListener("pointercancel", () => this.drop());
    this.svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.picked) this.pick(null);
    });
    this.draw();
  }

  // Ports that are drawn: all of few, else those that are connected, pinned, or first.
  ports(component, side) {
    const all = component[side];
    if (all.length <= SHOWN || component.wide) return { shown: all, hidden: 0 };
    const wired = (port) =>
      component.pinned.has(port.name) || this.system.feeds(`${component.name}.${port.name}`).length > 0;
    const first = new Set(all.filter(wired));
    for (const port of all) if (first.size < SHOWN) first.add(port);
    const shown = all.filter((port) => first.has(port));
    return { shown, hidden: all.length - shown.length };
  }

  measure(component) {
    const [inputs, outputs] = ["inputs", "outputs"].map((side) => this.ports(component, side));
    const rows = Math.max(inputs.shown.length, outputs.shown.length, 1);
    const more = inputs.hidden + outputs.hidden > 0 || component.wide ? 1 : 0;
    return { inputs, outputs, more, height: HEAD + (rows + more) * ROW + 8 };
  }

  // What has no place yet: beside the others if they have one, else in columns, those that feed others to the left.
  arrange() {
    const placed = this.system.components.filter(({ x }) => x !== null);
    if (placed.length) {
      for (const component of this.system.components.filter(({ x }) => x === null)) this.beside(component);
      return;
    }
    const depth = new Map(this.system.components.map((component) => [component, 0]));
    for (let pass = 0; pass < this.system.components.length; pass++) {
      for (const { from, to } of this.system.connections) {
        const [a, b] = [this.system.end(from)?.component, this.system.end(to)?.component];
        if (a && b && a !== b && depth.get(b) < depth.get(a) + 1 && depth.get(a) + 1 < this.system.components.length)
          depth.set(b, depth.get(a) + 1);
      }
    }
    const below = new Map();
    for (const component of this.system.components) {
      const column = depth.get(component);
      component.x = 30 + column * (WIDTH + GAP);
      component.y = below.get(column) ?? 24;
      below.set(column, component.y + this.measure(component).height + 30);
    }
  }

  // The first free place from left to right, and then further down.
  beside(component) {
    const { height } = this.measure(component);
    const others = this.system.components.filter(({ x }) => x !== null);
    const free = (x, y) =>
      others.every(
        (other) =>
          x + WIDTH + 30 < other.x ||
          other.x + WIDTH + 30 < x ||
          y + height + 20 < other.y ||
          other.y + this.measure(other).height + 20 < y,
      );
    for (let y = 24; ; y += 40) {
      for (let x = 30; x + WIDTH < MOST_WIDE; x += WIDTH + GAP) {
        if (!free(x, y)) continue;
        Object.assign(component, { x, y });
        return;
      }
    }
  }

  draw() {
    const focused =
      document.activeElement?.closest?.("svg.graph") === this.svg ? document.activeElement.dataset.key : null;
    this.arrange();
    this.places = new Map();
    const boxes = this.system.components.map((component) => this.box(component));
    const wires = this.system.connections.map((wire) => this.wire(wire));
    const right = Math.max(600, ...this.system.components.map((component) => component.x + WIDTH + 60));
    const bottom = Math.max(
      360,
      ...this.system.components.map((component) => component.y + this.measure(component).height + 40),
    );
    this.svg.setAttribute("width", right);
    this.svg.setAttribute("height", bottom);
    this.rubber = s("path", { class: "rubber", d: "" });
    this.svg.replaceChildren(s("g", {}, wires), s("g", {}, boxes), this.rubber);
    if (focused) this.svg.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  box(component) {
    const { inputs, outputs, more, height } = this.measure(component);
    const group = s("g", {
      class: `box${this.selected === component ? " selected" : ""}`,
      transform: `translate(${component.x} ${component.y})`,
    });
    const head = s(
      "g",
      {
        class: "box-head",
        tabindex: "0",
        role: "button",
        "data-key": `box ${component.name}`,
        "aria-label": `Component ${component.name}, ${component.label}. Enter opens it, arrow keys move it, Delete removes it.`,
        onpointerdown: (event) => this.lift(event, component, group),
        onkeydown: (event) => this.boxKey(event, component),
      },
      s("rect", { width: WIDTH, height: HEAD - 6, rx: 8, class: "head-back" }),
      s("text", { x: 12, y: 17, class: "box-name" }, shortened(component.name, 26)),
      s("text", { x: 12, y: 32, class: "box-label" }, shortened(component.label, 32)),
    );
    group.append(s("rect", { width: WIDTH, height, rx: 8, class: "box-back" }), head);
    for (const [side, { shown }, x] of [
      ["inputs", inputs, 0],
      ["outputs", outputs, WIDTH],
    ]) {
      shown.forEach((port, i) => group.append(this.port(component, side, port, x, HEAD + 10 + i * ROW)));
    }
    if (more) {
      const hidden = inputs.hidden + outputs.hidden;
      const text = component.wide ? "show fewer" : `${hidden} more`;
      const toggle = () => {
        component.wide = !component.wide;
        this.draw();
      };
      group.append(
        s(
          "text",
          {
            x: WIDTH / 2,
            y: height - 10,
            class: "more",
            role: "button",
            tabindex: "0",
            "data-key": `more ${component.name}`,
            onclick: toggle,
            onkeydown: (event) => pressed(event, toggle),
          },
          text,
        ),
      );
    }
    return group;
  }

  port(component, side, port, x, y) {
    const end = `${component.name}.${port.name}`;
    const output = side === "outputs";
    this.places.set(`${side} ${end}`, [component.x + x, component.y + y]);
    const wired = this.system.feeds(end).length > 0;
    const unit = port.unit && port.unit !== "1" ? ` [${prettyUnit(port.unit)}]` : "";
    const words = output ? "Enter takes it up to connect it" : "Enter connects the output that was taken up";
    const text = shortened(port.name, (output ? component.inputs : component.outputs).length ? 18 : 34);
    return s(
      "g",
      {
        class: `port ${output ? "out" : "in"}${wired ? " wired" : ""}${this.picked === end ? " picked" : ""}`,
        tabindex: "0",
        role: "button",
        "data-key": `${side} ${end}`,
        "data-side": side,
        "data-end": end,
        "aria-label": `${output ? "Output" : "Input"} ${end}${unit}${wired ? ", connected" : ""}. ${words}.`,
        "aria-pressed": output ? String(this.picked === end) : null,
        onpointerdown: (event) => this.portDown(event, side, end),
        onkeydown: (event) => pressed(event, () => this.portPressed(side, end)),
      },
      s("title", {}, `${port.name}${unit}${port.description ? `: ${port.description}` : ""}`),
      s("rect", { x: output ? x - 124 : x - 8, y: y - 11, width: 132, height: ROW, class: "port-back" }),
      s("circle", { cx: x, cy: y, r: 5.5 }),
      s("text", { x: output ? x - 12 : x + 12, y: y + 4, "text-anchor": output ? "end" : "start" }, text),
    );
  }

  wire(wire) {
    const [a, b] = [this.places.get(`outputs ${wire.from}`), this.places.get(`inputs ${wire.to}`)];
    const group = s("g", {
      class: `wire${this.selected === wire ? " selected" : ""}`,
      tabindex: "0",
      role: "button",
      "data-key": `wire ${wire.from} ${wire.to}`,
      "aria-label": `Connection from ${wire.from} to ${wire.to}. Enter opens it, Delete removes it.`,
      onclick: () => this.select(wire),
      onkeydown: (event) => {
        if (event.key === "Delete" || event.key === "Backspace") this.on.remove(wire);
        else pressed(event, () => this.select(wire));
      },
    });
    if (a && b) {
      const d = curve(a, b);
      group.append(
        s("title", {}, `${wire.from} → ${wire.to}`),
        s("path", { d, class: "wire-wide" }),
        s("path", { d, class: "wire-line" }),
      );
    }
    return group;
  }

  select(thing) {
    this.selected = thing;
    this.draw();
    this.on.select(thing);
  }

  pick(end) {
    this.picked = end;
    this.on.say(end ? `${end} is taken up: go to an input and press Enter, or Escape to put it back.` : "");
    this.draw();
  }

  portPressed(side, end) {
    if (side === "outputs") this.pick(this.picked === end ? null : end);
    else if (this.picked) {
      const from = this.picked;
      this.picked = null;
      this.on.connect(from, end);
    } else this.on.say(`Take up an output first; then press Enter on ${end}.`);
  }

  boxKey(event, component) {
    const steps = { ArrowLeft: [-10, 0], ArrowRight: [10, 0], ArrowUp: [0, -10], ArrowDown: [0, 10] };
    if (steps[event.key]) {
      event.preventDefault();
      component.x = Math.max(0, component.x + steps[event.key][0]);
      component.y = Math.max(0, component.y + steps[event.key][1]);
      this.draw();
      this.on.moved();
    } else if (event.key === "Delete") this.on.remove(component);
    else pressed(event, () => this.select(component));
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  lift(event, component, group) {
    if (event.button !== 0) return;
    const [x, y] = this.at(event);
    this.moving = { component, group, offset: [x - component.x, y - component.y], from: [x, y], far: false };
    this.svg.setPointerCapture(event.pointerId);
  }

  portDown(event, side, end) {
    if (event.button !== 0) return;
    event.stopPropagation();
    this.wiring = { side, end, from: this.at(event), far: false };
    this.svg.setPointerCapture(event.pointerId);
  }

  pointerMoved(event) {
    const [x, y] = this.at(event);
    const gone = this.moving || this.wiring;
    if (!gone) return;
    gone.far ||= Math.hypot(x - gone.from[0], y - gone.from[1]) > 4;
    if (this.moving?.far) {
      const { component, group, offset } = this.moving;
      component.x = Math.max(0, x - offset[0]);
      component.y = Math.max(0, y - offset[1]);
      group.setAttribute("transform", `translate(${component.x} ${component.y})`);
    } else if (this.wiring?.far) {
      const begin = this.places.get(`${this.wiring.side} ${this.wiring.end}`);
      this.rubber.setAttribute("d", this.wiring.side === "outputs" ? curve(begin, [x, y]) : curve([x, y], begin));
    }
  }

  pointerUp(event) {
    const { moving, wiring } = this;
    this.drop();
    if (moving) {
      if (moving.far) {
        this.draw();
        this.on.moved();
      } else this.select(moving.component);
    }
    if (!wiring) return;
    if (!wiring.far) {
      this.portPressed(wiring.side, wiring.end);
      return;
    }
    const over = document
      .elementsFromPoint(event.clientX, event.clientY)
      .map((item) => item.closest?.(".port"))
      .find(Boolean);
    if (!over || over.dataset.side === wiring.side) return;
    if (wiring.side === "outputs") this.on.connect(wiring.end, over.dataset.end);
    else this.on.connect(over.dataset.end, wiring.end);
  }

  drop() {
    this.moving = null;
    this.wiring = null;
    this.rubber.setAttribute("d", "");
  }
}

function pressed(event, act) {
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  act();
}

function curve([x0, y0], [x1, y1]) {
  const reach = Math.max(40, Math.abs(x1 - x0) / 2, x1 < x0 ? 90 : 0);
  return `M${x0} ${y0} C${x0 + reach} ${y0} ${x1 - reach} ${y1} ${x1} ${y1}`;
}
