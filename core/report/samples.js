// Channels over a common time: what plots over time are drawn from, and the clock by which they are read.

export class Samples {
  constructor(clock) {
    this.clock = clock;
    this.time = new Float64Array(0);
    this.of = new Map();
    this.leftOut = null; // until this time, what is shown is not counted
  }

  // [{name, unit, low, high, min, max, tmin, tmax, values}], on `time`.
  set(time, series) {
    this.time = time;
    this.of = new Map(series.map((one) => [one.name, one]));
  }

  magnitude(names) {
    const greatest = (name) => Math.max(Math.abs(this.of.get(name).low), Math.abs(this.of.get(name).high));
    return Math.max(0, ...names.map(greatest));
  }

  // The least and the greatest of a column, and when.
  static extremes(time, values) {
    const found = { min: null, max: null, tmin: null, tmax: null };
    for (let i = 0; i < values.length; i++) {
      const value = values[i];
      if (!Number.isFinite(value)) continue;
      if (found.max === null || value > found.max) [found.max, found.tmax] = [value, time[i]];
      if (found.min === null || value < found.min) [found.min, found.tmin] = [value, time[i]];
    }
    return { ...found, low: found.min ?? 0, high: found.max ?? 0 };
  }
}
