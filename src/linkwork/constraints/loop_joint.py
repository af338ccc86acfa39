"""A loop: a joint between two frames that are both already there."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.constraints.constraint import Constraint, Kinematics, Rates, References
from linkwork.joints import JointType
from linkwork.spatial import Force, Motion

__all__ = ["LoopJoint"]


_OF_VELOCITIES = (
    "velocity_bound",
    "effort",
    "damping",
    "friction",
    "static_friction",
    "friction_velocity",
    "stiffness",
)
_SAMPLES = 8
_NO_WORK = 1e-12


@dataclass(frozen=True)
class LoopJoint(Constraint):
    """The frame M moves relative to the frame F as the joint has it: X_FM = X_J(q_J) for some q_J.

    Its rows are the joint's constraint wrenches W, in M's coordinates, and the velocities that these do work on:
    Wᵀ V_FM = 0.  Its error is Wᵀ ξ, where ξ = (rotation vector; position) leads from the joint's nearest configuration
    to where M is; it is as long as the rotation's angle up to half a turn, so nothing but a closed loop is a zero.

    Bounds, damping, friction and springs are numbers or one for each number of q (lower, upper, rest) or v (the
    others), none where they are empty: they mean what they mean of a tree's joint.
    """

    name: str
    joint: JointType
    frame: str  # M
    relative_to: str  # F
    lower: tuple[float, ...] = ()  # bounds of the joint's configuration [rad, m]
    upper: tuple[float, ...] = ()
    velocity_bound: tuple[float, ...] = ()  # bound of its speed [rad/s, m/s]
    effort: tuple[float, ...] = ()  # bound of its force [N·m, N]
    damping: tuple[float, ...] = ()  # [N·m·s/rad, N·s/m]
    friction: tuple[float, ...] = ()  # dry friction of motion [N·m, N]
    static_friction: tuple[float, ...] = ()  # that holds at rest; as while it moves
    friction_velocity: tuple[float, ...] = ()  # speed v_s of the smooth law, tanh(v / v_s) [rad/s, m/s]; 0.01
    stiffness: tuple[float, ...] = ()  # of springs [N·m/rad, N/m]
    rest: tuple[float, ...] = ()  # where springs exert nothing [rad, m]; the joint's zero

    def __post_init__(self) -> None:
        for what, count in self._counts.items():
            given = getattr(self, what)
            if isinstance(given, (int, float)) and not isinstance(given, bool):
                given = (given,) * count
            try:
                numbers = tuple(float(x) for x in given)
            except (TypeError, ValueError):
                raise TypeError(
                    f"constraint {self.name!r}: {what}: expected a number, or {count}, got {given!r}"
                ) from None
            object.__setattr__(self, what, numbers)

    @property
    def _counts(self) -> dict[str, int]:
        """Of how many numbers what it has besides its type is."""
        nq, nv = self.joint.nq, self.joint.nv
        return {"lower": nq, "upper": nq, "rest": nq} | dict.fromkeys(_OF_VELOCITIES, nv)

    def checked(self, robot: Any) -> Iterable[str]:
        for what, count in self._counts.items():
            numbers = getattr(self, what)
            least = -math.inf if what in ("lower", "upper", "rest") else 0.0
            if numbers and len(numbers) != count:
                yield f"{what}: expected {count} numbers, got {len(numbers)}"
            if any(math.isnan(x) or x < least for x in numbers):
                kind = "numbers" if math.isinf(least) else "numbers that are not negative"
                yield f"{what}: expected {kind}, got {numbers}"
            if what not in ("lower", "upper", "velocity_bound", "effort") and any(map(math.isinf, numbers)):
                yield f"{what}: expected finite numbers, got {numbers}"
        if any(low > high for low, high in zip(self.lower, self.upper, strict=False)):
            yield f"lower: a bound is above the upper one: {self.lower}, {self.upper}"
        if not all(self.friction_velocity):
            yield "friction_velocity: expected speeds above 0, at which friction has tanh(1) of its size"

    @property
    def resists(self) -> bool:
        """Whether it exerts something by itself, besides holding the loop closed."""
        return any((*self.damping, *self.friction, *self.stiffness))

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.relative_to))

    @cached_property
    def _wrenches(self) -> tuple[Force, ...] | None:
        """The constraint wrenches where they span the same in every configuration, as far as random ones tell.

        They then do no work on Ṡ v either.
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
        return tuple(f"{self.name}: {_called(F)}" for F in wrenches)

    @property
    def row_units(self) -> tuple[str, ...]:
        wrenches = self._wrenches or self.joint.constraint_wrench_subspace(self.joint.zero())
        return tuple("m" if any(abs(x) > 1e-12 for x in F.force) else "rad" for F in wrenches)

    def wrenches(self, state: Kinematics) -> tuple[Force, ...]:
        """The joint's constraint wrenches, in M's coordinates: a row of the constraint each."""
        if self._wrenches is not None:
            return self._wrenches
        return self.joint.constraint_wrench_subspace(
            self.joint.configuration_from_pose(state.between(self.frame, self.relative_to).pose)
        )

    def error(self, state: Kinematics) -> list[Any]:
        gap = self.joint.pose_residual(state.between(self.frame, self.relative_to).pose)
        return [gap.dot(F) for F in self.wrenches(state)]

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
    """The square of the power of a wrench on a motion, as if both had the same direction."""
    return C.angular.dot(C.angular) * F.moment.dot(F.moment) + C.linear.dot(C.linear) * F.force.dot(F.force)


def _called(F: Force) -> str:
    """What a wrench along a coordinate axis rules out."""
    for kind, part in (("rotation", F.moment), ("translation", F.force)):
        for axis, x in zip("xyz", part, strict=True):
            if abs(abs(x) - 1.0) < 1e-12:
                return f"{kind} {axis}"
    numbers = ", ".join(f"{x:.3g}" for x in F.elements())
    return f"wrench ({numbers})"
