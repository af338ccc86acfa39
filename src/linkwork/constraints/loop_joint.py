"""Loop closure: a joint between two frames of a robot."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.joints import JointType
from linkwork.spatial import Force, Motion

__all__ = ["LoopJoint"]


_BY_VELOCITY = (
    "velocity_bound",
    "effort",
    "damping",
    "friction",
    "static_friction",
    "friction_velocity",
    "stiffness",
)
_SAMPLES = 8  # random configurations in which wrenches are compared
_NO_WORK = 1e-12  # power of a constraint wrench on a joint motion that counts as zero


@dataclass(frozen=True)
class LoopJoint(Constraint):
    """Loop closure by a joint: frame M moves relative to frame F as the joint allows, X_FM = X_J(q_J) for some q_J.

    The rows are Wᵀ V_FM = 0, with the constraint wrenches W of the joint in the coordinates of M.  The error is Wᵀ ξ
    with ξ = (rotation vector; position) from the closest pose of the joint to M.  The length of the rotation vector is
    the angle, up to half a revolution, so the error is zero only for a closed loop.

    Limits, damping, friction and springs are scalars, or one value for each component of q (lower, upper, rest) or v
    (the others); () means none.  They have the same meaning as for a joint of the tree.

    M is ``frame`` and F is ``relative_to``.  The limits are ``lower`` and ``upper`` of q, ``velocity_bound`` and
    ``effort``. Friction has ``static_friction`` and ``friction_velocity``, and springs have a ``stiffness``.  ``name``
    is the joint's name.
    """

    name: str
    joint: JointType
    frame: str  # M
    relative_to: str  # F
    lower: tuple[float, ...] = ()  # limits of the joint's configuration [rad, m]
    upper: tuple[float, ...] = ()
    velocity_bound: tuple[float, ...] = ()  # speed limit [rad/s, m/s]
    effort: tuple[float, ...] = ()  # force limit [N·m, N]
    damping: tuple[float, ...] = ()  # [N·m·s/rad, N·s/m]
    friction: tuple[float, ...] = ()  # Coulomb friction in motion [N·m, N]
    static_friction: tuple[float, ...] = ()  # Coulomb friction at rest [N·m, N]; () as in motion
    friction_velocity: tuple[float, ...] = ()  # v_s of the smooth law tanh(v / v_s) [rad/s, m/s]; () for 0.01
    stiffness: tuple[float, ...] = ()  # spring stiffness [N·m/rad, N/m]
    rest: tuple[float, ...] = ()  # rest position of springs [rad, m]; () for zero

    def __post_init__(self) -> None:
        for name, count in self._counts.items():
            value = getattr(self, name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                value = (value,) * count
            try:
                values = tuple(float(x) for x in value)
            except (TypeError, ValueError):
                raise TypeError(
                    f"constraint {self.name!r}: {name}: expected a number or {count} numbers, got {value!r}"
                ) from None
            object.__setattr__(self, name, values)

    @property
    def _counts(self) -> dict[str, int]:
        """Number of values that each parameter of the joint must have, nq or nv, by the parameter's name."""
        nq, nv = self.joint.nq, self.joint.nv
        return {"lower": nq, "upper": nq, "rest": nq} | dict.fromkeys(_BY_VELOCITY, nv)

    def checked(self, robot: Any) -> Iterable[str]:
        for name, count in self._counts.items():
            values = getattr(self, name)
            least = -math.inf if name in ("lower", "upper", "rest") else 0.0
            if values and len(values) != count:
                yield f"{name}: expected {count} numbers, got {len(values)}"
            if any(math.isnan(x) or x < least for x in values):
                kind = "numbers" if math.isinf(least) else "numbers >= 0"
                yield f"{name}: expected {kind}, got {values}"
            if name not in ("lower", "upper", "velocity_bound", "effort") and any(map(math.isinf, values)):
                yield f"{name}: expected finite numbers, got {values}"
        if any(low > high for low, high in zip(self.lower, self.upper, strict=False)):
            yield f"lower: expected values <= upper, got {self.lower} and {self.upper}"
        if not all(self.friction_velocity):
            yield "friction_velocity: expected positive speeds, at which friction reaches tanh(1) of its maximum"

    @property
    def resists(self) -> bool:
        """True if the joint has damping, friction or springs."""
        return not all(map(is_zero, (*self.damping, *self.friction, *self.stiffness)))

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.relative_to))

    @cached_property
    def _wrenches(self) -> tuple[Force, ...] | None:
        """Constraint wrenches of the joint in coordinates of M if they are constant, else None.

        They count as constant if they span the same space in random configurations; then they also have zero power on
        Ṡ v.
        """
        joint = self.joint
        wrenches = joint.constraint_wrench_subspace(joint.zero())
        if joint.has_fixed_subspaces:
            return wrenches
        free = np.full(joint.nq, np.inf).tolist()
        drawn = joint.random(np.random.default_rng(0), [-x for x in free], free, (_SAMPLES,)).tolist()
        powers = [C.dot(F) for q in drawn for C in joint.S(q).columns for F in wrenches]
        return wrenches if all(abs(float(x)) <= _NO_WORK for x in powers) else None

    @property
    def fixed_wrenches(self) -> tuple[Force, ...] | None:
        return self._wrenches

    @property
    def component_names(self) -> tuple[str, ...]:
        count = 6 - self.joint.nv
        wrenches = self._wrenches
        if wrenches is None:
            return tuple(f"{self.name}[{i}]" for i in range(count))
        return tuple(f"{self.name}: {_motion_text(F)}" for F in wrenches)

    @property
    def row_units(self) -> tuple[str, ...]:
        wrenches = self._wrenches or self.joint.constraint_wrench_subspace(self.joint.zero())
        return tuple("m" if any(abs(x) > 1e-12 for x in F.force) else "rad" for F in wrenches)

    def wrenches(self, state: Kinematics) -> tuple[Force, ...]:
        """Return the joint's constraint wrenches in a state, one for each row, in coordinates of ``frame``."""
        if self._wrenches is not None:
            return self._wrenches
        return self.joint.constraint_wrench_subspace(
            self.joint.configuration_from_pose(state.between(self.frame, self.relative_to).pose)
        )

    def error(self, state: Kinematics) -> list[Any]:
        residual = self.joint.pose_residual(state.between(self.frame, self.relative_to).pose)
        return [residual.dot(F) for F in self.wrenches(state)]

    def rates(self, state: Kinematics) -> Rates:
        between = state.between(self.frame, self.relative_to)
        wrenches, bias = self.wrenches(state), between.bias
        if self._wrenches is None:
            q = self.joint.configuration_from_pose(between.pose)
            bias = bias - self.joint.bias(q, self.joint.velocity_from_twist(q, between.twist))
        sizes = [[_size(C, F) for C in between.columns] for F in wrenches]
        rows = [[C.dot(F) for C in between.columns] for F in wrenches]
        return Rates(rows, [bias.dot(F) for F in wrenches], None, sizes)


def _size(C: Motion, F: Force) -> Any:
    """Return the bound |ω|²|n|² + |v|²|f|² on the squared power of a wrench F = (n; f) on a motion C = (ω; v).

    Unlike the power itself, it contains no terms that cancel.
    """
    return C.angular.dot(C.angular) * F.moment.dot(F.moment) + C.linear.dot(C.linear) * F.force.dot(F.force)


def _motion_text(F: Force) -> str:
    """Return the name of the motion that a wrench prevents, such as "rotation x".

    For a wrench that is not along a coordinate axis, it is the wrench itself.
    """
    for kind, part in (("rotation", F.moment), ("translation", F.force)):
        for axis, x in zip("xyz", part, strict=True):
            if abs(abs(x) - 1.0) < 1e-12:
                return f"{kind} {axis}"
    components = ", ".join(f"{x:.3g}" for x in F.elements())
    return f"wrench ({components})"
