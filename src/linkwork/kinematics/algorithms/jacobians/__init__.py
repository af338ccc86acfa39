"""Jacobians of frames and points, and their derivatives."""

from linkwork.kinematics.algorithms.jacobians.jacobian import ROWS as _JACOBIAN
from linkwork.kinematics.algorithms.jacobians.jacobian_derivatives import ROWS as _DERIVATIVE
from linkwork.kinematics.algorithms.jacobians.manipulability import ROWS as _MANIPULABILITY

__all__ = ["ROWS"]

ROWS = (*_JACOBIAN, *_DERIVATIVE, *_MANIPULABILITY)
