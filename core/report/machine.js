// The machine in motion: bodies at the time of the cursor, paths of outputs, load arrows, and what the user may do with it.

import { unpack, unpackTime, indexAt, niceTicks } from "./numbers.js";
import { colours } from "./clock.js";
import { Chart } from "./plot.js";
import { V, Pose, Camera, facesOf, shaded, normalOf, path, drawFloor } from "./scene3d.js";
import { Water } from "./water.js";
import { drawMarks } from "./machine_marks.js";

export class MachineView extends Chart {
  constructor(scene, clock) {
    super(0, "The machine in three dimensions. Drag to turn, shift and drag to move, wheel to zoom.");
    this.canvas.removeAttribute("style");
    this.canvas.classList.add("machine-canvas");
    this.scene = scene;
    this.clock = clock;
    this.times = unpackTime(scene.time);
    this.shows = { axes: true, masses: true, names: false, path: true, water: true, triad: true };
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

  // What comes in frame by frame, as a session goes on: seven numbers for each body and the slack of each line, in the order
  // of the scene, and moment and force of joints by name.
  place(poses, slack = [], loads = {}) {
    this.now = new Map(this.bodies.map((body, i) => [body.name, poses[i]]));
    this.lines.forEach((line, i) => (line.spare = slack[i] || 0));
    for (const load of this.loads) {
      const wrench = loads[load.joint];
      if (!wrench) continue;
      load.moments = wrench.slice(0, 3).map((value) => [value]);
      load.forces = wrench.slice(3).map((value) => [value]);
      for (const kind of ["forces", "moments"]) {
        load.largest[kind] = Math.max(load.largest[kind], MachineView.greatest([load], kind));
        this.largest[kind] = Math.max(this.largest[kind], load.largest[kind]);
      }
    }
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
    drawMarks(context, this);
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
    const spare = line.spare ?? (line.slack ? this.at(line.slack, 1)[0] : 0);
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
}
