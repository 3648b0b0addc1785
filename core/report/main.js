// The page, from top to bottom.

import { element } from "./numbers.js";
import { colours } from "./clock.js";
import { report } from "./data.js";
import { buildMachine, listenToKeys, listenToHead } from "./controls.js";
import { plots, buildHead, buildMotion, buildLoads, buildMonitors, buildFoot } from "./sections.js";
import { buildRoses, buildAnalysis, buildTable } from "./analysis.js";
import { buildHotSpots } from "./hotspots.js";
import { buildOptimal } from "./optimal.js";

colours.read();
buildHead();
if (report.scene.bodies) document.getElementById("contents").append(element("a", { href: "#animation" }, "Animation"));
buildMachine();
buildOptimal();
buildMotion();
buildLoads();
buildMonitors();
buildRoses();
buildAnalysis();
buildHotSpots();
const extremesTable = buildTable();
buildFoot();
listenToKeys();
listenToHead(() => {
  for (const plot of plots) plot.unitsChanged();
  extremesTable.fill();
});
document.documentElement.dataset.ready = "yes";
