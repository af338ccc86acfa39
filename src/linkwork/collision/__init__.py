"""Results of distance queries and collision checks: `Robot.distances`, `Robot.is_motion_free` and others.

`linkwork.signed_distance` and `linkwork.contact_points` are of two shapes.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
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

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.collision.motion_validity": "MotionCheck",
            "linkwork.collision.pair_classification": "CollisionPairs PairClassification",
            "linkwork.collision.result": "DistanceDerivatives DistanceHessian DistanceResult RobotDistances",
            "linkwork.collision.shape_distance": "ContactPoints",
            "linkwork.geometry.scene": "Obstacle",
        },
    )
