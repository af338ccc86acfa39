// The bar of time: play, pause, step, speed and loop.

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 10];

class TimeBar {
  constructor(app) {
    this.app = app;
    this.times = app.scene.times;
    this.last = this.times.length - 1;
    this.playing = false;
    this.speed = 1;
    this.loop = true;
    this.now = this.times[0];
    this.node = document.getElementById("time");
    this.node.hidden = this.last < 1;
    if (this.last < 1) return;
    this.button = iconButton("play", "Play", () => this.toggle(), { id: "play" });
    this.range = element("input", { type: "range", min: this.times[0], max: this.times[this.last], step: "any", "aria-label": "Time",
      oninput: () => {
        this.pause();
        this.seek(Number(this.range.value));
      } });
    const looping = iconButton("loop", "Loop", () => {
      this.loop = !this.loop;
      looping.setAttribute("aria-pressed", String(this.loop));
    }, { "aria-pressed": "true" });
    const speed = element("select", { id: "speed", "aria-label": "Speed", title: "Speed",
      onchange: () => { this.speed = Number(speed.value); } },
      ...SPEEDS.map((s) => element("option", { value: s, selected: s === 1 }, `${s}×`)));
    this.clock = element("span", { id: "clock" });
    this.node.append(
      iconButton("back", "Step back", () => this.step(-1), { id: "step-back" }), this.button,
      iconButton("step", "Step forward", () => this.step(1), { id: "step" }), this.range, this.clock, speed, looping,
    );
    document.addEventListener("keydown", (event) => {
      if (event.target.closest("input, select, button, summary")) return;
      const actions = { " ": () => this.toggle(), ",": () => this.step(-1), ".": () => this.step(1) };
      if (!actions[event.key]) return;
      actions[event.key]();
      event.preventDefault();
    });
  }

  // Index of the last frame at or before a time.
  frameAt(time) {
    let low = 0, high = this.last;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.times[middle] <= time + 1e-9) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  seek(time) {
    this.now = clamp(time, this.times[0], this.times[this.last]);
    this.app.showFrame(this.frameAt(this.now));
  }

  // Show a frame by its index: several may have the same time.
  show(frame) {
    this.now = this.times[frame];
    this.app.showFrame(frame);
  }

  step(count) {
    this.pause();
    this.show(clamp(this.app.scene.frame + count, 0, this.last));
  }

  toggle() {
    if (this.playing) return this.pause();
    if (this.now >= this.times[this.last]) this.now = this.times[0];
    this.playing = true;
    this.before = null;
    for (const actor of this.app.scene.actors) actor.postures.fill(null);
    setIcon(this.button, "pause");
    this.button.setAttribute("aria-label", "Pause");
    this.app.request();
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    setIcon(this.button, "play");
    this.button.setAttribute("aria-label", "Play");
  }

  advance(milliseconds) {
    if (!this.playing) return;
    const seconds = this.before === null ? 0 : Math.min((milliseconds - this.before) / 1000, 0.25);
    const passed = seconds * this.speed * this.app.scene.data.pace;
    this.before = milliseconds;
    let time = this.now + passed;
    const end = this.times[this.last], start = this.times[0];
    if (time >= end && this.loop) time = start + ((time - start) % (end - start || 1));
    else if (time >= end) this.pause();
    this.seek(time);
  }

  update() {
    if (this.last < 1) return;
    const end = this.times[this.last], digits = end - this.times[0] < 1 ? 3 : 2;
    this.range.value = this.now;
    this.range.setAttribute("aria-valuetext", `${this.now.toFixed(digits)}${this.app.scene.clockUnit}`);
    this.clock.textContent = `${this.now.toFixed(digits)} / ${end.toFixed(digits)}${this.app.scene.clockUnit}`;
  }
}
