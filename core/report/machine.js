// The machine in motion: bodies at the time of the cursor, paths of outputs, load arrows, and what the user may do with it.

import { unpack, unpackTime, indexAt, quantity, niceTicks } from "./numbers.js";
import { colours } from "./clock.js";
import { Chart, strokeLine, tag } from "./plot.js";
import { V, Pose, Camera, facesOf, shaded, normalOf, path, drawArrow, drawFloor } from "./scene3d.js";
import { Water } from "./water.js";

export class MachineView extends Chart {
  constructor(scene, clock) {
    super(0, "The machine in three dimensions. Drag to turn, shift and drag to move, wheel to zoom.");
    this.canvas.removeAttribute("style");
    this.canvas.classList.add("machine-canvas");
    this.scene = scene;
    this.clock = clock;
    this.times = unpackTime(scene.time);
    this.shows = { axes: true, masses: true, names: false, path: true, water: true };
    this.arrows = { joint: "", force: true, moment: true };
    const pieces = Math.max(2, Math.min(12, Math.round(240 / scene.bodies.length)));
    this.bodies = scene.bodies.map((body, i) => ({
      ...body,
      columns: body.pose.map(unpack),
      faces: MachineView.solid(body.shapes, pieces, i),
    }));
    this.world = MachineView.solid(scene.world, pieces, 5);
    this.paths = scene.paths.map((path) => {
      const columns = path.points.map(unpack);
      const points = Array.from(columns[0], (_, i) => columns.map((c) => c[i]));
      const way = points.reduce((sum, point, i) => sum + (i ? V.length(V.sub(point, points[i - 1])) || 0 : 0), 0);
      // What is still to come is drawn faintly, and more so where a long path would cover itself.
      const faint = Math.max(0.12, 0.45 - (0.01 * way) / scene.size);
      return { ...path, times: unpackTime(path.time), points, faint };
    });
    this.ghosts = (scene.ghosts || []).map((ghost) => ({ ...ghost, columns: ghost.points.map(unpack) }));
    this.lines = scene.lines.map((line) => ({ ...line, slack: line.slack && [unpack(line.slack)] }));
    this.loads = scene.arrows.map((arrow) => ({
      ...arrow,
      forces: arrow.force.map(unpack),
      moments: arrow.moment.map(unpack),
    }));
    const greatest = (loads) => ({
      forces: MachineView.greatest(loads, "forces"),
      moments: MachineView.greatest(loads, "moments"),
    });
    for (const load of this.loads) load.largest = greatest([load]);
    this.largest = greatest(this.loads);
    const [low, high] = scene.box;
    this.floor = low[2] >= 0 && low[2] < 0.15 * scene.size ? 0 : low[2];
    this.camera = new Camera([[low[0], low[1], Math.min(low[2], this.floor)], high], scene.outline);
    // The floor reaches under everything, and is never a mere strip.
    const half = [0, 1].map((i) => (scene.sea ? 1.3 : 1) * Math.max((high[i] - low[i]) / 2, (scene.sea ? 0.6 : 0.3) * scene.size));
    this.ground = [-1, 1].map((sign) => [0, 1].map((i) => (low[i] + high[i]) / 2 + sign * half[i]));
    this.water = scene.sea ? new Water(scene.sea, this.ground) : null;
    this.gridStep = niceTicks(0, 2 * Math.max(...half), 8).step;
    this.clock.on("time", () => this.changed());
    this.listen();
  }

  static solid(shapes, pieces, index) {
    return shapes.flatMap((shape) =>
      facesOf(shape, pieces).map((corners) => ({
        corners,
        normal: normalOf(corners),
        index: !shape.given && (shape.kind === "drum" || (shape.kind === "ball" && shapes.length > 1)) ? -1 : index % 6,
      })),
    );
  }

  static greatest(loads, kind) {
    let most = 0;
    for (const load of loads) {
      const [x, y, z] = load[kind];
      for (let i = 0; i < x.length; i++) most = Math.max(most, Math.hypot(x[i], y[i], z[i]) || 0);
    }
    return most;
  }

  listen() {
    const { canvas } = this;
    const touches = new Map();
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      touches.set(event.pointerId, [event.clientX, event.clientY]);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = touches.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
      if (touches.size === 2) {
        const [other] = [...touches].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
        this.zoomBy(apart([event.clientX, event.clientY]) / apart(before));
      } else if (event.shiftKey || event.buttons & 6) {
        this.camera.pan(dx, dy);
      } else {
        this.camera.azimuth -= dx * 0.008;
        this.camera.elevation = Math.min(Math.max(this.camera.elevation + dy * 0.008, -1.55), 1.55);
      }
      touches.set(event.pointerId, [event.clientX, event.clientY]);
      this.changed();
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, (event) => touches.delete(event.pointerId));
    }
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoomBy(Math.exp(-event.deltaY * 0.0015));
      },
      { passive: false },
    );
  }

  zoomBy(factor) {
    this.camera.zoom = Math.min(Math.max(this.camera.zoom * factor, 0.2), 40);
    this.changed();
  }

  look(azimuth, elevation) {
    this.camera.home(azimuth, elevation);
    this.changed();
  }

  // Between two frames: positions in a straight line, rotations along the shorter way, scaled back to unit length.
  at(columns, count) {
    const i = indexAt(this.times, this.clock.time);
    const j = Math.min(i + 1, this.times.length - 1);
    const share = j > i ? (this.clock.time - this.times[i]) / (this.times[j] - this.times[i] || 1) : 0;
    return Array.from({ length: count }, (_, k) => columns[k][i] + (columns[k][j] - columns[k][i]) * share);
  }

  // Poses that come in one by one, as a session goes on: seven numbers for each body, in the order of the scene.
  place(poses) {
    this.now = new Map(this.bodies.map((body, i) => [body.name, poses[i]]));
    this.changed();
  }

  poseOf(body) {
    const numbers = this.now?.get(body.name) || this.at(body.columns, 7);
    const e = numbers.slice(3);
    const length = Math.hypot(...e) || 1;
    return new Pose(
      numbers.slice(0, 3),
      e.map((part) => part / length),
    );
  }

  draw(context) {
    const { camera } = this;
    camera.prepare(this.width, this.height);
    this.poses = new Map(this.bodies.map((body) => [body.name, this.poseOf(body)]));
    const still = new Pose([0, 0, 0], [1, 0, 0, 0]);
    this.poses.set("world", still);
    const faces = this.world.map((face) => MachineView.placed(face, still));
    for (const body of this.bodies) {
      const pose = this.poses.get(body.name);
      for (const face of body.faces) faces.push(MachineView.placed(face, pose));
    }
    const wet = this.water && this.shows.water;
    const above = camera.back[2] > 0;
    if (above && !wet) drawFloor(context, this, faces);
    for (const items of wet ? this.wetLayers(faces, above) : [[...this.faceItems(faces), ...this.lineItems()]]) {
      items.sort((a, b) => a.depth - b.depth);
      for (const item of items) item.draw(context);
    }
    if (!above && !wet) drawFloor(context, this, []);
    if (this.shows.axes) this.drawJointAxes(context);
    if (this.shows.masses) this.drawMasses(context);
    if (this.shows.path) this.drawGhosts(context);
    this.drawLoads(context);
    if (this.shows.names) this.drawNames(context);
    this.drawTriad(context);
  }

  // What is beyond the surface of the water, the surface, and what is before it.
  wetLayers(faces, above) {
    this.water.at(this.clock.time);
    const lines = this.lineItems();
    const side = (sign) => [
      ...this.faceItems(faces.flatMap((face) => this.water.cut(face, sign))),
      ...lines.filter(({ middle }) => this.water.above(middle) >= 0 === sign > 0),
    ];
    const layers = [side(-1), this.water.items(this.camera), side(1)];
    return above ? layers : layers.reverse();
  }

  static placed(face, pose) {
    return {
      index: face.index,
      normal: pose.turn(face.normal),
      corners: face.corners.map((corner) => pose.point(corner)),
    };
  }

  faceItems(faces) {
    const { camera } = this;
    const eye = V.add(camera.target, V.times(camera.back, camera.distance));
    const items = [];
    for (const { corners, normal, index } of faces) {
      if (V.dot(normal, V.sub(eye, corners[0])) <= 0) continue;
      const points = corners.map((corner) => camera.project(corner));
      const colour = shaded(index < 0 ? colours.edge : colours.bodies[index], normal);
      const draw = (context) => {
        context.fillStyle = colour;
        context.strokeStyle = colour; // closes the hair lines between neighbours
        context.lineWidth = 0.7;
        context.beginPath();
        path(context, points);
        context.closePath();
        context.fill();
        context.stroke();
      };
      items.push({ depth: points.reduce((sum, point) => sum + point[2], 0) / points.length, draw });
    }
    return items;
  }

  // Axes at the world's origin and the paths of outputs, in pieces that hide behind what is in front of them.
  lineItems() {
    const { camera } = this;
    const items = [];
    const add = (points, colour, width, alpha = 1) => {
      const flat = points.map((point) => camera.project(point));
      const draw = (context) => {
        context.strokeStyle = colour;
        context.lineWidth = width;
        context.globalAlpha = alpha;
        context.beginPath();
        path(context, flat);
        context.stroke();
        context.globalAlpha = 1;
      };
      const middle = points[Math.floor(points.length / 2)];
      items.push({ depth: flat.reduce((sum, point) => sum + point[2], 0) / flat.length, draw, middle });
    };
    const reach = 0.18 * this.scene.size;
    for (let i = 0; i < 3; i++) {
      for (let k = 0; k < 4; k++) {
        add(
          [k, k + 1].map((n) => [0, 1, 2].map((j) => (j === i ? (n / 4) * reach : 0))),
          colours.lines[i],
          2,
        );
      }
    }
    for (const line of this.lines) this.strandItems(line, add);
    if (!this.shows.path) return items;
    this.paths.forEach((line, n) => {
      const now = indexAt(line.times, this.clock.time);
      const colour = colours.lines[(n + 3) % 8];
      const step = 12;
      for (let i = 0; i < line.points.length - 1; i += step) {
        const past = line.points.slice(i, Math.min(i + step, now) + 1);
        const later = line.points.slice(Math.max(i, now), i + step + 1);
        if (i <= now && past.length > 1) add(past, colour, 2);
        if (i + step > now && later.length > 1) add(later, colour, 1.2, line.faint);
      }
    });
    return items;
  }

  // A rope, rod or spring from point to point. A slack rope hangs through in its longest stretch, and is dashed.
  strandItems(line, add) {
    const points = line.points.map(({ body, at }) => this.poses.get(body).point(at));
    const spare = line.slack ? this.at(line.slack, 1)[0] : 0;
    const spans = points.slice(1).map((point, i) => V.length(V.sub(point, points[i])));
    const longest = spans.indexOf(Math.max(...spans));
    const [colour, width] = line.kind === "rod" ? [colours.edge, 4] : [colours.edge, 2];
    spans.forEach((span, i) => {
      const pieces = 24;
      // A flat parabola over a span s that is longer than it by d hangs through by sqrt(3 s d / 8), and by d / 2 over no span.
      const sag = i === longest && spare > 0 ? Math.max(Math.sqrt((3 * span * spare) / 8), spare / 2) : 0;
      const across = line.kind === "spring" ? this.across(points[i], points[i + 1]) : [0, 0, 0];
      const at = (n) => {
        const share = n / pieces;
        const straight = V.add(points[i], V.times(V.sub(points[i + 1], points[i]), share));
        const wave = n > 3 && n < pieces - 3 ? (n % 2 ? 1 : -1) : 0;
        return V.add(V.sub(straight, [0, 0, 4 * sag * share * (1 - share)]), V.times(across, wave));
      };
      for (let n = 0; n < pieces; n++) if (!(sag > 0 && n % 2)) add([at(n), at(n + 1)], colour, width);
    });
  }

  // A direction across the line from a to b, as long as a spring is wide.
  across(a, b) {
    const along = V.unit(V.sub(b, a));
    const helper = Math.abs(along[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
    return V.times(V.unit(V.cross(along, helper)), 1.2 * this.scene.thickness);
  }

  drawJointAxes(context) {
    const reach = 5 * this.scene.thickness;
    context.strokeStyle = colours.axis;
    context.lineWidth = 1.4;
    context.setLineDash([9, 3, 2, 3]);
    for (const joint of this.scene.joints) {
      if (!joint.axis || joint.kind === "prismatic") continue;
      const pose = this.poses.get(joint.body);
      const [at, along] = [pose.point(joint.at), V.times(pose.turn(V.unit(joint.axis)), reach)];
      const [a, b] = [V.sub(at, along), V.add(at, along)].map((point) => this.camera.project(point));
      strokeLine(context, a[0], a[1], b[0], b[1]);
    }
    context.setLineDash([]);
  }

  // The sign for a centre of mass: a circle in quarters, larger for larger masses.
  drawMasses(context) {
    const most = Math.max(...this.bodies.map((body) => body.mass || 0));
    for (const body of this.bodies) {
      if (!body.centre || !(body.mass > 0)) continue;
      const [x, y] = this.camera.project(this.poses.get(body.name).point(body.centre));
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
  drawGhosts(context) {
    for (const ghost of this.ghosts) {
      const every = Array.from(ghost.columns[0], (_, i) => this.camera.project(ghost.columns.map((column) => column[i])));
      context.strokeStyle = colours.axis;
      context.lineWidth = 1;
      context.setLineDash([2, 4]);
      context.beginPath();
      path(context, every);
      context.stroke();
      context.setLineDash([]);
      const [x, y] = this.camera.project(this.at(ghost.columns, 3));
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x, y, 11, 0, 2 * Math.PI);
      context.stroke();
    }
  }

  drawLoads(context) {
    const reach = 0.3 * this.scene.size;
    const bounds = { left: 0, right: this.width, top: 0, bottom: this.height };
    for (const load of this.loads) {
      if (this.arrows.joint !== load.joint && this.arrows.joint !== "*") continue;
      const largest = this.arrows.joint === "*" ? this.largest : load.largest;
      const pose = this.poses.get(load.body);
      if (!pose) continue;
      const from = pose.point(load.at);
      for (const [kind, unit, colour, heads] of [
        ["forces", "N", colours.force, 1],
        ["moments", "N.m", colours.moment, 2],
      ]) {
        if (!this.arrows[kind.slice(0, -1)] || largest[kind] === 0) continue;
        const vector = this.at(load[kind], 3);
        const tip = V.add(from, V.times(vector, reach / largest[kind]));
        const [a, b] = [from, tip].map((point) => this.camera.project(point));
        drawArrow(context, a, b, colour, heads);
        const length = V.length(vector);
        if (!(length > 1e-3 * largest[kind])) continue;
        const text = quantity(length, unit, 3);
        const beside = b[0] > a[0] + 12 ? 6 : -context.measureText(text).width - 16;
        tag(context, text, b[0] + beside, b[1] + (heads === 1 ? -17 : 2), bounds, colour);
      }
    }
  }

  drawNames(context) {
    const bounds = { left: 0, right: this.width, top: 0, bottom: this.height };
    for (const joint of this.scene.joints) {
      const [x, y] = this.camera.project(this.poses.get(joint.body).point(joint.at));
      tag(context, joint.name, x + 10, y - 20, bounds, colours.axis);
    }
    for (const body of this.bodies) {
      const [x, y] = this.camera.project(this.poses.get(body.name).point(body.centre || [0, 0, 0]));
      tag(context, body.name, x + 10, y + 4, bounds);
    }
    this.paths.forEach((line, n) => {
      const [x, y] = this.camera.project(this.poses.get(line.body).point(line.at));
      tag(context, line.name, x + 8, y - 8, bounds, colours.lines[(n + 3) % 8]);
    });
  }

  drawTriad(context) {
    const [x, y, length] = [34, this.height - 30, 22];
    ["x", "y", "z"].forEach((name, i) => {
      const axis = [0, 1, 2].map((k) => (k === i ? 1 : 0));
      const [dx, dy] = [V.dot(axis, this.camera.right) * length, -V.dot(axis, this.camera.up) * length];
      drawArrow(context, [x, y], [x + dx, y + dy], colours.lines[i], 1, 2);
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.fillStyle = colours.lines[i];
      if (Math.hypot(dx, dy) > 4) context.fillText(name, x + dx * 1.35, y + dy * 1.35);
    });
  }
}
