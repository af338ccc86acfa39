"""Which kinds of curves there are: an entry each."""

from .cumulative import CUMULATIVE
from .polynomial import BY_COORDINATE, POLYNOMIAL, RETRACTED
from .squad import SQUAD

__all__ = ["KINDS"]

KINDS = {kind.name: kind for kind in (POLYNOMIAL, RETRACTED, BY_COORDINATE, CUMULATIVE, SQUAD)}
