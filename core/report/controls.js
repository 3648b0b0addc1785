// What the user turns and presses: the transport under the machine, keys, units, colours, paper.

import { display, counted, seconds, element, selectBox } from "./numbers.js";
import { colours } from "./clock.js";
import { report, clock } from "./data.js";
import { Chart } from "./plot.js";
import { MachineView } from "./machine.js";

export function button(label, text, onclick, attributes = {}) {
  return element("button", { type: "button", "aria-label": label, title: label, onclick, ...attributes }, text);
}

export function check(label, object, name, onchange) {
  const box = element("input", {
    type: "checkbox",
    checked: object[name],
    onchange: () => {
      object[name] = box.checked;
      onchange();
    },
  });
  return element("label", { class: "field" }, box, " " + label);
}

export function transport(clock) {
  const play = button("Play", "▶", () => clock.play(!clock.playing), { class: "play" });
  const slider = element("input", {
    type: "range",
    class: "slider",
    "aria-label": "Time in seconds",
    min: clock.span[0],
    max: clock.span[1],
    step: "any",
    oninput: () => clock.set(Number(slider.value)),
  });
  slider.value = clock.time;
  const shown = element("output", { class: "time", "aria-live": "off" });
  const speeds = [0.1, 0.25, 0.5, 1, 2, 5, 10, 50].map((speed) => ({ value: String(speed), text: `${speed} ×` }));
  const speed = selectBox("Speed", speeds, (value) => (clock.speed = Number(value)), "1");
  const follow = () => {
    slider.value = clock.time;
    shown.textContent = seconds(clock.time);
    slider.setAttribute("aria-valuetext", seconds(clock.time));
  };
  clock.on("time", follow);
  clock.on("play", () => {
    play.textContent = clock.playing ? "❚❚" : "▶";
    play.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
    play.title = clock.playing ? "Pause" : "Play";
  });
  follow();
  return element("div", { class: "transport" }, play, slider, shown, speed.element);
}

export function machineControls(view, aside) {
  const redraw = () => view.changed();
  const looks = [
    ["View", -0.9, 0.32, "Reset the view"],
    ["Front", 0, 0, "Look along −x"],
    ["Side", -Math.PI / 2, 0, "Look along y"],
    ["Top", -Math.PI / 2, 1.55, "Look down"],
  ];
  const views = looks.map(([text, azimuth, elevation, label]) =>
    button(label, text === "View" ? "Reset" : text, () => view.look(azimuth, elevation)),
  );
  const enlarge = button("Enlarge the machine, or put it back", "⤢", () => aside.classList.toggle("enlarged"), {
    class: "enlarge",
  });
  const rows = [
    element("div", { class: "row" }, views, enlarge),
    element(
      "div",
      { class: "row" },
      check("Names", view.shows, "names", redraw),
      view.scene.joints.some((joint) => joint.axis) ? check("Joint axes", view.shows, "axes", redraw) : null,
      view.bodies.some((body) => body.centre) ? check("Centres of mass", view.shows, "masses", redraw) : null,
      view.paths.length
        ? check(`Path of ${view.paths.length === 1 ? view.paths[0].name : "outputs"}`, view.shows, "path", redraw)
        : null,
      view.water ? check("Water", view.shows, "water", redraw) : null,
    ),
  ];
  if (view.loads.length) {
    const options = [
      { value: "", text: "none" },
      ...view.loads.map(({ joint }) => ({ value: joint, text: joint })),
      { value: "*", text: "all joints" },
    ];
    const joints = selectBox("Load arrows", options, (value) => {
      view.arrows.joint = value;
      redraw();
    });
    const kinds = [check("force", view.arrows, "force", redraw), check("moment", view.arrows, "moment", redraw)];
    rows.push(element("div", { class: "row" }, joints.element, kinds));
  }
  return rows;
}

export function waterWords(sea) {
  const count = sea.amplitude.length;
  const what =
    count === 1
      ? `one regular wave, ${counted(2 * sea.amplitude[0], 3)} m high`
      : `the sum of ${count} waves, Hs ${counted(sea.height, 3)} m`;
  return `Water: ${what}, about z = 0. ${sea.note || ""}`;
}

export function buildMachine() {
  const aside = document.getElementById("machine");
  if (!report.scene.bodies) {
    aside.remove();
    document.getElementById("layout").classList.add("alone");
    return;
  }
  const view = new MachineView(report.scene, clock);
  const { frames } = report.scene;
  const thinned =
    frames < report.reduction.samples ? ` ${frames} of ${report.reduction.samples} samples are shown.` : "";
  const words =
    "Drag turns, shift and drag moves, the wheel zooms; space plays, arrow keys step. " +
    `Grid ${counted(view.gridStep, 2)} m, at z = ${counted(view.floor, 3)} m. ` +
    `Shapes are schematic: only joints, centres of mass and outputs are the model's own.${thinned}`;
  aside.append(
    element("h2", { class: "hidden-title", id: "animation" }, "Animation"),
    view.canvas,
    transport(clock),
    ...machineControls(view, aside),
    element("p", { class: "small" }, words),
    report.scene.note ? element("p", { class: "small" }, report.scene.note) : "",
    view.water ? element("p", { class: "small" }, waterWords(report.scene.sea)) : "",
  );
}

// Space plays, arrows step by a sample, with shift by a fiftieth of what is shown, Home and End go to the ends.
export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      const enlarged = document.querySelector("aside.enlarged");
      if (enlarged) enlarged.classList.remove("enlarged");
      else clock.reset();
      return;
    }
    // Where a key means something to the control that has the focus, it is left to it.
    const control = event.target.closest("input, select, button, summary, a");
    const pressed = control && !control.matches("input[type=range]");
    if (event.key === " " ? pressed : control?.matches("input, select")) return;
    const step = event.shiftKey ? (clock.range[1] - clock.range[0]) / 50 : display.timeStep;
    const moves = {
      " ": () => clock.play(!clock.playing),
      ArrowLeft: () => clock.set(clock.time - step),
      ArrowRight: () => clock.set(clock.time + step),
      Home: () => clock.set(clock.range[0]),
      End: () => clock.set(clock.range[1]),
    };
    if (!(event.key in moves) || (event.key === " " && !report.scene.bodies)) return;
    event.preventDefault();
    moves[event.key]();
  });
}

export function listenToHead(unitsChanged) {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const use = (theme) => {
    root.dataset.theme = theme;
    const other = theme === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Use ${other} colours`);
    colours.read();
    Chart.changedAll();
  };
  button.addEventListener("click", () => use(root.dataset.theme === "dark" ? "light" : "dark"));
  system.addEventListener("change", () => use(system.matches ? "dark" : "light"));
  use(system.matches ? "dark" : "light");
  const angles = document.getElementById("angle-unit");
  if (!report.series.some(({ unit }) => /^rad(\/|$)/.test(unit))) angles.remove();
  angles.addEventListener("click", () => {
    display.degrees = !display.degrees;
    angles.textContent = display.degrees ? "Angles in rad" : "Angles in degrees";
    unitsChanged();
  });
  listenToPrinter(use);
}

// Paper is white and narrow, and has more dots than a screen. What is folded stays folded.
function listenToPrinter(use) {
  const root = document.documentElement;
  let theme;
  window.addEventListener("beforeprint", () => {
    theme = root.dataset.theme;
    use("light");
    root.classList.add("printing");
    Chart.drawAll(2);
  });
  window.addEventListener("afterprint", () => {
    root.classList.remove("printing");
    use(theme);
  });
  document.getElementById("print").addEventListener("click", () => window.print());
}
