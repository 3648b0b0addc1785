// One job: how far it is, plots while it runs and after, the report, the log, files, what was asked for.

import { significant } from "./report/numbers.js";
import { tree } from "./report/tables.js";
import { address, follow, get, getText, send } from "./api.js";
import {
  badge,
  bytesText,
  durationText,
  gathered,
  h,
  link,
  momentText,
  pageHead,
  press,
  progressBar,
  table,
  took,
} from "./parts.js";
import { HistoryPlots } from "./plots.js";

const ENDED = ["done", "failed", "cancelled"];
const HISTORIES = ["run", "cosim", "inverse", "optimise", "fmu-run"];
const MOST_LOG = 200_000;

export async function showJob(root, { name, leave, signal }) {
  const job = await get(`jobs/${name}`, {}, signal);
  const view = new JobView(job, signal);
  root.append(view.element);
  await view.show(job);
  const clock = setInterval(() => view.tick(), 1000);
  leave(() => clearInterval(clock));
  if (ENDED.includes(job.state)) return;
  const stop = follow(`jobs/${name}/events`, {
    state: () => view.reload(),
    progress: (event) => view.progressed(event),
    log: () => view.moreLog(),
    sample: () => view.samples(),
  });
  view.stopFollowing = stop;
  leave(stop);
}

class JobView {
  constructor(job, signal) {
    this.signal = signal;
    this.id = job.id;
    this.bar = progressBar("Progress");
    this.state = h("span", { class: "state", "aria-live": "polite" });
    this.left = h("span", { class: "small" });
    this.actions = h("div", { class: "actions" });
    this.error = h("div", {});
    this.plots = HISTORIES.includes(job.kind) ? new HistoryPlots(job.id, signal) : null;
    this.samples = gathered(1000, () => this.plots?.load().catch(() => {}));
    this.readings = h("dl", { class: "readings", "aria-live": "off" });
    this.report = h("div", { class: "report-place" });
    this.files = h("div", {});
    this.about = h("div", {});
    this.log = h("pre", { class: "log", tabindex: "0", role: "log", "aria-label": "Log" });
    this.logged = 0;
    this.moreLog = gathered(300, () => this.readLog().catch(() => {}));
    const sections = [
      this.plots ? h("section", {}, h("h2", {}, "Plots"), this.plots.whole) : null,
      this.report,
      h("section", {}, h("h2", {}, "Log"), this.log),
      h("section", {}, h("h2", {}, "Files"), this.files),
      h("section", {}, h("h2", {}, "What was asked for"), this.about),
    ];
    this.element = h(
      "div",
      {},
      pageHead(job.name || job.kind, "", this.actions),
      h("div", { class: "job-line" }, this.state, this.bar.element, this.left),
      this.readings,
      this.error,
      sections,
    );
  }

  get ended() {
    return ENDED.includes(this.job.state);
  }

  async reload() {
    const turn = (this.turn = (this.turn || 0) + 1);
    try {
      const job = await get(`jobs/${this.id}`, {}, this.signal);
      if (turn === this.turn) await this.show(job); // an answer that was overtaken is old
    } catch (error) {
      if (error.name !== "AbortError") this.error.replaceChildren(h("p", { class: "warning" }, error.message));
    }
  }

  progressed(event) {
    const share = event?.progress ?? event?.fraction;
    if (typeof share === "number") this.job.progress = share;
    this.job.time_left_s = event?.time_left_s ?? this.job.time_left_s;
    Object.assign(this.job, { words: event?.words, numbers: event?.numbers });
    this.tick();
  }

  async show(job) {
    this.job = job;
    this.state.replaceChildren(badge(job.state), ` ${job.kind}, job ${job.id}`);
    this.element.dataset.state = job.state;
    this.tick();
    this.showActions();
    this.error.replaceChildren(job.error ? h("pre", { class: "warning error", role: "alert" }, job.error) : "");
    this.showFiles();
    this.showAbout();
    if (this.ended) this.stopFollowing?.();
    this.showReport();
    // Before there are samples, nobody is asked for any.
    await Promise.all([this.readLog(), this.plots && job.drawable ? this.plots.load() : null]);
    if (this.plots && this.ended && !this.plots.channels) this.plots.note.textContent = "This job left no history.";
  }

  tick() {
    const { job } = this;
    this.bar.show(job.state === "done" ? 1 : job.progress);
    const unknown = job.state === "running" && !job.progress && Boolean(job.words);
    this.bar.element.hidden = unknown || job.state === "cancelled" || job.state === "failed";
    const parts = [];
    if (job.state === "running") {
      if (job.progress || !job.words) parts.push(`${Math.round(100 * (job.progress || 0))} %`);
      parts.push(`for ${took(job)}`);
      if (job.progress >= 1) parts.push("writing results");
      else if (Number.isFinite(job.time_left_s)) parts.push(`about ${durationText(job.time_left_s)} left`);
    } else if (job.started) parts.push(`took ${took(job)}`, `began ${momentText(job.started)}`);
    else parts.push(`created ${momentText(job.created)}`);
    if (job.attempts > 1) parts.push(`attempt ${job.attempts}`);
    if (job.exit_status) parts.push(`exit status ${job.exit_status}`);
    this.left.textContent = parts.join(" · ");
    this.showReadings();
  }

  // What the command says of how far it is: a search has no share that is done, but a cost that falls.
  showReadings() {
    const { state, words, numbers } = this.job;
    const readings = state === "running" ? Object.entries(numbers || {}) : [];
    this.readings.hidden = state !== "running" || !(readings.length || words);
    const text = (value) => (Number.isInteger(value) ? String(value) : significant(value, 6));
    const said = readings.length ? readings.map(([name, value]) => [name, text(value)]) : [["", words || ""]];
    this.readings.replaceChildren(...said.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text))));
  }

  showActions() {
    const { job } = this;
    const again = press("Run again", async () => {
      const { id } = await send(`jobs/${this.id}/again`);
      location.hash = `#/jobs/${id}`;
    });
    const cancel = press("Cancel", async () => {
      await send(`jobs/${this.id}/cancel`);
      await this.reload();
    });
    const remove = press("Delete", async () => {
      if (!window.confirm(`Delete job ${this.id} and all its results?`)) return;
      await send(`jobs/${this.id}`, undefined, { method: "DELETE" });
      location.hash = "#/jobs";
    });
    const { model, settings } = job.request || {};
    const change = model
      ? link(
          "Change and run",
          `#/models/${encodeURIComponent(model)}?set=${encodeURIComponent(JSON.stringify(settings || {}))}`,
          { class: "button" },
        )
      : null;
    const study = job.kind === "study" && job.files?.some(({ name }) => /^study\.(json|sqlite)$/.test(name));
    this.actions.replaceChildren(
      ...[
        study ? link("Map of sea states", `#/studies/${this.id}`, { class: "button primary" }) : null,
        this.ended ? null : cancel,
        again,
        change,
        this.ended ? remove : null,
      ].filter(Boolean),
    );
  }

  fileAddress(name) {
    return address(`jobs/${this.id}/files/${name.split("/").map(encodeURIComponent).join("/")}`).href;
  }

  showReport() {
    const report = this.job.files?.find(
      ({ name }) => /(^|\/)(report|study)\.html$/.test(name) && name.split("/").length < 3,
    );
    if (!report || this.framed === report.name || !this.ended) return;
    this.framed = report.name;
    const source = this.fileAddress(report.name);
    const frame = h("iframe", {
      src: source,
      title: "Report: animation, loads, spectra, cycles",
      sandbox: "allow-scripts allow-downloads allow-modals",
      loading: "lazy",
    });
    const size = press("⤢", () => frame.classList.toggle("large"), {
      "aria-label": "Make the report larger or smaller",
    });
    this.report.replaceChildren(
      h(
        "section",
        {},
        h(
          "div",
          { class: "card-head" },
          h("h2", {}, "Animation and report"),
          h("span", { class: "row" }, size, link("In a tab of its own", source, { target: "_blank", rel: "noopener" })),
        ),
        frame,
      ),
    );
  }

  showFiles() {
    const files = this.job.files || [];
    if (!files.length) {
      this.files.replaceChildren(h("p", { class: "small" }, this.ended ? "None." : "None yet."));
      return;
    }
    const rows = files.map(({ name, bytes }) => [
      link(name, this.fileAddress(name), { download: name.split("/").at(-1) }),
      bytesText(bytes),
    ]);
    this.files.replaceChildren(table(["File", "Size"], rows));
  }

  showAbout() {
    const { job } = this;
    this.about.replaceChildren(
      ...[
        job.command?.length ? h("pre", { class: "command", tabindex: "0" }, job.command.join(" ")) : null,
        job.request ? h("details", {}, h("summary", {}, "As data"), tree(job.request)) : null,
        job.summary ? h("details", {}, h("summary", {}, "Record of the command"), tree(job.summary)) : null,
      ].filter(Boolean),
    );
  }

  async readLog() {
    const text = await getText(`jobs/${this.id}/log`, { from: this.logged }, this.signal).catch((error) => {
      if (error.name === "AbortError" || error.status === 404) return "";
      throw error;
    });
    if (text) {
      const atEnd = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 8;
      this.logged += new TextEncoder().encode(text).length;
      this.log.textContent = (this.log.textContent + text).slice(-MOST_LOG);
      if (atEnd) this.log.scrollTop = this.log.scrollHeight;
    }
    if (!this.log.textContent) this.log.dataset.empty = this.ended ? "The command wrote nothing." : "Nothing yet.";
    else delete this.log.dataset.empty;
  }
}
