"""Matrices that map velocities to motions of frames and points, and how they change."""

from .body_jacobians import ROWS as _BODIES
from .hessian import ROWS as _HESSIAN
from .jacobian_derivative import ROWS as _DERIVATIVE
from .manipulability import ROWS as _MANIPULABILITY
from .parts import ROWS as _PARTS

__all__ = ["ROWS"]

ROWS = (*_PARTS, *_BODIES, *_DERIVATIVE, *_HESSIAN, *_MANIPULABILITY)
