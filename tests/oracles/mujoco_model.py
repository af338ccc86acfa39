"""MuJoCo's results in linkwork's conventions.

- shapes are stripped from the file, so that no mesh is looked for; every link stays a body of its own
  (``fusestatic="false"``) with the inertia that the file gives it (``balanceinertia="false"``);
- what MuJoCo adds to rigid bodies is switched off: damping, friction, armature, springs, limits and contacts;
- a free joint's configuration is (position, quaternion w x y z) there.  Its velocity is linear first, in the world's
  axes, then angular in the body's own; so with v_there = T v and R the body's rotation, a_there = T a + R (ω × v),
  forces are τ = Tᵀ τ_there, and the mass matrix is Tᵀ M_there T;
- joints are found by their names; accelerations there have gravity in them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from linkwork.joints import Floating

from .example_robots import Example

__all__ = ["MuJoCo"]


class MuJoCo:
    """An example's model, evaluated on arrays (samples, ...) as linkwork has them."""

    def __init__(self, example: Example) -> None:
        self.robot = example.robot()
        self.model = model = _model(example)
        self.data = mujoco.MjData(model)
        assert model.nv == self.robot.nv
        self.joints = []  # (ours, its start in q there, its start in v there, whether it floats)
        for joint in self.robot.joints:
            floats = isinstance(joint.type, Floating)
            joint_id = 0 if floats else model.joint(joint.name).id
            assert (model.jnt_type[joint_id] == mujoco.mjtJoint.mjJNT_FREE) == floats
            self.joints.append((joint, model.jnt_qposadr[joint_id], model.jnt_dofadr[joint_id], floats))

    # -- from here to there

    def _put(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Sets a state, and gives T."""
        data, T, remaining = self.data, np.zeros((self.model.nv, self.model.nv)), np.zeros(self.model.nv)
        for joint, at_q, at_v, floats in self.joints:
            value, values = q[joint.q_slice], np.r_[joint.v_slice]
            if not floats:
                data.qpos[at_q] = value[0]
                T[at_v, values[0]] = 1.0
                continue
            data.qpos[at_q : at_q + 7] = value[[4, 5, 6, 0, 1, 2, 3]]
            R = _rotation(value[:4])
            T[np.ix_(range(at_v, at_v + 3), values[3:])] = R
            T[np.ix_(range(at_v + 3, at_v + 6), values[:3])] = np.eye(3)
            remaining[at_v : at_v + 3] = R @ np.cross(v[values[:3]], v[values[3:]])
        data.qvel[:] = T @ v
        data.qacc[:] = T @ a + remaining
        mujoco.mj_inverse(self.model, data)
        return T

    # -- its answers, sample by sample

    def everything(self, q, v, a, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
        """Return results by the names of linkwork's functions; for frames, one after the other."""
        samples = [self._sample(*x, frames) for x in zip(q, v, a, strict=True)]
        return {name: np.array([sample[name] for sample in samples]) for name in samples[0]}

    def _sample(self, q, v, a, frames: tuple[str, ...]) -> dict[str, np.ndarray]:
        model, data, result = self.model, self.data, {}
        zero = np.zeros_like(v)
        T = self._put(q, zero, zero)
        result["gravity_force"] = T.T @ data.qfrc_inverse
        self._put(q, v, zero)
        result["bias_force"] = T.T @ data.qfrc_inverse
        self._put(q, v, a)
        result["inverse_dynamics"] = T.T @ data.qfrc_inverse
        columns = np.zeros((model.nv, model.nv))
        for k in range(model.nv):
            mujoco.mj_mulM(model, data, columns[k], np.ascontiguousarray(T[:, k]))
        result["mass_matrix"] = T.T @ columns.T
        result["forward_kinematics"] = np.array([self._pose(name) for name in self.robot.bodies])
        mujoco.mj_rnePostConstraint(model, data)
        ids = [model.body(name).id for name in frames]
        result["pose"] = np.array([self._pose(name) for name in frames])
        kind, six = mujoco.mjtObj.mjOBJ_XBODY, np.zeros(6)
        twists, accelerations, jacobians = [], [], []
        for body in ids:
            mujoco.mj_objectVelocity(model, data, kind, body, six, 0)
            twists.append(six.copy())
            mujoco.mj_objectAcceleration(model, data, kind, body, six, 0)
            accelerations.append(six + np.array([0.0, 0.0, 0.0, *model.opt.gravity]))
            linear, angular = np.zeros((2, 3, model.nv))
            mujoco.mj_jacBody(model, data, linear, angular, body)
            jacobians.append(np.concatenate([angular, linear]) @ T)
        result |= {"twist": np.array(twists), "acceleration": np.array(accelerations), "jacobian": np.array(jacobians)}
        return result

    def _pose(self, name: str) -> np.ndarray:
        body, X = self.data.body(name), np.eye(4)
        X[:3, :3], X[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return X


def _model(example: Example) -> mujoco.MjModel:
    xml = ET.fromstring(example.text())
    for link in xml.findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for old in xml.findall("mujoco"):
        xml.remove(old)
    ET.SubElement(ET.SubElement(xml, "mujoco"), "compiler", fusestatic="false", balanceinertia="false")
    spec = mujoco.MjSpec.from_string(ET.tostring(xml, encoding="unicode"))
    if example.floating:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    for extra in (model.dof_damping, model.dof_armature, model.dof_frictionloss, model.jnt_stiffness):
        extra[:] = 0.0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.opt.gravity[:] = example.robot().gravity
    return model


def _rotation(quaternion: np.ndarray) -> np.ndarray:
    nine = np.zeros(9)
    mujoco.mju_quat2Mat(nine, quaternion)
    return nine.reshape(3, 3)
