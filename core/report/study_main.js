// The page of a study, from top to bottom.

import { colours } from "./clock.js";
import { listenToHead } from "./controls.js";
import { buildStudy } from "./study_sections.js";

colours.read();
document.getElementById("machine").remove();
document.getElementById("layout").classList.add("alone");
buildStudy();
document.getElementById("foot").textContent = "One file, no network: keep it with the results it describes.";
listenToHead(() => {});
document.documentElement.dataset.ready = "yes";
