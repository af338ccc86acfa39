"""Constraints: what a mechanism obeys besides its joints, one file a kind."""

from .contract import Between, Constraint, Kinematics, Rates, References
from .loop import LoopJoint

ALL = (LoopJoint,)

__all__ = ["ALL", "Between", "Constraint", "Kinematics", "Rates", "References", *(kind.__name__ for kind in ALL)]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
