"""A branch of an arm's inverse kinematics, in the angles of its geometry."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import and_
from linkwork.ik.algorithms.closed_form.cos_sin_pair import UnitAngle

__all__ = ["ArmSolution", "both"]


class ArmSolution(NamedTuple):
    """The angles about the axes, and whether they differ from those of the branches before: False where these meet."""

    angles: tuple[UnitAngle, ...]
    counts: Any


def both(one: Any, other: Any) -> Any:
    """Whether both hold, which may be known."""
    if one is True:
        return other
    return one if other is True else and_(one, other)
