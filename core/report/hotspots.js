// Damage at hot spots: around a ring, as shares, and as a table.

import { significant, quantity, counted, element } from "./numbers.js";
import { colours } from "./clock.js";
import { report } from "./data.js";
import { Chart, strokeLine, tag } from "./plot.js";
import { path } from "./scene3d.js";
import { scaleColour } from "./charts.js";
import { section } from "./sections.js";

// Damage per year over the angle, none in the middle.
class DamageRing extends Chart {
  constructor(spots, title) {
    super(300, title);
    this.spots = spots;
    this.heading = element("h4", {}, title);
    const worst = spots.reduce((most, spot) => (spot.damage > most.damage ? spot : most));
    const most = `most at ${counted(worst.angle)}° (${worst.name}): ${significant(worst.damage, 3)} per year`;
    const words = worst.damage > 0 ? most : "no damage";
    this.readout = element("p", { class: "readout" }, words);
    this.words = words;
    this.element = element("figure", { class: "plot" }, this.heading, this.canvas, this.readout);
    this.canvas.setAttribute("aria-label", `${title}: ${words}`);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => (this.readout.textContent = this.words));
  }

  // Angles count from the right, against the clock.
  place(angle, radius) {
    const turn = (-angle * Math.PI) / 180;
    return [this.width / 2 + radius * Math.cos(turn), this.height / 2 + radius * Math.sin(turn)];
  }

  draw(context) {
    const most = Math.max(...this.spots.map(({ damage }) => damage)) || 1;
    const [x, y] = [this.width / 2, this.height / 2];
    const radius = Math.min(x, y) - 30;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    for (const share of [0.25, 0.5, 0.75, 1]) {
      context.beginPath();
      context.arc(x, y, radius * share, 0, 2 * Math.PI);
      context.stroke();
    }
    context.fillStyle = colours.muted;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let angle = 0; angle < 360; angle += 45) {
      strokeLine(context, x, y, ...this.place(angle, radius));
      context.fillText(`${angle}°`, ...this.place(angle, radius + 16));
    }
    const points = this.spots.map(({ angle, damage }) => this.place(angle, (radius * damage) / most));
    context.fillStyle = colours.lines[0];
    context.globalAlpha = 0.18;
    context.beginPath();
    path(context, points);
    context.closePath();
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = colours.lines[0];
    context.lineWidth = 1.5;
    context.stroke();
    this.spots.forEach((spot, i) => {
      context.fillStyle = scaleColour(spot.damage / most);
      context.beginPath();
      context.arc(...points[i], 5, 0, 2 * Math.PI);
      context.fill();
      context.strokeStyle = colours.ink;
      context.lineWidth = 0.8;
      context.stroke();
    });
    this.points = points;
    const bounds = { left: 0, top: 0, right: this.width, bottom: this.height };
    const [tx, ty] = this.place(22.5, radius);
    tag(context, `${significant(most, 2)} / year`, tx - 30, ty - 8, bounds, colours.muted);
  }

  point(event) {
    if (!this.points) return;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const far = this.points.map(([px, py]) => Math.hypot(px - x, py - y));
    const near = far.indexOf(Math.min(...far));
    const spot = this.spots[near];
    this.readout.textContent =
      far[near] > 60 ? this.words : `${spot.name}, ${counted(spot.angle)}°: ${significant(spot.damage, 3)} per year, ${lifeWords(spot)}`;
  }
}

// Which part of all damage is at which hot spot, the largest first.
class DamageShares extends Chart {
  static most = 24;

  constructor(spots) {
    const sorted = [...spots].sort((a, b) => b.share - a.share);
    const shown = sorted.slice(0, DamageShares.most);
    super(34 + 22 * shown.length, "Shares of the damage");
    this.spots = shown;
    const left = sorted.length - shown.length;
    const words = `${shown[0].name} has ${significant(100 * shown[0].share, 3)} % of the damage of all ${spots.length} hot spots`;
    this.element = element(
      "figure",
      { class: "plot" },
      element("h4", {}, "Shares of the damage of all hot spots"),
      this.canvas,
      element("p", { class: "readout" }, left ? `${words}; ${left} smaller ones are not drawn` : words),
    );
    this.canvas.setAttribute("aria-label", `Shares of the damage: ${words}`);
  }

  draw(context) {
    const room = Math.max(...this.spots.map(({ name }) => context.measureText(name).width)) + 14;
    const left = Math.min(room, 0.45 * this.width);
    const right = this.width - 60;
    const most = this.spots[0].share || 1;
    context.textBaseline = "middle";
    this.spots.forEach(({ name, share }, i) => {
      const y = 18 + 22 * i;
      context.fillStyle = colours.ink;
      context.textAlign = "right";
      context.fillText(name, left - 8, y, left - 10);
      context.fillStyle = scaleColour(share / most);
      context.fillRect(left, y - 8, Math.max(((right - left) * share) / most, 1), 16);
      context.fillStyle = colours.muted;
      context.textAlign = "left";
      context.fillText(`${significant(100 * share, 3)} %`, left + ((right - left) * share) / most + 6, y);
    });
  }
}

function lifeWords({ life, dff }) {
  return life === null ? "no end of its life" : `life ${significant(life, 3)} years (DFF ${counted(dff)})`;
}

function hotSpotTable(spots) {
  const heads = ["Hot spot", "S-N curve", "Largest range", "Damage per year", "Share", "DFF", "Life in years"];
  const row = (spot) =>
    [
      spot.name,
      spot.mean === "none" ? spot.curve : `${spot.curve}, ${spot.mean}`,
      quantity(spot.range, "Pa", 3),
      significant(spot.damage, 3),
      `${significant(100 * spot.share, 3)} %`,
      counted(spot.dff),
      spot.life === null ? "no damage" : significant(spot.life, 3),
    ].map((text, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, text));
  return element(
    "div",
    { class: "scroll" },
    element(
      "table",
      {},
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          heads.map((text) => element("th", { scope: "col" }, text)),
        ),
      ),
      element(
        "tbody",
        {},
        spots.map((spot) => element("tr", {}, row(spot))),
      ),
    ),
  );
}

export function buildHotSpots() {
  const { hotspots } = report;
  if (!hotspots) return;
  const { spots, rings, duration, notes } = hotspots;
  const pictures = rings.map(
    ({ joints, spots: members }) =>
      new DamageRing(
        members.map((i) => spots[i]),
        `Damage around ${joints.join(", ")}`,
      ).element,
  );
  if (spots.length > 1) pictures.push(new DamageShares(spots).element);
  section(
    "main",
    "hotspots",
    "Fatigue at hot spots",
    element(
      "p",
      { class: "small" },
      `Stresses combined from the loads, counted (rainflow) over ${counted(duration)} s and set against S-N curves; damage is ` +
        "per year of such conditions, without the design fatigue factor (DFF), which divides the life.",
    ),
    element("div", { class: "plots halves" }, pictures),
    hotSpotTable(spots),
    ...notes.map((text) => element("p", { class: "small" }, text)),
  );
}
