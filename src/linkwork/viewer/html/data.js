// The document that the page shows: JSON, and arrays that were compressed into one block of bytes.

const TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u4: Uint32Array };

async function loadDocument() {
  const scene = JSON.parse(document.getElementById("scene").textContent);
  const text = atob(document.getElementById("arrays").textContent.trim());
  const packed = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = await new Response(stream).arrayBuffer();
  const read = (place) => (place ? new TYPES[place[0]](bytes, place[1], place[2]) : null);
  return { scene, read };
}

// The smallest of 1, 2 and 5 times a power of ten that is at least x.
function niceStep(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map((m) => m * power).find((step) => step >= x * 0.999);
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
