"""Coordinates of a robot: the numbers of q that velocities move, their limits, and their sizes, over any scalar."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, or_, where
from linkwork.joints import JointType
from linkwork.model.tree import Tree

__all__ = ["LimitBox", "characteristic_length", "numbered", "unit_steps"]

Scalars = Sequence[Any]


def characteristic_length(tree: Tree) -> float:
    """That of a robot's longest way from joint to joint, or 1 m."""
    lengths = [[*body.placement.translation] for body in tree.bodies]
    return max((math.hypot(*x) for x in lengths if all(isinstance(a, float) for a in x)), default=0.0) or 1.0


def unit_steps(tree: Tree, angle: float = 1.0, lengths: float = 1.0) -> list[float]:
    """By velocity: an angle [rad], or so many characteristic lengths [m]."""
    length = lengths * characteristic_length(tree)
    units = [unit for _, body in tree.stacked() for unit in body.joint.v_units]
    return [angle if unit.startswith("rad") else length for unit in units]


def numbered(tree: Tree) -> dict[int, int]:
    """By velocity: the number of q that moves by it alone, where there is one."""
    result: dict[int, int] = {}
    for i, body in tree.stacked():
        joint = body.joint
        if joint.nq == joint.nv and type(joint).integrate is JointType.integrate:
            result |= dict(zip(range(tree.nv)[tree.v_slices[i]], range(tree.nq)[tree.q_slices[i]], strict=True))
    return result


@dataclass(frozen=True)
class LimitBox:
    """lower ≤ q ≤ upper, of the velocities in ``numbers``: each with the number of q that it moves.

    What has no number of its own to bound, as a quaternion, is free.  Bounds come with each call.
    """

    numbers: dict[int, int]
    lower: Scalars  # (nq), over any scalar
    upper: Scalars

    @staticmethod
    def of(tree: Tree, lower: Scalars, upper: Scalars, bounded: Iterable[int], still: Iterable[int] = ()) -> LimitBox:
        """Of the numbers of q that are ``bounded``, but for velocities that are held."""
        some, held = set(bounded), set(still)
        return LimitBox({k: n for k, n in numbered(tree).items() if n in some and k not in held}, lower, upper)

    def within(self, q: Scalars) -> list[Any]:
        """The nearest configuration in the box."""
        result = list(q)
        for n in self.numbers.values():
            result[n] = fmin(fmax(result[n], self.lower[n]), self.upper[n])
        return result

    def free(self, q: Scalars, towards: Scalars) -> list[Any]:
        """By velocity: 0 where the number is at a bound and a direction leads beyond, else 1."""
        result: list[Any] = [1.0] * len(towards)
        for k, n in self.numbers.items():
            beyond = or_(
                and_(le(self.upper[n], q[n]), lt(0.0, towards[k])), and_(le(q[n], self.lower[n]), lt(towards[k], 0.0))
            )
            result[k] = where(beyond, 0.0, 1.0)
        return result

    def room(self, q: Scalars, k: int, towards: Any) -> Any:
        """How far a number may go in the direction of a sign; infinite where nothing bounds it."""
        n = self.numbers.get(k)
        return math.inf if n is None else where(lt(0.0, towards), self.upper[n] - q[n], q[n] - self.lower[n])
