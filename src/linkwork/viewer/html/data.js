// The document that the page shows: JSON, and arrays that were compressed into one block of bytes.

const TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, i1: Int8Array, u2: Uint16Array, u4: Uint32Array };

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
