// The page, from top to bottom.

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
