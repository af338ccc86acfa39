"""Which constraints of velocities are constraints of positions."""

from linkwork.mechanisms.integrability.frobenius_analysis import integrability_of as integrability_of
from linkwork.mechanisms.integrability.frobenius_analysis_report import Combination as Combination
from linkwork.mechanisms.integrability.frobenius_analysis_report import Integrability as Integrability
