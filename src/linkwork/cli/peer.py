"""Pinocchio beside linkwork: a robot as its model, states and results translated between the two conventions.

Here: body order and joints as `Robot.joints`, (ω; v), unit quaternions (w, x, y, z) before the position.  There: joints
in alphabetical order, (v; ω), the position before (x, y, z, w), and (cos, sin) for an angle without limits.
Pinocchio is no dependency: where it is not installed there is no peer.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..facade.joint import Joint
from ..facade.robot import Robot
from ..model.build import FLOATING_BASE
from .timing import Call

__all__ = ["FUNCTIONS", "CannotCompare", "Pinocchio", "disagreement", "pinocchio_version"]

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_kinematics")

States = Mapping[str, np.ndarray]


class CannotCompare(Exception):
    """Pinocchio is not installed, or does not have this robot."""


def pinocchio_version() -> str | None:
    """The version of the Pinocchio that is installed, if one is."""
    try:
        return str(importlib.import_module("pinocchio").__version__)
    except (ImportError, AttributeError):  # another package has this name, too
        return None


class Pinocchio:
    """A robot as Pinocchio has it.  Raises CannotCompare."""

    def __init__(self, robot: Robot) -> None:
        if pinocchio_version() is None:
            raise CannotCompare("Pinocchio is not installed")
        self.pin: Any = importlib.import_module("pinocchio")
        free = bool(robot.joints) and robot.joints[0].name == FLOATING_BASE
        arguments = [self.pin.JointModelFreeFlyer()] if free else []
        try:
            self.model: Any = self.pin.buildModelFromUrdf(robot.tree.source, *arguments)
        except Exception as error:  # it raises what C++ throws
            raise CannotCompare(f"Pinocchio does not read this robot: {error}") from error
        self.model.gravity.linear = robot.gravity
        if self.model.njoints != len(robot.joints) + 1 or self.model.nv != robot.nv:
            raise CannotCompare("Pinocchio reads another number of joints")
        self.data: Any = self.model.createData()
        self.robot = robot
        self._ids = [self._id(joint) for joint in robot.joints]
        self._v = np.zeros(robot.nv, dtype=int)  # where each of our velocities stands there
        for joint, there in zip(robot.joints, self._ids, strict=True):
            start = int(self.model.joints[there].idx_v)
            order = (3, 4, 5, 0, 1, 2) if joint.nv == 6 else range(joint.nv)
            self._v[joint.v_slice] = [start + k for k in order]

    def _id(self, joint: Joint) -> int:
        name = "root_joint" if joint.name == FLOATING_BASE else joint.name
        there = int(self.model.getJointId(name))
        if there >= self.model.njoints:
            raise CannotCompare(f"Pinocchio has no joint {name!r}")
        sizes = (joint.nq, joint.nv, int(self.model.joints[there].nq))
        if sizes not in _CONFIGURATIONS:
            raise CannotCompare(f"no translation of the joint {name!r}, a {joint.type_name}")
        return there

    # -- states and results

    def states(self, states: States) -> dict[str, np.ndarray]:
        """Our states as Pinocchio has them, in rows."""
        return {name: self._configuration(x) if name == "q" else self._velocity(x) for name, x in states.items()}

    def _configuration(self, q: np.ndarray) -> np.ndarray:
        result = np.empty((*q.shape[:-1], self.model.nq))
        for joint, there in zip(self.robot.joints, self._ids, strict=True):
            entry = self.model.joints[there]
            translate = _CONFIGURATIONS[joint.nq, joint.nv, int(entry.nq)]
            result[..., entry.idx_q : entry.idx_q + entry.nq] = translate(q[..., joint.q_slice])
        return result

    def _velocity(self, v: np.ndarray) -> np.ndarray:
        result = np.empty_like(v)
        result[..., self._v] = v
        return result

    def results(self, function: str, states: States) -> np.ndarray:
        """What Pinocchio computes for each of our states, translated back: an independent reference."""
        pin, model, data = self.pin, self.model, self.data
        found = []
        for state in zip(*self.states(states).values(), strict=True):
            if function == "inverse_dynamics":
                found.append(pin.rnea(model, data, *state)[self._v])
            elif function == "forward_dynamics":
                found.append(pin.aba(model, data, *state)[self._v])
            elif function == "mass_matrix":
                upper = np.triu(pin.crba(model, data, *state))
                found.append((upper + np.triu(upper, 1).T)[np.ix_(self._v, self._v)])
            elif function == "forward_kinematics":
                pin.forwardKinematics(model, data, *state)
                found.append(np.array([data.oMi[there].homogeneous for there in self._ids]))
            else:
                raise CannotCompare(f"no counterpart of {function}")
        return np.array(found)

    # -- what is timed, in the form that is fastest there

    def single(self, function: str, state: States) -> Call:
        """One call with arrays of one state."""
        names = {"pin": self.pin, "model": self.model, "data": self.data, **self.states(state)}
        return Call(_SINGLE[function], names)

    def pose(self, frame: str, state: States) -> Call:
        """The pose of a frame in the world as a 4 x 4 matrix, for one state: it is left in ``data.oMf[frame]``."""
        names = {"pin": self.pin, "model": self.model, "data": self.data, **self.states(state)}
        statements = (
            "pin.forwardKinematics(model, data, q)",
            "pin.updateFramePlacement(model, data, frame)",
            "data.oMf[frame].homogeneous",
        )
        return Call("; ".join(statements), {**names, "frame": self.model.getFrameId(frame)})

    def batch(self, function: str, states: States) -> Call:
        """A batch in one thread: the calls that take batches, with a state in each column; for the rest a loop.

        Outputs are written to an array made before; the loop leaves each result to the next.
        """
        rows = self.states(states)
        names = {"pin": self.pin, "model": self.model, "data": self.data}
        if function in _IN_PARALLEL:
            columns = {name: np.asfortranarray(x.T) for name, x in rows.items()}
            names |= {"pool": self.pin.ModelPool(self.model, 1), **columns}
            names["out"] = np.zeros((self.model.nv, len(rows["q"])), order="F")
            return Call(f"pin.{_IN_PARALLEL[function]}(1, pool, {', '.join(rows)}, out)", names)
        return Call(f"for q in rows: {_SINGLE[function]}", {**names, "rows": list(rows["q"])})


def disagreement(ours: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference over samples, relative to the sample's largest number (at least 1)."""
    if ours.shape != reference.shape:
        return float("inf")
    axes = tuple(range(1, ours.ndim))
    scale = np.maximum(np.abs(reference).max(axis=axes, initial=0.0), 1.0)
    errors = np.abs(ours - reference).max(axis=axes, initial=0.0) / scale
    return float(errors.max(initial=0.0)) if np.isfinite(errors).all() else float("inf")


_SINGLE = {
    "inverse_dynamics": "pin.rnea(model, data, q, v, a)",
    "forward_dynamics": "pin.aba(model, data, q, v, tau)",
    "mass_matrix": "pin.crba(model, data, q)",
    "forward_kinematics": "pin.forwardKinematics(model, data, q)",
}
_IN_PARALLEL = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}

# By our nq and nv and Pinocchio's nq: a joint's configuration there, from ours.
_CONFIGURATIONS: dict[tuple[int, int, int], Callable[[np.ndarray], np.ndarray]] = {
    (1, 1, 1): lambda q: q,
    (1, 1, 2): lambda q: np.concatenate([np.cos(q), np.sin(q)], axis=-1),
    (4, 3, 4): lambda q: q[..., [1, 2, 3, 0]],
    (7, 6, 7): lambda q: q[..., [4, 5, 6, 1, 2, 3, 0]],
}
