"""Robots with constraints: how they move, and what that takes.

`INSTEAD` has what is computed of a robot with constraints in the place of functions of free robots; nothing where a
function is of robots without constraints alone.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..derivatives.forward_dynamics_derivatives import forward_dynamics_derivatives
from ..derivatives.forward_dynamics_hessian import forward_dynamics_hessian, forward_dynamics_second_derivatives
from ..derivatives.linearize import linearize
from ..dynamics.forward_dynamics import forward_dynamics
from ..dynamics.hybrid_dynamics import hybrid_dynamics
from ..forces.impact import impact
from .ambiguity import ROWS as _AMBIGUITY
from .assemble import ROWS as _ASSEMBLE
from .closing import ROWS as _CLOSING
from .constrained_impact import ROWS as _IMPACT
from .constrained_impact import impact_of_constrained
from .constrained_inertia import ROWS as _INERTIA
from .constraint_power import ROWS as _POWER
from .explicit import ROWS as _EXPLICIT
from .forward import ROWS as _FORWARD
from .forward import constrained_accelerations
from .forward_derivatives import ROWS as _FORWARD_DERIVATIVES
from .forward_derivatives import constrained_acceleration_derivatives, constrained_linearize
from .inverse import ROWS as _INVERSE
from .inverse_derivatives import ROWS as _INVERSE_DERIVATIVES
from .loop_joints import ROWS as _LOOP_JOINTS
from .minimal import ROWS as _MINIMAL
from .project import ROWS as _PROJECT
from .reduced_linearize import ROWS as _REDUCED_LINEARIZE

__all__ = ["INSTEAD", "ROWS"]

ROWS = (
    *_FORWARD,
    *_FORWARD_DERIVATIVES,
    *_LOOP_JOINTS,
    *_INVERSE,
    *_INVERSE_DERIVATIVES,
    *_IMPACT,
    *_INERTIA,
    *_AMBIGUITY,
    *_POWER,
    *_PROJECT,
    *_ASSEMBLE,
    *_EXPLICIT,
    *_CLOSING,
    *_MINIMAL,
    *_REDUCED_LINEARIZE,
)

INSTEAD: Mapping[Callable[..., Any], Callable[..., Any] | None] = {
    forward_dynamics: constrained_accelerations,
    forward_dynamics_derivatives: constrained_acceleration_derivatives,
    linearize: constrained_linearize,
    impact: impact_of_constrained,
    hybrid_dynamics: None,
    forward_dynamics_hessian: None,
    forward_dynamics_second_derivatives: None,
}
