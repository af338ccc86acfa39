"""Division of a step into parts where its equations are not solved, or where it does not resolve the motion.

A sample beyond bounds counts as diverged.  Each bound is 10¹⁴ in SI units, and more for robots of more than 1 m and 1
kg m², and for steps shorter than 1 ms. So long steps, orbits and fast wheels are allowed, and so are scenes in other
units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkwork.expr.arrays.pytree import flatten, tree_map
from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control.loops import watching_while_loop
from linkwork.expr.scalar.functions import and_, eq, fabs, floor, fmin, lt, where
from linkwork.kinematics.algorithms.coordinates import characteristic_length, unit_steps
from linkwork.model.coordinate_names import units_of
from linkwork.model.tree import Tree

__all__ = ["PartOfStep", "PlausibleValues", "divided", "is_solved", "total"]

_PARTS = 1024  # maximum number of parts of a step


class PartOfStep(NamedTuple):
    """Part of a step that is tried next.  It is halved until it is solved; after a pair the next is twice as long."""

    done: Any = 0.0  # share of the step that is done
    part: Any = 1.0  # share that is tried next

    @property
    def is_last(self) -> Any:
        """True if the part is not halved."""
        return lt((_PARTS - 0.5) * self.part, 1.0)

    def following(self, solved: Any) -> PartOfStep:
        """Return the part after this one, or its half unless it is ``solved``."""
        done = self.done + where(solved, self.part, 0.0)
        pairs = done / (2.0 * self.part)
        longer = where(eq(floor(pairs), pairs), 2.0 * self.part, self.part)
        return PartOfStep(done, where(solved, longer, 0.5 * self.part))


class _DividedStep(NamedTuple):
    tried: PartOfStep
    q: Any
    v: Any
    forces: Any


def divided(
    step: Callable[[Any, Any, Any, Any, Any], tuple[Any, Any, Any]], t: Any, q: Any, v: Any, h: Any, forces: Any
) -> tuple[Any, Any, Any]:
    """Return q, v and forces after a step of h [s] from time t, or after up to 1024 parts of it.

    ``step(t, q, v, h, last)`` returns them for a part.  A part is halved if v after it is not finite, as its equations
    are not solved or it does not resolve the motion; ``last`` is True for a part that is not halved any more.  After a
    pair of parts the next one is twice as long.  v is infinite if the shortest part is not solved.  Forces are
    averaged, and have the form of ``forces``.
    """

    def advanced(s: _DividedStep) -> _DividedStep:
        done, part = s.tried
        q, v, forces = step(t + done * h, list(s.q), list(s.v), part * h, s.tried.is_last)
        solved = is_solved(q, v)

        def either(new: Any, old: Any) -> Any:
            return array([where(solved, a, b) for a, b in zip(new, old, strict=True)])

        forces = tree_map(lambda a, b: where(solved, a + part * b, a), s.forces, forces)
        return _DividedStep(s.tried.following(solved), either(q, s.q), either(v, s.v), forces)

    def going(s: _DividedStep) -> Any:
        return and_(lt(s.tried.done, 1.0), lt(1.0, (_PARTS + 0.5) * s.tried.part))

    begin = _DividedStep(PartOfStep(), array(list(q)), array(list(v)), tree_map(lambda x: 0.0 * x, forces))
    unwatched = len(flatten(begin, "simulate: state")[0])  # so that forces that are not used are not computed
    end = watching_while_loop(going, advanced, begin, 4 * _PARTS, unwatched).state
    return list(end.q), [where(lt(end.tried.done, 1.0), math.inf, x) for x in end.v], end.forces


def is_solved(q: Any, v: Any) -> Any:
    """Return True if the state at the end of a part is finite."""
    return lt(sum(map(fabs, (*q, *v)), 0.0), math.inf)


Scalars = Sequence[Any]

_FAR = 1e14  # [units] sum of the coordinates of q
_FAST = 1e11  # [units] sum of the displacements in _TIME
_STRONG = 1e8  # [units] the same of joint forces alone, on the inertia of the whole robot
_TIME = 1e-3  # [s] maximum unit of time: longer steps have the same bounds


@dataclass(frozen=True)
class PlausibleValues:
    """Units of q (nq), of v (nv) and of joint forces (nv), at least 1, by which their bounds scale."""

    q: list[float]
    v: list[float]
    forces: list[float]

    @staticmethod
    def of(tree: Tree) -> PlausibleValues:
        """Return the units for a robot, in which its coordinates, velocities and joint forces are judged as plausible.

        Parameters that are symbols count as 1.
        """
        length, units = characteristic_length(tree), unit_steps(tree)
        known = [x for body in tree.bodies for x in _inertias(body, length) if x.__class__ is float]
        inertia = sum(known) or length * length
        return PlausibleValues(
            [max(length, 1.0) if unit == "m" else 1.0 for unit in units_of(tree, "q")],
            [max(x, 1.0) for x in units],
            [max(inertia / x, 1.0) for x in units],
        )

    def allow_state(self, q: Scalars, v: Scalars, h: Any) -> Any:
        """Return True if q and v are finite and within their bounds, for steps of h [s]."""
        return lt(total(q, self.q) + total(v, self.v) * (fmin(h, _TIME) * (_FAR / _FAST)), _FAR)

    def allow_forces(self, tau: Scalars, h: Any) -> Any:
        """Return True if joint forces are finite and within their bound, for steps of h [s]."""
        time = fmin(h, _TIME)
        return lt(total(tau, self.forces) * (time * time), _STRONG)


def _inertias(body: Any, length: float) -> list[Any]:
    """Return the inertias of a body: its mass times ``length``², its three moments of inertia, and its armature."""
    about = body.inertia.about
    mass = body.inertia.mass * (length * length)
    return [mass, about.xx, about.yy, about.zz, *body.armature]


def total(values: Scalars, units: Scalars | None = None) -> Any:
    """Return the sum of absolute values, each divided by its unit."""
    scales = [1.0 if units is None else 1.0 / units[k] for k in range(len(values))]
    return sum((fabs(x) if c == 1.0 else fabs(x) * c for x, c in zip(values, scales, strict=True)), 0.0)
