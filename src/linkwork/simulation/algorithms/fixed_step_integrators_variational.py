"""A variational method: motion that makes the discrete action of `discrete_mechanics` stationary.

    p + f − Gᵀλ = −D₁S(q, q⁺),      p⁺ = D₂S(q, q⁺) + f − G⁺ᵀμ,

with half of what forces without potential do in a step at either end, and the impulses of constraints at both ends
(`step_constraints`).  Momenta that symmetry keeps are kept to rounding, and energy does not drift.  Springs too stiff
for the step settle by what the system adds to M⁺ at the end.

Source: Marsden and West, Discrete mechanics and variational integrators, Acta Numerica 2001, parts 1 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import lt, where
from linkwork.simulation.algorithms.ode_system import MotionSystem, State
from linkwork.simulation.algorithms.step_constraints import (
    FoundStep,
    StepConstraints,
    monotone,
    released_velocity,
    with_energy,
)

__all__ = ["variational"]

Scalars = Sequence[Any]


def variational(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """A step by the discrete Euler-Lagrange equations: of second order; infinite where it was not found."""
    assert system.mechanics is not None
    mechanics, elements, settled = system.mechanics, system.elements, system.settled(q)

    def pushed(w: Scalars) -> list[Any]:
        """Half of what forces without potential do in the step."""
        if system.forces is None:
            return [0.0] * len(w)
        found = system.forces(t + 0.5 * h, *mechanics.halfway(q, w, h))
        return [0.5 * h * f + a for f, a in zip(found, settled(w), strict=True)]

    carried, weight = mechanics.momentum(q, v), mechanics.weight(q)
    p = [a - 0.5 * h * b for a, b in zip(carried, weight, strict=True)]

    def left(w: Scalars) -> list[Any]:
        """The equations' residual: momentum with which the step leaves, less what is there."""
        leaving, _ = mechanics.kinetic_momenta(q, w, h)
        return [a - b - f for a, b, f in zip(leaving, p, pushed(w), strict=True)]

    def like(w: Scalars) -> list[Any]:
        """The residual for short steps: momentum, and forces, which may be stiff."""
        return [m - f for m, f in zip(mechanics.momentum(q, w), pushed(w), strict=True)]

    if mechanics.tree.constraints:
        within = () if elements is None else elements.within(q)
        stiff = [0.5 * h * d + 0.25 * h * h * k for d, k in system.linear]
        if system.settling is not None:
            stiff = [a + 0.25 * b for a, b in zip(stiff, system.settling, strict=True)]
        inverse = mechanics.inverse(q, stiff, within)
        constraints = StepConstraints.at(mechanics, inverse, t, q, h)
        found = constraints.bent(left, like, v) if system.bends else constraints.solved(left, v)
    else:
        w, status = monotone(left, like, v)
        w = [where(lt(status, 0.5), x, math.inf) for x in w]  # what was not found is noticed
        found = FoundStep(w, mechanics.space.retract(q, [h * x for x in w]), None)
    w, end, _ = found
    _, arriving = mechanics.kinetic_momenta(q, w, h)
    pushes, last = pushed(w), mechanics.weight(end)
    arriving = [a + f - 0.5 * h * g for a, f, g in zip(arriving, pushes, last, strict=True)]
    added, resists = system.settling, () if elements is None else elements.after(end)
    after = released_velocity(mechanics, t + h, end, arriving, added, resists)
    work = 2.0 * dot(mechanics.halfway(q, w, h)[1], pushes)
    energy = 0.5 * dot(v, carried) + work
    rolls = not all(constraint.holonomic for constraint in mechanics.tree.constraints)
    return end, with_energy(mechanics, q, found, after, arriving, energy, added, resists, always=rolls)
