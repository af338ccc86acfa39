// The page: picture, panel and bar of time, and `window.linkwork` for scripts and tests.

const THEMES = {
  light: { background: [0.953, 0.957, 0.965], ground: [0.953, 0.957, 0.965], line: [0.70, 0.73, 0.77] },
  dark: { background: [0.086, 0.098, 0.118], ground: [0.11, 0.122, 0.145], line: [0.30, 0.34, 0.40] },
};

class App {
  constructor(data, read, renderer, problem) {
    this.renderer = renderer;
    this.canvas = document.getElementById("view");
    this.scene = new Scene(data, read, renderer);
    VIEWS.Perspective = data.perspective;
    setFront(data.front);
    this.camera = new Camera(this.canvas, () => this.request());
    this.hovered = -1;
    this.grid = true;
    this.pending = false;
    this.labels = this.scene.texts.map((text) => element("span", {}, text.text));
    document.getElementById("labels").append(...this.labels);
    this.time = new TimeBar(this);
    this.sliders = new Sliders(this);
    this.plots = data.plots.map((plot) => new PlotView(this, plot, read));
    this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    this.buildTop(data.title);
    this.buildPanel(data, problem);
    this.watchPointer();
    this.canvas.addEventListener("webglcontextlost", (event) => this.lose(event));
    new ResizeObserver(() => {
      this.openPanel();
      this.resize();
    }).observe(document.getElementById("stage"));
    this.resize();
    this.camera.frame(this.scene.corners);
  }

  buildTop(title) {
    const views = element("select", { "aria-label": "View", title: "View", onchange: () => {
      this.camera.view(views.value);
      this.camera.frame(this.scene.corners);
    } }, ...Object.keys(VIEWS).map((name) => element("option", {}, name)));
    const reset = () => {
      views.value = "Perspective";
      this.camera.view("Perspective");
      this.camera.frame(this.scene.outline().points);
    };
    this.panelButton = iconButton("panel", "Panel", () => this.showPanel(document.getElementById("panel").hidden));
    const theme = iconButton("theme", "Light or dark", () => this.setTheme(this.theme === "dark" ? "light" : "dark"));
    document.getElementById("top").append(element("h1", {}, title), iconButton("home", "Reset view", reset), views, theme, this.panelButton);
  }

  buildPanel(data, problem) {
    const panel = document.getElementById("panel"), { scene } = this;
    const notes = [...(problem ? [problem] : []), ...data.notes];
    const legend = this.legend(data);
    const layers = scene.layers().map((layer) => check(layer, !scene.hidden.has(layer), (shown) => {
      scene.setLayer(layer, shown);
      this.request();
    }));
    const grid = check("grid", true, (shown) => {
      this.grid = shown;
      this.request();
    });
    const sections = [
      this.plots.length ? section("Plots", true, ...this.plots.map((plot) => plot.node)) : null,
      this.sliders.section(),
      section("Layers", true, ...layers, grid),
      legend.length ? section("Legend", true, ...legend) : null,
      notes.length ? section("Notes", true, ...notes.map((note) => element("p", { class: "note warn" }, note))) : null,
    ];
    panel.append(...sections.filter((part) => part !== null));
    this.needsPanel = this.plots.length > 0 || this.sliders.current !== null || notes.length > 0;
    this.showPanel(false);
    this.openPanel();
  }

  // Open the panel of a wide window, once. An iframe of a notebook has no width until it is laid out.
  openPanel() {
    if (!innerWidth || this.needsPanel === null) return;
    this.showPanel(innerWidth > 640 && this.needsPanel);
    this.needsPanel = null;
  }

  legend(data) {
    const entries = new Map();
    const put = (name, color, more = "") => entries.set(`${name}|${color}`, [name + more, color]);
    for (const line of data.lines) put(line.name, rgba(line.color, 1));
    for (const set of this.scene.points) {
      if (set.colors.length === 4) put(set.name, rgba([...set.colors].map((c) => c / 255), 1));
    }
    for (const arrows of data.arrows) put(arrows.name, rgba(arrows.color, 1), ` (1 m is ${Number((1 / arrows.scale).toPrecision(3))} ${arrows.unit})`);
    return [...entries.values()].slice(0, 40).map(([name, color]) => element("div", { class: "check" },
      element("span", { class: "swatch", style: { background: color } }), name));
  }

  showPanel(shown) {
    document.getElementById("panel").hidden = !shown;
    this.panelButton.setAttribute("aria-pressed", String(shown));
    this.resize();
  }

  setTheme(theme) {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
    for (const plot of this.plots ?? []) plot.picture = null;
    this.request();
  }

  resize() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width || !height) return;
    const before = this.camera.aspect;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.camera.aspect = width / height;
    if (Math.abs(before - this.camera.aspect) > 0.05) this.camera.frame(this.scene.corners);
    this.request();
  }

  pause() {
    this.time.pause();
  }

  showFrame(frame) {
    if (frame !== this.scene.frame) {
      for (const actor of this.scene.actors) actor.postures.fill(null);
      this.scene.update(frame);
      this.sliders.update();
    }
    this.request();
  }

  refresh() {
    this.scene.update(this.scene.frame);
    this.sliders.update();
    this.request();
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((now) => {
      this.pending = false;
      this.time?.advance(now);
      this.draw();
      if (this.time?.playing) this.request();
    });
  }

  draw() {
    if (!this.plots) return;
    const { scene, camera } = this;
    const away = norm(subtract(camera.target, scene.centre)), matrix = camera.matrices(scene.reach + away);
    if (this.renderer && this.canvas.width) {
      this.renderer.draw(scene, {
        ...THEMES[this.theme], camera: matrix, eye: camera.eye(), centre: scene.centre, reach: scene.reach, level: scene.level,
        cell: scene.cell, grid: this.grid, hovered: this.hovered,
      });
    }
    this.placeLabels(matrix);
    this.time.update();
    for (const plot of this.plots) plot.draw();
    this.sliders.stale.hidden = !(this.scene.moved && this.scene.layers().some((layer) => OF_THE_DOCUMENT.includes(layer)));
  }

  placeLabels(m) {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    this.scene.texts.forEach((text, k) => {
      const [x, y, z] = this.scene.at(text, this.scene.frame), label = this.labels[k];
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      label.hidden = w <= 0 || this.scene.isHidden(text.layer);
      const px = ((m[0] * x + m[4] * y + m[8] * z + m[12]) / w + 1) / 2, py = (1 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) / 2;
      if (!label.hidden) label.width ||= label.offsetWidth;
      const left = px > 1 ? px * width + 8 : Math.min(px * width + 8, width - (label.width ?? 0) - 4); // inside of the picture
      label.style.transform = `translate(${left}px, ${py * height}px) translate(0, -50%)`;
    });
  }

  // A browser drops the oldest picture when many pages are open, as in a long notebook.
  lose(event) {
    event.preventDefault();
    this.renderer = this.scene.renderer = null;
    const again = element("button", { type: "button", onclick: () => location.reload() }, "Draw the picture again");
    document.getElementById("stage").append(element("div", { id: "lost" }, again));
  }

  watchPointer() {
    const hint = document.getElementById("hint");
    let waiting = null;
    const look = () => {
      const event = waiting;
      waiting = null;
      const box = this.canvas.getBoundingClientRect();
      const x = (2 * (event.clientX - box.left)) / box.width - 1, y = 1 - (2 * (event.clientY - box.top)) / box.height;
      const hit = event.buttons ? null : this.scene.pick(this.camera.eye(), this.camera.ray(x, y));
      const index = hit ? hit.index : -1;
      hint.hidden = !hit;
      if (hit) {
        hint.textContent = hit.item.label;
        hint.style.transform = `translate(${event.clientX - box.left + 14}px, ${event.clientY - box.top + 14}px)`;
      }
      if (index !== this.hovered) {
        this.hovered = index;
        this.request();
      }
    };
    this.canvas.addEventListener("pointermove", (event) => {
      if (waiting === null) requestAnimationFrame(look);
      waiting = event;
    });
    this.canvas.addEventListener("pointerleave", () => {
      hint.hidden = true;
      this.hovered = -1;
      this.request();
    });
    this.canvas.addEventListener("dblclick", (event) => {
      const box = this.canvas.getBoundingClientRect();
      const x = (2 * (event.clientX - box.left)) / box.width - 1, y = 1 - (2 * (event.clientY - box.top)) / box.height;
      const eye = this.camera.eye(), ray = this.camera.ray(x, y), hit = this.scene.pick(eye, ray);
      if (!hit) return;
      this.camera.target = add(eye, scaled(ray, hit.distance));
      this.camera.distance = hit.distance;
      this.request();
    });
  }
}

function robotOf(app, actor) {
  const hit = app.scene.actors[actor];
  if (!hit) throw new Error(`expected an actor below ${app.scene.actors.length}, got ${actor}`);
  return hit;
}

// What scripts and tests use: poses as 4×4 arrays in the world, configurations, time and camera.
function publicInterface(app) {
  const { origin } = app.scene.data;
  const inWorld = (pose) => {
    origin.forEach((x, r) => { pose[r][3] += x; });
    return pose;
  };
  return {
    pose(name, actor = 0, instance = 0) {
      const robot = robotOf(app, actor);
      if (!robot.kinematics) throw new Error("pose: the actor has no robot");
      const start = instance * robot.bodies * 12;
      return inWorld(asMatrix(robot.kinematics.pose(name, robot.poses, start, robot.baseOf(instance))));
    },
    bodyPose(body, actor = 0, instance = 0) {
      const robot = robotOf(app, actor);
      return inWorld(asMatrix(robot.poses, (instance * robot.bodies + body) * 12));
    },
    q: (actor = 0, instance = 0) => Array.from(robotOf(app, actor).q(app.scene.frame, instance)),
    setQ(q, actor = 0, instance = 0) {
      const robot = robotOf(app, actor);
      if (!Array.isArray(q) || q.length !== robot.nq || !q.every(Number.isFinite)) {
        throw new Error(`setQ: expected ${robot.nq} finite numbers, got ${JSON.stringify(q)}`);
      }
      app.pause();
      robot.posture(app.scene.frame, instance).reset(q);
      app.refresh();
    },
    get frame() { return app.scene.frame; },
    get frames() { return app.scene.frames; },
    get time() { return app.time.now; },
    get playing() { return app.time.playing; },
    seek: (time) => app.time.seek(time),
    showFrame: (frame) => app.time.show(frame),
    // Place the camera: position and target [m], or the name of a view.
    look(view) {
      if (typeof view === "string") {
        app.camera.view(view);
        app.camera.frame(app.scene.corners);
        return;
      }
      const offset = subtract(view.position, view.target);
      app.camera.target = subtract(view.target, origin);
      app.camera.distance = norm(offset);
      app.camera.azimuth = Math.atan2(offset[1], offset[0]);
      app.camera.elevation = Math.asin(clamp(offset[2] / norm(offset), -1, 1));
      app.request();
    },
    get camera() { return { position: add(app.camera.eye(), origin), target: add(app.camera.target, origin) }; },
    // Show the picture alone, without panel and bars.
    bare(theme) {
      document.documentElement.classList.add("bare");
      if (theme) app.setTheme(theme);
      app.resize();
      app.camera.frame(app.scene.corners);
    },
    pick: (x, y) => app.scene.pick(app.camera.eye(), app.camera.ray(x, y))?.item.label ?? null,
    draw: () => app.draw(),
    surface(index) {
      const entries = Object.entries(app.scene.surfaces[index]).filter(([, value]) => ArrayBuffer.isView(value));
      return Object.fromEntries(entries.map(([name, value]) => [name, Array.from(value)]));
    },
  };
}

async function start() {
  const { scene, read } = await loadDocument();
  document.title = scene.title;
  const renderer = Renderer.on(document.getElementById("view"));
  const problem = renderer ? null : "This browser has no WebGL 2: the picture cannot be drawn.";
  const app = new App(scene, read, renderer, problem);
  if (renderer) {
    await Promise.all(scene.surfaces.map(async (surface, k) => {
      if (!surface.texture) return;
      try {
        const image = new Image();
        image.src = surface.texture;
        await image.decode();
        renderer.setPicture(k, image);
      } catch {
        document.getElementById("panel").append(element("p", { class: "note warn" }, "A texture could not be read."));
      }
    }));
  }
  const face = publicInterface(app);
  Object.defineProperties(window.linkwork, Object.getOwnPropertyDescriptors(face));
  app.draw();
  return true;
}

window.linkwork = {};
window.linkwork.ready = start();
