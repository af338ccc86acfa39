"""Centre of mass, energies and momentum of the whole robot."""

from linkwork.dynamics.algorithms.momentum.center_of_mass import ROWS as _CENTER
from linkwork.dynamics.algorithms.momentum.energy_and_power import ROWS as _ENERGY
from linkwork.dynamics.algorithms.momentum.momentum import ROWS as _MOMENTUM

__all__ = ["ROWS"]

ROWS = (
    *_CENTER,
    *_ENERGY,
    *_MOMENTUM,
)
