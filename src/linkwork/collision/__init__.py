"""Results of distance queries and collision checks: `Robot.distances`, `Robot.is_motion_free` and others.

`linkwork.signed_distance` and `linkwork.contact_points` are functions of two shapes.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.collision.fingerprints import fingerprint as fingerprint
    from linkwork.collision.motion_validity import MotionCheck as MotionCheck
    from linkwork.collision.pair_classification import CollisionPairs as CollisionPairs
    from linkwork.collision.pair_classification import PairClassification as PairClassification
    from linkwork.collision.result import DistanceDerivatives as DistanceDerivatives
    from linkwork.collision.result import DistanceHessian as DistanceHessian
    from linkwork.collision.result import DistanceResult as DistanceResult
    from linkwork.collision.result import RobotDistances as RobotDistances
    from linkwork.collision.scene_loading import AttachedObject as AttachedObject
    from linkwork.collision.scene_loading import SceneSetup as SceneSetup
    from linkwork.collision.shape_distance import ContactPoints as ContactPoints
    from linkwork.geometry.obstacle import Obstacle as Obstacle


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.collision.fingerprints": "fingerprint",
            "linkwork.collision.motion_validity": "MotionCheck",
            "linkwork.collision.pair_classification": "CollisionPairs PairClassification",
            "linkwork.collision.result": "DistanceDerivatives DistanceHessian DistanceResult RobotDistances",
            "linkwork.collision.scene_loading": "AttachedObject SceneSetup",
            "linkwork.collision.shape_distance": "ContactPoints",
            "linkwork.geometry.obstacle": "Obstacle",
        },
    )
