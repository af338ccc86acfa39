"""A robot as a whole: its centre of mass, its energies, its momentum."""

from linkwork.dynamics.algorithms.momentum.center_of_mass import ROWS as _CENTER
from linkwork.dynamics.algorithms.momentum.center_of_mass_center_of_mass_jacobian import ROWS as _CENTER_JACOBIAN
from linkwork.dynamics.algorithms.momentum.energy_and_power import ROWS as _ENERGY
from linkwork.dynamics.algorithms.momentum.energy_and_power_power import ROWS as _POWER
from linkwork.dynamics.algorithms.momentum.momentum import ROWS as _MOMENTUM
from linkwork.dynamics.algorithms.momentum.momentum_centroidal_matrix import ROWS as _CENTROIDAL
from linkwork.dynamics.algorithms.momentum.momentum_momentum_rate import ROWS as _MOMENTUM_RATE
from linkwork.dynamics.algorithms.momentum.momentum_zero_moment_point import ROWS as _ZERO_MOMENT

__all__ = ["ROWS"]

ROWS = (*_CENTER, *_CENTER_JACOBIAN, *_ENERGY, *_POWER, *_MOMENTUM, *_MOMENTUM_RATE, *_CENTROIDAL, *_ZERO_MOMENT)
