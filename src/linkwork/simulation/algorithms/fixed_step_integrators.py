"""Integrators with fixed steps: explicit, implicit and variational, in local coordinates of each step.

Explicit: semi-implicit Euler and Runge-Kutta-Munthe-Kaas methods, with the exact rates of local coordinates.
Implicit: Euler and midpoint, stable for stiff springs and dampers, with a root of nv equations in each step.

Variational: the motion makes the discrete action of `discrete_mechanics` stationary,

    p + f − Gᵀλ = −D₁S(q, q⁺),      p⁺ = D₂S(q, q⁺) + f − G⁺ᵀμ,

with half of the impulse of non-potential forces at each end, and the impulses of constraints at both ends
(`step_constraints`).  Momenta of symmetries are conserved to rounding, and energy does not drift.  Springs too stiff
for the step settle by terms that the system adds to M⁺ at the end.

Sources: Hairer, Lubich and Wanner, Geometric Numerical Integration, 2nd ed. 2006, chapters I.1, IV.8 and VII.1.4;
Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, 2nd ed. 1993, tables II.1.2 and II.5.2; Simo
and Wong, Unconditionally stable algorithms for rigid body dynamics, 1991 (the midpoint rule on rotations); Marsden
and West, Discrete mechanics and variational integrators, Acta Numerica 2001, parts 1 and 3; Jay, Symplectic
partitioned Runge-Kutta methods for constrained Hamiltonian systems, SIAM J. Numer. Anal. 33, 1996.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, lt, or_, where
from linkwork.simulation.algorithms.ode_system import MotionSystem, State, plus
from linkwork.simulation.algorithms.passive_resistance import opposed
from linkwork.simulation.algorithms.rattle_step import RattleStep
from linkwork.simulation.algorithms.shared_impulses import SharedImpulses
from linkwork.simulation.algorithms.step_constraints import (
    ConstrainedStep,
    StepConstraints,
    monotone,
    released_velocity,
    step_rates,
)
from linkwork.simulation.algorithms.step_energy import with_energy

__all__ = [
    "DORMAND_PRINCE",
    "RK4",
    "Tableau",
    "implicit_euler",
    "implicit_midpoint",
    "runge_kutta",
    "semi_implicit_euler",
    "stages",
    "variational",
]


Scalars = Sequence[Any]


def semi_implicit_euler(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """Return q⁺ = q ⊕ h v⁺ and v⁺ = v + h a(t, q, v): first order, and symplectic if forces depend on q only.

    If the system has free bodies that do not rotate uniformly, ``system.flown`` integrates the step with v⁺. A system
    with constraints takes a step of RATTLE.
    """
    if system.step_forces is not None:
        return RattleStep(system, t, q, v, h).ended()
    v = plus(v, h, (1.0, system.acceleration(t, q, v)))
    if system.flown is not None:
        return system.flown(q, v, h)
    return system.moved(q, [h * x for x in v]), v


@dataclass(frozen=True, slots=True)
class Tableau:
    """Butcher tableau of a Runge-Kutta method: times c of the stages, matrix A and weights b."""

    c: tuple[float, ...]
    A: tuple[tuple[float, ...], ...]
    b: tuple[float, ...]


RK4 = Tableau((0.0, 0.5, 0.5, 1.0), ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6))
DORMAND_PRINCE = Tableau(
    (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    (
        (),
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
)


def stages(
    system: MotionSystem, tableau: Tableau, t: Any, q: Scalars, v: Scalars, h: Any
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Return the rates φ̇ and v̇ (nv) of each stage of a step; φ is the displacement from q."""
    phi_rates: list[list[Any]] = []
    v_rates: list[list[Any]] = []
    no_motion = [0.0] * len(v)
    for c, row in zip(tableau.c, tableau.A, strict=True):
        phi = plus(no_motion, h, *zip(row, phi_rates, strict=True)) if row else no_motion
        velocity = plus(v, h, *zip(row, v_rates, strict=True)) if row else v
        phi_rate, v_rate = system.rates(t + c * h if c else t, q, phi, velocity)
        phi_rates.append(phi_rate)
        v_rates.append(v_rate)
    return phi_rates, v_rates


def runge_kutta(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any, tableau: Tableau = RK4) -> State:
    """Step of an explicit Runge-Kutta method, by default the classical one of fourth order."""
    phi_rates, v_rates = stages(system, tableau, t, q, v, h)
    phi = plus([0.0] * len(v), h, *zip(tableau.b, phi_rates, strict=True))
    return system.moved(q, phi), plus(v, h, *zip(tableau.b, v_rates, strict=True))


_STEPS = 30  # maximum number of Newton iterations
_TURN = 0.5  # [rad] of a ball joint in a step, at most: farther roots are not unique, and pass jumps of springs
_TOLERANCE = by_type(1e-15)  # [rad, characteristic lengths] tolerance of displacements in a step


def implicit_midpoint(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """Step v⁺ = v + h a(t + h/2, q ⊕ h w/2, w), q⁺ = q ⊕ h w with w = (v + v⁺)/2: second order, time-reversible.

    For linear equations it adds neither damping nor energy; it is stable for any step.
    """

    def residual(w: Scalars) -> list[Any]:
        configuration = system.moved(q, [0.5 * h * x for x in w])
        a = [2.0 * (x - start) / h for x, start in zip(w, v, strict=True)]
        return _left(system, t + 0.5 * h, configuration, list(w), a)

    w = _solved(residual, v, system, h)
    return system.moved(q, [h * x for x in w]), [2.0 * x - start for x, start in zip(w, v, strict=True)]


def implicit_euler(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """Step v⁺ = v + h a(t + h, q ⊕ h v⁺, v⁺), q⁺ = q ⊕ h v⁺: first order; damps modes too fast for the step."""

    def residual(w: Scalars) -> list[Any]:
        configuration = system.moved(q, [h * x for x in w])
        a = [(x - start) / h for x, start in zip(w, v, strict=True)]
        return _left(system, t + h, configuration, list(w), a)

    w = _solved(residual, v, system, h)
    return system.moved(q, [h * x for x in w]), w


def _left(system: MotionSystem, t: Any, q: Scalars, v: Scalars, a: Scalars) -> list[Any]:
    """Return the residual (nv) of the equations of motion at an acceleration a.

    If the system has an ``imbalance`` these are forces, which remain nearly linear with stiff springs, else
    accelerations.
    """
    if system.imbalance is not None:
        return list(system.imbalance(t, q, v, a))
    return [x - y for x, y in zip(a, system.acceleration(t, q, v), strict=True)]


def _solved(residual: Callable[[Scalars], Scalars], start: Scalars, system: MotionSystem, h: Any) -> list[Any]:
    """Return the root of a residual, infinite where Newton's method does not converge.

    Inertia, damping and dry friction increase with velocity, so the residual is monotone in w for short steps. In a
    step that turns a ball joint far, springs have several roots, with any number of revolutions. The result is
    infinite there, too, unless the system ``passes`` such steps.
    """
    w, status = monotone(residual, None, start, step_rates(system.tree, h), _STEPS, _TOLERANCE)
    solved = lt(status, 0.5)
    for joint_slice in system.space.joints:
        if not joint_slice.is_plain:
            units = zip(joint_slice.joint.v_units, w[joint_slice.in_v], strict=True)
            turn = [h * x for unit, x in units if unit == "rad/s"]
            solved = and_(solved, or_(lt(dot(turn, turn), _TURN * _TURN), system.passes))
    return [where(solved, x, math.inf) for x in w]


def variational(system: MotionSystem, t: Any, q: Scalars, v: Scalars, h: Any) -> State:
    """Step by the discrete Euler-Lagrange equations: second order; infinite where they were not solved."""
    assert system.mechanics is not None and system.resistance is not None
    mechanics, resistance = system.mechanics, system.resistance
    settled = resistance.settled(q)
    shared = SharedImpulses(mechanics, system.is_differentiated)

    def pushed(w: Scalars) -> list[Any]:
        """Return half of the impulse of non-potential forces in the step."""
        if system.forces is None:
            return [0.0] * len(w)
        result = system.forces(t + 0.5 * h, *mechanics.halfway(q, w, h))
        return [0.5 * h * f + a for f, a in zip(result, settled(w), strict=True)]

    carried, weight = mechanics.momentum(q, v), mechanics.weight(q)
    p = [a - 0.5 * h * b for a, b in zip(carried, weight, strict=True)]

    def left(w: Scalars) -> list[Any]:
        """Return the residual of the step's velocity w, a momentum (nv).

        It is the discrete momentum at the step's start minus the momentum of v and the impulse of the forces.
        """
        leaving = mechanics.leaving_momentum(q, w, h)
        return [a - b - f for a, b, f in zip(leaving, p, pushed(w), strict=True)]

    def like(w: Scalars) -> list[Any]:
        """Return M(q) w minus the impulse of forces: for short steps a function similar to ``left``.

        Its Jacobian is used in place of the exact one.
        """
        return [m - f for m, f in zip(mechanics.momentum(q, w), pushed(w), strict=True)]

    if mechanics.tree.constraints:
        springs = resistance.energy if resistance.has_springs else None
        constraints = StepConstraints.at(shared, t, q, h, *resistance.within(q, v), system.passes, springs)
        result = constraints.bent(left, like, v) if system.bends else constraints.solved(left, v)
    else:
        w, status = monotone(left, like, v, step_rates(mechanics.tree, h))
        w = [where(lt(status, 0.5), x, math.inf) for x in w]  # an unsolved step becomes non-finite
        result = ConstrainedStep(w, mechanics.space.integrate(q, [h * x for x in w]), None)
    w, end, _ = result
    arriving = mechanics.arriving_momentum(q, w, h)
    pushes, last = pushed(w), mechanics.weight(end)
    arriving = [a + f - 0.5 * h * g for a, f, g in zip(arriving, pushes, last, strict=True)]
    resists, _ = resistance.after(q, w, end)
    after = released_velocity(shared, t + h, end, arriving, *resists)
    each = zip(v, carried, mechanics.halfway(q, w, h)[1], pushes, strict=True)
    energies = [0.5 * (x * p) + 2.0 * (u * f) for x, p, u, f in each]
    rolls = not all(constraint.holonomic for constraint in mechanics.tree.constraints)
    last = opposed(resists, after)
    carried = [a + b for a, b in zip(arriving, last, strict=True)]
    losses = None
    if resists.diagonal is not None or resists.rows:
        losses = [-0.5 * ((x + y) * f) for x, y, f in zip(w, after, last, strict=True)]
    return end, with_energy(
        mechanics.tree, q, result, after, carried, energies, losses, always=rolls, passes=system.passes
    )
