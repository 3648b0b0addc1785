// A study: the map of sea states, the runs of a cell, limits, fatigue, extremes; drawn by the scripts of its report.

import { useContent } from "./report/data.js";
import { buildStudy } from "./report/study_sections.js";
import { address, get, getText } from "./api.js";
import { h, link } from "./parts.js";
import { showUnfinished } from "./unfinished_study.js";

// The page that a study leaves carries what it shows as data, in which no character can end its element.
async function contentOf(id, signal) {
  const text = await getText(`jobs/${id}/files/study.html`, {}, signal);
  const [, data] = text.match(/<script type="application\/json" id="data">([^<]*)<\/script>/) || [];
  if (!data) throw new Error("The page of this study carries no data; it was written by another version.");
  return JSON.parse(data);
}

export async function showStudy(root, { name, leave, signal }) {
  const job = await get(`jobs/${name}`, {}, signal);
  if (!job.files.some((file) => file.name === "study.html")) {
    await showUnfinished(root, job, { leave, signal });
    return;
  }
  const content = await contentOf(name, signal);
  useContent({ ...content, folder: address(`jobs/${name}/files/`).href });
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
      h("h1", {}, content.title),
      h("div", { class: "actions" }, link("The job", `#/jobs/${name}`, { class: "button" })),
    ),
    h("div", { id: "head" }),
    contents,
    h("div", { id: "main" }),
    h("div", { id: "wide" }),
  );
  buildStudy();
  for (const anchor of root.querySelectorAll('a[href*="/runs/"]'))
    Object.assign(anchor, { target: "_blank", rel: "noopener" });
}
