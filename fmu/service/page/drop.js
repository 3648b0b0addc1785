// Files that are dropped anywhere, or chosen: uploaded, and shown with what can be done with them.

import { upload } from "./api.js";
import { bytesText, h, toast } from "./parts.js";

// Views may want dropped files for themselves: one that takes them says so, and returns true where it did.
const takers = [];

export function takeUploads(taker) {
  takers.push(taker);
  return () => takers.splice(takers.indexOf(taker), 1);
}

export async function uploadAll(files) {
  const stored = [];
  for (const file of files) {
    try {
      const record = await upload(file);
      stored.push(record);
      toast(`${record.name}: ${bytesText(record.bytes)} uploaded`);
    } catch (error) {
      toast(`${file.name}: ${error.message}`, "bad");
    }
  }
  if (!stored.length) return stored;
  for (const taker of takers) if (await taker(stored)) return stored;
  location.hash = stored.length === 1 ? `#/files/${stored[0].hash}` : "#/files";
  return stored;
}

export function uploadButton(text = "Upload files") {
  const box = h("input", {
    type: "file",
    multiple: true,
    class: "hidden-title",
    tabindex: "-1",
    "aria-label": "Files to upload",
    onchange: async () => {
      await uploadAll([...box.files]);
      box.value = "";
    },
  });
  return h("span", {}, h("button", { type: "button", onclick: () => box.click() }, text), box);
}

export function listenToDrops() {
  const cover = document.getElementById("drop");
  let depth = 0;
  const carries = (event) => [...(event.dataTransfer?.types || [])].includes("Files");
  document.addEventListener("dragenter", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    depth++;
    cover.hidden = false;
  });
  document.addEventListener("dragleave", () => {
    depth = Math.max(0, depth - 1);
    cover.hidden = depth === 0;
  });
  document.addEventListener("dragover", (event) => {
    if (carries(event)) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    depth = 0;
    cover.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    uploadAll([...event.dataTransfer.files]);
  });
}
