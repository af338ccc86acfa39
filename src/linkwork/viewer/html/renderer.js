// A small renderer in WebGL 2: lit surfaces with instances and shadows, lines, points, and the ground.

const SHADOW_SIZE = 2048; // [pixels]
const HIDDEN_LINE = 0.35; // opacity of lines behind surfaces, relative to their own
const INSTANCE_FLOATS = 17; // pose (12), colour (4), identity

class Renderer {
  // Return a renderer, or null in a browser without WebGL 2.
  static on(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, powerPreference: "high-performance" });
    return gl ? new Renderer(canvas, gl) : null;
  }

  constructor(canvas, gl) {
    this.gl = gl;
    this.canvas = canvas;
    this.surfaces = [];
    this.programs = {
      mesh: this.program(MESH_VERTEX, MESH_FRAGMENT),
      depth: this.program(MESH_VERTEX, DEPTH_FRAGMENT),
      ground: this.program(GROUND_VERTEX, GROUND_FRAGMENT),
      line: this.program(LINE_VERTEX, PLAIN_FRAGMENT),
      point: this.program(POINT_VERTEX, POINT_FRAGMENT),
    };
    this.empty = gl.createVertexArray();
    this.makeShadow();
    this.lineArray = this.streamed([[3, 0], [3, 12], [4, 24], [1, 40]], 44, 1);
    this.pointArray = this.streamed([[3, 0], [4, 12], [1, 28]], 32, 0);
    gl.enable(gl.DEPTH_TEST);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const uniforms = {};
    for (let k = 0; k < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); k++) {
      const { name, type } = gl.getActiveUniform(program, k);
      uniforms[name] = { type, location: gl.getUniformLocation(program, name) };
    }
    return { program, uniforms };
  }

  use({ program, uniforms }, values) {
    const gl = this.gl;
    gl.useProgram(program);
    for (const [name, value] of Object.entries(values)) {
      const uniform = uniforms[name];
      if (!uniform) continue;
      if (uniform.type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(uniform.location, false, value);
      else if (uniform.type === gl.FLOAT_VEC3) gl.uniform3fv(uniform.location, value);
      else if (uniform.type === gl.FLOAT_VEC2) gl.uniform2fv(uniform.location, value);
      else if (uniform.type === gl.FLOAT) gl.uniform1f(uniform.location, value);
      else gl.uniform1i(uniform.location, value);
    }
    return uniforms;
  }

  makeShadow() {
    const gl = this.gl;
    this.shadow = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, SHADOW_SIZE, SHADOW_SIZE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    this.shadowTarget = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowTarget);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, this.shadow, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  // Vertices that change with time: `fields` are [components, offset in bytes] by attribute.
  streamed(fields, stride, divisor) {
    const gl = this.gl, array = gl.createVertexArray(), buffer = gl.createBuffer();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    fields.forEach(([size, offset], k) => {
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, size, gl.FLOAT, false, stride, offset);
      gl.vertexAttribDivisor(k, divisor);
    });
    return { array, buffer, count: 0, stride };
  }

  upload(stream, floats) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, stream.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, floats, gl.DYNAMIC_DRAW);
    stream.count = (floats.length * 4) / stream.stride;
  }

  addSurface({ vertices, normals, colors, uv, triangles, texture }) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const attribute = (k, data, size, type, normalized) => {
      if (!data) return;
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, size, type, normalized, 0, 0);
    };
    attribute(0, vertices, 3, gl.FLOAT, false);
    attribute(1, normals, 3, gl.FLOAT, false);
    attribute(2, colors, 4, gl.UNSIGNED_BYTE, true);
    attribute(3, uv, 2, gl.FLOAT, false);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
    for (const k of [4, 5, 6, 7, 8]) {
      gl.enableVertexAttribArray(k);
      gl.vertexAttribDivisor(k, 1);
    }
    this.surfaces.push({
      array, count: triangles.length, flatShaded: !normals, colored: Boolean(colors), picture: null, textured: Boolean(texture),
      instances: gl.createBuffer(),
    });
  }

  setPicture(index, image) {
    const gl = this.gl, picture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, picture);
    gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, true);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, image);
    gl.pixelStorei(gl.UNPACK_FLIP_Y_WEBGL, false);
    gl.generateMipmap(gl.TEXTURE_2D);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    this.surfaces[index].picture = picture;
  }

  // Draw batches {surface, data, count} of instances: `data` has INSTANCE_FLOATS for each.
  drawBatches(uniforms, batches) {
    const gl = this.gl, stride = INSTANCE_FLOATS * 4;
    for (const { surface: index, data, count } of batches) {
      const surface = this.surfaces[index];
      gl.bindVertexArray(surface.array);
      gl.bindBuffer(gl.ARRAY_BUFFER, surface.instances);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
      for (let k = 0; k < 4; k++) gl.vertexAttribPointer(4 + k, 4, gl.FLOAT, false, stride, 16 * k);
      gl.vertexAttribPointer(8, 1, gl.FLOAT, false, stride, 64);
      if (uniforms.flatShaded) {
        gl.uniform1f(uniforms.flatShaded.location, surface.flatShaded ? 1 : 0);
        gl.uniform1f(uniforms.textured.location, surface.picture ? 1 : 0);
        gl.activeTexture(gl.TEXTURE1);
        gl.bindTexture(gl.TEXTURE_2D, surface.picture);
        gl.activeTexture(gl.TEXTURE0);
      }
      gl.uniform1f(uniforms.colored.location, surface.colored ? 1 : 0);
      gl.drawElementsInstanced(gl.TRIANGLES, surface.count, gl.UNSIGNED_INT, 0, count);
    }
  }

  // Draw one picture. `scene` has batches of opaque surfaces, groups of translucent ones from far to near, lines and
  // points; `view` has the camera, the colours of the ground, and the scene's centre and reach.
  draw(scene, view) {
    const gl = this.gl, { centre, reach } = view;
    const lamp = times4(
      orthographic(reach * 1.5, 0, reach * 8),
      lookAt(add(centre, scaled(LIGHT, reach * 4)), centre, [0, 1, 0]),
    );
    gl.depthMask(true);
    gl.disable(gl.BLEND);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowTarget);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.bindTexture(gl.TEXTURE_2D, null);
    this.drawBatches(this.use(this.programs.depth, { camera: lamp, lamp, hovered: -1 }), scene.opaque);

    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...view.background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow);
    const common = {
      camera: view.camera, lamp, eye: view.eye, light: LIGHT, shadows: 1, spread: 1 / SHADOW_SIZE, shadow: 0, picture: 1,
      hovered: view.hovered,
    };
    gl.enable(gl.BLEND);
    this.drawGround(common, view, 0);
    gl.disable(gl.BLEND);
    this.drawBatches(this.use(this.programs.mesh, common), scene.opaque);
    gl.enable(gl.BLEND);
    this.drawGround(common, view, 1);
    this.drawLines(view, 1);
    this.drawPoints(view);
    this.drawTranslucent(common, scene.translucent);
    gl.depthFunc(gl.GREATER); // where surfaces hide them
    this.drawLines(view, HIDDEN_LINE);
    gl.depthFunc(gl.LESS);
  }

  // Draw the colour of the ground (`veil` = 0), or its lines and shadows (1).
  drawGround(common, view, veil) {
    const gl = this.gl;
    this.use(this.programs.ground, {
      ...common, centre: [view.centre[0], view.centre[1], view.level], size: view.reach * 9, cell: view.cell,
      ground: view.ground, line: view.line, grid: view.grid ? 1 : 0, veil,
    });
    gl.depthMask(false);
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.depthMask(true);
  }

  drawLines(view, opacity) {
    const gl = this.gl, { array, count } = this.lineArray;
    if (!count) return;
    this.use(this.programs.line, { camera: view.camera, viewport: [this.canvas.width, this.canvas.height], opacity });
    gl.bindVertexArray(array);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
  }

  drawPoints(view) {
    const gl = this.gl, { array, count } = this.pointArray;
    if (!count) return;
    this.use(this.programs.point, { camera: view.camera, pixels: this.canvas.height / (2 * Math.tan(HALF_ANGLE)) });
    gl.bindVertexArray(array);
    gl.drawArrays(gl.POINTS, 0, count);
  }

  // The depth of a group is drawn first, so that only its nearest surface is seen through.
  drawTranslucent(common, groups) {
    const gl = this.gl;
    gl.depthFunc(gl.LEQUAL);
    gl.enable(gl.POLYGON_OFFSET_FILL); // a ghost at the robot's own pose is behind the robot
    gl.polygonOffset(1, 4);
    for (const batches of groups) {
      gl.colorMask(false, false, false, false);
      this.drawBatches(this.use(this.programs.mesh, common), batches);
      gl.colorMask(true, true, true, true);
      this.drawBatches(this.use(this.programs.mesh, common), batches);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.depthFunc(gl.LESS);
  }
}
