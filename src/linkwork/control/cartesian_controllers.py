"""Cartesian controllers of a frame: impedance and hybrid force/position control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import positive
from linkwork.control.algorithms.allowed_motions import AllowedMotions
from linkwork.control.algorithms.operational_space_forces import Level, task_forces
from linkwork.control.algorithms.pid_integrator import bounded, integrate_error
from linkwork.control.controller_base import (
    ControlLaw,
    Shapes,
    acceleration_of_inertia,
    inertia_matrix,
    read_nonnegative,
)
from linkwork.control.task_controllers import read_condition, require_actuation
from linkwork.dynamics.algorithms.mass_matrix_inverse import mass_matrix_solve
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.kinematics.poses import pose_difference
from linkwork.model.friction_laws import NO_FRICTION

__all__ = ["AXES", "CartesianLaw", "HybridForcePosition", "Impedance"]


AXES = ("rx", "ry", "rz", "x", "y", "z")
_UNITS = "rotations, then translations"


class CartesianLaw(ControlLaw):
    """Base class of controllers of a frame's pose; errors and gains are in the axes of another frame.

    Joints without actuators have zero forces; neither of the frames may depend on them. For a robot with constraints,
    the actuators must determine all motions; J and M are projected onto the motions that the constraints allow.
    """

    def __init__(self, robot: Any, frame: str, axes: str, actuators: Any, limits: Any, passive: bool) -> None:
        super().__init__(robot, actuators, limits)
        for name in (frame, axes):
            robot.tree.frame(name)
        q = robot.random_configuration(seed=0)
        if not np.any(robot.jacobian(q, frame)):
            raise ValueError(f"{self.caller}: frame: no joint moves {frame!r}")
        columns = np.concatenate([robot.jacobian(q, x) for x in {frame, axes} - {"world"}])
        require_actuation(self, columns.any(axis=0))
        self.frame, self.axes, self.passive = frame, axes, bool(passive)
        self.max_condition, self.scale = 0.0, [1.0] * 3 + [2.0 / characteristic_length(robot.tree)] * 3
        self.nullspace_damping = 0.0

    @property
    def pose_inputs(self) -> tuple[str, ...]:
        return ("target",)

    def _read_condition(self, condition: float | None, active: Sequence[int]) -> float:
        """Return the largest allowed condition number of J M⁻¹ Jᵀ, the inverse task inertia of the axes ``active``."""

        def rows(q: np.ndarray) -> Any:
            J = self.robot.jacobian(q, self.frame, expressed_in=self.axes)
            return [self.scale[k] * J[k] for k in active]

        return read_condition(self.caller, condition, self.robot, rows)

    def _read_six(self, name: str, value: Any, unit: str) -> np.ndarray:
        """Return six numbers >= 0 from one number, a pair (rotations, translations), or six numbers."""
        pair = isinstance(value, tuple) and len(value) == 2
        result = read_nonnegative(self.caller, name, value, [(2,)] if pair else [(), (6,)], f"{unit}; {_UNITS}")
        return np.repeat(result, 3) if pair else np.broadcast_to(result, (6,)).copy()

    def _errors_and_jacobian(self, q: Any, v: Any, target: Any) -> tuple[list[Any], list[list[Any]], list[Any]]:
        """Return the error (6) from the frame to its target, the Jacobian J (6, nv) and the twist J v (6).

        Rotations come first. All are about the frame's origin, in the axes of the frame ``axes`` of the controller.
        """
        how = {"expressed_in": self.axes}
        e = list(pose_difference(self.robot.pose(q, self.frame), target))
        if self.axes != "world":
            R = self.robot.pose(q, self.axes)
            e = [dot([R[i, k] for i in range(3)], part) for part in (e[:3], e[3:]) for k in range(3)]
        J = self.robot.jacobian(q, self.frame, **how)
        rows = [list(row) for row in J]
        return e, rows, [dot(row, v) for row in rows]

    def _free_accelerations(self, q: Any, v: Any) -> list[Any]:
        """Return accelerations a_0 (nv) without the frame's task: null-space damping, joint damping and friction."""
        resisting = self._resisting_force(q, v)
        damped = self._damping(v)
        if all(map(is_zero, resisting)):
            return damped
        return [
            a + b for a, b in zip(damped, mass_matrix_solve(self.robot.tree, list(q), resisting, True), strict=True)
        ]

    def _drift(self, q: Any, v: Any, rows: list[list[Any]], allowed: AllowedMotions | None) -> list[Any]:
        """Return the frame's acceleration (6) that is due to velocities: J̇ v, plus what constraints require.

        ``rows`` are the Jacobian J.
        """
        drift = list(self.robot.bias_acceleration(q, v, self.frame, expressed_in=self.axes))
        if allowed is None:
            return drift
        return [x + dot(row, allowed.bias) for x, row in zip(drift, rows, strict=True)]

    def _exerted(self, forces: list[Any], allowed: AllowedMotions | None) -> list[Any]:
        return forces if allowed is None else allowed.exerted(forces)

    def _damping(self, v: Any) -> list[Any]:
        rate = self.nullspace_damping
        return [-rate * x if rate else 0.0 for x in v]

    def _free_forces(self, q: Any, v: Any) -> list[Any]:
        """Return the joint forces (nv) without the frame's task, with which actuated joints accelerate by a_0.

        a_0 are the accelerations of `_free_accelerations`. If all joints have actuators, the actuators let damping and
        friction of joints act.
        """
        robot, passive = self.robot, self.passive
        if self.is_fully_actuated or robot.constraints:
            tau = self._required_forces(q, v, self._damping(v), NO_FRICTION)
            damping = self._resisting_force(q, v, NO_FRICTION)
            return [x if is_zero(d) else x + d for x, d in zip(tau, damping, strict=True)]
        zero, a = array([0.0] * robot.nv), array(self._free_accelerations(q, v))
        return list(robot.hybrid_dynamics(q, v, a, zero, self.actuator_names, passive=passive).tau)

    def _bounded_forces(
        self,
        rows: list[list[Any]],
        active: Iterable[int],
        accelerations: list[Any],
        q: Any,
        v: Any,
        allowed: AllowedMotions | None,
    ) -> list[Any]:
        """Return the joint forces (nv) for required accelerations of the frame along the axes ``active``.

        They are Jᵀ Λ (a* − J a_0) with a* = ``accelerations`` and the Jacobian J = ``rows``. The condition number of
        Λ⁻¹ is at most ``max_condition``.
        """
        active, scale = list(active), self.scale
        each = [[scale[k] * x for x in rows[k]] for k in active]
        each = each if allowed is None else allowed.rows(each)
        level = Level(each, [scale[k] * accelerations[k] for k in active])
        a0 = self._free_accelerations(q, v)
        return task_forces(self.robot.tree, list(q), [level], a0, self.max_condition, self.passive)


@public_constructor
class Impedance(CartesianLaw):
    """Cartesian impedance control: the frame behaves like a spring and a damper to its target, D (V_d − V) + K e.

    Without ``inertia`` the frame keeps the robot's own inertia.  No matrix is inverted, so singularities are harmless:

        τ = h + Jᵀ (K e + D (V_d − V)) [+ forces of A_d],     Λ (A − A_d) + D (V − V_d) − K e = F,

    where e is the error to the target, F the external wrench on the frame, and A its acceleration without J̇ v.  With
    ``inertia`` Λ_d the frame behaves like a body of that inertia.  Then F has to be measured; it is the input
    ``wrench``:

        τ = h + Jᵀ (Λ (A* − J̇ v) − F),     A* = A_d + Λ_d⁻¹ (K e + D (V_d − V) + F).

    All quantities have six axes, rotations first, about the frame's origin in the axes of the frame ``axes`` (default:
    "world").  ``stiffness`` [N·m/rad, N/m] and ``damping`` [N·m·s/rad, N·s/m] are >= 0: a number, a pair (rotations,
    translations) or six numbers; at rest F = −K e.  ``inertia`` [kg m², kg] has one of these forms, > 0, or is a
    symmetric, positive definite matrix (6, 6); with ``inertia`` equal to Λ, at rest, the law equals the one without
    ``inertia``.  Inputs are target (4, 4) in the world, target_v and target_a (6), wrench (6).  ``nullspace_damping``
    [1/s] damps motions of the joints that do not move the frame.  ``actuators`` names the joints that exert forces
    (default: all except those of six degrees of freedom); other joints must not move the frame.  With ``passive`` the
    law includes springs and armature of joints.  Damping and friction are not compensated for motions that do not move
    the frame; nor for the frame if the law inverts no matrix.

    Sources: Hogan, Impedance control, ASME J. Dyn. Syst. Meas. Control 107, 1985; Albu-Schäffer, Ott and Hirzinger, A
    unified passivity-based control framework, Int. J. Robotics Research 26(1), 2007.

    ``max_condition`` bounds the condition number of Λ⁻¹, by default ten times its median over configurations.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> arm = lw.load("arm7")
    >>> soft = lw.control.Impedance(arm, "hand", stiffness=(20.0, 400.0), damping=(2.0, 40.0), effort_limits=np.inf)
    >>> q = np.array([0.1, 0.5, 0.0, -1.5, 0.0, 1.8, 0.0])
    >>> target = lw.pose((0.01, 0.0, 0.0)) @ arm.pose(q, "hand")         # 1 cm in x: 4 N
    >>> tau = soft(0.0, q, np.zeros(7), target=target) - arm.gravity_force(q)
    >>> bool(np.allclose(tau, arm.jacobian(q, "hand").T @ [0, 0, 0, 4.0, 0, 0]))
    True
    """

    def __init__(
        self,
        robot: Any,
        frame: str,
        *,
        stiffness: Any,
        damping: Any,
        inertia: Any = None,
        axes: str = "world",
        nullspace_damping: float = 0.0,
        max_condition: float | None = None,
        actuators: str | Iterable[str] | None = None,
        effort_limits: Any = None,
        passive: bool = True,
    ) -> None:
        super().__init__(robot, frame, axes, actuators, effort_limits, passive)
        self.stiffness = self._read_six("stiffness", stiffness, "N·m/rad, N/m")
        self.damping = self._read_six("damping", damping, "N·m·s/rad, N·s/m")
        self.inertia = None
        if np.ndim(inertia) == 2:
            self.inertia = inertia_matrix(self.caller, inertia, 6, "kg m², kg")
        elif inertia is not None:
            self.inertia = self._read_six("inertia", inertia, "kg m², kg")
            if not (self.inertia > 0.0).all():
                raise ValueError(f"{self.caller}: inertia: expected positive numbers [kg m², kg], got {inertia!r}")
        self.nullspace_damping = float(
            read_nonnegative(self.caller, "nullspace_damping", nullspace_damping, [()], "1/s")
        )
        self.max_condition = self._read_condition(max_condition, range(6))

    @property
    def input_shapes(self) -> Shapes:
        result = {"target": (4, 4), "target_v": (6,), "target_a": (6,)}
        return {**result, "wrench": (6,)} if self.inertia is not None else result

    @property
    def required_inputs(self) -> tuple[str, ...]:
        return ("target", "wrench") if self.inertia is not None else ("target",)

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        e, rows, V = self._errors_and_jacobian(q, v, inputs["target"])
        zero = [0.0] * 6
        V_d = inputs.get("target_v", zero)
        pull = [k * x + d * (w - u) for k, x, d, w, u in zip(self.stiffness, e, self.damping, V_d, V, strict=True)]
        nv, feedforward = self.robot.nv, [*inputs.get("target_a", zero)]
        free, allowed = self._free_forces(q, v), self._allowed(t, q, v, self.passive)
        if self.inertia is None:
            more = [dot([row[k] for row in rows], pull) for k in range(nv)]
            if "target_a" in inputs or self.nullspace_damping:  # null-space damping does not accelerate the frame
                inner = self._bounded_forces(rows, range(6), feedforward, q, v, allowed)
                more = [x + y for x, y in zip(more, inner, strict=True)]
            return self._exerted([a + b for a, b in zip(free, more, strict=True)], allowed), None
        F = [*inputs["wrench"]]
        drift = self._drift(q, v, rows, allowed)
        response = acceleration_of_inertia(self.inertia, [p + f for p, f in zip(pull, F, strict=True)])
        accelerations = [a + b - d for a, b, d in zip(feedforward, response, drift, strict=True)]
        inner = self._bounded_forces(rows, range(6), accelerations, q, v, allowed)
        tau = [a + b - dot([row[k] for row in rows], F) for k, (a, b) in enumerate(zip(free, inner, strict=True))]
        return self._exerted(tau, allowed), None


@public_constructor
class HybridForcePosition(CartesianLaw):
    """Hybrid force/position control: forces along selected axes, positions along the others.

    The joint forces are τ = h + Jᵀ (Λ (A* − J̇ v) + f).  For motion axes A* = A_d + k_d (V_d − V) + k_p e.  For force
    axes A* = −k_v V, and

        f = F_d + k_f (F_d − F) + I,     İ = k_i (F_d − F),

    where F, the input ``wrench``, is the measured wrench that the frame exerts on its environment.  Without it f =
    F_d, which suits contact with a rigid surface; Λ A* then decouples motion from contact forces.  ``force_axes`` are
    some of "rx", "ry", "rz", "x", "y", "z" in the axes of the frame ``axes`` (default: "world").  ``motion_axes`` are
    by default all other axes; a planar arm needs fewer.  ``stiffness`` k_p [1/s²] and ``damping`` k_d [1/s] (default:
    critical) are numbers, pairs (rotations, translations) or six numbers.  ``force_damping`` is k_v [1/s],
    ``force_gain`` k_f [1], and ``integral_gain`` k_i [1/s] with the ``dt`` [s] of the loop; then I is the controller's
    state.  I does not grow where its growth would drive joints further beyond their ``effort_limits`` (clamping).

    Inputs are target (4, 4) in the world, target_v and target_a (6), force (n) of the force axes [N·m, N], wrench (6).
    With ``passive`` the law compensates springs, damping, friction and armature of joints, except damping and friction
    of motions along no axis, which they resist. ``robot``, ``nullspace_damping``, ``max_condition`` and ``actuators``
    are as in `Impedance`.

    Sources: Raibert and Craig, Hybrid position/force control of manipulators, ASME J. Dyn. Syst. Meas. Control 103,
    1981; Khatib, IEEE J. Robotics and Automation RA-3(1), 1987.

    >>> import numpy as np
    >>> import linkwork as lw
    >>> arm = lw.load("arm7")
    >>> law = lw.control.HybridForcePosition(arm, "hand", force_axes="z", effort_limits=np.inf)
    >>> q, v = np.array([0.1, 0.5, 0.0, -1.5, 0.0, 1.8, 0.0]), np.zeros(7)
    >>> tau = law(0.0, q, v, target=arm.pose(q, "hand"), force=[-10.0]) - arm.gravity_force(q)
    >>> bool(np.allclose(tau, arm.jacobian(q, "hand").T @ [0, 0, 0, 0, 0, -10.0]))
    True
    """

    def __init__(
        self,
        robot: Any,
        frame: str,
        force_axes: str | Iterable[str],
        *,
        motion_axes: str | Iterable[str] | None = None,
        stiffness: Any = 100.0,
        damping: Any = None,
        force_damping: float = 20.0,
        force_gain: float = 0.0,
        integral_gain: float = 0.0,
        dt: float | None = None,
        axes: str = "world",
        nullspace_damping: float = 0.0,
        max_condition: float | None = None,
        actuators: str | Iterable[str] | None = None,
        effort_limits: Any = None,
        passive: bool = True,
    ) -> None:
        super().__init__(robot, frame, axes, actuators, effort_limits, passive)
        self.force_axes = self._axes("force_axes", force_axes)
        free_axes = [k for k in range(6) if k not in self.force_axes]
        self.motion_axes = free_axes if motion_axes is None else self._axes("motion_axes", motion_axes)
        both = set(self.force_axes) & set(self.motion_axes)
        if both or not self.force_axes:
            problem = f"{AXES[min(both)]!r} in both" if both else "none"
            raise ValueError(f"{self.caller}: force_axes: expected axes that are not motion_axes, got {problem}")
        self.stiffness = self._read_six("stiffness", stiffness, "1/s²")
        self.damping = 2.0 * np.sqrt(self.stiffness) if damping is None else self._read_six("damping", damping, "1/s")
        scalar = [()]
        self.force_damping = float(read_nonnegative(self.caller, "force_damping", force_damping, scalar, "1/s"))
        self.force_gain = float(read_nonnegative(self.caller, "force_gain", force_gain, scalar, "1"))
        self.integral_gain = float(read_nonnegative(self.caller, "integral_gain", integral_gain, scalar, "1/s"))
        self.nullspace_damping = float(
            read_nonnegative(self.caller, "nullspace_damping", nullspace_damping, scalar, "1/s")
        )
        self.max_condition = self._read_condition(max_condition, sorted([*self.motion_axes, *self.force_axes]))
        self.dt = 0.0
        if self.integral_gain:
            if dt is None:
                raise ValueError(f"{self.caller}: dt: expected a positive time [s], needed for integral_gain, got None")
            self.dt = positive(self.caller, "dt", dt, unit="s", symbols=False)
            self.start = np.zeros(len(self.force_axes))

    def _axes(self, name: str, value: Any) -> list[int]:
        names = [value] if isinstance(value, str) else list(value)
        for axis in names:
            if axis not in AXES:
                raise UnknownNameError(f"axis of {name}", str(axis), AXES)
        return sorted({AXES.index(axis) for axis in names})

    @property
    def input_shapes(self) -> Shapes:
        force = {"force": (len(self.force_axes),), "wrench": (6,)}
        return {"target": (4, 4), "target_v": (6,), "target_a": (6,), **force}

    @property
    def required_inputs(self) -> tuple[str, ...]:
        measured = self.force_gain or self.integral_gain
        return ("target", "force", "wrench") if measured else ("target", "force")

    def forces(self, t: Any, q: Any, v: Any, z: Any, inputs: Mapping[str, Any]) -> tuple[Any, Any]:
        e, rows, V = self._errors_and_jacobian(q, v, inputs["target"])
        allowed = self._allowed(t, q, v, self.passive)
        drift = self._drift(q, v, rows, allowed)
        zero = [0.0] * 6
        V_d, feedforward = inputs.get("target_v", zero), inputs.get("target_a", zero)
        accelerations: list[Any] = [0.0] * 6
        for k in self.motion_axes:
            a = feedforward[k] + self.damping[k] * (V_d[k] - V[k]) + self.stiffness[k] * e[k]
            accelerations[k] = a - drift[k]
        for k in self.force_axes:
            accelerations[k] = -self.force_damping * V[k] - drift[k]
        tau = self._free_forces(q, v)
        inner = self._bounded_forces(rows, sorted([*self.motion_axes, *self.force_axes]), accelerations, q, v, allowed)
        contact_forces, missing = [], []
        for i, k in enumerate(self.force_axes):
            f = inputs["force"][i]
            if "wrench" in inputs:
                missing.append(f - inputs["wrench"][k])
                f = f + self.force_gain * missing[-1]
                f = f if self.start is None else f + z[i]
            contact_forces.append(f)
        more = [dot([rows[k][j] for k in self.force_axes], contact_forces) for j in range(self.robot.nv)]
        result = self._exerted([a + b + c for a, b, c in zip(tau, inner, more, strict=True)], allowed)
        if self.start is None:
            return result, None
        applied = bounded(result, [*self.effort_limits])
        excess, zero = [a - b for a, b in zip(result, applied, strict=True)], [0.0] * len(self.force_axes)
        outward = [dot(self._exerted(rows[k], allowed), excess) for k in self.force_axes]  # by each force alone
        gains = [self.integral_gain] * len(zero)
        return result, array(integrate_error([*z], missing, outward, zero, gains, self.dt, "clamping", zero))
