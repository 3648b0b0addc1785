// The page of a study, from top to bottom.

colours.read();
document.getElementById("machine").remove();
document.getElementById("layout").classList.add("alone");
buildHead();
buildSea();
buildOutside();
buildLimits();
buildDamage();
buildExtremes();
buildSpectra();
buildWorst();
buildStepCheck();
buildFailed();
buildRecord();
listenToHead(() => {});
document.documentElement.dataset.ready = "yes";
