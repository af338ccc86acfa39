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
from ...expr.equations.root import monotone_root
from ...expr.functions import lt, where
from ...expr.linalg.sums import dot
from ..derivatives.tangents import derivatives
from .system import MotionSystem, State

__all__ = ["variational"]

Scalars = Sequence[Any]

_STEPS = 60  # each by the Jacobian for short steps


def variational(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """A step by the discrete Euler-Lagrange equations of the midpoint rule: of second order."""
    assert system.lagrangian is not None and system.momentum is not None and system.mass_inverse is not None
    lagrangian, momentum, space, tree = system.lagrangian, system.momentum, system.space, system.tree

    def action(first: Scalars, last: Scalars) -> list[Any]:
        phi = space.local(first, last)
        return [h * lagrangian(space.retract(first, [0.5 * x for x in phi]), [x / h for x in phi])]

    def pushed(phi: Scalars) -> list[Any]:
        """Half of what forces without potential do in the step."""
        if system.forces is None:
            return [0.0] * len(phi)
        middle = space.retract(q, [0.5 * x for x in phi])
        return [0.5 * h * f for f in system.forces(t + 0.5 * h, middle, [x / h for x in phi])]

    p = list(momentum(q, v))

    def residual(w: Any) -> Any:
        phi = [h * x for x in w]
        end = space.retract(q, phi)
        ((slope,),) = derivatives(tree, lambda first: action(first, end), q)
        return array([-(a + d + f) for a, d, f in zip(p, slope, pushed(phi), strict=True)])

    def like(w: Any) -> Any:
        """What the residual is for short steps: momentum, and forces, which may be stiff."""
        gained = momentum(q, list(w))
        return array([m - f for m, f in zip(gained, pushed([h * x for x in w]), strict=True)])

    found = monotone_root(residual, array(list(v)), at_most=_STEPS, tolerance=1e-15, like=like)
    phi = [h * where(lt(found.status, 0.5), x, math.inf) for x in found.value]  # what was not found is noticed
    end = space.retract(q, phi)
    ((slope,),) = derivatives(tree, lambda last: action(q, last), end)
    arriving = [d + f for d, f in zip(slope, pushed(phi), strict=True)]
    return end, [dot(row, arriving) for row in system.mass_inverse(end)]
