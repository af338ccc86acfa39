"""Which constraints of velocities are constraints of positions."""

from linkwork.mechanisms.integrability.frobenius_analysis import Combination as Combination
from linkwork.mechanisms.integrability.frobenius_analysis import Integrability as Integrability
from linkwork.mechanisms.integrability.frobenius_analysis import integrability_of as integrability_of
