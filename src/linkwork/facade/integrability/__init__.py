"""Which constraints of velocities are constraints of positions."""

from .analysis import integrability_of as integrability_of
from .report import Combination as Combination
from .report import Integrability as Integrability
