// Live sessions: the machine left, plots right, and a bar that plays, pauses, steps, sets the pace and goes back in time.

import { Clock } from "./report/clock.js";
import { Pose } from "./report/scene3d.js";
import { seconds } from "./report/numbers.js";
import { get, getText, send, socket } from "./api.js";
import { Controls } from "./live_controls.js";
import { LivePlots } from "./live_plots.js";
import { download, h, link, momentText, pageHead, press, table, toast } from "./parts.js";
import { machineBox } from "./picture.js";

const PACES = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const TRAIL = 400;

export async function showSessions(root, { signal }) {
  root.append(
    pageHead(
      "Live sessions",
      "A machine in step with the clock: pause it, change its inputs, go back in time. Begin with a model, a system in the editor, or a scenario file.",
      link("Choose a model", "#/models", { class: "button primary" }),
    ),
  );
  const { sessions } = await get("live", {}, signal);
  if (!sessions.length) {
    root.append(h("p", { class: "note" }, "No session is open."));
    return;
  }
  const rows = sessions.map((session) => [
    link(session.name || session.model || session.id, `#/live/${session.id}`),
    session.state || "",
    momentText(session.created),
    press("End", async () => {
      await send(`live/${session.id}`, undefined, { method: "DELETE" });
      window.dispatchEvent(new HashChangeEvent("hashchange"));
    }),
  ]);
  root.append(table(["Session", "State", "Begun", ""], rows, { class: "wide-table" }));
}

export async function showLive(root, { name: id, leave, signal }) {
  const session = await get(`live/${id}`, {}, signal);
  const view = new LiveView(session);
  root.append(view.element);
  leave(() => view.close());
  await view.connect();
}

class LiveView {
  constructor(session) {
    this.session = session;
    this.id = session.id;
    this.now = { t: 0, playing: false, pace: 1, kept: [0, 0] };
    this.clock = new Clock([0, 1]);
    this.machine = session.scene?.bodies ? machineBox(session.scene, this.clock) : null;
    this.plots = new LivePlots(session.channels || [], () => this.watch());
    this.controls = new Controls(session, (values) => this.tell({ do: "set", values }));
    this.state = h("span", { class: "small", role: "status" });
    this.told = h("div", {});
    const save = press("Save scenario", async () =>
      download(
        `${session.name || "session"}.scenario.toml`,
        await getText(`live/${this.id}/scenario`),
        "application/toml",
      ),
    );
    const end = press("End session", async () => {
      this.tell({ do: "end" });
      await send(`live/${this.id}`, undefined, { method: "DELETE" }).catch(() => {});
      location.hash = "#/live";
    });
    this.element = h(
      "div",
      { class: "live" },
      pageHead(session.name || session.model || "Live", "", save, end),
      this.told,
      h(
        "div",
        { class: "live-columns" },
        h(
          "div",
          { class: "live-machine" },
          this.machine
            ? this.machine.element
            : h("p", { class: "note" }, session.scene?.note || "There is no picture of this system."),
          this.controls.element,
        ),
        this.plots.element,
      ),
      this.bar(),
    );
    for (const words of session.notes || []) this.told.append(h("p", { class: "small" }, words));
    this.keys = (event) => this.key(event);
    document.addEventListener("keydown", this.keys);
  }

  bar() {
    this.play = h("button", { type: "button", class: "play primary", onclick: () => this.toggle() }, "▶");
    this.step = h(
      "button",
      {
        type: "button",
        "aria-label": "One step",
        title: "One step (.)",
        onclick: () => this.tell({ do: "step", count: 1 }),
      },
      "❙▶",
    );
    this.slider = h("input", {
      type: "range",
      class: "slider",
      step: "any",
      "aria-label": "Time; earlier goes back",
      min: "0",
      max: "0",
      value: "0",
      oninput: () => this.goTo(Number(this.slider.value)),
    });
    this.time = h("output", { class: "time", "aria-live": "off" }, "0 s");
    this.pace = h("select", {
      "aria-label": "Pace",
      onchange: () => this.tell({ do: "pace", factor: Number(this.pace.value) }),
    });
    this.pace.append(...PACES.map((factor) => h("option", { value: String(factor) }, `${factor} ×`)));
    this.pace.value = "1";
    this.showPlaying(false);
    return h(
      "div",
      { class: "live-bar", role: "group", "aria-label": "Time" },
      this.play,
      this.step,
      this.slider,
      this.time,
      h("label", { class: "field" }, "Pace ", this.pace),
      this.state,
      h("span", { class: "small keys-hint" }, "Space plays and pauses, . steps, ← and → go back and forth"),
    );
  }

  connect() {
    return new Promise((done) => {
      this.socket = socket(`live/${this.id}`);
      this.socket.onmessage = (event) => {
        const message = JSON.parse(event.data);
        this.heard(message);
        if (message.type === "state") done();
      };
      this.socket.onopen = () => {
        this.plots.begin();
        setTimeout(done, 1000);
      };
      this.socket.onclose = () => {
        if (!this.closed) this.over("The session is over, or the server does not answer.");
        done();
      };
    });
  }

  close() {
    this.closed = true;
    document.removeEventListener("keydown", this.keys);
    this.controls.close();
    this.socket?.close();
  }

  // Signals for the plots, and the joints whose loads are drawn as arrows.
  watch() {
    const known = this.session.loads || [];
    const joint = this.machine?.view.arrows.joint;
    this.tell({
      do: "watch",
      channels: this.plots.chosen,
      loads: joint === "*" ? known : known.filter((name) => name === joint),
    });
  }

  tell(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  heard(message) {
    if (message.type === "state") this.showState(message);
    else if (message.type === "frame") this.showFrame(message);
    else if (message.type === "error") toast(message.error, "bad");
    else if (message.type === "scenario")
      download(`${this.session.name || "session"}.scenario.toml`, message.text, "application/toml");
    else if (message.type === "scene") this.redraw(message.scene);
    else if (message.type === "ended") this.over("The session has ended.");
  }

  over(words) {
    this.closed = true;
    this.showPlaying(false);
    for (const control of [this.play, this.step, this.slider, this.pace]) control.disabled = true;
    this.controls.close();
    this.told.replaceChildren(h("p", { class: "warning" }, words, " ", link("All sessions", "#/live")));
  }

  showState(state) {
    this.now = { ...this.now, ...state };
    this.showPlaying(state.playing);
    if (state.kept) {
      [this.slider.min, this.slider.max] = state.kept;
    }
    if (typeof state.pace === "number" && document.activeElement !== this.pace) {
      if (![...this.pace.options].some(({ value }) => Number(value) === state.pace))
        this.pace.append(h("option", { value: String(state.pace) }, `${state.pace} ×`));
      this.pace.value = String(state.pace);
    }
    this.slider.disabled = Boolean(state.obstacle);
    this.slider.title = state.obstacle || "";
    if (state.values) this.controls.show(state.values);
    this.showTime(state.t);
    this.element.dataset.playing = String(Boolean(state.playing));
    this.element.dataset.time = String(state.t);
    const real = state.real_factor;
    this.state.textContent = state.playing && typeof real === "number" ? `runs at ${real.toFixed(2)} × real time` : "";
  }

  showPlaying(playing) {
    this.play.textContent = playing ? "❚❚" : "▶";
    const label = playing ? "Pause" : "Play";
    this.play.setAttribute("aria-label", label);
    this.play.title = `${label} (space)`;
  }

  showTime(t) {
    this.now.t = t;
    if (t > Number(this.slider.max)) this.slider.max = t;
    if (document.activeElement !== this.slider || this.now.playing) this.slider.value = t;
    this.time.textContent = seconds(t);
    this.slider.setAttribute("aria-valuetext", seconds(t));
  }

  showFrame({ t, poses, watched, slack, loads }) {
    this.showTime(t);
    this.element.dataset.time = String(t);
    if (watched) this.plots.add(t, watched);
    if (!this.machine || !poses) return;
    this.clock.time = t;
    const { view } = this.machine;
    view.place(poses, slack, loads);
    this.trail(view, t, poses);
    if (view.arrows.joint !== this.arrows) {
      this.arrows = view.arrows.joint;
      this.watch();
    }
  }

  // Another picture, after parameters changed what the machine looks like.
  redraw(scene) {
    if (!this.machine || !scene?.bodies) return;
    const { view } = this.machine;
    const fresh = machineBox(scene, this.clock);
    Object.assign(fresh.view.shows, view.shows);
    for (const part of ["azimuth", "elevation", "zoom", "target"]) fresh.view.camera[part] = view.camera[part];
    this.machine.element.replaceWith(fresh.element);
    this.machine = fresh;
  }

  // Where outputs have been of late, in the place of the paths that a report knows beforehand.
  trail(view, t, poses) {
    for (const line of view.paths) {
      const body = view.bodies.findIndex(({ name }) => name === line.body);
      if (body < 0) continue;
      if (!line.fresh) Object.assign(line, { fresh: true, times: [], points: [] });
      while (line.times.length && line.times.at(-1) >= t) {
        line.times.pop();
        line.points.pop();
      }
      line.times.push(t);
      line.points.push(new Pose(poses[body].slice(0, 3), poses[body].slice(3)).point(line.at));
      if (line.times.length > TRAIL) {
        line.times.shift();
        line.points.shift();
      }
    }
  }

  toggle() {
    this.tell({ do: this.now.playing ? "pause" : "play" });
  }

  goTo(t) {
    if (this.now.playing) {
      this.now.playing = false;
      this.tell({ do: "pause" });
    }
    this.wanted = t;
    if (this.going) return;
    this.going = true;
    // Dragging asks often; the last place counts.
    setTimeout(() => {
      this.going = false;
      this.tell({ do: "go", t: this.wanted });
    }, 60);
  }

  key(event) {
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target.closest("input, select, textarea, summary, canvas")
    )
      return;
    if (event.key === " " && event.target.closest("button, a")) return;
    const kept = this.now.kept || [0, 0];
    const moves = {
      " ": () => this.toggle(),
      ".": () => this.tell({ do: "step", count: 1 }),
      ArrowLeft: () => this.goTo(Math.max(kept[0], this.now.t - 1)),
      ArrowRight: () => this.goTo(Math.min(Number(this.slider.max), this.now.t + 1)),
      Home: () => this.goTo(kept[0]),
    };
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }
}
