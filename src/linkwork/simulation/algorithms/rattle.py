"""RATTLE with semi-implicit joint forces: the step of the default method for robots with constraints.

Of the discrete mechanics of `discrete_mechanics`, with impulses of the constraints at both ends (`step_constraints`):

    p + h f(q, v) + h/2 τ − h/2 ∂U/∂q − Gᵀλ = M w − h/2 ∂T/∂q − h/2 s(q ⊕ h w/2),      φ(q ⊕ h w) = 0,
    (M⁺ + h D) v⁺ = M w + h/2 ∂T/∂q + h/2 s + h/2 τ − h/2 ∂U/∂q⁺ + h d(v) − G⁺ᵀμ,      G⁺ v⁺ + σ⁺ = 0,

with given joint forces τ, springs s of joints and force elements by the midpoint rule, forces f of the state at the
step's start, and what resists (−D v + d) at the step's end.  Without f and D this is of second order.  The velocity is
then scaled to the energy of the step (`with_energy`), unless there are forces f: what is symplectic keeps energy within
bounds only as long as its steps resolve the motion, which they do not near a singular configuration.

Sources: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, section VII.1.4 (RATTLE around a
symplectic method); Jay, Symplectic partitioned Runge-Kutta methods for constrained Hamiltonian systems, SIAM J. Numer.
Anal. 33, 1996.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.simulation.algorithms.ode_system import MotionSystem, State
from linkwork.simulation.algorithms.step_constraints import StepConstraints, is_free, released_velocity, with_energy

__all__ = ["rattle"]

Scalars = Sequence[Any]


def rattle(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """A step; infinite where it was not found, so that it is noticed."""
    assert system.mechanics is not None and system.step_forces is not None
    mechanics, forces = system.mechanics, system.step_forces
    elements = system.elements
    within = () if elements is None else elements.within(q)
    stiff = [0.25 * h * h * k for k in forces.stiffness]
    if system.settling is not None:
        stiff = [a + 0.25 * b for a, b in zip(stiff, system.settling, strict=True)]
    inverse = mechanics.inverse(q, stiff, within)
    constraints = StepConstraints.at(mechanics, inverse, t, q, h)
    settled = system.settled(q)
    given, carried = [0.5 * h * x for x in forces.given], mechanics.momentum(q, v)

    def kick(at: Scalars) -> list[Any]:
        return [a - 0.5 * h * g for a, g in zip(given, mechanics.weight(at), strict=True)]

    def pulled(w: Scalars) -> list[Any]:
        if forces.springs is None:
            return [0.0] * len(w)
        pulls = forces.springs(mechanics.halfway(q, w, h)[0])
        return [0.5 * h * s + a for s, a in zip(pulls, settled(w), strict=True)]

    of_state = forces.of_state(t, q, v)
    first = [a + h * f for a, f in zip(kick(q), of_state, strict=True)]

    def left(w: Scalars) -> list[Any]:
        leaving, _ = mechanics.kinetic_momenta(q, w, h)
        return [a - b - c - s for a, b, c, s in zip(leaving, carried, first, pulled(w), strict=True)]

    found = constraints.solved(left, v)
    w, end, _ = found
    _, arriving = mechanics.kinetic_momenta(q, w, h)
    last, pulls = kick(end), pulled(w)
    arriving = [a + b + s for a, b, s in zip(arriving, last, pulls, strict=True)]
    added = None
    if forces.resisting is not None:
        added, resisted = forces.resisting(v)
        arriving = [a + b for a, b in zip(arriving, resisted, strict=True)]
    resists = () if elements is None else elements.after(end)
    after = released_velocity(mechanics, t + h, end, arriving, added, resists)
    steady = [2.0 * (a + s) for a, s in zip(given, pulls, strict=True)]
    mean = [0.5 * h * (a + b) for a, b in zip(v, w, strict=True)]
    energy = 0.5 * dot(v, carried) + dot(mechanics.halfway(q, w, h)[1], steady) + dot(mean, of_state)
    always = all(map(is_zero, of_state)) and not is_free(mechanics.tree)  # whose work is known as well as the step is
    return end, with_energy(mechanics, q, found, after, arriving, energy, added, resists, always=always)
