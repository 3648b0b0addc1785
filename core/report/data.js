// What is shown. A report carries it in itself; a page that asks a server for it says so with `useContent`.

import { unpack, unpackTime, lazily, display } from "./numbers.js";
import { Clock } from "./clock.js";
import { Samples } from "./samples.js";

export const report = {};
export const clock = new Clock();
export const samples = new Samples(clock);

export function useContent(content) {
  for (const name of Object.keys(report)) delete report[name];
  Object.assign(report, content);
  clock.begin(report.span);
  display.timeStep = (report.span[1] - report.span[0]) / Math.max(report.reduction.samples - 1, 1);
  for (const series of report.series) {
    // What spreads over powers of ten is stored as powers of ten.
    lazily(series, "values", () => (series.log ? unpack(series).map((power) => 10 ** power) : unpack(series)));
  }
  samples.set(unpackTime(report.time), report.series);
  samples.leftOut = report.counted?.skip > 0 ? report.counted.from : null;
}

const carried = document.getElementById("data");
if (carried) useContent(JSON.parse(carried.textContent));
