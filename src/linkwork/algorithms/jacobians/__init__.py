"""Matrices that map velocities to motions of frames and points, and how they change."""

from .body_jacobians import ROWS as _BODIES
from .hessian import ROWS as _HESSIAN
from .jacobian import ROWS as _JACOBIAN
from .jacobian_derivative import ROWS as _DERIVATIVE
from .manipulability import ROWS as _MANIPULABILITY

__all__ = ["ROWS"]

ROWS = (*_JACOBIAN, *_BODIES, *_DERIVATIVE, *_HESSIAN, *_MANIPULABILITY)
