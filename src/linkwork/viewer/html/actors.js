// Robots of the document: configurations or poses by time, and postures that sliders set.

class Actor {
  constructor(data, read) {
    this.name = data.name;
    this.parts = data.parts;
    this.opacity = data.opacity;
    this.instances = data.instances;
    this.bodies = data.bodies;
    this.base = read(data.base);
    this.kinematics = data.robot ? new Kinematics(data.robot) : null;
    this.nq = data.robot ? data.robot.nq : 0;
    this.moving = data.moving;
    this.recordedQ = read(data.q);
    this.recordedPoses = read(data.poses);
    this.poses = new Float64Array(this.instances * this.bodies * 12);
    this.postures = new Array(this.instances).fill(null);
  }

  baseOf(instance) {
    return this.base.subarray(12 * instance, 12 * instance + 12);
  }

  // Offset of an instance among the configurations (or poses) of all times.
  at(frame, instance, size) {
    return ((this.moving ? frame : 0) * this.instances + instance) * size;
  }

  q(frame, instance) {
    const posture = this.postures[instance];
    if (posture) return posture.q;
    const start = this.at(frame, instance, this.nq);
    return this.recordedQ.subarray(start, start + this.nq);
  }

  posture(frame, instance) {
    this.postures[instance] ??= new Posture(this.kinematics, this.q(frame, instance));
    return this.postures[instance];
  }

  update(frame) {
    const size = this.bodies * 12;
    for (let k = 0; k < this.instances; k++) {
      if (this.recordedPoses && !this.postures[k]) {
        const start = this.at(frame, k, size);
        this.poses.set(this.recordedPoses.subarray(start, start + size), k * size);
      } else {
        this.kinematics.poses(Float64Array.from(this.q(frame, k)), 0, this.baseOf(k), this.poses, k * size);
      }
    }
  }

  // Poses of the body, or of the instances' bases for the world's own links, and the index where that pose begins.
  poseOf(body, instance) {
    return body < 0 ? [this.base, 12 * instance] : [this.poses, (instance * this.bodies + body) * 12];
  }

  // A rod is stretched from the origin of its placement to a point of another body.
  write(part, instance, out) {
    const [poses, first] = this.poseOf(part.body, instance);
    compose(poses, part.placement, out, 0, first, 0);
    if (!part.end) return;
    const [body, ...point] = part.end, start = [out[3], out[7], out[11]];
    const [endPoses, second] = this.poseOf(body, instance);
    const vector = subtract(applied(endPoses, point, second), start);
    out.set(along(vector, start, 1, Math.max(norm(vector), 1e-6)));
  }
}
