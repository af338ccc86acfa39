"""Forces, accelerations, and the inertia between them."""

from .coriolis_matrix import ROWS as _CORIOLIS
from .force_elements import ROWS as _FORCE_ELEMENTS
from .forward_dynamics import ROWS as _FORWARD
from .hybrid_dynamics import ROWS as _HYBRID
from .inverse_dynamics import ROWS as _INVERSE
from .jacobian_sum import ROWS as _TERMS
from .mass_matrix import ROWS as _INERTIA
from .mass_matrix_inverse import ROWS as _INVERSE_INERTIA
from .passive import ROWS as _PASSIVE

__all__ = ["ROWS"]

ROWS = (*_INVERSE, *_FORWARD, *_HYBRID, *_INERTIA, *_INVERSE_INERTIA, *_CORIOLIS, *_TERMS, *_PASSIVE, *_FORCE_ELEMENTS)
