// Forward kinematics of a robot. The functions of its joints are generated from their equations in linkwork.

class Kinematics {
  constructor(robot) {
    this.robot = robot;
    this.transforms = robot.bodies.map((body) => FUNCTIONS[body.transform]);
    this.closure = robot.closure ? new Closure(robot.closure) : null;
    this.frames = new Map(robot.frames.map((frame) => [frame.name, frame]));
  }

  // Poses of all bodies in the world, 12 numbers each, for a configuration that begins at q[start].
  poses(q, start, base, out, offset) {
    this.robot.bodies.forEach((body, i) => {
      const local = this.transforms[i](q.subarray(start + body.q, start + body.q + body.nq));
      const parent = body.parent < 0 ? base : out;
      compose(parent, local, out, offset + 12 * i, body.parent < 0 ? 0 : offset + 12 * body.parent, 0);
    });
    return out;
  }

  pose(name, poses, offset, base) {
    const frame = this.frames.get(name);
    if (!frame) throw new Error(`pose: the robot has no link or frame ${JSON.stringify(name)}`);
    if (frame.body < 0) return compose(base, frame.placement);
    return compose(poses, frame.placement, undefined, 0, offset + 12 * frame.body);
  }
}

// Loops of a mechanism, closed by the smallest weighted motion of the joints that are free.
const CLOSED = 1e-9; // largest error of a closed loop [m, rad]
const NEARLY = 1e-7;

class Closure {
  constructor({ error, moved, weights }) {
    this.error = (q) => FUNCTIONS[error](q);
    this.moved = (q, v) => Float64Array.from(FUNCTIONS[moved]([...q, ...v]));
    this.weights = weights;
  }

  // Newton's method with Jacobians by differences. Returns the configuration, or null if the loops do not close.
  close(start, fixed) {
    let q = start, size = Infinity;
    for (let round = 0; round < 40; round++) {
      const error = this.error(q);
      size = Math.max(...error.map(Math.abs));
      if (size < CLOSED || !Number.isFinite(size)) break;
      const step = this.step(q, error, fixed), longest = Math.max(...step.map(Math.abs));
      q = this.moved(q, step.map((x) => x * Math.min(1, 0.3 / longest)));
    }
    return size < NEARLY ? q : null;
  }

  step(q, error, fixed) {
    const count = this.weights.length, size = error.length, columns = [];
    for (let k = 0; k < count; k++) {
      const v = new Float64Array(count), h = 1e-6;
      if (fixed.has(k)) {
        columns.push(new Float64Array(size));
        continue;
      }
      v[k] = h;
      const after = this.error(this.moved(q, v));
      v[k] = -h;
      columns.push(this.error(this.moved(q, v)).map((x, i) => (after[i] - x) / (2 * h)));
    }
    const matrix = error.map((_, i) => error.map((_, j) => columns.reduce((sum, c, k) => sum + c[i] * c[j] * this.weights[k], 0)));
    const trace = matrix.reduce((sum, row, i) => sum + row[i], 0);
    matrix.forEach((row, i) => { row[i] += 1e-9 * trace + 1e-300; });
    const y = solved(matrix, error);
    return columns.map((column, k) => -this.weights[k] * column.reduce((sum, x, i) => sum + x * y[i], 0));
  }
}

// Solution of a symmetric positive definite system, by elimination.
function solved(matrix, right) {
  const a = matrix.map((row, i) => [...row, right[i]]), n = a.length;
  for (let k = 0; k < n; k++) {
    for (let i = k + 1; i < n; i++) {
      const factor = a[i][k] / a[k][k];
      for (let j = k; j <= n; j++) a[i][j] -= factor * a[k][j];
    }
  }
  const x = new Array(n).fill(0);
  for (let k = n - 1; k >= 0; k--) {
    x[k] = (a[k][n] - a[k].reduce((sum, value, j) => (j > k && j < n ? sum + value * x[j] : sum), 0)) / a[k][k];
  }
  return x;
}

const SLIDER_STEP = 0.05; // [rad, m] a slider moves a closed mechanism in steps of this size

// The configuration of one instance of an actor, as sliders change it.
class Posture {
  constructor(kinematics, q) {
    this.kinematics = kinematics;
    this.origins = kinematics.robot.joints.map(({ origin, q: first }) => origin && origin.map((x, k) => x ?? q[first + k]));
    this.reset(q);
  }

  reset(q) {
    this.q = Float64Array.from(q);
    this.follow();
  }

  value(index, coordinate) {
    const joint = this.kinematics.robot.joints[index];
    return joint.integrate === null ? this.q[joint.q + coordinate] : this.tangents[index][coordinate];
  }

  // Move a slider. In a closed mechanism the other joints follow; the slider stops where the loops cannot close.
  set(index, coordinate, value) {
    const { closure, robot } = this.kinematics;
    const start = this.value(index, coordinate);
    const before = closure ? closure.close(this.q, new Set()) : null;
    if (!before) {
      this.put(index, coordinate, value);
      return;
    }
    const joint = robot.joints[index];
    const fixed = new Set(Array.from({ length: joint.nv }, (_, k) => joint.v + k));
    const count = clamp(Math.ceil(Math.abs(value - start) / SLIDER_STEP), 1, 200);
    for (let k = 1; k <= count; k++) {
      const saved = Float64Array.from(this.q);
      this.put(index, coordinate, start + ((value - start) * k) / count);
      const closed = closure.close(this.q, fixed);
      if (!closed) {
        this.q = saved;
        break;
      }
      this.q = closed;
    }
    this.follow();
  }

  // A joint with a slider for each coordinate of q is set directly. Other joints, such as a ball joint, are moved from
  // their origins by the slider's values: rotation vectors and displacements.
  put(index, coordinate, value) {
    const joint = this.kinematics.robot.joints[index];
    if (joint.integrate === null) {
      this.q[joint.q + coordinate] = value;
      return;
    }
    this.tangents[index][coordinate] = value;
    this.q.set(FUNCTIONS[joint.integrate]([...this.origins[index], ...this.tangents[index]]), joint.q);
  }

  // Update the sliders after a change of q that is not theirs, such as that of joints that close loops.
  follow() {
    this.tangents = this.kinematics.robot.joints.map((joint, index) => {
      if (joint.difference === null) return null;
      return FUNCTIONS[joint.difference]([...this.origins[index], ...this.q.subarray(joint.q, joint.q + joint.nq)]);
    });
  }
}
