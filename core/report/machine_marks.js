// Signs over the machine: axes of joints, centres of mass, where outputs should be, load arrows, names, and which way is up.

import { quantity } from "./numbers.js";
import { colours } from "./clock.js";
import { strokeLine, tag } from "./plot.js";
import { V, path, drawArrow } from "./scene3d.js";

export function drawMarks(context, view) {
  if (view.shows.axes) drawJointAxes(context, view);
  if (view.shows.masses) drawMasses(context, view);
  if (view.shows.path) drawGhosts(context, view);
  drawLoads(context, view);
  if (view.shows.names) drawNames(context, view);
  if (view.shows.triad) drawTriad(context, view);
}

function drawJointAxes(context, view) {
  const reach = 5 * view.scene.thickness;
  context.strokeStyle = colours.axis;
  context.lineWidth = 1.4;
  context.setLineDash([9, 3, 2, 3]);
  for (const joint of view.scene.joints) {
    if (!joint.axis || joint.kind === "prismatic") continue;
    const pose = view.poses.get(joint.body);
    const [at, along] = [pose.point(joint.at), V.times(pose.turn(V.unit(joint.axis)), reach)];
    const [a, b] = [V.sub(at, along), V.add(at, along)].map((point) => view.camera.project(point));
    strokeLine(context, a[0], a[1], b[0], b[1]);
  }
  context.setLineDash([]);
}

// The sign for a centre of mass: a circle in quarters, larger for larger masses.
function drawMasses(context, view) {
  const most = Math.max(...view.bodies.map((body) => body.mass || 0));
  for (const body of view.bodies) {
    if (!body.centre || !(body.mass > 0)) continue;
    const [x, y] = view.camera.project(view.poses.get(body.name).point(body.centre));
    const radius = 4 + 4 * Math.cbrt(body.mass / most);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = "#ffffff";
    context.fill();
    context.fillStyle = "#16202a";
    for (const start of [0, Math.PI]) {
      context.beginPath();
      context.moveTo(x, y);
      context.arc(x, y, radius, start, start + Math.PI / 2);
      context.fill();
    }
    context.strokeStyle = "#16202a";
    context.lineWidth = 1.2;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }
}

// Where a servo task wants outputs to be: a ring and the way to it, so that an output that follows is in its middle.
function drawGhosts(context, view) {
  for (const ghost of view.ghosts) {
    const every = Array.from(ghost.columns[0], (_, i) => view.camera.project(ghost.columns.map((column) => column[i])));
    context.strokeStyle = colours.axis;
    context.lineWidth = 1;
    context.setLineDash([2, 4]);
    context.beginPath();
    path(context, every);
    context.stroke();
    context.setLineDash([]);
    const [x, y] = view.camera.project(view.at(ghost.columns, 3));
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 11, 0, 2 * Math.PI);
    context.stroke();
  }
}

function drawLoads(context, view) {
  const reach = 0.3 * view.scene.size;
  const bounds = { left: 0, right: view.width, top: 0, bottom: view.height };
  for (const load of view.loads) {
    if (view.arrows.joint !== load.joint && view.arrows.joint !== "*") continue;
    const largest = view.arrows.joint === "*" ? view.largest : load.largest;
    const pose = view.poses.get(load.body);
    if (!pose) continue;
    const from = pose.point(load.at);
    for (const [kind, unit, colour, heads] of [
      ["forces", "N", colours.force, 1],
      ["moments", "N.m", colours.moment, 2],
    ]) {
      if (!view.arrows[kind.slice(0, -1)] || largest[kind] === 0) continue;
      const vector = view.at(load[kind], 3);
      const tip = V.add(from, V.times(vector, reach / largest[kind]));
      const [a, b] = [from, tip].map((point) => view.camera.project(point));
      drawArrow(context, a, b, colour, heads);
      const length = V.length(vector);
      if (!(length > 1e-3 * largest[kind])) continue;
      const text = quantity(length, unit, 3);
      const beside = b[0] > a[0] + 12 ? 6 : -context.measureText(text).width - 16;
      tag(context, text, b[0] + beside, b[1] + (heads === 1 ? -17 : 2), bounds, colour);
    }
  }
}

function drawNames(context, view) {
  const bounds = { left: 0, right: view.width, top: 0, bottom: view.height };
  for (const joint of view.scene.joints) {
    const [x, y] = view.camera.project(view.poses.get(joint.body).point(joint.at));
    tag(context, joint.name, x + 10, y - 20, bounds, colours.axis);
  }
  for (const body of view.bodies) {
    const [x, y] = view.camera.project(view.poses.get(body.name).point(body.centre || [0, 0, 0]));
    tag(context, body.name, x + 10, y + 4, bounds);
  }
  view.paths.forEach((line, n) => {
    const [x, y] = view.camera.project(view.poses.get(line.body).point(line.at));
    tag(context, line.name, x + 8, y - 8, bounds, colours.lines[(n + 3) % 8]);
  });
}

function drawTriad(context, view) {
  const [x, y, length] = [34, view.height - 30, 22];
  ["x", "y", "z"].forEach((name, i) => {
    const axis = [0, 1, 2].map((k) => (k === i ? 1 : 0));
    const [dx, dy] = [V.dot(axis, view.camera.right) * length, -V.dot(axis, view.camera.up) * length];
    drawArrow(context, [x, y], [x + dx, y + dy], colours.lines[i], 1, 2);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = colours.lines[i];
    if (Math.hypot(dx, dy) > 4) context.fillText(name, x + dx * 1.35, y + dy * 1.35);
  });
}
