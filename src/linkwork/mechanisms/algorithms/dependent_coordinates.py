"""A configuration that obeys the constraints, of independent coordinates and one nearby: Newton's method.

Independent coordinates are set, φ(q) = 0 is solved for the others: steps q ← q ⊕ δ with G_d δ_d = −φ, shortened where
they are long, until they are short; then the error has gone with the square of the last one.  Where some numbers of a
joint are independent and others are not, and its configuration is no list of coordinates (a quaternion), the local
coordinates of the independent ones are equations beside φ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.control import while_loop
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, sqrt
from linkwork.joints import JointType
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, rates_of
from linkwork.mechanisms.algorithms.velocity_embedding import INDEPENDENT, Names, Solved, places_of
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "adds_up", "closed_configuration"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]

AT_MOST = 60  # steps
SHORT = 1e-9  # [rad, m]: a step after which there is no other
LONG = 0.5  # [rad, m]


def closed_configuration(
    tree: Tree, q0: Scalars, q1: Scalars, phi: Scalars, independent: Names, time: Scalars | None = None
) -> tuple[list[Any], Any, Any]:
    """q (nq), what is left of the error, and how well the independent coordinates tell the others: 0 not at all.

    The independent coordinates of q are those of q1 ⊕ φ; where there are several solutions, it is one near q0.
    """
    problem = _Problem.of(tree, q0, q1, phi, independent, 0.0 if time is None else time[0])
    q = problem.start
    if problem.open and problem.equations:

        def step(state: Any) -> Any:
            q, _ = state
            change = problem.step(q)
            return integrate(tree, q, change), dot(change, change)

        q = list(
            while_loop(lambda state: lt(SHORT * SHORT, state[1]), step, (list(q), 1.0), max_iterations=AT_MOST).state[0]
        )
    if not problem.equations:
        return q, 0.0, 1.0
    error, rows = problem.at(q)
    worst, least = 0.0, 1.0
    for x in error:
        worst = fmax(worst, fabs(x))
    for pivot in Solved(rows).pivots if problem.open else ():
        least = fmin(least, pivot)
    return q, worst, sqrt(fmax(least, 0.0))


@dataclass(frozen=True)
class _Problem:
    """Which numbers are sought, and the equations for them."""

    tree: Tree
    start: list[Any]
    open: list[int]  # places in v of what is not set
    charts: list[tuple[int, list[int], Scalars, Scalars]]  # bodies of which some numbers are: their places, q1 and φ
    time: Any

    @staticmethod
    def of(tree: Tree, q0: Scalars, q1: Scalars, phi: Scalars, independent: Names, time: Any) -> _Problem:
        given = set(places_of(tree, independent))
        start, open_, charts = list(q0), list[int](), list[tuple[int, list[int], Scalars, Scalars]]()
        for i, body in tree.stacked():
            places, own = range(tree.nv)[tree.v_slices[i]], range(tree.nq)[tree.q_slices[i]]
            known = [k for k, place in enumerate(places) if place in given]
            at, by = [q1[k] for k in own], [phi[k] for k in places]
            if len(known) == len(places):
                for k, x in zip(own, body.call_joint("integrate", at, by), strict=True):
                    start[k] = x
            elif adds_up(body.joint):
                for k in known:
                    start[own[k]] = at[k] + by[k]
                open_ += [place for place in places if place not in given]
            else:
                open_ += places
                charts += [(i, known, at, by)] if known else []
                there = body.call_joint("difference", at, [q0[k] for k in own]) if known else []
                for k in known:
                    there[k] = by[k]
                for k, x in zip(own, body.call_joint("integrate", at, there) if known else (), strict=bool(known)):
                    start[k] = x
        return _Problem(tree, start, open_, charts, time)

    @property
    def equations(self) -> bool:
        return any(constraint.holonomic for constraint in self.tree.constraints)

    def at(self, q: Scalars) -> tuple[list[Any], Matrix]:
        """The errors, and their derivatives by what is sought."""
        state = KinematicState(self.tree, q, None, self.time)
        kept = [c.holonomic for c in self.tree.constraints for _ in c.component_names]
        error = [x for c in self.tree.constraints if c.holonomic for x in c.error(state)]
        rows = rates_of(self.tree, q, [0.0] * self.tree.nv, self.time).rows
        result = [[row[k] for k in self.open] for row, is_kept in zip(rows, kept, strict=True) if is_kept]
        for i, known, at, by in self.charts:
            values, derivatives = self._chart(i, q, at)
            error += [values[k] - by[k] for k in known]
            result += [[derivatives[k].get(place) for place in self.open] for k in known]
        return error, result

    def _chart(self, i: int, q: Scalars, at: Scalars) -> tuple[list[Any], list[SparseTangent]]:
        """The local coordinates of one joint's configuration around another, and how they vary with v."""
        body, start = self.tree.bodies[i], self.tree.v_slices[i].start
        own = [q[k] for k in range(self.tree.nq)[self.tree.q_slices[i]]]
        rates = [
            SparseTangent({start + k: x for k, x in enumerate(row)}) for row in body.call_joint("q_dot_jacobian", own)
        ]
        moving = seeded(own, rates)
        result = [parts(x, moving[0].level) for x in body.call_joint("difference", at, moving)]
        return [x for x, _ in result], [t if isinstance(t, SparseTangent) else SparseTangent({}) for _, t in result]

    def step(self, q: Scalars) -> list[Any]:
        """δ (nv), not too long."""
        error, rows = self.at(q)
        change = Solved(rows).once([-x for x in error])
        share = LONG / fmax(LONG, sqrt(dot(change, change)))
        result: list[Any] = [0.0] * self.tree.nv
        for k, x in zip(self.open, change, strict=True):
            result[k] = x * share
        return result


def adds_up(joint: JointType) -> bool:
    """Whether a configuration is a list of coordinates: q ⊕ φ = q + φ."""
    kind = type(joint)
    return joint.nq == joint.nv and kind.integrate is JointType.integrate and kind.difference is JointType.difference


ROWS = (
    FunctionSpec.of(
        closed_configuration,
        "q0 q1 phi",
        (
            Output(("nq",), "rad, m, 1", "q", configuration=True),
            Output((), "rad, m", "error"),
            Output((), "1", "margin"),
        ),
        "Configuration that obeys the constraints and has some coordinates of another, near a third.",
        optional=("time",),
        options=(INDEPENDENT,),
    ),
)
