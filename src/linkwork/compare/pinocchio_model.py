"""Pinocchio's model of a robot, with conversions of states and results between the two conventions.

- linkwork: joints in the order of `Robot.joints`, twists (ω; v), unit quaternions (w, x, y, z) before the position, an
  angle or (sin, cos) for a joint without limits;
- Pinocchio: joints in its own order, twists (v; ω), the position before (x, y, z, w), (cos, sin), and a free joint
  called "root_joint".

Pinocchio is imported when a model is built.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork import Joint
from linkwork.compare.library_model import CannotCompare, LibraryModel
from linkwork.formats.description import FLOATING_BASE

__all__ = ["PinocchioModel", "pinocchio_version"]


def pinocchio_version() -> str | None:
    """Return the version of the Pinocchio that is installed, or None."""
    try:
        return str(importlib.import_module("pinocchio").__version__)
    except (ImportError, AttributeError):  # another package has this name, too
        return None


class PinocchioModel(LibraryModel):
    """Pinocchio's model of a robot, from its file or from ``text``, with arrays (..., n) in linkwork's conventions.

    Mimic joints of the robot are mimic joints of the model. Raises CannotCompare.
    """

    def __init__(self, robot: Any, text: str | None = None) -> None:
        if pinocchio_version() is None:
            raise CannotCompare("Pinocchio is not installed: pip install pin")
        self.pin: Any = importlib.import_module("pinocchio")
        self.title = f"Pinocchio {pinocchio_version()}"
        self.robot = robot
        joints = [robot.joint(body.joint_name) for _, body in robot.tree.stacked()]
        free = [self.pin.JointModelFreeFlyer()] if joints and joints[0].name == FLOATING_BASE else []
        read = self.source_of(robot, "urdf").read_text(encoding="utf-8") if text is None else text
        try:
            self.model: Any = self.pin.buildModelFromXML(read, *free, mimic=robot.tree.has_couplings)
        except Exception as error:  # it raises what C++ throws
            raise CannotCompare(f"Pinocchio does not read this robot: {error}") from error
        self.model.gravity.linear = robot.gravity
        if self.model.njoints != len(robot.joints) + 1 or self.model.nv != robot.nv:
            raise CannotCompare(
                f"Pinocchio reads {self.model.njoints - 1} joints with {self.model.nv} velocities, "
                f"the robot has {len(robot.joints)} with {robot.nv}"
            )
        self.data: Any = self.model.createData()
        self.configurations = [(joint.q_slice, *self._configuration(joint)) for joint in joints]
        self._v = np.zeros(robot.nv, dtype=int)  # where each of our velocities stands there
        for joint in joints:
            order = _SWAP if joint.nv == 6 else range(joint.nv)
            self._v[joint.v_slice] = [self._joint(joint).idx_v + k for k in order]

    def _joint(self, joint: Joint) -> Any:
        name = "root_joint" if joint.name == FLOATING_BASE else joint.name
        if not self.model.existJointName(name):
            raise CannotCompare(f"Pinocchio has no joint {name!r}")
        return self.model.joints[self.model.getJointId(name)]

    def _configuration(self, joint: Joint) -> tuple[slice, Callable[[np.ndarray], np.ndarray]]:
        """Return the slice of a joint's configuration in Pinocchio, and the function that converts it."""
        theirs = self._joint(joint)
        translate = _CONFIGURATIONS.get((joint.nq, joint.nv, int(theirs.nq)))
        if translate is None:
            raise CannotCompare(f"no translation of the joint {joint.name!r}, a {joint.type_name}")
        return slice(theirs.idx_q, theirs.idx_q + theirs.nq), translate

    # -- from here to there, and back

    def q(self, q: np.ndarray) -> np.ndarray:
        """Convert linkwork's configurations (..., nq) to Pinocchio's."""
        result = np.empty((*q.shape[:-1], self.model.nq))
        for ours, theirs, translate in self.configurations:
            result[..., theirs] = translate(q[..., ours])
        return result

    def v(self, v: np.ndarray) -> np.ndarray:
        """Convert linkwork's velocities, accelerations or joint forces (..., nv) to Pinocchio's."""
        result = np.empty_like(v)
        result[..., self._v] = v
        return result

    def ours(self, v: np.ndarray) -> np.ndarray:
        """Convert Pinocchio's velocities (..., nv), or columns of a Jacobian, to linkwork's."""
        return v[..., self._v]

    @staticmethod
    def swapped(six: np.ndarray) -> np.ndarray:
        """Return twists or wrenches (6, ...) with linear and angular part exchanged."""
        return six[_SWAP]

    def each(self, function: Callable[..., Any], q: np.ndarray, *v: np.ndarray) -> np.ndarray:
        """Return the results of a Pinocchio function for each of linkwork's states."""
        states = zip(self.q(q), *map(self.v, v), strict=True)
        return np.array([np.array(function(self.model, self.data, *state)) for state in states])

    def frame(self, name: str) -> int:
        """Return Pinocchio's index of a link's frame."""
        if not self.model.existFrame(name, self.pin.FrameType.BODY):
            raise CannotCompare(f"Pinocchio has no link {name!r}")
        return int(self.model.getFrameId(name, self.pin.FrameType.BODY))

    # -- single configurations

    def poses(self, q: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        self.pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return {name: self.data.oMf[self.frame(name)].homogeneous.copy() for name in names if self._has(name)}

    def inertia_and_gravity(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q_pin = self.q(q)
        M = np.triu(np.array(self.pin.crba(self.model, self.data, q_pin)))
        M = M + np.triu(M, 1).T - np.diag(np.asarray(self.model.armature, dtype=float))
        gravity = np.array(self.pin.computeGeneralizedGravity(self.model, self.data, q_pin))
        return M[np.ix_(self._v, self._v)], self.ours(gravity)

    def _has(self, name: str) -> bool:
        return bool(self.model.existFrame(name, self.pin.FrameType.BODY))


_SWAP = [3, 4, 5, 0, 1, 2]  # linear first to angular first, and back
# By our nq and nv and Pinocchio's nq: a joint's configuration there, from ours.
_CONFIGURATIONS: dict[tuple[int, int, int], Callable[[np.ndarray], np.ndarray]] = {
    (1, 1, 1): lambda q: q,
    (1, 1, 2): lambda q: np.concatenate([np.cos(q), np.sin(q)], axis=-1),
    (2, 1, 2): lambda q: q[..., ::-1],
    (4, 3, 4): lambda q: q[..., [1, 2, 3, 0]],
    (7, 6, 7): lambda q: q[..., [4, 5, 6, 1, 2, 3, 0]],
}
