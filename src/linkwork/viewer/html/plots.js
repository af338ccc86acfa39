// Curves beside the picture. A line marks the current time; a click or a drag in a plot goes to its time.

const PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d1f", "#7f7f7f"]; // told apart by all eyes
const MARGIN = { left: 46, right: 8, top: 8, bottom: 28 };
const DASHES = [[], [6, 3], [2, 2]], STYLES = ["solid", "dashed", "dotted"];

function ticks(low, high, count) {
  const width = niceStep((high - low) / count);
  const result = [];
  for (let k = Math.ceil(low / width - 1e-9); k * width <= high + 1e-9 * width; k++) result.push(k * width);
  return { values: result, digits: Math.max(0, -Math.floor(Math.log10(width) + 1e-9)) };
}

function superscript(number) {
  return [...String(number)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)])).join("");
}

class PlotView {
  constructor(app, data, read) {
    this.app = app;
    this.data = data;
    this.values = read(data.values);
    this.times = app.scene.times;
    this.canvas = element("canvas", { role: "img", "aria-label": `Plot of ${data.title}` });
    this.hidden = new Set();
    const keys = element("div", { class: "keys" }, ...data.names.map((name, k) => this.key(name, k)));
    const unit = data.unit ? ` [${data.unit}]` : "";
    this.node = element("div", { class: "plot" }, element("h2", {}, data.title + unit), this.canvas, keys);
    const go = (event) => {
      if (event.type === "pointermove" && !(event.buttons & 1)) return;
      const box = this.canvas.getBoundingClientRect(), inner = box.width - MARGIN.left - MARGIN.right;
      const [start, end] = this.span();
      app.pause();
      app.time.seek(start + (clamp(event.clientX - box.left - MARGIN.left, 0, inner) / inner) * (end - start));
    };
    this.canvas.addEventListener("pointerdown", go);
    this.canvas.addEventListener("pointermove", go);
    this.measure();
  }

  // Name of a curve in the legend, which switches the curve.
  key(name, k) {
    const button = element("button", { type: "button", "aria-pressed": "true", title: "Show or hide", onclick: () => {
      if (!this.hidden.delete(k)) this.hidden.add(k);
      button.setAttribute("aria-pressed", String(!this.hidden.has(k)));
      this.picture = null;
      this.measure();
      this.draw();
    } }, element("i", { style: { borderTop: `3px ${STYLES[Math.floor(k / PALETTE.length) % 3]} ${PALETTE[k % PALETTE.length]}` } }), name);
    return button;
  }

  span() {
    const end = this.times[this.times.length - 1], start = this.times[0];
    return [start, end > start ? end : start + 1];
  }

  measure() {
    let low = Infinity, high = -Infinity;
    const columns = this.data.names.length;
    this.values.forEach((x, i) => {
      if (!Number.isFinite(x) || this.hidden.has(i % columns)) return;
      low = Math.min(low, x);
      high = Math.max(high, x);
    });
    if (low > high) [low, high] = [0, 1];
    const room = Math.max((high - low) * 0.08, 1e-9 + 1e-3 * Math.max(Math.abs(low), Math.abs(high)));
    // Limits enter the picture where the curves come near to them.
    const near = 0.35 * (high - low) + room, bounds = [...(this.data.lower ?? []), ...(this.data.upper ?? [])];
    for (const x of bounds.filter((x) => x !== null && x > low - near && x < high + near)) {
      low = Math.min(low, x);
      high = Math.max(high, x);
    }
    this.low = low - room;
    this.high = high + room;
  }

  // The curves are drawn once, and the mark of the time over them.
  draw() {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width) return;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.picture = null;
    }
    const context = this.canvas.getContext("2d");
    if (!this.picture) {
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.paint(context, width, height);
      this.picture = context.getImageData(0, 0, this.canvas.width, this.canvas.height);
    }
    context.putImageData(this.picture, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [start, end] = this.span(), inner = width - MARGIN.left - MARGIN.right;
    const x = MARGIN.left + ((this.app.time.now - start) / (end - start)) * inner;
    context.strokeStyle = variable("--text");
    context.lineWidth = 1.2;
    context.beginPath();
    context.moveTo(x, MARGIN.top);
    context.lineTo(x, height - MARGIN.bottom);
    context.stroke();
    const columns = this.data.names.length;
    for (let k = 0; k < columns; k++) {
      const value = this.values[this.app.scene.frame * columns + k];
      if (!Number.isFinite(value) || this.hidden.has(k)) continue;
      context.fillStyle = PALETTE[k % PALETTE.length];
      context.beginPath();
      context.arc(x, this.y(value, height), 2.8, 0, 2 * Math.PI);
      context.fill();
    }
  }

  y(value, height) {
    return MARGIN.top + ((this.high - value) / (this.high - this.low)) * (height - MARGIN.top - MARGIN.bottom);
  }

  paint(context, width, height) {
    const [start, end] = this.span(), bottom = height - MARGIN.bottom, right = width - MARGIN.right;
    const x = (t) => MARGIN.left + ((t - start) / (end - start)) * (right - MARGIN.left);
    context.clearRect(0, 0, width, height);
    context.font = "10.5px system-ui, sans-serif";
    context.lineWidth = 1;
    const rows = ticks(this.low, this.high, 5), columns = ticks(start, end, 5);
    const line = (x0, y0, x1, y1) => {
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    };
    context.strokeStyle = variable("--grid");
    context.fillStyle = variable("--soft");
    context.textAlign = "right";
    context.textBaseline = "middle";
    const largest = Math.max(Math.abs(this.low), Math.abs(this.high)), power = Math.floor(Math.log10(largest || 1));
    const shift = power >= 4 || power <= -3 ? power : 0; // very large and small numbers have a common power of ten
    for (const value of rows.values) {
      line(MARGIN.left, this.y(value, height), right, this.y(value, height));
      const text = (value / 10 ** shift).toFixed(Math.max(rows.digits + shift, 0));
      context.fillText(text.replace(/^-(?=0*\.?0*$)/, "").replace("-", "−"), MARGIN.left - 5, this.y(value, height));
    }
    if (shift) {
      context.textAlign = "left";
      context.fillText(`×10${superscript(shift)}`, MARGIN.left + 3, MARGIN.top + 4);
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const value of columns.values) {
      line(x(value), MARGIN.top, x(value), bottom);
      const text = value.toFixed(columns.digits), half = 0.5 * context.measureText(text).width;
      context.fillText(text, Math.min(x(value), width - half - 1), bottom + 3); // the last one ends within the picture
    }
    context.fillText(this.app.scene.clockName, (MARGIN.left + right) / 2, bottom + 14);
    context.save();
    context.beginPath();
    context.rect(MARGIN.left, MARGIN.top, right - MARGIN.left, bottom - MARGIN.top);
    context.clip();
    this.paintLimits(context, right, height);
    this.paintCurves(context, x, height);
    context.restore();
  }

  // The range outside of the limits is shaded where all curves share them; other limits are dashed lines.
  paintLimits(context, right, height) {
    for (const [name, edge] of [["lower", this.low], ["upper", this.high]]) {
      const limits = this.data[name];
      if (!limits) continue;
      if (limits.every((value) => value !== null && value === limits[0])) {
        const from = this.y(limits[0], height), to = this.y(edge, height);
        context.fillStyle = variable("--shade");
        context.fillRect(MARGIN.left, Math.min(from, to), right - MARGIN.left, Math.abs(to - from));
      }
      limits.forEach((value, k) => {
        if (value === null || this.hidden.has(k)) return;
        context.strokeStyle = PALETTE[k % PALETTE.length];
        context.lineWidth = 0.8;
        context.setLineDash([4, 4]);
        context.beginPath();
        context.moveTo(MARGIN.left, this.y(value, height));
        context.lineTo(right, this.y(value, height));
        context.stroke();
      });
      context.setLineDash([]);
    }
  }

  paintCurves(context, x, height) {
    const columns = this.data.names.length;
    for (let k = 0; k < columns; k++) {
      if (this.hidden.has(k)) continue;
      context.strokeStyle = PALETTE[k % PALETTE.length];
      context.setLineDash(DASHES[Math.floor(k / PALETTE.length) % DASHES.length]);
      context.lineWidth = 1.5;
      context.beginPath();
      let drawing = false;
      for (let t = 0; t < this.times.length; t++) {
        const value = this.values[t * columns + k];
        if (!Number.isFinite(value)) {
          drawing = false;
          continue;
        }
        if (drawing) context.lineTo(x(this.times[t]), this.y(value, height));
        else context.moveTo(x(this.times[t]), this.y(value, height));
        drawing = true;
      }
      context.stroke();
    }
    context.setLineDash([]);
  }
}
