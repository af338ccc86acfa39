"""Values that kinematics returns: points and directions of a robot, and motions of frames in a chain.

The functions themselves are methods of `linkwork.Robot`.
"""

from linkwork.kinematics.point_methods import PlacedDirection, PlacedPoint
from linkwork.kinematics.poses import PropagatedMotion

__all__ = [
    "PlacedDirection",
    "PlacedPoint",
    "PropagatedMotion",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
