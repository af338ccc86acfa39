"""Values that kinematics returns: points and directions of a robot, and propagated motions of frames.

The functions themselves are methods of `linkwork.Robot`.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.kinematics.point_methods import PlacedDirection as PlacedDirection
    from linkwork.kinematics.point_methods import PlacedPoint as PlacedPoint
    from linkwork.kinematics.poses import PropagatedMotion as PropagatedMotion


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.kinematics.point_methods": "PlacedDirection PlacedPoint",
            "linkwork.kinematics.poses": "PropagatedMotion",
        },
    )
