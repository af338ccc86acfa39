// A camera that orbits a target: the mouse, fingers and keys turn, move and zoom it. The world's z axis points up.

const HALF_ANGLE = 0.29; // [rad] half of the vertical field of view
const VIEWS = { // azimuth and elevation [rad]; those of the view in perspective are data of the document
  Perspective: [0, 0], Front: [0, 0], Back: [Math.PI, 0], Left: [Math.PI / 2, 0], Right: [-Math.PI / 2, 0],
  Top: [-Math.PI / 2, Math.PI / 2],
};

// Views from the front and the back of a mechanism in a plane look along its normal; the others are left and right of it.
function setFront([azimuth, elevation]) {
  const turned = elevation ? 0 : azimuth;
  Object.assign(VIEWS, {
    Front: [azimuth, elevation], Back: elevation ? [azimuth, -elevation] : [azimuth + Math.PI, 0],
    Left: [turned + Math.PI / 2, 0], Right: [turned - Math.PI / 2, 0],
  });
}

class Camera {
  constructor(canvas, changed) {
    this.target = [0, 0, 0];
    this.distance = 3;
    [this.azimuth, this.elevation] = VIEWS.Perspective;
    this.aspect = 1;
    this.changed = changed;
    this.canvas = canvas;
    this.pointers = new Map();
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    }
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(clamp(event.deltaY, -200, 200) * 0.0015));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  // Unit vectors to the right, up, and towards the camera.
  axes() {
    const a = this.azimuth, e = this.elevation;
    const back = [Math.cos(e) * Math.cos(a), Math.cos(e) * Math.sin(a), Math.sin(e)];
    const right = [-Math.sin(a), Math.cos(a), 0];
    return { right, up: cross(back, right), back };
  }

  eye() {
    return add(this.target, scaled(this.axes().back, this.distance));
  }

  matrices(reach) {
    const near = Math.max(this.distance * 0.01, this.distance - reach * 1.5);
    const projection = perspective(HALF_ANGLE, this.aspect, near, this.distance + reach * 6);
    return times4(projection, lookAt(this.eye(), this.target, this.axes().up));
  }

  // Direction from the eye through a pixel, in coordinates from -1 to 1.
  ray(x, y) {
    const { right, up, back } = this.axes(), t = Math.tan(HALF_ANGLE);
    return unit(subtract(add(scaled(right, x * t * this.aspect), scaled(up, y * t)), back));
  }

  view(name) {
    [this.azimuth, this.elevation] = VIEWS[name];
    this.changed();
  }

  // Place the camera so that all points are in the picture.
  frame(points) {
    if (!points.length) points = [[-0.5, -0.5, 0], [0.5, 0.5, 0.5]];
    const { right, up, back } = this.axes();
    const t = Math.tan(HALF_ANGLE) * 0.84, tx = t * this.aspect;
    const local = points.map((p) => [dot(p, right), dot(p, up), dot(p, back)]);
    const extreme = (k, f) => local.reduce((best, p) => f(best, p[k]), local[0][k]);
    const centre = [0, 1, 2].map((k) => (extreme(k, Math.min) + extreme(k, Math.max)) / 2);
    let distance = 0.05;
    // The centre of the picture is moved, as near points need more room than far ones.
    for (let round = 0; round < 8; round++) {
      const side = (k, slope) => {
        let low = -Infinity, high = -Infinity;
        for (const p of local) {
          const depth = p[2] - centre[2];
          low = Math.max(low, (centre[k] - p[k]) / slope + depth);
          high = Math.max(high, (p[k] - centre[k]) / slope + depth);
        }
        centre[k] += ((high - low) * slope) / 2;
        return (high + low) / 2;
      };
      distance = Math.max(side(0, tx), side(1, t), 0.05);
    }
    // Both directions are centred at that distance.
    for (let round = 0; round < 4; round++) {
      for (const k of [0, 1]) {
        const slopes = local.map((p) => (p[k] - centre[k]) / (distance + centre[2] - p[2]));
        const middle = slopes.reduce((low, x) => Math.min(low, x), Infinity) + slopes.reduce((high, x) => Math.max(high, x), -Infinity);
        centre[k] += (middle / 2) * distance;
      }
    }
    this.target = add(add(scaled(right, centre[0]), scaled(up, centre[1])), scaled(back, centre[2]));
    this.distance = distance;
    this.changed();
  }

  turn(dx, dy) {
    this.azimuth -= dx;
    this.elevation = clamp(this.elevation + dy, -Math.PI / 2, Math.PI / 2);
    this.changed();
  }

  pan(dx, dy) {
    const { right, up } = this.axes(), size = 2 * this.distance * Math.tan(HALF_ANGLE);
    this.target = add(this.target, add(scaled(right, -dx * size), scaled(up, dy * size)));
    this.changed();
  }

  zoom(factor) {
    this.distance = clamp(this.distance * factor, 1e-3, 1e5);
    this.changed();
  }

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, [event.clientX, event.clientY]);
  }

  move(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last) return;
    const height = this.canvas.clientHeight;
    const now = [event.clientX, event.clientY];
    const dx = (now[0] - last[0]) / height, dy = (now[1] - last[1]) / height;
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers].filter(([id]) => id !== event.pointerId).map(([, p]) => p);
      const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      this.zoom(apart(last) / apart(now));
      this.pan(dx / 2, dy / 2);
    } else if (event.buttons & 6 || event.shiftKey) {
      this.pan(dx, dy);
    } else {
      this.turn(dx * 3.5, dy * 3.5);
    }
    this.pointers.set(event.pointerId, now);
  }

  key(event) {
    const turns = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };
    if (turns[event.key]) this.turn(...turns[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(0.9);
    else if (event.key === "-") this.zoom(1 / 0.9);
    else return;
    event.preventDefault();
  }
}
