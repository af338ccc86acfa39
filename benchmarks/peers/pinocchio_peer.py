"""Pinocchio as a peer, if installed: its calls in their fastest form, ready to be timed.

`linkwork.compare.pinocchio_model` converts states and results between the two conventions.  Pinocchio is not
a dependency: it is imported when a model is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linkwork.cli.arguments import random_states
from linkwork.cli.function_timings import Call, method_call
from linkwork.compare.library_model import CannotCompare
from linkwork.compare.pinocchio_model import PinocchioModel as LibraryModel
from linkwork.compare.pinocchio_model import pinocchio_version
from linkwork.robot.robot import Robot
from linkwork.robot.robot_table import ROBOT

__all__ = [
    "COUNTERPARTS",
    "CannotCompare",
    "Pinocchio",
    "PinocchioModel",
    "agreement",
    "batch_calls",
    "disagreement",
    "pinocchio_version",
    "single_calls",
]


class PinocchioModel(LibraryModel):
    """Pinocchio's model of a robot, from the robot's file or from ``text``, with further functions.

    Mimic joints of the robot are mimic joints of the model.  Raises CannotCompare.
    """

    # -- its answers

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.ours(self.each(self.pin.rnea, q, v, a))

    def forward_dynamics(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self.ours(self.each(self.pin.aba, q, v, tau))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self._square(self._symmetric(self.each(self.pin.crba, q)))

    def forward_kinematics(self, q: np.ndarray) -> np.ndarray:
        frames = [self.frame(body) for body in self.robot.bodies]

        def poses(model: Any, data: Any, q: np.ndarray) -> list[np.ndarray]:
            self.pin.framesForwardKinematics(model, data, q)
            return [data.oMf[frame].homogeneous.copy() for frame in frames]

        return self.each(poses, q)

    def jacobian(self, q: np.ndarray, frame: str) -> np.ndarray:
        """Return the Jacobian in world axes at the frame's origin."""
        at = self.frame(frame), self.pin.LOCAL_WORLD_ALIGNED

        def one(model: Any, data: Any, q: np.ndarray) -> np.ndarray:
            return self.swapped(self.pin.computeFrameJacobian(model, data, q, *at))

        return self.ours(self.each(one, q))

    def jacobian_derivative(self, q: np.ndarray, v: np.ndarray, frame: str) -> np.ndarray:
        """Return the time derivative of the Jacobian in world axes at the frame's origin."""
        at = self.frame(frame), self.pin.LOCAL_WORLD_ALIGNED

        def one(model: Any, data: Any, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            self.pin.computeJointJacobiansTimeVariation(model, data, q, v)
            return self.swapped(self.pin.getFrameJacobianTimeVariation(model, data, *at))

        return self.ours(self.each(one, q, v))

    def mass_matrix_inverse(self, q: np.ndarray) -> np.ndarray:
        return self._square(self._symmetric(self.each(self.pin.computeMinverse, q)))

    def inverse_dynamics_derivatives(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        by_q, by_v, inertia = self._apart(self.pin.computeRNEADerivatives, q, v, a)
        return self._square(by_q), self._square(by_v), self._square(self._symmetric(inertia))

    def forward_dynamics_derivatives(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, ...]:
        by_q, by_v, inertia = self._apart(self.pin.computeABADerivatives, q, v, tau)
        return self._square(by_q), self._square(by_v), self._square(self._symmetric(inertia))

    def _apart(self, function: Callable[..., Any], *state: np.ndarray) -> np.ndarray:
        """The results of a function that has several, which it may keep: one after the other."""
        return np.moveaxis(self.each(lambda *arrays: [np.array(x) for x in function(*arrays)], *state), 1, 0)

    def coriolis_matrix(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self._square(self.each(self.pin.computeCoriolisMatrix, q, v))

    def center_of_mass_jacobian(self, q: np.ndarray) -> np.ndarray:
        """Return the Jacobian with bodies fixed to the world counted, which Pinocchio leaves out."""
        share = (self.robot.mass - self.robot.tree.fixed_inertia.mass) / self.robot.mass
        jacobians: np.ndarray = share * self.ours(self.each(self.pin.jacobianCenterOfMass, q))
        return jacobians

    def centroidal_momentum_matrix(self, q: np.ndarray) -> np.ndarray:
        """Return the matrix about the center of mass with fixed bodies, which Pinocchio leaves out."""
        fixed, moving = self.robot.tree.fixed_inertia, self.robot.mass - self.robot.tree.fixed_inertia.mass

        def one(model: Any, data: Any, q: np.ndarray) -> np.ndarray:
            A = self.swapped(self.pin.computeCentroidalMap(model, data, q))
            center = self.pin.centerOfMass(model, data, q)
            away = center - (moving * center + np.array([*fixed.moment])) / self.robot.mass
            A[:3] += np.cross(away, A[3:], axis=0)
            return A

        return self.ours(self.each(one, q))

    def inverse_dynamics_regressor(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Body by body: mass, first moments, and xx, xy, xz, yy, yz, zz of the inertia about the body's origin."""
        Y = self.each(self.pin.computeJointTorqueRegressor, q, v, a)[:, self._v]
        columns = [10 * (self._joint(self.robot.joint(body.joint_name)).id - 1) for body in self.robot.tree.bodies]
        result: np.ndarray = Y[..., (np.array(columns)[:, None] + _PARAMETERS).ravel()]
        return result

    def _symmetric(self, matrices: np.ndarray) -> np.ndarray:
        """Return symmetric matrices from their upper triangles."""
        upper = np.triu(matrices)
        result: np.ndarray = upper + np.swapaxes(np.triu(upper, 1), -1, -2)
        return result

    def _square(self, matrices: np.ndarray) -> np.ndarray:
        """Matrices (..., nv, nv) in our order of velocities, for rows and columns."""
        result: np.ndarray = matrices[..., self._v[:, None], self._v]
        return result


_PARAMETERS = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # of xx, xy, yy, xz, yz, zz there, in our order


States = Mapping[str, np.ndarray]


class Pinocchio(PinocchioModel):
    """A robot as Pinocchio has it.  Raises CannotCompare."""

    def states(self, states: States) -> dict[str, np.ndarray]:
        """Our states as Pinocchio has them, in rows."""
        return {name: self.q(x) if name == "q" else self.v(x) for name, x in states.items()}

    def results(self, function: str, states: States, *frames: str) -> np.ndarray | tuple[np.ndarray, ...]:
        """Return Pinocchio's results for each of our states in our conventions: an independent reference.

        ``asked`` is the frame, for functions that have one.  Functions with several results return several arrays.
        """
        if function not in COUNTERPARTS:
            raise CannotCompare(f"no counterpart of {function}")
        if function == "forward_dynamics" and self.robot.tree.has_couplings:
            raise CannotCompare("Pinocchio has no forward dynamics where joints follow others")
        if ROBOT[function].needs_inertias and any(w.code == "INERTIA_NEAREST" for w in self.robot.report.warnings):
            raise CannotCompare("Pinocchio has the inertias that the file gives, not the nearest that a body can have")
        result: np.ndarray | tuple[np.ndarray, ...] = getattr(self, function)(*states.values(), *frames)
        return result

    def single(self, function: str, state: States, *frames: str) -> Call:
        """One call with arrays of one state."""
        return Call(_SINGLE[function], {**self._names(*frames), **self.states(state)})

    def pose(self, frame: str, state: States) -> Call:
        """The pose of a frame in the world as a 4 x 4 matrix, for one state: it is left in ``data.oMf[frame]``."""
        statements = (
            "pin.forwardKinematics(model, data, q)",
            "pin.updateFramePlacement(model, data, frame)",
            "data.oMf[frame].homogeneous",
        )
        return Call("; ".join(statements), {**self._names(), **self.states(state), "frame": self.frame(frame)})

    def batch(self, function: str, states: States, *frames: str) -> Call:
        """A batch in one thread: the calls that take batches, with a state in each column; for the rest a loop.

        Outputs are written to an array made before; the loop leaves each result to the next.
        """
        rows = self.states(states)
        names = self._names(*frames)
        if function in _IN_PARALLEL:
            columns = {name: np.asfortranarray(x.T) for name, x in rows.items()}
            names |= {"pool": self.pin.ModelPool(self.model, 1), **columns}
            names["out"] = np.zeros((self.model.nv, len(rows["q"])), order="F")
            return Call(f"pin.{_IN_PARALLEL[function]}(1, pool, {', '.join(rows)}, out)", names)
        each = list(rows["q"]) if len(rows) == 1 else list(zip(*map(list, rows.values()), strict=True))
        return Call(f"for {', '.join(rows)} in rows: {_SINGLE[function]}", {**names, "rows": each})

    def _names(self, *frames: str) -> dict[str, Any]:
        names = {"pin": self.pin, "model": self.model, "data": self.data}
        return names | {"frame": self.frame(*frames), "aligned": self.pin.LOCAL_WORLD_ALIGNED} if frames else names


def disagreement(ours: np.ndarray | tuple[np.ndarray, ...], reference: np.ndarray | tuple[np.ndarray, ...]) -> float:
    """Return the maximum difference over samples and results, relative to the sample's largest value (at least 1)."""
    if isinstance(ours, tuple) or isinstance(reference, tuple):
        return max(
            disagreement(our_result, their_result) for our_result, their_result in zip(ours, reference, strict=True)
        )
    if ours.shape != reference.shape:
        return float("inf")
    axes = tuple(range(1, ours.ndim))
    scale = np.maximum(np.abs(reference).max(axis=axes, initial=0.0), 1.0)
    errors = np.abs(ours - reference).max(axis=axes, initial=0.0) / scale
    return float(errors.max(initial=0.0)) if np.isfinite(errors).all() else float("inf")


def agreement(robot: Robot, peer: Pinocchio, function: str, *frames: str, samples: int = 32) -> tuple[float, float]:
    """Return the maximum relative difference over random states, and its bound from rounding.

    The bound is 100 rounding errors per degree of freedom, multiplied by the condition number of the mass matrix for
    functions that solve with it.  Here and below, ``asked`` is the frame, for functions that have one.
    """
    states = random_states(robot, function, 1, samples)
    ours = getattr(robot, function)(*states.values(), *frames)
    error = disagreement(ours, peer.results(function, states, *frames))
    bound = 100 * np.finfo(float).eps * max(robot.nv, 1)
    if function in ("forward_dynamics", "forward_dynamics_derivatives", "mass_matrix_inverse"):
        bound *= float(np.max(np.linalg.cond(robot.mass_matrix(states["q"]))))
    return error, float(bound)


def batch_calls(
    robot: Robot, peer: Pinocchio | None, function: str, size: int, *frames: str
) -> tuple[Call, Call | None]:
    """A batch, ours and the peer's, with the same states: one thread, row-major arrays in, a new array out."""
    states = random_states(robot, function, 2, size)
    return method_call(robot, function, states, *frames), None if peer is None else peer.batch(
        function, states, *frames
    )


def single_calls(robot: Robot, peer: Pinocchio | None, function: str, *frames: str) -> tuple[Call, Call | None]:
    """One call from Python with arrays of one state, ours and the peer's: a new array out."""
    state = random_states(robot, function, 3)
    return method_call(robot, function, state, *frames), None if peer is None else peer.single(function, state, *frames)


_SINGLE = {
    "inverse_dynamics": "pin.rnea(model, data, q, v, a)",
    "forward_dynamics": "pin.aba(model, data, q, v, tau)",
    "mass_matrix": "pin.crba(model, data, q)",
    "forward_kinematics": "pin.forwardKinematics(model, data, q)",
    "jacobian": "pin.computeFrameJacobian(model, data, q, frame, aligned)",
    "jacobian_derivative": (
        "pin.computeJointJacobiansTimeVariation(model, data, q, v); "
        "pin.getFrameJacobianTimeVariation(model, data, frame, aligned)"
    ),
    "mass_matrix_inverse": "pin.computeMinverse(model, data, q)",
    "coriolis_matrix": "pin.computeCoriolisMatrix(model, data, q, v)",
    "centroidal_momentum_matrix": "pin.computeCentroidalMap(model, data, q)",
    "center_of_mass_jacobian": "pin.jacobianCenterOfMass(model, data, q)",
    "inverse_dynamics_regressor": "pin.computeJointTorqueRegressor(model, data, q, v, a)",
    "inverse_dynamics_derivatives": "pin.computeRNEADerivatives(model, data, q, v, a)",
    "forward_dynamics_derivatives": "pin.computeABADerivatives(model, data, q, v, tau)",
}
COUNTERPARTS = tuple(_SINGLE)
"""The functions that Pinocchio has too."""

_IN_PARALLEL = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}
