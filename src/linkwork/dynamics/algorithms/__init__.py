"""Dynamics over any scalar: forces, accelerations, inertia, momentum, energy, regressors and derivatives.

`ROWS` are the specifications of its functions.
"""

from dataclasses import replace

from linkwork.dynamics.algorithms.derivatives import ROWS as _DERIVATIVES
from linkwork.dynamics.algorithms.derivatives.forward_dynamics_derivatives import RULES
from linkwork.dynamics.algorithms.force_element_forces import ROWS as _FORCE_ELEMENTS
from linkwork.dynamics.algorithms.forward_dynamics import ROWS as _FORWARD
from linkwork.dynamics.algorithms.hybrid_dynamics import ROWS as _HYBRID
from linkwork.dynamics.algorithms.inverse_dynamics import ROWS as _INVERSE
from linkwork.dynamics.algorithms.joint_wrenches import ROWS as _JOINT_WRENCHES
from linkwork.dynamics.algorithms.mass_matrix import ROWS as _MASS_MATRIX
from linkwork.dynamics.algorithms.mass_matrix_inverse import ROWS as _INVERSE_INERTIA
from linkwork.dynamics.algorithms.momentum import ROWS as _MOMENTUM
from linkwork.dynamics.algorithms.passive_joint_forces import ROWS as _PASSIVE
from linkwork.dynamics.algorithms.regressors import ROWS as _REGRESSORS

__all__ = ["ROWS"]

_ALL = (
    *_INVERSE,
    *_FORWARD,
    *_HYBRID,
    *_INVERSE_INERTIA,
    *_MASS_MATRIX,
    *_PASSIVE,
    *_FORCE_ELEMENTS,
    *_JOINT_WRENCHES,
    *_MOMENTUM,
    *_REGRESSORS,
    *_DERIVATIVES,
)
ROWS = tuple(replace(row, derivative_rule=RULES.get(row.compute)) for row in _ALL)
