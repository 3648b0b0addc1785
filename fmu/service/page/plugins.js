// What is installed: plugins by kind, versions, what this installation can do.

import { tree } from "./report/tables.js";
import { get } from "./api.js";
import { h, pageHead, problem, table } from "./parts.js";

export async function showPlugins(root, { signal }) {
  const search = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter plugins", class: "search" });
  root.append(
    pageHead("Plugins and versions", "Everything that can be chosen by name, and where it comes from.", search),
  );
  const answer = await get("plugins", {}, signal);
  const kinds = byKind(answer);
  const holder = h("div", {});
  const fill = () => {
    const wanted = search.value.toLowerCase().split(/\s+/);
    const parts = [];
    for (const [kind, plugins] of kinds) {
      const rows = plugins
        .filter((plugin) =>
          wanted.every((word) =>
            `${kind} ${plugin.name} ${plugin.summary} ${plugin.distribution}`.toLowerCase().includes(word),
          ),
        )
        .map((plugin) => [
          h("code", {}, plugin.name),
          plugin.summary || "",
          [plugin.distribution, plugin.version].filter(Boolean).join(" "),
        ]);
      if (!rows.length) continue;
      parts.push(
        h("h2", {}, `${kind} (${rows.length})`),
        table(["Name", "What it is", "From"], rows, { class: "wide-table" }),
      );
    }
    holder.replaceChildren(...(parts.length ? parts : [h("p", { class: "note" }, "No plugin has these words.")]));
  };
  search.addEventListener("input", fill);
  fill();
  for (const broken of answer.broken || []) {
    root.append(
      h(
        "p",
        { class: "warning" },
        `Could not be loaded: ${typeof broken === "string" ? broken : JSON.stringify(broken)}`,
      ),
    );
  }
  const about = h("div", {});
  root.append(h("details", { class: "doctor", open: true }, h("summary", {}, "This installation"), about), holder);
  try {
    about.append(tree(await get("doctor", {}, signal)));
  } catch (error) {
    if (error.name !== "AbortError") about.append(problem(error));
  }
}

function byKind(answer) {
  if (Array.isArray(answer.plugins)) {
    const kinds = new Map();
    for (const plugin of answer.plugins) kinds.set(plugin.kind, [...(kinds.get(plugin.kind) || []), plugin]);
    return kinds;
  }
  return new Map(Object.entries(answer).filter(([, list]) => Array.isArray(list) && list.every((item) => item?.name)));
}
