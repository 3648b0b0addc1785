// A study while it runs, or one that was stopped: its map fills as runs end.

import { useContent } from "./report/data.js";
import { SeaMap, labelText } from "./report/study_map.js";
import { follow, get } from "./api.js";
import { badge, gathered, h, link, pageHead, progressBar, table } from "./parts.js";

const ENDED = ["done", "failed", "cancelled"];
const MOST_RUNS = 200;
// Large studies take the server longer to sum up: it is asked again after this many times as long.
const PATIENCE = 10;
const SOONEST = 1000;

export async function showUnfinished(root, job, { leave, signal }) {
  const view = new UnfinishedStudy(job, signal);
  root.append(view.element);
  await view.refresh();
  if (ENDED.includes(job.state)) return;
  const later = gathered(SOONEST, () => view.refreshInTime());
  const stop = follow(`jobs/${job.id}/events`, {
    progress: later,
    state: ({ state }) => {
      if (state === "done") window.dispatchEvent(new HashChangeEvent("hashchange"));
      else view.reload().catch(() => {});
    },
  });
  leave(stop);
}

class UnfinishedStudy {
  constructor(job, signal) {
    this.signal = signal;
    this.job = job;
    this.bar = progressBar("Runs that have ended");
    this.state = h("span", { class: "state", "aria-live": "polite" });
    this.words = h("span", { class: "small" });
    this.limits = h("p", { class: "small" });
    this.place = h("div", {}, h("p", { class: "note" }, "The map is drawn as soon as the runs are planned."));
    this.runs = h("div", {});
    this.element = h(
      "div",
      {},
      pageHead(job.name, "", link("The job", `#/jobs/${job.id}`, { class: "button" })),
      h("div", { class: "job-line" }, this.state, this.bar.element, this.words),
      this.limits,
      this.place,
      this.runs,
    );
  }

  async reload() {
    this.job = await get(`jobs/${this.job.id}`, {}, this.signal);
    await this.refresh();
  }

  async refreshInTime() {
    if (this.busy) return;
    this.busy = true;
    const began = performance.now();
    try {
      if (!this.planned) this.job = await get(`jobs/${this.job.id}`, {}, this.signal);
      await this.refresh();
    } catch {
      // the next event asks again
    }
    setTimeout(() => (this.busy = false), PATIENCE * (performance.now() - began));
  }

  // Before anything is planned, nobody is asked for it.
  get planned() {
    return this.job.files.some(({ name }) => name === "study.sqlite");
  }

  async refresh() {
    this.state.replaceChildren(badge(this.job.state), ` study, job ${this.job.id}`);
    if (!this.planned) return;
    this.show(await get(`jobs/${this.job.id}/map`, {}, this.signal));
    if (this.chosen) await this.showRuns(this.chosen);
  }

  show({ planned, done, failed, outside, limits, cells }) {
    const ended = done + failed + outside;
    this.bar.show(planned ? ended / planned : 0);
    const more = [
      [failed, "failed"],
      [outside, "outside linear theory"],
    ].map(([count, what]) => (count ? `, ${count} ${what}` : ""));
    this.words.textContent = `${ended} of ${planned} runs${more.join("")}`;
    this.limits.textContent = limits.length ? `Limits: ${limits.join("; ")}.` : "";
    if (!cells.length) {
      this.place.replaceChildren(
        planned ? h("p", { class: "note" }, "This study has no sea states, so there is no map.") : "",
      );
      return;
    }
    const operability = limits.length ? { cells } : null;
    useContent({
      ...{ time: { start: 0, step: 1, count: 1 }, span: [0, 1], series: [], reduction: { samples: 2 } },
      study: { operability, damage: [] },
      runs: { cells: cells.map((cell) => ({ ...cell.labels, ...cell, ended: cell.done + cell.failed + cell.outside })) },
    });
    if (this.map) this.map.update();
    else {
      this.map = new SeaMap((key) => {
        this.chosen = key;
        this.showRuns(key).catch(() => {});
      });
      this.place.replaceChildren(this.map.element);
    }
  }

  async showRuns(key) {
    if (!key) {
      this.runs.replaceChildren();
      return;
    }
    const [height, period] = key.split(" ");
    const cell = `Hs=${height},Tp=${period}`;
    const { cases, count } = await get(`jobs/${this.job.id}/cases`, { cell, limit: MOST_RUNS }, this.signal);
    const names = [...new Set(cases.flatMap(({ labels }) => Object.keys(labels)))];
    const rows = cases.map(({ labels, state, error, cpu_s: seconds }) => [
      ...names.map((name) => labelText(labels[name])),
      error ? `${state}: ${error}` : state,
      seconds === null ? "–" : `${seconds.toPrecision(3)} s`,
    ]);
    this.runs.replaceChildren(
      h("h2", {}, `Runs in Hs ${height} m, Tp ${period} s: ${count}`),
      table([...names, "State", "CPU"], rows),
    );
  }
}
