// The page: which view is shown, colours, files that are dropped, and whether the server is there.

import { colours } from "./report/clock.js";
import { Chart } from "./report/plot.js";
import { get } from "./api.js";
import { h, link, pageHead, problem } from "./parts.js";
import { listenToDrops } from "./drop.js";
import { showModels } from "./models.js";
import { showModel } from "./model.js";
import { showJobs } from "./jobs.js";
import { showJob } from "./job.js";
import { showStudy } from "./study.js";
import { showEditor } from "./editor.js";
import { showLive, showSessions } from "./live.js";
import { showFile, showFiles } from "./files.js";
import { showPlugins } from "./plugins.js";

const PLACES = [
  ["models", "Models"],
  ["jobs", "Jobs"],
  ["cosim", "Co-simulation"],
  ["live", "Live"],
  ["files", "Files"],
  ["plugins", "Plugins"],
];
// What the words after # lead to: with a name behind them, and without.
const VIEWS = {
  models: [showModel, showModels],
  jobs: [showJob, showJobs],
  cosim: [showEditor, showEditor],
  studies: [showStudy, showJobs],
  live: [showLive, showSessions],
  files: [showFile, showFiles],
  plugins: [showPlugins, showPlugins],
};

const view = document.getElementById("view");
let leaving = [];
let turn = 0;

// A view gets where to draw, its name, what stands behind ?, and how to clean up when it is left.
async function route() {
  const [path, query] = (location.hash.replace(/^#\//, "") || "models").split("?");
  const [place, ...rest] = path.split("/").map(decodeURIComponent);
  const mine = ++turn;
  for (const leave of leaving.splice(0)) leave();
  const root = h("div", { class: `view view-${VIEWS[place] ? place : "none"}` });
  view.replaceChildren(root);
  Chart.forgetLost();
  for (const anchor of document.querySelectorAll("#places a")) {
    const here = anchor.dataset.place === (place === "studies" ? "jobs" : place);
    if (here) {
      anchor.setAttribute("aria-current", "page");
      // Where the places do not all fit, the one that is shown is among those that do.
      const [own, all] = [anchor, anchor.parentElement].map((element) => element.getBoundingClientRect());
      anchor.parentElement.scrollLeft += own.left + own.width / 2 - all.left - all.width / 2;
    } else anchor.removeAttribute("aria-current");
  }
  const stop = new AbortController();
  const leave = (clean) => (mine === turn ? leaving.push(clean) : clean());
  leave(() => stop.abort());
  document.documentElement.dataset.ready = "no";
  try {
    if (!VIEWS[place]) throw new Error(`There is no page '${place}' here.`);
    const show = VIEWS[place][rest.length ? 0 : 1];
    await show(root, { name: rest.join("/"), query: new URLSearchParams(query || ""), leave, signal: stop.signal });
  } catch (error) {
    if (error.name === "AbortError" || mine !== turn) return;
    root.append(error.status === 401 || error.status === 403 ? tokenForm(error) : problem(error));
  }
  if (mine !== turn) return;
  const title = root.querySelector("h1")?.textContent;
  document.title = title ? `${title} – Kingpost` : "Kingpost";
  document.documentElement.dataset.ready = "yes";
}

function tokenForm(error) {
  const box = h("input", {
    type: "password",
    name: "token",
    autocomplete: "current-password",
    required: true,
    "aria-label": "Token",
  });
  const enter = (event) => {
    event.preventDefault();
    location.href = `./?token=${encodeURIComponent(box.value.trim())}`;
  };
  const form = h("form", { class: "row", onsubmit: enter }, box, h("button", { class: "primary" }, "Enter"));
  return h(
    "div",
    {},
    pageHead(
      "Who are you?",
      "This server asks for its token: it stands in the address that 'kingpost serve' printed, and in the file 'token' of its folder.",
    ),
    problem(error),
    form,
  );
}

function listenToTheme() {
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const chosen = () => localStorage.getItem("kingpost-theme");
  const use = () => {
    const theme = chosen() || (system.matches ? "dark" : "light");
    root.dataset.theme = theme;
    const other = theme === "dark" ? "light" : "dark";
    button.textContent = other === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Use ${other} colours`);
    colours.read();
    Chart.changedAll();
  };
  button.addEventListener("click", () => {
    const other = root.dataset.theme === "dark" ? "light" : "dark";
    // What the system wants anyway is followed, not kept.
    if (other === (system.matches ? "dark" : "light")) localStorage.removeItem("kingpost-theme");
    else localStorage.setItem("kingpost-theme", other);
    use();
  });
  system.addEventListener("change", use);
  use();
}

function listenToServer() {
  const lamp = document.getElementById("connection");
  const ask = async () => {
    try {
      const { version } = await get("health");
      lamp.className = "lamp on";
      lamp.textContent = version ? `v${version}` : "";
      lamp.title = "The server answers";
    } catch {
      lamp.className = "lamp off";
      lamp.textContent = "no answer";
      lamp.title = "The server does not answer";
    }
  };
  ask();
  setInterval(ask, 15_000);
}

for (const [place, text] of PLACES)
  document.getElementById("places").append(link(text, `#/${place}`, { "data-place": place }));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  view.focus();
});
listenToTheme();
listenToServer();
listenToDrops();
window.addEventListener("hashchange", () => {
  route();
  view.focus({ preventScroll: true });
  window.scrollTo({ top: 0, behavior: "instant" });
});
route();
