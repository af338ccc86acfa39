// Sliders of the joints of one robot, with limits and units, named configurations and reset.

const DEGREES = 180 / Math.PI;

class Sliders {
  constructor(app) {
    this.app = app;
    this.choices = app.scene.actors.flatMap((actor) => (actor.kinematics
      ? Array.from({ length: actor.instances }, (_, k) => ({ actor, instance: k })) : []));
    this.current = this.choices[0] ?? null;
    this.degrees = false;
    this.rows = [];
    this.body = element("div");
    this.stale = element("p", { class: "note", hidden: true }, "Distances and forces are hidden: they belong to the configuration before.");
  }

  section() {
    if (!this.current) return null;
    const choose = this.choices.length > 1 ? element("select", { "aria-label": "Robot", onchange: () => {
      this.current = this.choices[choose.selectedIndex];
      this.fill();
    } }, ...this.choices.map(({ actor, instance }) => element("option", {},
      actor.instances > 1 ? `${actor.name} ${instance + 1}` : actor.name))) : null;
    const unit = element("button", { type: "button", "aria-label": "Angles in degrees", "aria-pressed": "false", onclick: () => {
      this.degrees = !this.degrees;
      unit.setAttribute("aria-pressed", String(this.degrees));
      this.fill();
    } }, "deg");
    const reset = element("button", { type: "button", onclick: () => this.reset() }, "Reset joints");
    this.named = element("select", { "aria-label": "Named configuration", onchange: () => {
      const chosen = this.named.value;
      if (chosen) this.configure(this.current.actor.kinematics.robot.named[Number(chosen)].q);
      this.named.value = "";
    } });
    this.fill();
    return section("Joints", true, choose && element("div", { class: "row" }, choose), element("div", { class: "row" }, reset, unit, this.named),
      this.stale, this.body);
  }

  get robot() {
    return this.current.actor.kinematics.robot;
  }

  posture() {
    return this.current.actor.posture(this.app.scene.frame, this.current.instance);
  }

  reset() {
    this.current.actor.postures[this.current.instance] = null;
    this.app.refresh();
  }

  configure(q) {
    this.app.pause();
    this.posture().reset(q);
    this.app.refresh();
  }

  set(index, coordinate, value) {
    this.app.pause();
    this.posture().set(index, coordinate, value);
    this.app.refresh();
  }

  fill() {
    const robot = this.robot;
    this.named.replaceChildren(element("option", { value: "" }, "Configurations…"),
      ...robot.named.map((state, k) => element("option", { value: String(k) }, state.name)));
    this.named.hidden = !robot.named.length;
    this.rows = robot.joints.flatMap((joint, index) => joint.sliders.map((slider, k) => this.row(index, k, slider)));
    const silent = robot.notes.map((text) => element("p", { class: "note" }, text));
    this.body.replaceChildren(...this.rows.map((row) => row.node), ...silent);
    this.update();
  }

  row(index, k, slider) {
    const scale = slider.unit === "rad" && this.degrees ? DEGREES : 1;
    const unit = slider.unit === "rad" && this.degrees ? "°" : slider.unit;
    const shown = (x) => (x === null ? "∞" : (x * scale).toFixed(unit === "°" ? 1 : 3).replace("-", "−"));
    const id = `joint-${index}-${k}`;
    const range = element("input", {
      id, type: "range", min: slider.low, max: slider.high, step: "any", "aria-label": slider.name,
      oninput: () => this.set(index, k, Number(range.value)),
    });
    const number = element("input", {
      type: "number", step: "any", "aria-label": `${slider.name} value`,
      onchange: () => {
        const value = Number(number.value) / scale;
        if (number.value !== "" && Number.isFinite(value)) this.set(index, k, clamp(value, slider.lower ?? -1e6, slider.upper ?? 1e6));
        else this.update();
      },
    });
    const name = element("div", { class: "name" }, element("label", { for: id, title: slider.name }, slider.name), number,
      element("span", { class: "unit" }, unit));
    const limits = element("div", { class: "limits", "aria-hidden": "true" }, element("span", {}, shown(slider.lower ?? null).replace("∞", "−∞")),
      element("span", {}, shown(slider.upper ?? null)));
    const node = element("div", { class: "joint" }, name, range, limits);
    const update = () => {
      const value = this.shown.value(index, k);
      range.value = value;
      range.setAttribute("aria-valuetext", `${shown(value)} ${unit}`);
      if (document.activeElement !== number) number.value = (value * scale).toFixed(unit === "°" ? 2 : 4);
      const near = 1e-6 + 1e-3 * (slider.high - slider.low);
      const limited = slider.lower !== slider.upper;
      const outside = (slider.lower !== null && value <= slider.lower + near) || (slider.upper !== null && value >= slider.upper - near);
      node.classList.toggle("at-limit", limited && outside);
    };
    return { node, update };
  }

  update() {
    if (!this.current) return;
    const { actor, instance } = this.current;
    this.shown = actor.postures[instance] ?? new Posture(actor.kinematics, actor.q(this.app.scene.frame, instance));
    for (const row of this.rows) row.update();
  }
}
