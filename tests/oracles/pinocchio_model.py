"""Pinocchio's answers, in linkwork's conventions.  All of what is adapted is here:

- motions and forces have the linear part first there, and the angular part here;
- a free joint's configuration is (position, quaternion x y z w) there, (quaternion w x y z, position) here; its
  velocity is the twist in the body's own axes in both;
- a continuous joint's configuration is (cos, sin) there, an angle here, which is the same up to whole turns;
- joints stand in an order of its own there, and are found by their names.  Its free joint is called "root_joint".
"""

from __future__ import annotations

import functools

import numpy as np
import pinocchio as pin

from linkwork import Robot
from linkwork.joints import Floating

from .example_robots import Example

__all__ = ["Pinocchio"]

LOCAL, WORLD, ALIGNED = pin.ReferenceFrame.LOCAL, pin.ReferenceFrame.WORLD, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
_SWAP = [3, 4, 5, 0, 1, 2]  # linear first to angular first, and back


class Pinocchio:
    """An example's model, asked with arrays (samples, ...) as linkwork has them."""

    VIEWS = (LOCAL, WORLD, ALIGNED)

    def __init__(self, example: Example, robot: Robot | None = None) -> None:
        """``robot`` is the example loaded otherwise: where its joints follow others, so do those there."""
        robot, text = robot or example.robot(), example.text()
        free, mimic = pin.JointModelFreeFlyer(), robot.tree.has_couplings
        built = functools.partial(pin.buildModelFromXML, mimic=mimic)
        self.model = built(text, free) if example.floating else built(text)
        self.data = self.model.createData()
        self.joints = []  # (our slice of q, its start there, its size there, whether it floats)
        self.of_v = np.zeros(self.model.nv, dtype=int)  # v there = v here[of_v]
        for joint in (robot.joint(body.joint_name) for _, body in robot.tree.stacked()):
            name = "root_joint" if joint.name == "floating_base" else joint.name
            assert self.model.existJointName(name), name
            there = self.model.joints[self.model.getJointId(name)]
            floats = isinstance(joint.type, Floating)
            self.joints.append((joint.q_slice, there.idx_q, there.nq, floats))
            numbers = np.r_[joint.v_slice]
            self.of_v[there.idx_v : there.idx_v + there.nv] = numbers[_SWAP] if floats else numbers
        self.to_v = np.argsort(self.of_v)

    # -- from here to there

    def q(self, q: np.ndarray) -> np.ndarray:
        there = np.zeros((len(q), self.model.nq))
        for ours, start, size, floats in self.joints:
            value = q[:, ours]
            if floats:
                value = value[:, [4, 5, 6, 1, 2, 3, 0]]
            elif size == 2:
                value = np.concatenate([np.cos(value), np.sin(value)], axis=-1)
            there[:, start : start + size] = value
        return there

    def v(self, v: np.ndarray) -> np.ndarray:
        return v[:, self.of_v]

    # -- its answers, sample by sample

    def pose(self, q: np.ndarray, frame: str) -> np.ndarray:
        def one(q):
            pin.forwardKinematics(self.model, self.data, q)
            return pin.updateFramePlacement(self.model, self.data, self._frame(frame)).homogeneous.copy()

        return self._each(one, self.q(q))

    def forward_kinematics(self, q: np.ndarray, bodies: tuple[str, ...]) -> np.ndarray:
        def one(q):
            pin.framesForwardKinematics(self.model, self.data, q)
            return np.array([self.data.oMf[self._frame(body)].homogeneous for body in bodies])

        return self._each(one, self.q(q))

    def twist(self, q, v, frame, view) -> np.ndarray:
        def one(q, v):
            pin.forwardKinematics(self.model, self.data, q, v)
            return pin.getFrameVelocity(self.model, self.data, self._frame(frame), view).vector[_SWAP]

        return self._each(one, self.q(q), self.v(v))

    def acceleration(self, q, v, a, frame, view) -> np.ndarray:
        def one(q, v, a):
            pin.forwardKinematics(self.model, self.data, q, v, a)
            return pin.getFrameClassicalAcceleration(self.model, self.data, self._frame(frame), view).vector[_SWAP]

        return self._each(one, self.q(q), self.v(v), self.v(a))

    def jacobian(self, q, frame, view) -> np.ndarray:
        def one(q):
            J = pin.computeFrameJacobian(self.model, self.data, q, self._frame(frame), view)
            return J[_SWAP][:, self.to_v]

        return self._each(one, self.q(q))

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        return self._each(lambda *x: pin.rnea(self.model, self.data, *x)[self.to_v], self.q(q), self.v(v), self.v(a))

    def forward_dynamics(self, q, v, tau) -> np.ndarray:
        return self._each(lambda *x: pin.aba(self.model, self.data, *x)[self.to_v], self.q(q), self.v(v), self.v(tau))

    def mass_matrix(self, q) -> np.ndarray:
        def one(q):
            upper = np.triu(pin.crba(self.model, self.data, q))
            M = upper + np.triu(upper, 1).T
            return M[np.ix_(self.to_v, self.to_v)]

        return self._each(one, self.q(q))

    def bias_force(self, q, v) -> np.ndarray:
        return self._each(lambda *x: pin.nonLinearEffects(self.model, self.data, *x)[self.to_v], self.q(q), self.v(v))

    def gravity_force(self, q) -> np.ndarray:
        return self._each(lambda q: pin.computeGeneralizedGravity(self.model, self.data, q)[self.to_v], self.q(q))

    def integrate(self, q, v) -> np.ndarray:
        """In its own coordinates: compare with ``self.q`` of ours."""
        return self._each(lambda *x: pin.integrate(self.model, *x), self.q(q), self.v(v))

    def difference(self, q0, q1) -> np.ndarray:
        """Turns of continuous joints are the short way round."""
        return self._each(lambda *x: pin.difference(self.model, *x)[self.to_v], self.q(q0), self.q(q1))

    @functools.cache  # noqa: B019 - the models live as long as the tests
    def _frame(self, name: str) -> int:
        assert self.model.existFrame(name, pin.FrameType.BODY), name
        return self.model.getFrameId(name, pin.FrameType.BODY)

    @staticmethod
    def _each(function, *arrays: np.ndarray) -> np.ndarray:
        return np.array([np.array(function(*sample)) for sample in zip(*arrays, strict=True)])
