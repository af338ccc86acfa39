// Programs of the graphics processor. Colours are sRGB outside of them, and linear while light is computed.

const LIGHT = unit([0.45, -0.55, 1.1]); // direction from the scene to the lamp

const COMMON = `#version 300 es
precision highp float;
precision highp sampler2DShadow;
vec3 linear(vec3 c) { return pow(c, vec3(2.2)); }
vec3 encoded(vec3 c) { return pow(clamp(c, 0.0, 1.0), vec3(1.0 / 2.2)); }
`;

// Share of the lamp's light that reaches a point, from sixteen samples of the shadow that a pixel turns at random.
const SHADOW = `float lit(sampler2DShadow shadow, vec4 p, float spread) {
  vec3 s = p.xyz / p.w * 0.5 + 0.5;
  if (any(lessThan(s, vec3(0.0))) || any(greaterThan(s, vec3(1.0)))) return 1.0;
  float sum = 0.0;
  float turn = 6.2832 * fract(52.9829 * fract(dot(gl_FragCoord.xy, vec2(0.06711, 0.00584))));
  for (int k = 0; k < 16; k++) {
    float angle = 2.39996 * float(k) + turn, r = 2.6 * sqrt((float(k) + 0.5) / 16.0);
    sum += texture(shadow, s + vec3(r * spread * vec2(cos(angle), sin(angle)), 0.0));
  }
  return sum / 16.0;
}
`;

const MESH_VERTEX = `${COMMON}
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 vertexColor;
layout(location = 3) in vec2 uv;
layout(location = 4) in vec4 row0;
layout(location = 5) in vec4 row1;
layout(location = 6) in vec4 row2;
layout(location = 7) in vec4 instanceColor;
layout(location = 8) in float identity;
uniform mat4 camera, lamp;
uniform float hovered, colored;
out vec3 world, direction;
out vec4 color, inLamp;
out vec2 coordinates;
void main() {
  vec4 p = vec4(position, 1.0);
  world = vec3(dot(row0, p), dot(row1, p), dot(row2, p));
  vec3 size = vec3(row0.x*row0.x + row1.x*row1.x + row2.x*row2.x, row0.y*row0.y + row1.y*row1.y + row2.y*row2.y,
                   row0.z*row0.z + row1.z*row1.z + row2.z*row2.z);
  vec3 n = normal / max(size, vec3(1e-20));
  direction = vec3(dot(row0.xyz, n), dot(row1.xyz, n), dot(row2.xyz, n));
  color = colored > 0.5 ? vec4(vertexColor.rgb, vertexColor.a * instanceColor.a) : instanceColor;
  if (identity == hovered) color.rgb = mix(color.rgb, vec3(1.0, 0.72, 0.25), 0.45);
  coordinates = uv;
  inLamp = lamp * vec4(world, 1.0);
  gl_Position = camera * vec4(world, 1.0);
}`;

const MESH_FRAGMENT = `${COMMON}${SHADOW}
in vec3 world, direction;
in vec4 color, inLamp;
in vec2 coordinates;
uniform vec3 eye, light;
uniform float flatShaded, textured, shadows, spread;
uniform sampler2D picture;
uniform sampler2DShadow shadow;
out vec4 result;
void main() {
  vec3 toEye = normalize(eye - world);
  vec3 n = flatShaded > 0.5 ? cross(dFdx(world), dFdy(world)) : direction;
  n = normalize(n);
  if (dot(n, toEye) < 0.0) n = -n;
  vec4 base = color;
  if (textured > 0.5) base.rgb = texture(picture, coordinates).rgb;
  vec3 albedo = linear(base.rgb);
  float key = max(dot(n, light), 0.0);
  if (shadows > 0.5 && key > 0.0) key *= lit(shadow, inLamp - vec4(0.0, 0.0, 0.002 + 0.004 * (1.0 - key), 0.0), spread);
  float fill = max(dot(n, toEye), 0.0);
  vec3 ambient = mix(vec3(0.20, 0.19, 0.18), vec3(0.42, 0.44, 0.48), n.z * 0.5 + 0.5);
  vec3 halfway = normalize(light + toEye);
  float gloss = pow(max(dot(n, halfway), 0.0), 40.0) * key;
  float rim = pow(1.0 - fill, 4.0);
  vec3 c = albedo * (ambient + 0.62 * key + 0.20 * fill) + 0.10 * gloss + 0.05 * rim;
  result = vec4(encoded(c), base.a);
}`;

const DEPTH_FRAGMENT = `${COMMON}
void main() {}`;

const GROUND_VERTEX = `${COMMON}
uniform mat4 camera, lamp;
uniform vec3 centre;
uniform float size;
out vec3 world;
out vec4 inLamp;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
  world = centre + vec3(corner * size, 0.0);
  inLamp = lamp * vec4(world, 1.0);
  gl_Position = camera * vec4(world, 1.0);
}`;

// The ground hides nothing: its colour is behind all surfaces, and a veil of lines and shadows is before those below it.
const GROUND_FRAGMENT = `${COMMON}${SHADOW}
in vec3 world;
in vec4 inLamp;
uniform vec3 centre, ground, line, eye;
uniform float size, cell, shadows, spread, grid, veil;
uniform sampler2DShadow shadow;
out vec4 result;
float lines(float width, float thickness) {
  vec2 p = world.xy / width, d = fwidth(p);
  vec2 near = abs(fract(p - 0.5) - 0.5) / max(d, vec2(1e-6));
  float fine = 1.0 - smoothstep(0.15, 0.6, max(d.x, d.y));
  return (1.0 - smoothstep(thickness - 0.5, thickness + 0.5, min(near.x, near.y))) * fine;
}
void main() {
  float away = length(world.xy - centre.xy) / size;
  float fade = 1.0 - smoothstep(0.15, 0.8, away);
  float above = eye.z < centre.z ? 0.0 : 1.0;
  if (veil < 0.5) {
    result = vec4(ground, fade * above);
    return;
  }
  float dark = shadows > 0.5 ? 1.0 - lit(shadow, inLamp - vec4(0.0, 0.0, 0.002, 0.0), spread * 3.0) : 0.0;
  float strength = grid * max(0.40 * lines(cell, 0.5), 0.8 * lines(cell * 5.0, 0.6));
  float light = 1.0 - 0.26 * dark * above;
  float cover = 1.0 - (1.0 - strength) * light;
  result = vec4(line * strength * light / max(cover, 1e-6), fade * cover * mix(0.25, 1.0, above));
}`;

const LINE_VERTEX = `${COMMON}
layout(location = 0) in vec3 start;
layout(location = 1) in vec3 end;
layout(location = 2) in vec4 lineColor;
layout(location = 3) in float width;
uniform mat4 camera;
uniform vec2 viewport;
uniform float opacity;
out vec4 color;
void main() {
  vec4 a = camera * vec4(start, 1.0), b = camera * vec4(end, 1.0);
  if (a.w < 1e-3) a = mix(a, b, (1e-3 - a.w) / max(b.w - a.w, 1e-9));
  if (b.w < 1e-3) b = mix(b, a, (1e-3 - b.w) / max(a.w - b.w, 1e-9));
  bool last = (gl_VertexID == 1 || gl_VertexID == 3);
  float side = gl_VertexID < 2 ? -1.0 : 1.0;
  vec2 along = (b.xy / b.w - a.xy / a.w) * viewport;
  along = length(along) > 1e-6 ? normalize(along) : vec2(1.0, 0.0);
  vec4 p = last ? b : a;
  vec2 offset = vec2(-along.y, along.x) * side + along * (last ? 0.5 : -0.5);
  p.xy += offset * width / viewport * p.w;
  p.z -= 1e-4 * p.w;
  color = vec4(lineColor.rgb, lineColor.a * opacity);
  gl_Position = p;
}`;

const PLAIN_FRAGMENT = `${COMMON}
in vec4 color;
out vec4 result;
void main() { result = color; }`;

const POINT_VERTEX = `${COMMON}
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 pointColor;
layout(location = 2) in float diameter;
uniform mat4 camera;
uniform float pixels;
out vec4 color;
void main() {
  gl_Position = camera * vec4(position, 1.0);
  gl_PointSize = clamp(diameter * pixels / max(gl_Position.w, 1e-6), 2.0, 200.0);
  color = pointColor;
}`;

const POINT_FRAGMENT = `${COMMON}
in vec4 color;
out vec4 result;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0;
  float r = dot(p, p);
  if (r > 1.0) discard;
  float shade = 0.62 + 0.38 * sqrt(1.0 - r) - 0.12 * p.y;
  result = vec4(encoded(linear(color.rgb) * shade), color.a);
}`;
