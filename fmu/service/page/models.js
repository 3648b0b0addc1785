// All machines that can be run by name, with pictures.

import { get } from "./api.js";
import { h, link, pageHead } from "./parts.js";
import { Pictures } from "./picture.js";
import { uploadButton } from "./drop.js";

export async function showModels(root, { signal }) {
  const search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter models", class: "search" });
  root.append(
    pageHead(
      "Models",
      "Machines that are ready to run. Drop a model or run file (TOML), an FMU or an SSP anywhere to use your own.",
      search,
      uploadButton(),
    ),
  );
  const models = await get("models", {}, signal);
  const pictures = new Pictures(signal);
  const cards = models.map(({ name, summary, kind }) => {
    const card = link(
      [
        pictures.place(name),
        h(
          "span",
          { class: "card-words" },
          h("b", {}, name),
          kind && kind !== "model" ? h("span", { class: "tag" }, kind) : null,
          h("span", { class: "small" }, summary),
        ),
      ],
      `#/models/${encodeURIComponent(name)}`,
      { class: "model-card" },
    );
    return { card, words: `${name} ${summary}`.toLowerCase() };
  });
  const none = h("p", { class: "note", hidden: true }, "No model has these words.");
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase().split(/\s+/);
    for (const { card, words } of cards) card.hidden = !wanted.every((word) => words.includes(word));
    none.hidden = cards.some(({ card }) => !card.hidden);
  });
  root.append(
    h(
      "div",
      { class: "cards" },
      cards.map(({ card }) => card),
    ),
    none,
  );
}
