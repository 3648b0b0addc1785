// Small parts that many views are made of.

import { element } from "./report/numbers.js";

export const h = element;

export function badge(state) {
  const kinds = { done: "good", failed: "bad", cancelled: "bad", running: "busy", queued: "" };
  return h("span", { class: `badge ${kinds[state] ?? ""}` }, state);
}

export function bytesText(bytes) {
  for (const [size, unit] of [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
  ]) {
    if (bytes >= size) return `${(bytes / size).toPrecision(3)} ${unit}`;
  }
  return `${bytes} B`;
}

// A time of the server: seconds since 1970, or ISO 8601.
export function moment(value) {
  if (value === null || value === undefined) return null;
  return new Date(typeof value === "number" ? value * 1000 : value);
}

export function momentText(value) {
  const date = moment(value);
  if (!date || Number.isNaN(date.getTime())) return "–";
  const today = date.toDateString() === new Date().toDateString();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return today ? time : `${date.toLocaleDateString([], { day: "numeric", month: "short" })} ${time}`;
}

export function durationText(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export function took(job) {
  if (!job.started) return "–";
  const end = job.ended ? moment(job.ended) : new Date();
  return durationText((end - moment(job.started)) / 1000);
}

export function progressBar(label) {
  const fill = h("span", {});
  const bar = h(
    "span",
    { class: "progress", role: "progressbar", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "100" },
    fill,
  );
  return {
    element: bar,
    show(share) {
      const part = Math.round(100 * Math.min(Math.max(share || 0, 0), 1));
      fill.style.width = `${part}%`;
      bar.setAttribute("aria-valuenow", String(part));
    },
  };
}

export function table(heads, rows, attributes = {}) {
  const head = h(
    "tr",
    {},
    heads.map((text) => h("th", { scope: "col" }, text)),
  );
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      row.map((cell) => h("td", {}, cell)),
    ),
  );
  return h("div", { class: "scroll" }, h("table", attributes, h("thead", {}, head), h("tbody", {}, body)));
}

export function pageHead(title, words, ...actions) {
  return h(
    "div",
    { class: "page-head" },
    h("div", {}, h("h1", {}, title), words ? h("p", { class: "lead" }, words) : null),
    actions.length ? h("div", { class: "actions" }, actions) : null,
  );
}

export function press(text, onclick, attributes = {}) {
  const made = h("button", { type: "button", ...attributes }, text);
  // One press, one action: it is asleep until the first is done.
  made.addEventListener("click", async () => {
    made.disabled = true;
    made.setAttribute("aria-busy", "true");
    try {
      await onclick();
    } catch (error) {
      toast(error.message, "bad");
    } finally {
      made.disabled = false;
      made.removeAttribute("aria-busy");
    }
  });
  return made;
}

export function link(text, href, attributes = {}) {
  return h("a", { href, ...attributes }, text);
}

export function toast(text, kind = "") {
  const shown = h("div", { class: `toast ${kind}`, role: kind === "bad" ? "alert" : "status" }, h("span", {}, text));
  shown.append(h("button", { type: "button", "aria-label": "Close this message", onclick: () => shown.remove() }, "×"));
  document.getElementById("toasts").append(shown);
  if (kind !== "bad") setTimeout(() => shown.remove(), 6000);
}

export function problem(error) {
  return h("p", { class: "warning", role: "alert" }, error.message);
}

export function download(name, text, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = h("a", { href: url, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// A field of a form with a label, a unit and a place for what is wrong with it.
export function field(label, input, { unit = "", hint = "" } = {}) {
  const wrong = h("span", { class: "wrong", "aria-live": "polite" });
  const made = h(
    "label",
    { class: "entry" },
    h("span", { class: "entry-name" }, label),
    h("span", { class: "entry-value" }, input, unit ? h("span", { class: "unit" }, unit) : null),
    wrong,
    hint ? h("span", { class: "small" }, hint) : null,
  );
  return {
    element: made,
    input,
    say(text) {
      wrong.textContent = text;
      input.setAttribute("aria-invalid", String(Boolean(text)));
      return !text;
    },
  };
}

// Calls that come in a burst become one, `wait` ms after the first.
export function gathered(wait, call) {
  let waiting = null;
  return () => {
    if (waiting !== null) return;
    waiting = setTimeout(() => {
      waiting = null;
      call();
    }, wait);
  };
}
