"""How a robot's functions change with its configuration, velocities and forces."""

from .center_of_mass_derivatives import ROWS as _CENTER
from .energy_derivatives import ROWS as _ENERGY
from .forward_dynamics_derivatives import ROWS as _FORWARD
from .forward_dynamics_hessian import ROWS as _FORWARD_SECOND
from .inverse_dynamics_derivatives import ROWS as _INVERSE
from .inverse_dynamics_hessian import ROWS as _INVERSE_SECOND
from .kinematics_derivatives import ROWS as _KINEMATICS
from .linearize import ROWS as _LINEAR
from .manifold_derivatives import ROWS as _MANIFOLD
from .momentum_derivatives import ROWS as _MOMENTUM

__all__ = ["ROWS"]

ROWS = (
    *_KINEMATICS,
    *_CENTER,
    *_ENERGY,
    *_MOMENTUM,
    *_INVERSE,
    *_FORWARD,
    *_INVERSE_SECOND,
    *_FORWARD_SECOND,
    *_LINEAR,
    *_MANIFOLD,
)
