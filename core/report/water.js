// The water that a vessel floats in: a patch of the sea at the time of the cursor, the sum of the waves of the run.

import { colours } from "./clock.js";
import { V, shaded, normalOf, path } from "./scene3d.js";

export class Water {
  static cells = 30;

  // `ground` is the patch, [[x0, y0], [x1, y1]], around everything that moves.
  constructor(sea, ground) {
    this.sea = sea;
    const [low, high] = ground;
    const grid = (i) =>
      Array.from({ length: Water.cells + 1 }, (_, n) => low[i] + ((high[i] - low[i]) * n) / Water.cells);
    [this.x, this.y] = [grid(0), grid(1)];
    const waves = sea.amplitude.length;
    const points = this.x.length * this.y.length;
    // Where a wave is at a point does not change: so its cosine and sine there are found once, and each picture only adds up.
    [this.cosines, this.sines] = [new Float32Array(waves * points), new Float32Array(waves * points)];
    let place = 0;
    for (const x of this.x) {
      for (const y of this.y) {
        for (let n = 0; n < waves; n++, place++) {
          const along = sea.kx[n] * x + sea.ky[n] * y;
          this.cosines[place] = Math.cos(along);
          this.sines[place] = Math.sin(along);
        }
      }
    }
    this.heights = new Float64Array(points);
    this.time = null;
  }

  // The part of its full size that the sea has reached.
  grown(t) {
    if (!(this.sea.ramp > 0)) return 1;
    const s = Math.min(Math.max(t / this.sea.ramp, 0), 1);
    return s ** 3 * (10 - 15 * s + 6 * s ** 2);
  }

  // cos(w t + e - k x) = cos(w t + e) cos(k x) + sin(w t + e) sin(k x).
  at(t) {
    if (this.time === t) return this.heights;
    this.time = t;
    const { amplitude, frequency, phase } = this.sea;
    const [waves, size] = [amplitude.length, this.grown(t)];
    const c = amplitude.map((a, n) => size * a * Math.cos(frequency[n] * t + phase[n]));
    const s = amplitude.map((a, n) => size * a * Math.sin(frequency[n] * t + phase[n]));
    for (let i = 0, place = 0; i < this.heights.length; i++) {
      let sum = 0;
      for (let n = 0; n < waves; n++, place++) sum += c[n] * this.cosines[place] + s[n] * this.sines[place];
      this.heights[i] = sum;
    }
    return this.heights;
  }

  // How high a point is above the surface, between the points of the grid along straight lines.
  above([x, y, z]) {
    const part = (axis, value) =>
      Math.min(Math.max(((value - axis[0]) / (axis[Water.cells] - axis[0])) * Water.cells, 0), Water.cells - 1e-9);
    const [u, v] = [part(this.x, x), part(this.y, y)];
    const [i, k] = [Math.floor(u), Math.floor(v)];
    const height = (n, m) => this.heights[(i + n) * this.y.length + k + m];
    const along = (m) => height(0, m) + (u - i) * (height(1, m) - height(0, m));
    return z - along(0) - (v - k) * (along(1) - along(0));
  }

  // The part of a face that is above the surface (side 1) or below it (side -1); none if that is nothing.
  cut(face, side) {
    const heights = face.corners.map((corner) => side * this.above(corner));
    const corners = [];
    face.corners.forEach((corner, n) => {
      const m = (n + 1) % heights.length;
      if (heights[n] >= 0) corners.push(corner);
      if (heights[n] >= 0 !== heights[m] >= 0) {
        const share = heights[n] / (heights[n] - heights[m]);
        corners.push(V.add(corner, V.times(V.sub(face.corners[m], corner), share)));
      }
    });
    return corners.length > 2 ? [{ ...face, corners }] : [];
  }

  // Patches of the surface, at the time that was asked for last.
  items(camera) {
    const { heights } = this;
    const rows = this.y.length;
    const corner = (i, k) => [this.x[i], this.y[k], heights[i * rows + k]];
    const points = this.x.map((_, i) => this.y.map((_, k) => camera.project(corner(i, k))));
    const items = [];
    for (let i = 0; i < Water.cells; i++) {
      for (let k = 0; k < Water.cells; k++) {
        const flat = [points[i][k], points[i + 1][k], points[i + 1][k + 1], points[i][k + 1]];
        const [nx, ny, nz] = normalOf([corner(i, k), corner(i + 1, k), corner(i + 1, k + 1), corner(i, k + 1)]);
        const normal = V.unit([4 * nx, 4 * ny, nz]); // waves are flat: their slopes would hardly be seen
        items.push({
          depth: (flat[0][2] + flat[1][2] + flat[2][2] + flat[3][2]) / 4,
          draw: (context) => {
            context.globalAlpha = 0.42;
            context.fillStyle = shaded(colours.water, normal);
            context.beginPath();
            path(context, flat);
            context.closePath();
            context.fill();
            context.globalAlpha = 0.5;
            context.strokeStyle = colours.water;
            context.lineWidth = 0.5;
            context.stroke();
            context.globalAlpha = 1;
          },
        });
      }
    }
    return items;
  }
}
