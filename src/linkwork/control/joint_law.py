"""Base class of controllers of joint positions, with the forces of actuators for accelerations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from linkwork.control.controller_base import ControlLaw, Shapes
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.semidefinite_solve import MORE, Semidefinite
from linkwork.expr.linalg.sparse_dot import reciprocal_or_zero
from linkwork.expr.scalar.functions import eq, lt, where
from linkwork.kinematics.algorithms.joint_errors import JointErrors

__all__ = ["Feedforward", "JointLaw", "Names"]

_DEPENDENT = 1e-9  # singular value, relative to the largest, below which rows count as dependent
Feedforward = Literal["none", "gravity", "dynamics"]
Names = str | Iterable[str] | None


class JointLaw(ControlLaw):
    """Base class of controllers of joint positions."""

    def __init__(self, robot: Any, actuators: Names, limits: Any, passive: bool, feedforward: str = "none") -> None:
        super().__init__(robot, actuators, limits)
        if feedforward not in get_args(Feedforward):
            raise UnknownNameError(f"feedforward of {self.caller}", str(feedforward), get_args(Feedforward))
        self.feedforward, self.passive = feedforward, bool(passive)

    @property
    def input_shapes(self) -> Shapes:
        nv = self.robot.nv
        return {"target_q": (self.robot.nq,), "target_v": (nv,), "target_a": (nv,)}

    @property
    def required_inputs(self) -> tuple[str, ...]:
        return ("target_q",)

    def _joint_errors(self, q: Any, inputs: Mapping[str, Any]) -> JointErrors:
        return JointErrors(self.robot.tree, list(q), list(inputs["target_q"]), self.acting.tolist())

    def _target_motion(self, inputs: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        zero = [0.0] * self.robot.nv
        return list(inputs.get("target_v", zero)), list(inputs.get("target_a", zero))

    def _errors(self, q: Any, v: Any, inputs: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
        """Return q_d ⊖ q and v_d − v (nv), with v_d in the joints' axes; 0 for velocities that are not actuated."""
        joints = self._joint_errors(q, inputs)
        followed = joints.followed_velocity(self._target_motion(inputs)[0])
        rate = [a - b for a, b in zip(followed, v, strict=True)]
        return self.apply_actuation(joints.errors()), self.apply_actuation(rate)

    def _actuator_forces(self, t: Any, q: Any, v: Any, a: Any, external_torque: Any = None) -> Any:
        """Return actuator forces (nv) for accelerations a of the actuated velocities.

        All other accelerations follow from zero forces and constraints. On a tree, ``external_torque`` (nv), an
        external joint force, is subtracted.
        """
        robot, passive = self.robot, self.passive
        if robot.constraints:
            names, timed = self.actuator_names, self._timed(t)
            follows = array(list(a))
            if timed or self._left_free:  # prescribed motions may contradict those of the actuators
                return self._collocated_forces(q, v, follows, timed)
            if not self.is_fully_actuated:
                follows = robot.explicit_acceleration(q, v, follows, names, **timed)
            return robot.constrained_inverse_dynamics(q, v, follows, actuators=names, passive=passive, **timed).tau
        if self.is_fully_actuated:
            tau = robot.inverse_dynamics(q, v, array(list(a)), passive=passive)
        else:
            external = [0.0] * robot.nv if external_torque is None else [*external_torque]
            joints = self.actuator_names
            tau = robot.hybrid_dynamics(q, v, array(list(a)), array(external), joints, passive=passive).tau
        return tau if external_torque is None else array([x - f for x, f in zip(tau, external_torque, strict=True)])

    def _collocated_forces(self, q: Any, v: Any, a: Any, timed: Mapping[str, Any]) -> Any:
        """Return actuator forces for accelerations a of the actuated velocities; unactuated velocities have zero force.

        The accelerations are affine in the forces, S a = S a_free + S W Sᵀ τ, with W of constrained dynamics. If
        forces are redundant, those of least Σ (W_kk + 1 / M_kk) τ_k² are returned.
        """
        robot, acting, options = self.robot, self.acting.tolist(), {"passive": self.passive, **timed}
        W = robot.constrained_mass_matrix_inverse(q, **options)
        free = robot.constrained_forward_dynamics(q, v, array([0.0] * robot.nv), **options).a
        inertia = robot.mass_matrix(q, passive=self.passive)
        M = [inertia[k, k] for k in acting]
        floor = [MORE * reciprocal_or_zero(m, eq(m, 0.0)) for m in M]
        moves = [lt(_DEPENDENT, W[k, k] * m) for k, m in zip(acting, M, strict=True)]  # not locked by constraints
        left = Semidefinite.of([[W[i, j] for j in acting[: k + 1]] for k, i in enumerate(acting)], floor)
        tau: list[Any] = [0.0] * robot.nv
        missing = [where(x, a[k] - free[k], 0.0) for k, x in zip(acting, moves, strict=True)]
        least = left.solved_nearly(missing)
        for _ in range(2):  # each leaves 1e-7 of the forces that move nothing
            least = left.least(least)
        for k, x in zip(acting, least, strict=True):
            tau[k] = x
        return array(tau)

    def _feedforward(self, t: Any, q: Any, inputs: Mapping[str, Any]) -> Any:
        """Return the feedforward forces (nv): zero, gravity compensation at q, or inverse dynamics along the target."""
        zero = array([0.0] * self.robot.nv)
        if self.feedforward == "none":
            return zero
        if self.feedforward == "gravity":
            return self._actuator_forces(t, q, zero, zero)
        v, a = self._target_motion(inputs)
        along = self._actuator_forces(t, inputs["target_q"], array(v), array(a))
        return self._joint_errors(q, inputs).followed_force(along)
