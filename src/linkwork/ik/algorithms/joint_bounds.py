"""The box that limits make of configurations: coordinates that move by their own velocity alone, and their bounds.

What has no number of its own to bound, as a quaternion, is free.  Bounds come with each call.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.scalar.functions import and_, fmax, fmin, le, lt, or_, where
from linkwork.joints import JointType
from linkwork.model.tree import Tree

__all__ = ["LimitBox", "numbered"]

Scalars = Sequence[Any]


def numbered(tree: Tree) -> dict[int, int]:
    """By velocity: the number of q that moves by it alone, where there is one."""
    found: dict[int, int] = {}
    for i, body in tree.stacked():
        joint = body.joint
        if joint.nq == joint.nv and type(joint).retract is JointType.retract:
            found |= dict(zip(range(tree.nv)[tree.v_slices[i]], range(tree.nq)[tree.q_slices[i]], strict=True))
    return found


@dataclass(frozen=True)
class LimitBox:
    """lower ≤ q ≤ upper, of the velocities in ``numbers``: each with the number of q that it moves."""

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
        found = list(q)
        for n in self.numbers.values():
            found[n] = fmin(fmax(found[n], self.lower[n]), self.upper[n])
        return found

    def free(self, q: Scalars, towards: Scalars) -> list[Any]:
        """By velocity: 0 where the number is at a bound and a direction leads beyond, else 1."""
        found: list[Any] = [1.0] * len(towards)
        for k, n in self.numbers.items():
            beyond = or_(
                and_(le(self.upper[n], q[n]), lt(0.0, towards[k])), and_(le(q[n], self.lower[n]), lt(towards[k], 0.0))
            )
            found[k] = where(beyond, 0.0, 1.0)
        return found

    def room(self, q: Scalars, k: int, towards: Any) -> Any:
        """How far a number may go in the direction of a sign; infinite where nothing bounds it."""
        n = self.numbers.get(k)
        return math.inf if n is None else where(lt(0.0, towards), self.upper[n] - q[n], q[n] - self.lower[n])
