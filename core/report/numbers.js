// How numbers and units are packed and written, and elements made; knows nothing of what is shown.

export function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

// The inverse of packing.py: 16-bit steps between the lowest and the highest value; the lowest code is a gap.
export function unpack(column) {
  if (column.codes === undefined) return new Float64Array(column.count).fill(column.low);
  const view = new DataView(bytesOf(column.codes).buffer);
  const values = new Float64Array(view.byteLength / 2);
  const step = (column.high - column.low) / 65534;
  for (let i = 0; i < values.length; i++) {
    const code = view.getInt16(2 * i, true);
    values[i] = code === -32768 ? NaN : code === 32767 ? column.high : column.low + (code + 32767) * step;
  }
  return values;
}

export function unpackTime(record) {
  if (record.floats === undefined) {
    return Float64Array.from({ length: record.count }, (_, i) => record.start + i * record.step);
  }
  const view = new DataView(bytesOf(record.floats).buffer);
  return Float64Array.from({ length: view.byteLength / 8 }, (_, i) => view.getFloat64(8 * i, true));
}

// A value that is worked out when it is first needed.
export function lazily(object, name, make) {
  Object.defineProperty(object, name, {
    configurable: true,
    get() {
      const value = make();
      Object.defineProperty(object, name, { value });
      return value;
    },
  });
}

// The last index with times[index] <= t, at least 0.
export function indexAt(times, t) {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= t) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function nearestIndex(times, t) {
  const i = indexAt(times, t);
  return i + 1 < times.length && times[i + 1] - t < t - times[i] ? i + 1 : i;
}

// How numbers are shown: angles in degrees or radians, and the time between samples.
export const display = { degrees: true, timeStep: 0.01 };
const PREFIXED = /^(N|N\.m|Nm|N\*m|N m|J|Pa|W|N\/m2)$/;
export const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

// What a number in `unit`, as large as `magnitude`, is multiplied with to be shown, and the unit it then has.
export function scaleFor(unit, magnitude) {
  if (/^rad(\/|$)/.test(unit) && display.degrees) {
    return { factor: 180 / Math.PI, unit: unit.replace("rad", "deg") };
  }
  if (PREFIXED.test(unit)) {
    for (const [size, prefix] of [
      [1e9, "G"],
      [1e6, "M"],
      [1e3, "k"],
    ]) {
      if (magnitude >= size) return { factor: 1 / size, unit: prefix + unit };
    }
  }
  return { factor: 1, unit };
}

export function prettyUnit(unit) {
  if (unit === "1" || unit === "") return "–";
  return unit
    .replace(/[.*]/g, "·")
    .replace(/([a-zA-Z])(\d+)/g, (_, letter, digits) => letter + [...digits].map((d) => SUPERSCRIPTS[d]).join(""))
    .replace(/\bdeg\b/, "°");
}

// Shown with so many digits that `resolution` can still be seen.
export function withResolution(value, resolution) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.max(Math.abs(value), resolution);
  if (size !== 0 && (size >= 1e7 || size < 1e-4)) return minus(value.toExponential(3));
  const decimals = resolution > 0 ? Math.min(Math.max(0, -Math.floor(Math.log10(resolution) + 1e-9)), 9) : 0;
  return minus(value.toFixed(decimals));
}

export function significant(value, digits = 4) {
  if (value === null || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return minus(value.toExponential(digits - 1));
  return minus(value.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(size)))));
}

export function minus(text) {
  const zero = /^-0(\.0*)?$/.test(text);
  return zero ? text.slice(1) : text.replace(/-/g, "−");
}

// A number with its unit, prefixed so that it is short: 12.71 kN.
export function quantity(value, unit, digits = 4) {
  const scale = scaleFor(unit, Math.abs(value));
  const shown = prettyUnit(scale.unit);
  return significant(value * scale.factor, digits) + (shown === "–" ? "" : "\u202f" + shown);
}

// A number without the zeros at its end, for counts.
export function counted(value, digits = 4) {
  return minus(String(Number(value.toPrecision(digits))).replace("e+", "e"));
}

export function timeText(t) {
  return t === null ? "–" : withResolution(t, Math.min(Math.max(display.timeStep, 1e-6), 0.01));
}

export function seconds(t) {
  return timeText(t) + "\u202fs";
}

// Ticks at 1, 2, 2.5 or 5 times a power of ten.
export function niceTicks(low, high, wanted) {
  const raw = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw * 0.999) || raw;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
  return { ticks, step, resolution: step === 2.5 * power ? power / 10 : step };
}

// An element with attributes and children; text is always text, never markup.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) made.append(child);
  }
  return made;
}

export function selectBox(label, options, onchange, chosen) {
  const box = element("select", { onchange: () => onchange(box.value) });
  const groups = new Map();
  for (const { value, text, group } of options) {
    const option = element("option", { value }, text);
    if (!group) {
      box.append(option);
      continue;
    }
    if (!groups.has(group)) groups.set(group, box.appendChild(element("optgroup", { label: group })));
    groups.get(group).append(option);
  }
  if (chosen !== undefined) box.value = chosen;
  return { box, element: element("label", { class: "field" }, label + " ", box) };
}
