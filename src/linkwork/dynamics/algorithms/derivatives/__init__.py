"""Derivatives of a robot's functions with respect to configuration, velocity and force."""

from linkwork.dynamics.algorithms.derivatives.body_motion_derivatives import ROWS as _MOTIONS
from linkwork.dynamics.algorithms.derivatives.forward_dynamics_derivatives import ROWS as _FORWARD
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import ROWS as _INVERSE
from linkwork.dynamics.algorithms.derivatives.linearize import ROWS as _LINEAR
from linkwork.dynamics.algorithms.derivatives.momentum_and_energy_derivatives import ROWS as _MOMENTUM
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import ROWS as _TANGENTS

__all__ = ["ROWS"]

ROWS = (
    *_MOTIONS,
    *_MOMENTUM,
    *_INVERSE,
    *_FORWARD,
    *_LINEAR,
    *_TANGENTS,
)
