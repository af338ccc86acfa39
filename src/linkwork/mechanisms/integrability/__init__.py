"""Integrability: which velocity constraints are derivatives of position constraints."""

from linkwork.mechanisms.integrability.frobenius_analysis import Combination as Combination
from linkwork.mechanisms.integrability.frobenius_analysis import Integrability as Integrability
from linkwork.mechanisms.integrability.frobenius_analysis import integrability_of as integrability_of
