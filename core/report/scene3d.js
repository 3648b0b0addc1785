// Three dimensions on a flat canvas: a camera, solids made of flat faces, far faces drawn before near ones.

import { colours } from "./clock.js";
import { strokeLine } from "./plot.js";

export const V = {
  add: (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]],
  sub: (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]],
  times: (a, s) => [a[0] * s, a[1] * s, a[2] * s],
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],
  length: (a) => Math.hypot(a[0], a[1], a[2]),
  unit: (a) => V.times(a, 1 / (V.length(a) || 1)),
};

// The pose of a body: position and the rotation of a unit quaternion (w first).
export class Pose {
  constructor(position, [w, x, y, z]) {
    this.position = position;
    this.rows = [
      [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
      [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ];
  }

  turn(vector) {
    return this.rows.map((row) => V.dot(row, vector));
  }

  point(at) {
    return V.add(this.position, this.turn(at));
  }
}

// Looks at a target from a distance; azimuth and elevation in radians, z up.
export class Camera {
  constructor(box, outline) {
    this.box = box;
    this.outline = outline;
    this.home();
  }

  home(azimuth = -0.9, elevation = 0.32) {
    this.azimuth = azimuth;
    this.elevation = elevation;
    this.zoom = 1;
    this.target = this.box[0].map((low, i) => (low + this.box[1][i]) / 2);
    this.fitted = false;
  }

  // Axes of the picture, and where it must look, and at which scale, so that everything fits into it.
  prepare(width, height) {
    const [ca, sa, ce, se] = [
      Math.cos(this.azimuth),
      Math.sin(this.azimuth),
      Math.cos(this.elevation),
      Math.sin(this.elevation),
    ];
    this.back = [ca * ce, sa * ce, se]; // from the target to the eye
    this.right = [-sa, ca, 0];
    this.up = V.cross(this.back, this.right);
    this.centre = [width / 2, height / 2];
    const size = V.length(V.sub(this.box[1], this.box[0])) || 1;
    this.distance = 3.2 * size;
    const shape = `${Math.round(width)} ${Math.round(height)}`;
    if (this.fitted === shape) return;
    this.fitted = shape;
    this.scale = 1;
    for (let round = 0; round < 3; round++) {
      const points = this.outline.map((point) => this.project(point, 1));
      const [x, y] = [0, 1].map((i) => points.map((point) => point[i])).map((p) => [Math.min(...p), Math.max(...p)]);
      const growth = Math.min((width * 0.88) / (x[1] - x[0] || 1), (height * 0.86) / (y[1] - y[0] || 1));
      if (this.zoom === 1) this.pan(width / 2 - (x[0] + x[1]) / 2, height / 2 - (y[0] + y[1]) / 2);
      this.scale *= growth;
    }
  }

  project(point, zoom = this.zoom) {
    const away = V.sub(point, this.target);
    const depth = V.dot(away, this.back);
    const size = (this.scale * zoom * this.distance) / Math.max(this.distance - depth, 0.05 * this.distance);
    return [this.centre[0] + V.dot(away, this.right) * size, this.centre[1] - V.dot(away, this.up) * size, depth];
  }

  pan(dx, dy) {
    const size = 1 / (this.scale * this.zoom);
    this.target = V.add(this.target, V.add(V.times(this.right, -dx * size), V.times(this.up, dy * size)));
  }
}

// Solids as lists of faces; a face is a list of corners, counter-clockwise from outside.
const Solids = {
  // A prism or frustum between two points, cut along its length so that near and far pieces can be told apart.
  bar(from, to, [r0, r1], sides, pieces) {
    const along = V.unit(V.sub(to, from));
    const helper = Math.abs(along[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
    const u = V.unit(V.cross(along, helper));
    const v = V.cross(along, u);
    const ring = (share) => {
      const centre = V.add(from, V.times(V.sub(to, from), share));
      const radius = (r0 + (r1 - r0) * share) * (sides === 4 ? Math.SQRT2 : 1);
      return Array.from({ length: sides }, (_, k) => {
        const angle = (2 * Math.PI * (k + 0.5)) / sides;
        return V.add(centre, V.add(V.times(u, radius * Math.cos(angle)), V.times(v, radius * Math.sin(angle))));
      });
    };
    const rings = Array.from({ length: pieces + 1 }, (_, i) => ring(i / pieces));
    const faces = [[...rings[0]].reverse(), rings[pieces]];
    for (let i = 0; i < pieces; i++) {
      for (let k = 0; k < sides; k++) {
        const next = (k + 1) % sides;
        faces.push([rings[i][k], rings[i][next], rings[i + 1][next], rings[i + 1][k]]);
      }
    }
    return faces;
  },

  ball(at, radius) {
    const [rows, columns] = [6, 10];
    const corner = (i, k) => {
      const [a, b] = [Math.PI * (i / rows - 0.5), (2 * Math.PI * k) / columns];
      return V.add(at, V.times([Math.cos(a) * Math.cos(b), Math.cos(a) * Math.sin(b), Math.sin(a)], radius));
    };
    const faces = [];
    for (let i = 0; i < rows; i++) {
      for (let k = 0; k < columns; k++)
        faces.push([corner(i, k), corner(i, k + 1), corner(i + 1, k + 1), corner(i + 1, k)]);
    }
    return faces;
  },

  // A box along the axes of its body. With a bow its plan is that of a ship, and its sides lean outwards.
  hull(at, [length, beam, height], bow) {
    const [l, b, h] = [length / 2, beam / 2, height / 2];
    const plan = bow
      ? [
          [-1, -0.86],
          [-0.5, -1],
          [0, -1],
          [0.45, -0.98],
          [0.78, -0.62],
          [1, 0],
          [0.78, 0.62],
          [0.45, 0.98],
          [0, 1],
          [-0.5, 1],
          [-1, 0.86],
        ]
      : [
          [-1, -1],
          [-0.5, -1],
          [0, -1],
          [0.5, -1],
          [1, -1],
          [1, 1],
          [0.5, 1],
          [0, 1],
          [-0.5, 1],
          [-1, 1],
        ];
    const level = (z, shrink) => plan.map(([x, y]) => V.add(at, [x * l * shrink, y * b * (bow ? shrink : 1), z]));
    const [deck, keel] = [level(h, 1), level(-h, bow ? 0.9 : 1)];
    const faces = plan.map((_, k) => {
      const next = (k + 1) % plan.length;
      return [keel[k], keel[next], deck[next], deck[k]];
    });
    // Deck and bottom in strips between opposite corners of the plan.
    for (let k = 0; k < Math.floor((plan.length - 1) / 2); k++) {
      const far = plan.length - 1 - k;
      const strip = [k, k + 1, far - 1, far];
      faces.push(
        strip.map((i) => deck[i]),
        [...strip].reverse().map((i) => keel[i]),
      );
    }
    return faces;
  },
};

export function facesOf(shape, pieces) {
  if (shape.kind === "bar") {
    const length = V.length(V.sub(shape.to, shape.from));
    if (!(length > 0)) return [];
    const radius = Math.max(...shape.radii);
    return Solids.bar(
      shape.from,
      shape.to,
      shape.radii,
      shape.round ? 12 : 4,
      Math.max(1, Math.min(pieces, Math.round(length / (3 * radius)))),
    );
  }
  if (shape.kind === "drum") {
    const half = V.times(shape.axis, shape.length / 2);
    return Solids.bar(V.sub(shape.at, half), V.add(shape.at, half), [shape.radius, shape.radius], 16, 1);
  }
  if (shape.kind === "mesh") return shape.faces.map((face) => face.map((corner) => shape.points[corner]));
  if (shape.kind === "ball") return Solids.ball(shape.at, shape.radius);
  return Solids.hull(shape.at, shape.size, shape.kind === "hull" && shape.bow);
}

const LIGHT = V.unit([0.45, -0.55, 0.85]);

// The colour #rrggbb under light that falls on a face with the given normal.
export function shaded(colour, normal) {
  const light = 0.62 + 0.42 * Math.max(0, V.dot(normal, LIGHT)) + 0.08 * normal[2];
  const parts = [1, 3, 5].map((i) => Math.min(255, Math.round(parseInt(colour.slice(i, i + 2), 16) * light)));
  return `rgb(${parts.join(",")})`;
}

// By Newell's sum over all edges, which also holds where corners coincide.
export function normalOf(face) {
  const sum = [0, 0, 0];
  face.forEach((a, k) => {
    const b = face[(k + 1) % face.length];
    sum[0] += (a[1] - b[1]) * (a[2] + b[2]);
    sum[1] += (a[2] - b[2]) * (a[0] + b[0]);
    sum[2] += (a[0] - b[0]) * (a[1] + b[1]);
  });
  return V.unit(sum);
}

export function path(context, points) {
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
}

// An arrow from one point of the picture to another; moments have two heads.
export function drawArrow(context, [x0, y0], [x1, y1], colour, heads, width = 3) {
  const length = Math.hypot(x1 - x0, y1 - y0);
  if (length < 2) return;
  const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
  const head = Math.min(13, 0.5 * length);
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = width;
  strokeLine(context, x0, y0, x1 - ux * head * 0.8, y1 - uy * head * 0.8);
  for (let k = 0; k < heads; k++) {
    const [tx, ty] = [x1 - ux * head * 0.75 * k, y1 - uy * head * 0.75 * k];
    context.beginPath();
    context.moveTo(tx, ty);
    context.lineTo(tx - ux * head - uy * head * 0.42, ty - uy * head + ux * head * 0.42);
    context.lineTo(tx - ux * head + uy * head * 0.42, ty - uy * head - ux * head * 0.42);
    context.closePath();
    context.fill();
  }
}

// The ground under a machine, with a grid and shadows of the faces above it.
export function drawFloor(context, { camera, gridStep, floor, ground }, faces) {
  const [low, high] = ground;
  const corner = (value, round) => (round(value / gridStep) + (round === Math.floor ? -1 : 1)) * gridStep;
  const [x0, y0] = [0, 1].map((i) => corner(low[i], Math.floor));
  const [x1, y1] = [0, 1].map((i) => corner(high[i], Math.ceil));
  context.fillStyle = colours.floor;
  context.beginPath();
  path(
    context,
    [
      [x0, y0],
      [x1, y0],
      [x1, y1],
      [x0, y1],
    ].map(([x, y]) => camera.project([x, y, floor])),
  );
  context.fill();
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  const line = (a, b) => path(context, [camera.project(a), camera.project(b)]);
  for (let x = x0; x <= x1 + gridStep / 2; x += gridStep) line([x, y0, floor], [x, y1, floor]);
  for (let y = y0; y <= y1 + gridStep / 2; y += gridStep) line([x0, y, floor], [x1, y, floor]);
  context.stroke();
  // Shadows under a light straight above: every face once, all turned the same way, so that overlaps do not add up.
  context.fillStyle = colours.shadow;
  context.beginPath();
  for (const { corners, normal } of faces) {
    if (normal[2] <= 0) continue;
    path(
      context,
      corners.map(([x, y]) => camera.project([x, y, floor])),
    );
    context.closePath();
  }
  context.fill();
}
