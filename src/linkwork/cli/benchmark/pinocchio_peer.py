"""Pinocchio beside linkwork, where it is installed: its calls in the form that is fastest there, ready to be timed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.cli.benchmark.paired_timing import Call
from linkwork.cli.benchmark.pinocchio_peer_pinocchio_model import CannotCompare, PinocchioModel, pinocchio_version
from linkwork.robot_table import ROBOT

__all__ = ["COUNTERPARTS", "FUNCTIONS", "CannotCompare", "Pinocchio", "disagreement", "pinocchio_version"]

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_kinematics")
"""What `linkwork bench` measures."""

States = Mapping[str, np.ndarray]


class Pinocchio(PinocchioModel):
    """A robot as Pinocchio has it.  Raises CannotCompare."""

    def states(self, states: States) -> dict[str, np.ndarray]:
        """Our states as Pinocchio has them, in rows."""
        return {name: self.q(x) if name == "q" else self.v(x) for name, x in states.items()}

    def results(self, function: str, states: States, *asked: str) -> np.ndarray | tuple[np.ndarray, ...]:
        """What Pinocchio computes for each of our states, translated back: an independent reference.

        ``asked`` is the frame, of functions that have one; those that have several results give several arrays.
        """
        if function not in COUNTERPARTS:
            raise CannotCompare(f"no counterpart of {function}")
        if function == "forward_dynamics" and self.robot.tree.has_couplings:
            raise CannotCompare("Pinocchio has no forward dynamics where joints follow others")
        if ROBOT[function].of_inertias and any(w.code == "INERTIA_NEAREST" for w in self.robot.report.warnings):
            raise CannotCompare("Pinocchio has the inertias that the file gives, not the nearest that a body can have")
        found: np.ndarray | tuple[np.ndarray, ...] = getattr(self, function)(*states.values(), *asked)
        return found

    def single(self, function: str, state: States, *asked: str) -> Call:
        """One call with arrays of one state."""
        return Call(_SINGLE[function], {**self._names(*asked), **self.states(state)})

    def pose(self, frame: str, state: States) -> Call:
        """The pose of a frame in the world as a 4 x 4 matrix, for one state: it is left in ``data.oMf[frame]``."""
        statements = (
            "pin.forwardKinematics(model, data, q)",
            "pin.updateFramePlacement(model, data, frame)",
            "data.oMf[frame].homogeneous",
        )
        return Call("; ".join(statements), {**self._names(), **self.states(state), "frame": self.frame(frame)})

    def batch(self, function: str, states: States, *asked: str) -> Call:
        """A batch in one thread: the calls that take batches, with a state in each column; for the rest a loop.

        Outputs are written to an array made before; the loop leaves each result to the next.
        """
        rows = self.states(states)
        names = self._names(*asked)
        if function in _IN_PARALLEL:
            columns = {name: np.asfortranarray(x.T) for name, x in rows.items()}
            names |= {"pool": self.pin.ModelPool(self.model, 1), **columns}
            names["out"] = np.zeros((self.model.nv, len(rows["q"])), order="F")
            return Call(f"pin.{_IN_PARALLEL[function]}(1, pool, {', '.join(rows)}, out)", names)
        each = list(rows["q"]) if len(rows) == 1 else list(zip(*map(list, rows.values()), strict=True))
        return Call(f"for {', '.join(rows)} in rows: {_SINGLE[function]}", {**names, "rows": each})

    def _names(self, *asked: str) -> dict[str, Any]:
        names = {"pin": self.pin, "model": self.model, "data": self.data}
        return names | {"frame": self.frame(*asked), "aligned": self.pin.LOCAL_WORLD_ALIGNED} if asked else names


def disagreement(ours: np.ndarray | tuple[np.ndarray, ...], reference: np.ndarray | tuple[np.ndarray, ...]) -> float:
    """The largest difference over samples, relative to the sample's largest number (at least 1); of several results,
    the largest of theirs."""
    if isinstance(ours, tuple) or isinstance(reference, tuple):
        return max(disagreement(one, other) for one, other in zip(ours, reference, strict=True))
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
