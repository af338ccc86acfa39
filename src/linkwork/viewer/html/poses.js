// Poses as 12 numbers, the rows of a 3×4 matrix; matrices of the camera as 16 numbers by columns, as WebGL takes them.

const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0];

function compose(a, b, out = new Float64Array(12), i = 0, ai = 0, bi = 0) {
  for (let r = 0; r < 12; r += 4) {
    const x = a[ai + r], y = a[ai + r + 1], z = a[ai + r + 2], t = a[ai + r + 3];
    out[i + r] = x * b[bi] + y * b[bi + 4] + z * b[bi + 8];
    out[i + r + 1] = x * b[bi + 1] + y * b[bi + 5] + z * b[bi + 9];
    out[i + r + 2] = x * b[bi + 2] + y * b[bi + 6] + z * b[bi + 10];
    out[i + r + 3] = x * b[bi + 3] + y * b[bi + 7] + z * b[bi + 11] + t;
  }
  return out;
}

function applied(pose, p, i = 0) {
  return [0, 4, 8].map((r) => pose[i + r] * p[0] + pose[i + r + 1] * p[1] + pose[i + r + 2] * p[2] + pose[i + r + 3]);
}

function asMatrix(pose, i = 0) {
  const rows = [0, 4, 8].map((r) => Array.from(pose.slice(i + r, i + r + 4)));
  return [...rows, [0, 0, 0, 1]];
}

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a) => scaled(a, 1 / (norm(a) || 1));
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

// Pose whose z axis points along `direction`, with columns scaled: an arrow's shaft or head.
function along(direction, origin, width, length) {
  const z = unit(direction);
  const x = unit(cross(Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], z));
  const y = cross(z, x);
  return [0, 1, 2].flatMap((r) => [x[r] * width, y[r] * width, z[r] * length, origin[r]]);
}

function times4(a, b) {
  const out = new Float32Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      for (let k = 0; k < 4; k++) out[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    }
  }
  return out;
}

function perspective(halfAngle, aspect, near, far) {
  const f = 1 / Math.tan(halfAngle), d = near - far;
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / d, -1, 0, 0, (2 * far * near) / d, 0]);
}

function orthographic(half, near, far) {
  const d = near - far;
  return new Float32Array([1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, 2 / d, 0, 0, 0, (far + near) / d, 1]);
}

function lookAt(eye, target, up) {
  const z = unit(subtract(eye, target)), x = unit(cross(up, z)), y = cross(z, x);
  return new Float32Array([
    x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1,
  ]);
}
