"""A variational method: motion that makes a sum over midpoints of steps stationary, as action is of the motion itself.

Discrete momenta are p = −D₁S + f, p⁺ = D₂S + f of S(q, q⁺) = h L(q ⊕ φ/2, φ/h), φ = q⁺ ⊖ q, with half of what forces
without potential do in a step at either end.  Momenta that symmetry keeps are kept to rounding, and energy does not
drift.

Source: Marsden and West, Discrete mechanics and variational integrators, Acta Numerica 2001, parts 1 and 3; Johnson and
Murphey, Scalable variational integrators for constrained mechanical systems, 2009.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...expr.arrays import array
from ...expr.equations.root import fixed_point
from ...expr.functions import lt, where
from ...expr.linalg.sums import dot
from ..derivatives.tangents import derivatives
from .system import MotionSystem, State

__all__ = ["variational"]

Scalars = Sequence[Any]


def variational(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """A step by the discrete Euler-Lagrange equations of the midpoint rule: of second order."""
    assert system.lagrangian is not None and system.momentum is not None and system.mass_inverse is not None
    lagrangian, space, tree = system.lagrangian, system.space, system.tree

    def action(first: Scalars, last: Scalars) -> list[Any]:
        phi = space.local(first, last)
        return [h * lagrangian(space.retract(first, [0.5 * x for x in phi]), [x / h for x in phi])]

    def pushed(phi: Scalars) -> list[Any]:
        """Half of what forces without potential do in the step."""
        if system.forces is None:
            return [0.0] * len(phi)
        middle = space.retract(q, [0.5 * x for x in phi])
        return [0.5 * h * f for f in system.forces(t + 0.5 * h, middle, [x / h for x in phi])]

    p = list(system.momentum(q, v))
    inverse = system.mass_inverse(q)

    def nearer(phi: Any) -> Any:
        phi = list(phi)
        end = space.retract(q, phi)
        ((slope,),) = derivatives(tree, lambda first: action(first, end), q)
        left = [a + d + f for a, d, f in zip(p, slope, pushed(phi), strict=True)]
        return array([x + h * dot(row, left) for x, row in zip(phi, inverse, strict=True)])

    found = fixed_point(nearer, array([h * x for x in v]), at_most=60, tolerance=1e-15)
    phi = [where(lt(found.status, 0.5), x, math.inf) for x in found.value]  # what was not found is noticed
    end = space.retract(q, phi)
    ((slope,),) = derivatives(tree, lambda last: action(q, last), end)
    arriving = [d + f for d, f in zip(slope, pushed(phi), strict=True)]
    return end, [dot(row, arriving) for row in system.mass_inverse(end)]
