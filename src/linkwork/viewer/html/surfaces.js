// Surfaces: those of the document, unpacked, and those of arrows.

const CREASE = Math.cos((35 * Math.PI) / 180); // triangles at a larger angle have an edge between them

// Arrays of a surface. Integers are stored as differences, and positions as integers within the surface's bounds.
function unpackSurface(data, read) {
  const triangles = Uint32Array.from(summed(read(data.triangles), 1));
  const stored = read(data.vertices);
  const vertices = data.step === null ? stored
    : Float32Array.from(summed(stored, 3), (level, k) => data.low[k % 3] + level * data.step[k % 3]);
  const surface = { vertices, triangles, normals: null, colors: read(data.colors), uv: read(data.uv), texture: data.texture };
  if (data.creased) return creased(surface);
  if (data.normals) surface.normals = Float32Array.from(read(data.normals), (x) => x / 127);
  return surface;
}

function summed(differences, width) {
  const result = differences.slice();
  for (let k = width; k < result.length; k++) result[k] += result[k - width];
  return result;
}

// The surface with three vertices for each triangle, and normals that are smooth except at creases.
function creased({ vertices, triangles, colors, ...rest }) {
  const count = triangles.length / 3, areas = new Float32Array(triangles.length), lengths = new Float32Array(count);
  const first = new Uint32Array(vertices.length / 3 + 1), around = new Uint32Array(triangles.length);
  for (const vertex of triangles) first[vertex + 1] += 1;
  for (let k = 1; k < first.length; k++) first[k] += first[k - 1];
  const next = first.slice();
  for (let t = 0; t < count; t++) {
    const [a, b, c] = [0, 1, 2].map((k) => 3 * triangles[3 * t + k]);
    const ux = vertices[b] - vertices[a], uy = vertices[b + 1] - vertices[a + 1], uz = vertices[b + 2] - vertices[a + 2];
    const vx = vertices[c] - vertices[a], vy = vertices[c + 1] - vertices[a + 1], vz = vertices[c + 2] - vertices[a + 2];
    areas[3 * t] = uy * vz - uz * vy;
    areas[3 * t + 1] = uz * vx - ux * vz;
    areas[3 * t + 2] = ux * vy - uy * vx;
    lengths[t] = Math.hypot(areas[3 * t], areas[3 * t + 1], areas[3 * t + 2]);
    for (let k = 0; k < 3; k++) around[next[triangles[3 * t + k]]++] = t;
  }
  const points = new Float32Array(3 * triangles.length), normals = new Float32Array(3 * triangles.length);
  for (let corner = 0; corner < triangles.length; corner++) {
    const vertex = triangles[corner], own = 3 * Math.floor(corner / 3);
    let x = 0, y = 0, z = 0;
    for (let k = first[vertex]; k < first[vertex + 1]; k++) {
      const i = 3 * around[k], both = lengths[around[k]] * lengths[own / 3];
      if (areas[i] * areas[own] + areas[i + 1] * areas[own + 1] + areas[i + 2] * areas[own + 2] < CREASE * both) continue;
      x += areas[i];
      y += areas[i + 1];
      z += areas[i + 2];
    }
    const size = Math.hypot(x, y, z) || 1;
    normals.set([x / size, y / size, z / size], 3 * corner);
    points.set(vertices.subarray(3 * vertex, 3 * vertex + 3), 3 * corner);
  }
  const painted = colors && new Uint8Array(4 * triangles.length);
  if (painted) triangles.forEach((vertex, corner) => painted.set(colors.subarray(4 * vertex, 4 * vertex + 4), 4 * corner));
  return { ...rest, vertices: points, normals, colors: painted, triangles: Uint32Array.from({ length: triangles.length }, (_, k) => k) };
}

// Surfaces of arrows: a cylinder and a cone of radius 1 from z = 0 to z = 1.
function roundSurface(top) {
  const sides = 24, vertices = [], normals = [], triangles = [];
  for (let k = 0; k <= sides; k++) {
    const a = (2 * Math.PI * k) / sides, c = Math.cos(a), s = Math.sin(a);
    vertices.push(c, s, 0, c * top, s * top, 1, c, s, 0, 0, 0, 0);
    const slope = 1 - top;
    normals.push(c, s, slope, c, s, slope, 0, 0, -1, 0, 0, -1);
    if (k) {
      const i = 4 * (k - 1), j = 4 * k;
      triangles.push(i, j, j + 1, i, j + 1, i + 1, i + 2, i + 3, j + 2);
    }
  }
  return { vertices: new Float32Array(vertices), normals: new Float32Array(normals), triangles: new Uint32Array(triangles) };
}

function boundsOf(vertices) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let k = 0; k < vertices.length; k++) {
    low[k % 3] = Math.min(low[k % 3], vertices[k]);
    high[k % 3] = Math.max(high[k % 3], vertices[k]);
  }
  return { low, high };
}

function cornersOf({ low, high }) {
  return [0, 1, 2, 3, 4, 5, 6, 7].map((k) => [0, 1, 2].map((axis) => ((k >> axis) & 1 ? high : low)[axis]));
}
