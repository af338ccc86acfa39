"""Which kinds of curves there are: an entry each."""

from linkwork.motion.algorithms.curves.curve_kinds_cumulative import CUMULATIVE
from linkwork.motion.algorithms.curves.curve_kinds_polynomial import BY_COORDINATE, POLYNOMIAL, RETRACTED
from linkwork.motion.algorithms.curves.curve_kinds_squad import SQUAD

__all__ = ["KINDS"]

KINDS = {kind.name: kind for kind in (POLYNOMIAL, RETRACTED, BY_COORDINATE, CUMULATIVE, SQUAD)}
