"""Solution of the program of bounded impulses in a step, and the steps in which none of its impulses acts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, eq, fabs, le, lt, not_, or_
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.mechanisms.algorithms.constraint_rows import position_rounding
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt, Interval, per_settling, push_of
from linkwork.simulation.algorithms.rattle_step import RattleStep
from linkwork.simulation.algorithms.step_energy import ProgramEnergy

__all__ = ["SolvedStep", "changes", "is_near", "reaches", "unloaded"]

Scalars = Sequence[Any]

_ROUNDING = 1e-13  # largest rounding error: change of velocity (relative), overlap (characteristic lengths)


class SolvedStep(NamedTuple):
    """Solution of the program of a step: velocity w (nv) and end (nq) of its motion, and its forces.

    ``energy`` is the energy of the motion of a robot with constraints.  ``tau`` (nv) are the joint forces, ``pressed``
    (points, 3) those of contacts along two tangents and the normal, and ``tied`` (nc) those of constraints.
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
