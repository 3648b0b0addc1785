// What all plots and the machine share: the time of the cursor, the part of time that is shown, colours.

export class Clock {
  constructor(span = [0, 1]) {
    this.playing = false;
    this.speed = 1;
    this.listeners = { time: [], range: [], play: [] };
    this.begin(span);
  }

  // A new stretch of time, shown whole, from its start.
  begin(span) {
    this.span = [...span];
    this.time = span[0];
    this.range = [...span];
  }

  // More time, as it comes in; what is shown grows along if it was all there was.
  extend(end) {
    const whole = !this.zoomed;
    this.span[1] = Math.max(this.span[1], end);
    if (whole) this.range = [...this.span];
    this.tell("range");
  }

  on(event, listener) {
    this.listeners[event].push(listener);
  }

  tell(event) {
    for (const listener of this.listeners[event]) listener();
  }

  set(t) {
    const limited = Math.min(Math.max(t, this.span[0]), this.span[1]);
    if (limited === this.time) return;
    this.time = limited;
    this.tell("time");
  }

  zoom(low, high) {
    const whole = this.span[1] - this.span[0];
    if (!(high - low > whole * 1e-6)) return;
    this.range = [Math.max(low, this.span[0]), Math.min(high, this.span[1])];
    this.tell("range");
  }

  reset() {
    this.range = [...this.span];
    this.tell("range");
  }

  get zoomed() {
    return this.range[0] > this.span[0] || this.range[1] < this.span[1];
  }

  play(on) {
    if (on === this.playing) return;
    this.playing = on;
    this.tell("play");
    if (!on) return;
    let before = performance.now();
    const frame = (now) => {
      if (!this.playing) return;
      const [low, high] = this.range;
      let t = this.time + ((now - before) / 1000) * this.speed;
      if (t >= high || t < low) t = low; // from the start again
      before = now;
      this.set(t);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }
}

// Colours live in the style sheet, so that the page and its canvases change together.
export const colours = {
  names: ["ink", "muted", "line", "panel", "accent", "shade", "floor", "shadow", "force", "moment", "axis", "edge", "water"],
  read() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    for (const name of this.names) this[name] = value(`--${name}`);
    this.lines = Array.from({ length: 8 }, (_, i) => value(`--s${i}`));
    this.bodies = Array.from({ length: 6 }, (_, i) => value(`--b${i}`));
  },
};
