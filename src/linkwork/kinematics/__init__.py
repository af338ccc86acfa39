"""Values that kinematics returns: points and directions of a robot, and propagated motions of frames.

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
    """Return the documented names."""
    return sorted(__all__)
