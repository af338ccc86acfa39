// All that is drawn: items with a surface, a colour and a pose by time; lines; points; labels.

const OF_THE_DOCUMENT = ["nearest pairs", "forces", "impacts"]; // layers that are not true after a slider has moved
const HIDDEN_POSE = new Float64Array(12);
const AXIS_COLORS = [[0.86, 0.22, 0.2, 1], [0.2, 0.65, 0.28, 1], [0.18, 0.42, 0.88, 1]];

class Scene {
  constructor(data, read, renderer) {
    this.data = data;
    this.read = read;
    this.renderer = renderer;
    this.frames = data.frames;
    this.times = read(data.times);
    this.clockName = data.clock;
    this.clockUnit = data.clock === "time [s]" ? " s" : ` ${data.clock.split(/ \[|,/)[0]}`;
    this.frame = 0;
    this.hidden = new Set(data.hidden);
    this.surfaces = data.surfaces.map((surface) => unpackSurface(surface, read));
    this.shaft = this.surfaces.push(roundSurface(1)) - 1;
    this.head = this.surfaces.push(roundSurface(0)) - 1;
    for (const surface of this.surfaces) {
      surface.bounds = boundsOf(surface.vertices);
      renderer?.addSurface(surface);
    }
    this.actors = data.actors.map((actor) => new Actor(actor, read));
    const arrays = (list, name) => list.map((entry) => ({ ...entry, array: read(entry[name]) }));
    this.lines = arrays(data.lines, "points");
    this.points = arrays(data.points, "points").map((entry) => ({ ...entry, colors: read(entry.colors) }));
    this.texts = arrays(data.texts, "position");
    this.arrows = data.arrows.map((entry) => ({
      ...entry, starts: read(entry.starts), vectors: read(entry.vectors), visible: read(entry.visible),
    }));
    this.items = [];
    this.moved = false;
    this.addItems();
    this.layout();
    this.reach = 1;
    this.update(0);
    this.measure();
    this.update(0);
  }

  addItems() {
    const { data, read } = this;
    for (const actor of this.actors) {
      for (let k = 0; k < actor.instances; k++) {
        const title = actor.instances > 1 ? `${actor.name} ${k + 1}` : actor.name;
        for (const part of actor.parts) {
          const color = [...part.color.slice(0, 3), part.color[3] * actor.opacity];
          const write = (frame, out) => actor.write(part, k, out);
          this.items.push({
            surface: part.surface, color, layer: part.layer, unit: actor.opacity < 1 ? `${title}` : "", write,
            label: `${part.link} — ${title}`, kind: "robot",
          });
        }
      }
    }
    for (const prop of data.props) {
      const poses = read(prop.poses);
      const write = (frame, out) => out.set(poses.subarray(prop.moving ? 12 * frame : 0, prop.moving ? 12 * frame + 12 : 12));
      this.items.push({ ...prop, unit: prop.name, write, label: prop.name, kind: "prop" });
    }
    for (const frame of data.axes) {
      const poses = read(frame.poses);
      for (let axis = 0; axis < 3; axis++) {
        const vector = (t) => {
          const i = frame.moving ? 12 * t : 0;
          return [
            [poses[i + 3], poses[i + 7], poses[i + 11]],
            scaled([poses[i + axis], poses[i + 4 + axis], poses[i + 8 + axis]], frame.length),
          ];
        };
        this.addArrow(vector, AXIS_COLORS[axis], frame.layer, frame.name, () => frame.length * 0.03, "frame");
      }
    }
    for (const arrows of this.arrows) {
      for (let k = 0; k < arrows.count; k++) {
        const vector = (t) => {
          const i = t * arrows.count + k, part = (array) => Array.from(array.subarray(3 * i, 3 * i + 3));
          return arrows.visible[i] ? [part(arrows.starts), scaled(part(arrows.vectors), arrows.scale)] : null;
        };
        this.addArrow(vector, arrows.color, arrows.layer, arrows.name, () => this.reach * 0.011, "arrow");
      }
    }
  }

  addArrow(vector, color, layer, label, radius, kind) {
    const item = { color, layer, label, unit: "", kind };
    const shape = (t, out, head) => {
      const hit = vector(t), length = hit ? norm(hit[1]) : 0;
      if (length < 1e-9) return out.set(HIDDEN_POSE);
      const [start, along_] = hit, tip = Math.min(0.35 * length, radius() * 6);
      const width = Math.min(radius(), length * 0.12);
      const neck = add(start, scaled(along_, 1 - tip / length));
      return out.set(head ? along(along_, neck, width * 2.4, tip) : along(along_, start, width, length - tip));
    };
    this.items.push({ ...item, surface: this.shaft, write: (t, out) => shape(t, out, false) });
    this.items.push({ ...item, surface: this.head, write: (t, out) => shape(t, out, true) });
  }

  layers() {
    const all = [this.items, this.lines, this.points, this.texts].flat().map((item) => item.layer);
    return [...new Set(all)].sort();
  }

  isHidden(layer) {
    return this.hidden.has(layer) || (this.moved && OF_THE_DOCUMENT.includes(layer));
  }

  // Group the visible items by surface: one draw for all items with the same one.
  layout() {
    const opaque = new Map(), translucent = new Map();
    this.visible = this.items.filter((item) => !this.isHidden(item.layer));
    for (const item of this.visible) {
      const through = item.color[3] < 0.999;
      if (through && !translucent.has(item.unit)) translucent.set(item.unit, new Map());
      const group = through ? translucent.get(item.unit) : opaque;
      if (!group.has(item.surface)) group.set(item.surface, { surface: item.surface, count: 0 });
      item.batch = group.get(item.surface);
      item.slot = item.batch.count++;
    }
    this.opaque = [...opaque.values()];
    this.translucent = [...translucent.values()].map((group) => [...group.values()]);
    for (const batch of [this.opaque, ...this.translucent].flat()) batch.data = new Float32Array(batch.count * INSTANCE_FLOATS);
    this.visible.forEach((item, k) => {
      item.pose = new Float64Array(12);
      item.batch.data.set(item.color, item.slot * INSTANCE_FLOATS + 12);
      item.batch.data[item.slot * INSTANCE_FLOATS + 16] = k;
    });
  }

  setLayer(layer, shown) {
    if (shown) this.hidden.delete(layer);
    else this.hidden.add(layer);
    this.layout();
    this.update(this.frame);
  }

  update(frame) {
    this.frame = frame;
    const moved = this.actors.some((actor) => actor.postures.some((posture) => posture));
    if (moved !== this.moved) {
      this.moved = moved;
      this.layout();
    }
    for (const actor of this.actors) actor.update(frame);
    for (const item of this.visible) {
      item.write(frame, item.pose);
      item.batch.data.set(item.pose, item.slot * INSTANCE_FLOATS);
    }
    this.updateLines(frame);
    this.updatePoints(frame);
  }

  at(entry, frame) {
    const start = entry.moving ? 3 * entry.count * frame : 0;
    return entry.array.subarray(start, start + 3 * entry.count);
  }

  updateLines(frame) {
    if (!this.renderer) return;
    const shown = this.lines.filter((line) => !this.isHidden(line.layer));
    const pairs = shown.reduce((sum, line) => sum + (line.segments ? line.count >> 1 : Math.max(line.count - 1, 0)), 0);
    const data = new Float32Array(pairs * 11);
    let at = 0;
    for (const line of shown) {
      const points = this.at(line, frame), step = line.segments ? 6 : 3;
      for (let k = 0; k + 5 < points.length; k += step) {
        data.set(points.subarray(k, k + 6), at);
        data.set(line.color, at + 6);
        data[at + 10] = line.width * (window.devicePixelRatio || 1);
        at += 11;
      }
    }
    this.renderer.upload(this.renderer.lineArray, data);
  }

  updatePoints(frame) {
    if (!this.renderer) return;
    const shown = this.points.filter((set) => !this.isHidden(set.layer));
    const data = new Float32Array(shown.reduce((sum, set) => sum + set.count, 0) * 8);
    let at = 0;
    for (const set of shown) {
      const points = this.at(set, frame), one = set.colors.length === 4;
      for (let k = 0; k < set.count; k++, at += 8) {
        data.set(points.subarray(3 * k, 3 * k + 3), at);
        for (let c = 0; c < 4; c++) data[at + 3 + c] = set.colors[(one ? 0 : 4 * k) + c] / 255;
        data[at + 7] = set.size;
      }
    }
    this.renderer.upload(this.renderer.pointArray, data);
  }

  // Points that the picture should contain, and the lowest height of all. Of obstacles that are much larger than the
  // robots, such as floors, only the height counts; of infinite ones nothing does.
  outline() {
    const saved = this.frame, frames = [...new Set([0, 1, 2, 3, 4].map((k) => Math.round((k * (this.frames - 1)) / 4)))];
    const robots = [], others = [], infinite = new Set();
    for (const frame of frames) {
      this.update(frame);
      for (const item of this.visible) {
        if (item.kind === "arrow" || item.kind === "frame") continue;
        const corners = cornersOf(this.surfaces[item.surface].bounds).map((p) => applied(item.pose, p));
        (item.kind === "robot" ? robots : others).push(corners);
        if (item.unbounded) infinite.add(corners);
      }
      for (const entry of [...this.lines, ...this.points]) {
        const points = this.at(entry, frame), step = Math.max(1, Math.floor(entry.count / 200));
        const corners = [];
        for (let k = 0; k < entry.count; k += step) corners.push(Array.from(points.subarray(3 * k, 3 * k + 3)));
        if (corners.length && !this.hidden.has(entry.layer)) robots.push(corners);
      }
    }
    for (const axes of this.data.axes) robots.push([...axes.corners]);
    this.update(saved);
    const size = (list) => {
      const { low, high } = boundsOf(list.flat(2));
      return norm(subtract(high, low));
    };
    const limit = robots.length ? 1.5 * size(robots) : Infinity;
    const points = [...robots, ...others.filter((corners) => size([corners]) <= limit)].flat();
    const bounded = [...robots, ...others.filter((corners) => !infinite.has(corners))].flat();
    return { points, lowest: bounded.reduce((low, p) => Math.min(low, p[2]), Infinity) };
  }

  measure() {
    const { points, lowest } = this.outline();
    const { low, high } = boundsOf(points.length ? points.flat() : [-0.5, -0.5, 0, 0.5, 0.5, 0.5]);
    this.centre = scaled(add(low, high), 0.5);
    this.reach = Math.max(norm(subtract(high, low)) / 2, 1e-3);
    this.level = Math.min(lowest, 0) - 0.002 * this.reach;
    this.cell = niceStep(this.reach / 5);
    this.corners = points;
  }

  // Item that a ray meets first, with the distance.
  pick(origin, direction) {
    let best = null;
    this.visible.forEach((item, k) => {
      if (item.kind !== "robot" && item.kind !== "prop") return;
      const m = item.pose, offset = subtract(origin, [m[3], m[7], m[11]]);
      const turned = (p) => [0, 1, 2].map((c) => m[c] * p[0] + m[4 + c] * p[1] + m[8 + c] * p[2]);
      const distance = meets(this.surfaces[item.surface], turned(offset), turned(direction), best ? best.distance : Infinity);
      if (distance !== null) best = { item, index: k, distance };
    });
    return best;
  }
}

// Distance at which a ray meets a surface before `limit`, or null.
function meets({ vertices, triangles, bounds }, origin, direction, limit) {
  let near = 0, far = limit;
  for (let k = 0; k < 3; k++) {
    const inverse = 1 / (direction[k] || 1e-30);
    const a = (bounds.low[k] - origin[k]) * inverse, b = (bounds.high[k] - origin[k]) * inverse;
    near = Math.max(near, Math.min(a, b));
    far = Math.min(far, Math.max(a, b));
  }
  if (near > far) return null;
  let best = null;
  const vertex = (i) => [vertices[3 * i], vertices[3 * i + 1], vertices[3 * i + 2]];
  for (let k = 0; k < triangles.length; k += 3) {
    const a = vertex(triangles[k]), e1 = subtract(vertex(triangles[k + 1]), a), e2 = subtract(vertex(triangles[k + 2]), a);
    const p = cross(direction, e2), determinant = dot(e1, p);
    if (Math.abs(determinant) < 1e-15) continue;
    const s = subtract(origin, a), u = dot(s, p) / determinant;
    if (u < 0 || u > 1) continue;
    const q = cross(s, e1), v = dot(direction, q) / determinant, t = dot(e2, q) / determinant;
    if (v >= 0 && u + v <= 1 && t > 0 && t < limit) {
      limit = t;
      best = t;
    }
  }
  return best;
}
