// All jobs: counts by state, filters, and rows that change as the jobs do.

import { follow, get } from "./api.js";
import { badge, gathered, h, link, momentText, pageHead, progressBar, took } from "./parts.js";

const STATES = ["queued", "running", "done", "failed", "cancelled"];
const KINDS = ["run", "cosim", "study", "inverse", "optimise", "export", "fmu-check", "fmu-run", "report", "fatigue"];
const PAGE = 50;

export async function showJobs(root, { query, leave, signal }) {
  const list = new JobList(query, signal);
  root.append(list.element);
  await list.load();
  leave(follow("events", { state: () => list.later(), progress: (event) => list.progressed(event) }));
  const clock = setInterval(() => list.tick(), 1000);
  leave(() => clearInterval(clock));
}

class JobList {
  constructor(query, signal) {
    this.signal = signal;
    this.state = query.get("state") || "";
    this.kind = query.get("kind") || "";
    this.rows = new Map();
    this.later = gathered(250, () => this.load().catch(() => {}));
    this.chips = h("div", { class: "segments", role: "group", "aria-label": "Show only" });
    const kinds = h("select", { "aria-label": "Kind of job", onchange: () => this.narrow({ kind: kinds.value }) });
    kinds.append(h("option", { value: "" }, "all kinds"), ...KINDS.map((kind) => h("option", { value: kind }, kind)));
    kinds.value = this.kind;
    this.search = h("input", {
      type: "search",
      placeholder: "Filter by name",
      "aria-label": "Filter jobs by name",
      class: "search",
      oninput: () => this.filter(),
    });
    this.body = h("tbody", {});
    this.note = h("p", { class: "note", hidden: true });
    this.more = h("button", { type: "button", hidden: true, onclick: () => this.older() }, "Older jobs");
    const heads = ["", "Name", "Kind", "State", "Progress", "Created", "Took"].map((text) =>
      h("th", { scope: "col" }, text),
    );
    this.element = h(
      "div",
      {},
      pageHead("Jobs", "", this.search),
      h("div", { class: "row filters" }, this.chips, kinds),
      h("div", { class: "scroll" }, h("table", { class: "jobs" }, h("thead", {}, h("tr", {}, heads)), this.body)),
      this.note,
      this.more,
    );
  }

  narrow(change) {
    Object.assign(this, change);
    this.rows.clear();
    const words = new URLSearchParams(
      Object.entries({ state: this.state, kind: this.kind }).filter(([, value]) => value),
    );
    history.replaceState(null, "", `#/jobs${words.size ? `?${words}` : ""}`);
    this.body.replaceChildren();
    this.load();
  }

  async load() {
    const answer = await get("jobs", { state: this.state, kind: this.kind, limit: PAGE }, this.signal);
    this.count(answer.counts);
    // What is loaded beyond the first page stays below it.
    const fresh = new Set(answer.jobs.map(({ id }) => id));
    const oldest = answer.jobs.at(-1)?.id;
    const rest = [...this.rows.values()].filter(
      ({ job }) => !fresh.has(job.id) && answer.jobs.length === PAGE && job.id < oldest,
    );
    this.body.replaceChildren(...answer.jobs.map((job) => this.row(job)), ...rest.map(({ line }) => line));
    for (const [id, { line }] of this.rows) if (!line.isConnected) this.rows.delete(id);
    if (!rest.length) this.more.hidden = answer.jobs.length < PAGE;
    this.filter();
  }

  async older() {
    const last = Math.min(...this.rows.keys());
    const answer = await get("jobs", { state: this.state, kind: this.kind, limit: PAGE, before: last }, this.signal);
    this.body.append(...answer.jobs.map((job) => this.row(job)));
    this.more.hidden = answer.jobs.length < PAGE;
    this.filter();
  }

  count(counts) {
    const chip = (state, text) =>
      h(
        "button",
        { type: "button", "aria-pressed": String(this.state === state), onclick: () => this.narrow({ state }) },
        text,
      );
    const all = STATES.reduce((sum, state) => sum + (counts[state] || 0), 0);
    const focused = [...this.chips.children].indexOf(document.activeElement);
    this.chips.replaceChildren(
      chip("", `all ${all}`),
      ...STATES.map((state) => chip(state, `${state} ${counts[state] || 0}`)),
    );
    this.chips.children[focused]?.focus();
  }

  row(job) {
    const known = this.rows.get(job.id);
    if (known) {
      known.show(job);
      return known.line;
    }
    const bar = progressBar(`Progress of job ${job.id}`);
    const [state, time] = [h("td", {}), h("td", {})];
    const name = link(job.name || job.kind, `#/jobs/${job.id}`);
    const line = h(
      "tr",
      {},
      h("td", { class: "muted" }, String(job.id)),
      h("td", { class: "name" }, name),
      h("td", {}, job.kind),
      state,
      h("td", {}, bar.element),
      h("td", {}, momentText(job.created)),
      time,
    );
    const row = {
      line,
      show(now) {
        row.job = now;
        state.replaceChildren(badge(now.state));
        bar.show(now.state === "done" ? 1 : now.progress);
        line.title = now.error || "";
        row.tick();
      },
      tick: () => (time.textContent = took(row.job)),
    };
    row.show(job);
    this.rows.set(job.id, row);
    return line;
  }

  progressed(event) {
    const row = this.rows.get(event?.job ?? event?.id);
    const share = event?.progress ?? event?.fraction;
    if (row && typeof share === "number") row.show({ ...row.job, progress: share });
  }

  tick() {
    for (const row of this.rows.values()) if (row.job.state === "running") row.tick();
  }

  filter() {
    const wanted = this.search.value.toLowerCase();
    let shown = 0;
    for (const { line, job } of this.rows.values()) {
      line.hidden = !`${job.id} ${job.name} ${job.kind}`.toLowerCase().includes(wanted);
      if (!line.hidden) shown++;
    }
    this.note.hidden = shown > 0;
    this.note.replaceChildren(
      this.rows.size
        ? "No job has these words."
        : h(
            "span",
            {},
            "There is no job here yet. ",
            link("Choose a model", "#/models"),
            " and run it, or drop a file anywhere.",
          ),
    );
  }
}
