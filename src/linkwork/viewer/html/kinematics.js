// Forward kinematics of a robot. The functions of its joints are generated from their equations in linkwork.

class Kinematics {
  constructor(robot) {
    this.robot = robot;
    this.transforms = robot.bodies.map((body) => FUNCTIONS[body.transform]);
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

// The configuration of one instance of an actor, as sliders change it.
class Posture {
  constructor(kinematics, q) {
    this.kinematics = kinematics;
    this.reset(q);
  }

  reset(q) {
    this.q = Float64Array.from(q);
    this.origin = Float64Array.from(q);
    this.tangents = this.kinematics.robot.joints.map((joint) => new Float64Array(joint.sliders.length));
  }

  value(index, coordinate) {
    const joint = this.kinematics.robot.joints[index];
    return joint.integrate === null ? this.q[joint.q + coordinate] : this.tangents[index][coordinate];
  }

  // A joint with a slider for each coordinate of q is set directly. Other joints, such as a ball joint, are moved from
  // the configuration of the last reset by the slider's values: rotation vectors and displacements.
  set(index, coordinate, value) {
    const joint = this.kinematics.robot.joints[index];
    if (joint.integrate === null) {
      this.q[joint.q + coordinate] = value;
      return;
    }
    this.tangents[index][coordinate] = value;
    const from = this.origin.subarray(joint.q, joint.q + joint.nq);
    this.q.set(FUNCTIONS[joint.integrate]([...from, ...this.tangents[index]]), joint.q);
  }
}
