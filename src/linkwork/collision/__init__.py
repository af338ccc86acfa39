"""Results of distance queries and collision checks: `Robot.distances`, `Robot.is_motion_free` and others.

`linkwork.signed_distance` and `linkwork.contact_points` are of two shapes.
"""

from linkwork.collision.motion_validity import MotionCheck
from linkwork.collision.pair_classification import CollisionPairs, PairClassification
from linkwork.collision.result import DistanceDerivatives, DistanceHessian, DistanceResult, RobotDistances
from linkwork.collision.shape_distance import ContactPoints
from linkwork.geometry.scene import Obstacle

__all__ = [
    "CollisionPairs",
    "ContactPoints",
    "DistanceDerivatives",
    "DistanceHessian",
    "DistanceResult",
    "MotionCheck",
    "Obstacle",
    "PairClassification",
    "RobotDistances",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
