"""Forces, accelerations, and the inertia between them."""

from linkwork.dynamics.algorithms.coriolis_matrix import ROWS as _CORIOLIS
from linkwork.dynamics.algorithms.force_element_forces import ROWS as _FORCE_ELEMENTS
from linkwork.dynamics.algorithms.forward_dynamics import ROWS as _FORWARD
from linkwork.dynamics.algorithms.hybrid_dynamics import ROWS as _HYBRID
from linkwork.dynamics.algorithms.inverse_dynamics import ROWS as _INVERSE
from linkwork.dynamics.algorithms.mass_matrix import ROWS as _INERTIA
from linkwork.dynamics.algorithms.mass_matrix_inverse import ROWS as _INVERSE_INERTIA
from linkwork.dynamics.algorithms.passive_joint_forces import ROWS as _PASSIVE

__all__ = ["ROWS"]

ROWS = (*_INVERSE, *_FORWARD, *_HYBRID, *_INERTIA, *_INVERSE_INERTIA, *_CORIOLIS, *_PASSIVE, *_FORCE_ELEMENTS)
