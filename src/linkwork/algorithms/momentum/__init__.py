"""A robot as a whole: its centre of mass, its energies, its momentum."""

from .center_of_mass import ROWS as _CENTER
from .center_of_mass_jacobian import ROWS as _CENTER_JACOBIAN
from .centroidal_matrix import ROWS as _CENTROIDAL
from .energy import ROWS as _ENERGY
from .momentum import ROWS as _MOMENTUM
from .momentum_rate import ROWS as _MOMENTUM_RATE
from .power import ROWS as _POWER
from .zero_moment_point import ROWS as _ZERO_MOMENT

__all__ = ["ROWS"]

ROWS = (*_CENTER, *_CENTER_JACOBIAN, *_ENERGY, *_POWER, *_MOMENTUM, *_MOMENTUM_RATE, *_CENTROIDAL, *_ZERO_MOMENT)
