"""Step that solves one program of bounded impulses, and the steps in which none of its impulses acts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linkwork.dynamics.algorithms.passive_joint_forces import armature, gyroscopic_force
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import cond
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, eq, fabs, le, lt, not_, or_, where
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.algorithms.constraint_rows import position_rounding
from linkwork.model.tree import Tree
from linkwork.simulation.actuators import ServoForces
from linkwork.simulation.algorithms.contact.contact_step import contact_velocities
from linkwork.simulation.algorithms.contact.contact_terms import (
    ContactAt,
    Interval,
    StepScale,
    per_settling,
    push_of,
    with_free_normal,
)
from linkwork.simulation.algorithms.discrete_mechanics import with_resistance
from linkwork.simulation.algorithms.free_body import flown, pushed_rates
from linkwork.simulation.algorithms.inertial_forces import coasted
from linkwork.simulation.algorithms.passive_resistance import PassiveResistance
from linkwork.simulation.algorithms.rattle_step import RattleStep
from linkwork.simulation.algorithms.step_energy import ProgramEnergy
from linkwork.simulation.contacts.contact_set import ContactSet, in_world
from linkwork.simulation.contacts.penetration_depth import rigid_gaps
from linkwork.simulation.joint_limits import dry_intervals, joint_limits, servo_intervals

if TYPE_CHECKING:
    from linkwork.simulation.rollout.simulated_dynamics import SimulatedDynamics

__all__ = ["SolvedStep", "changes", "is_near", "program_step", "reaches", "unloaded"]

Scalars = Sequence[Any]

_ROUNDING = 1e-13  # largest rounding error: change of velocity (relative), overlap (characteristic lengths)


class SolvedStep(NamedTuple):
    """Solution of the program of a step: velocity w (nv) and end (nq) of its motion, and its forces.

    ``energy`` is the energy of the motion of a robot with constraints.  ``tau`` (nv) are the joint forces, ``pressed``
    (points, 3) the contact forces along two tangents and the normal, and ``tied`` (nc) the constraint forces.
    """

    w: Any
    end: Any
    energy: ProgramEnergy
    tau: Any
    pressed: Any
    tied: Any
    residual: Any

    @property
    def arrays(self) -> SolvedStep:
        """The step with arrays instead of lists: the common form for both branches of a condition."""
        energy = self.energy._replace(kinetic=array(self.energy.kinetic))
        tau, pressed, tied = map(array, (self.tau, self.pressed, self.tied))
        return SolvedStep(array(self.w), array(self.end), energy, tau, pressed, tied, self.residual)


def unloaded(step: RattleStep, tau: Scalars, touching: Sequence[ContactAt]) -> SolvedStep:
    """Return the step of a robot with constraints in which no impulse acts."""
    tied = [0.0 for constraint in step.mechanics.tree.constraints for _ in constraint.component_names]
    energy = ProgramEnergy(False, False, [0.0] * len(tau))
    return SolvedStep(*step.unbounded[:2], energy, tau, [[0.0] * 3 for _ in touching], tied, 0.0).arrays


def is_near(step: RattleStep, stops: Sequence[Interval], contacts: Sequence[ContactAt]) -> Any:
    """Return False only if no impulse of the step's program acts; then the program need not be solved.

    An impulse acts where the velocity of its row, under the forces of both halves of the step, is below a target.  To
    second order that velocity is 2 c − c₀, with c₀ before the step and c in its motion.  A row is near a limit or a
    contact if twice c − 2 |c − c₀| is below the target.
    """
    rows = [(stop.row, stop.target) for stop in stops if stop.high == math.inf]
    rows += [([-x for x in stop.row], -stop.target) for stop in stops if stop.high != math.inf]
    rows += [(contact.J[2], -contact.gap * per_settling(step.h)) for contact in contacts]
    near: Any = False
    for row, target in rows:
        c = dot(row, step.unbounded.w)
        slowest = c - 2.0 * fabs(c - dot(row, step.v))
        near = or_(near, not_(lt(target, slowest - fabs(slowest))))
    return near


def changes(rows: Sequence[Scalars], impulses: Scalars, M: Scalars, v: Scalars) -> Any:
    """Return True if impulses along ``rows`` (nv) change the velocity by more than rounding, or are not finite.

    The scale is that of the velocity v before them; M (nv) is the diagonal of the mass matrix.  A
    row that is zero but for rounding, as of a point on a fixed axis, permits an impulse of any size without effect.
    """
    changed: list[Any] = [0.0] * len(v)
    for row, impulse in zip(rows, impulses, strict=True):
        changed = [a if is_zero(x) else a + fabs(x * impulse) for a, x in zip(changed, row, strict=True)]
    size = sum((x * x / m for x, m in zip(changed, M, strict=True) if not is_zero(x)), 0.0)
    moving = sum((m * (x * x) for m, x in zip(M, v, strict=True)), 0.0)
    return not_(le(size, _ROUNDING * _ROUNDING * moving))


def reaches(tree: Tree, stops: Sequence[Interval], contacts: Sequence[ContactAt], w: Scalars, h: Any) -> Any:
    """Return True if a step of h [s] with velocity w (nv) passes a limit or makes bodies overlap, beyond rounding."""
    result: Any = False
    for stop in stops:
        result = or_(result, not_(eq(push_of(stop, dot(stop.row, w))[0], 0.0)))
    least = max(_ROUNDING * characteristic_length(tree), position_rounding(tree))
    for contact in contacts:
        c = dot(contact.J[2], w)
        result = or_(result, and_(lt(c, 0.0), lt(contact.gap + h * c, -least)))
    return result


def program_step(
    dynamics: SimulatedDynamics, contacts: ContactSet | None, t: Any, q: Scalars, v: Scalars, tau: Scalars | ServoForces
) -> tuple[list[Any], list[Any], list[Any], Any, Any, Any, list[Any]]:
    """Return the result of a step that solves one program, with contacts, joint limits, servos and constraints.

    The program includes dry friction that sticks.  The result is q, v, the joint forces, contact forces in the world's
    axes (points, 3), the residual, constraint forces (nc), and contact gaps [m] at the start of the step, inf for soft
    contacts.
    """
    moving, h = dynamics.moving, dynamics.h
    at = array(list(q))
    scale = StepScale.of(dynamics.robot.tree, moving.tree.gravity, h)  # lengths without parameters
    pushed = [0.0] * dynamics.robot.nv if isinstance(tau, ServoForces) else list(tau)
    candidates = [] if contacts is None else contacts.candidates(moving, at)
    touching = [candidate.at(moving, at) for candidate in candidates]
    step = RattleStep(dynamics.system(pushed), t, q, v, h) if dynamics.robot.constraints else None
    solved = partial(_bounded_step, dynamics, step, q, v, tau, touching, scale)
    if step is None or isinstance(tau, ServoForces) or dynamics.sticks or dynamics.closely:
        result = solved()
    else:
        near = is_near(step, _stops(dynamics, np.eye(dynamics.robot.nv).tolist(), q, scale), touching)
        result = cond(near, solved, partial(unloaded, step, pushed, touching))
    w, end = list(result.w), list(result.end)
    pressed = [
        in_world(candidate.axes, list(force)) for candidate, force in zip(candidates, result.pressed, strict=True)
    ]
    tied = list(result.tied)
    if step is None:
        rates = w
    else:
        end, rates, impulses = step.bounded(w, end, result.energy)
        tied = [where(result.energy.acts, a, 0.0) + b * (1.0 / h) for a, b in zip(tied, impulses, strict=True)]
    forces = array(pressed) if pressed else (), result.residual, array(tied) if tied else ()
    return end, rates, list(result.tau), *forces, rigid_gaps(candidates)


def _stops(dynamics: SimulatedDynamics, A: Sequence[Scalars], q: Scalars, scale: StepScale) -> list[Interval]:
    """Return the bounded impulses of position limits that the step's program has; A is the mass matrix."""
    is_held = dynamics.limits is None or dynamics.limits == "held"
    return joint_limits(dynamics.moving, A, q, dynamics.h, scale) if is_held else []


def _bounded_step(
    dynamics: SimulatedDynamics,
    step: RattleStep | None,
    q: Scalars,
    v: Scalars,
    tau: Scalars | ServoForces,
    touching: Sequence[ContactAt],
    scale: StepScale,
) -> SolvedStep:
    """Return the solution of the step's program; ``step`` is the step of a robot with constraints."""
    moving, h, n = dynamics.moving, dynamics.h, dynamics.robot.nv
    M = moving.mass_matrix(array(list(q)), passive=dynamics.passive)
    A = [[M[i, j] for j in range(i + 1)] for i in range(n)]
    joint_forces = [0.0] * n if isinstance(tau, ServoForces) else list(tau)
    resistance = dynamics.resistance(moving)
    if step is not None:  # constraints may determine velocities that move no inertia
        A = with_resistance(A, step.resisted[0].rows, step.resisted[0].diagonal)
        apart = [a - b for a, b in zip(step.driven, v, strict=True)]
        push = [dot([A[max(i, k)][min(i, k)] for k in range(n)], apart) for i in range(n)]
        change: Callable[[Scalars], list[Any]] = step.change
    else:
        v, A, push, change = _coasting(dynamics, moving, resistance, q, v, A, joint_forces)
    intervals = servo_intervals(moving, tau, A, q, h) if isinstance(tau, ServoForces) else []
    driven = [interval.row.index(1.0) for interval in intervals]
    stops = _stops(dynamics, A, q, scale)
    intervals += stops
    if dynamics.sticks:
        intervals += dry_intervals(resistance.dry_rows(q, v), dynamics.law, A, h)
    closing, before = [] if step is None else step.intervals(A), len(intervals)
    intervals += [interval for joint in closing for interval in joint.intervals]
    if step is not None:
        touching = [with_free_normal(contact, step.mobilities(contact.J[2]), scale) for contact in touching]
    else:  # a floating body moves freely with its limbs
        touching = [with_free_normal(contact, (), scale) if contact.limb is None else contact for contact in touching]
    result = contact_velocities(A, v, push, touching, intervals, h, scale, change, dynamics.closely)
    w = [where(lt(result.residual, 1.0), x, math.inf) for x in result.v]  # an unsolved step becomes non-finite
    per = 1.0 / h
    for k, impulse in zip(driven, result.pushes, strict=False):
        joint_forces[k] = impulse / h  # the exact quotient, so forces are within their limits to the bit
    pressed = [[x * per for x in gamma] for gamma in result.impulses]
    pulls = iter(result.pushes[before:])
    tied = [x * per for rows in closing for x in rows.impulses([next(pulls) for _ in rows.intervals])]
    energy = ProgramEnergy(False, False, [])
    if step is None:
        end, w = flown(moving.tree, q, w, h, armature=dynamics.passive)
    else:
        rows = [
            *(interval.row for interval in intervals[:before]),
            *(row for contact in touching for row in contact.J),
        ]
        bounded = [*result.pushes[:before], *(x for gamma in result.impulses for x in gamma)]
        acts = changes(rows, bounded, [row[k] for k, row in enumerate(A)], v)
        acts = or_(acts, reaches(dynamics.robot.tree, stops, touching, step.unbounded.w, h))
        w, end, energy = step.moved(w, acts)
    return SolvedStep(w, end, energy, joint_forces, pressed, tied, result.residual).arrays


def _coasting(
    dynamics: SimulatedDynamics,
    moving: Any,
    resistance: PassiveResistance,
    q: Scalars,
    v: Scalars,
    M: list[list[Any]],
    tau: Scalars,
) -> tuple[Scalars, list[list[Any]], list[Any], Callable[[Scalars], list[Any]]]:
    """Return the data of a tree's program: the velocity v, the matrix A, and the impulse p of all forces.

    The last result is a function of w that computes A (w − v) − p.
    """
    h, at, rates = dynamics.h, array(list(q)), array(pushed_rates(moving.tree, v, armature=dynamics.passive))
    (diagonal, rows), passive_forces = resistance.semi_implicit(q, v)
    extra = diagonal or [0.0] * dynamics.robot.nv
    A = with_resistance(M, rows, extra)
    pushed = dynamics.less_rotors(
        [a + b for a, b in zip(dynamics.acting_forces(tau, q, v), passive_forces, strict=True)], q, v
    )
    dynamics.refuse_singular(moving, extra, rows)
    if dynamics.spins:
        if dynamics.passive:
            coasting = gyroscopic_force(moving.tree, q, list(rates))
            pushed = [a if is_zero(b) else a + b for a, b in zip(pushed, coasting, strict=True)]
        v, rates = coasted(moving, A, q, v, rates, h, dynamics.passive), array([0.0] * dynamics.robot.nv)
    more = extra
    if dynamics.passive:
        more = [m + e for m, e in zip(armature(moving.tree), extra, strict=True)]

    def change(w: Scalars) -> list[Any]:
        """Return the change of momentum A (w − v) minus the impulse p of all forces, by inverse dynamics.

        Its derivative costs less than that of the mass matrix.
        """
        apart = [x - y for x, y in zip(w, v, strict=True)]
        moved = moving.inverse_dynamics(at, rates, array([x / h for x in apart]))
        result = [h * (f - p) + m * x for f, m, x, p in zip(moved, more, apart, pushed, strict=True)]
        for row, c in rows:
            push = c * dot(row, apart)
            result = [a if is_zero(r) else a + push * r for a, r in zip(result, row, strict=True)]
        return result

    bias = moving.bias_force(at, rates)
    return v, A, [h * (a - b) for a, b in zip(pushed, bias, strict=True)], change
