// A study: the map of sea states, the runs of a cell, limits, fatigue, extremes; drawn by the scripts of its report.

import { useContent } from "./report/data.js";
import { buildStudy } from "./report/study_sections.js";
import { address, get } from "./api.js";
import { h, link } from "./parts.js";

// A study has no time of its own; the scripts of reports ask for some.
const NO_TIME = { time: { start: 0, step: 1, count: 1 }, span: [0, 1], series: [], reduction: { samples: 2 }, facts: [], warnings: [], outcome: "" };

export async function showStudy(root, { name, signal }) {
  const content = await get(`jobs/${name}/study`, {}, signal);
  useContent({ ...NO_TIME, ...content, folder: address(`jobs/${name}/files/`).href });
  const contents = h("nav", { id: "contents", "aria-label": "Contents" });
  // Behind # stands the page itself, so the sections are scrolled to instead.
  contents.addEventListener("click", (event) => {
    const anchor = event.target.closest("a");
    if (!anchor) return;
    event.preventDefault();
    document.getElementById(anchor.getAttribute("href").slice(1))?.scrollIntoView();
  });
  root.append(
    h(
      "div",
      { class: "page-head" },
      h("h1", {}, content.title || content.study?.name || `Study ${name}`),
      h("div", { class: "actions" }, link("The job", `#/jobs/${name}`, { class: "button" })),
    ),
    h("div", { id: "head" }),
    contents,
    h("div", { id: "main" }),
    h("div", { id: "wide" }),
  );
  buildStudy();
  for (const anchor of root.querySelectorAll('a[href*="/runs/"]')) Object.assign(anchor, { target: "_blank", rel: "noopener" });
}
