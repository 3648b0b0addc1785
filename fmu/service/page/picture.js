// Machines as pictures: small ones that stand still, and one that can be turned.

import { Clock } from "./report/clock.js";
import { MachineView } from "./report/machine.js";
import { machineControls, waterWords } from "./report/controls.js";
import { get } from "./api.js";
import { h } from "./parts.js";

// A machine that can be turned, with its choices below.
export function machineBox(scene, clock = new Clock([0, 1])) {
  const view = new MachineView(scene, clock);
  const box = h("div", { class: "machine-box" });
  box.append(
    view.canvas,
    ...machineControls(view, box),
    h("p", { class: "small" }, "Drag turns, shift and drag moves, the wheel zooms. Shapes are schematic."),
    view.water ? h("p", { class: "small" }, waterWords(scene.sea)) : "",
  );
  view.canvas.tabIndex = 0;
  view.canvas.addEventListener("keydown", (event) => turn(view, event));
  return { view, element: box };
}

// Arrow keys turn, + and − zoom.
function turn(view, event) {
  const moves = {
    ArrowLeft: () => (view.camera.azimuth += 0.1),
    ArrowRight: () => (view.camera.azimuth -= 0.1),
    ArrowUp: () => (view.camera.elevation = Math.min(view.camera.elevation + 0.1, 1.55)),
    ArrowDown: () => (view.camera.elevation = Math.max(view.camera.elevation - 0.1, -1.55)),
    "+": () => view.zoomBy(1.2),
    "-": () => view.zoomBy(1 / 1.2),
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  moves[event.key]();
  view.changed();
}

const known = new Map();

export function modelDetail(name, signal) {
  if (!known.has(name)) {
    const asked = get(`models/${encodeURIComponent(name)}`, {}, signal);
    known.set(name, asked);
    asked.catch(() => known.delete(name));
  }
  return known.get(name);
}

// Pictures for cards, asked for one after the other when they come into sight.
export class Pictures {
  constructor(signal) {
    this.queue = [];
    this.busy = false;
    this.signal = signal;
    this.sights = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        this.sights.unobserve(target);
        this.queue.push(target);
        this.next();
      }
    });
    signal.addEventListener("abort", () => this.sights.disconnect());
  }

  place(name) {
    const holder = h("div", { class: "thumb", "aria-hidden": "true", "data-model": name });
    this.sights.observe(holder);
    return holder;
  }

  async next() {
    if (this.busy || this.signal.aborted) return;
    const holder = this.queue.shift();
    if (!holder) return;
    this.busy = true;
    try {
      const { scene } = await modelDetail(holder.dataset.model);
      if (scene?.bodies && holder.isConnected) this.draw(holder, scene);
      else holder.classList.add("none");
    } catch {
      holder.classList.add("none"); // a card without a picture is a card all the same
    }
    this.busy = false;
    this.next();
  }

  draw(holder, scene) {
    const view = new MachineView(scene, new Clock([0, 1]));
    view.shows = { axes: false, masses: false, names: false, path: false, water: true, triad: false };
    holder.append(view.canvas);
  }
}
