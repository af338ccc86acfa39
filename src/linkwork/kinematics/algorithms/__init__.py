"""Kinematics over any scalar: configurations, poses, velocities, accelerations, points and Jacobians.

`ROWS` are the specifications of its functions.
"""

from linkwork.kinematics.algorithms.configuration_manifold import ROWS as _CONFIGURATION
from linkwork.kinematics.algorithms.forward_kinematics import ROWS as _BODIES
from linkwork.kinematics.algorithms.jacobians import ROWS as _JACOBIANS
from linkwork.kinematics.algorithms.point_kinematics import ROWS as _POINTS

__all__ = ["ROWS"]

ROWS = (*_CONFIGURATION, *_BODIES, *_POINTS, *_JACOBIANS)
