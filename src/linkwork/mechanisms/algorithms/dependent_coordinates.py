"""Dependent coordinates by Newton's method: a configuration with given independent coordinates and zero error.

The independent coordinates are set, and φ(q) = 0 is solved for the others by steps q ← q ⊕ δ with G_d δ_d = −φ.  Long
steps are shortened; the iteration ends at a short step, after which the error is quadratic in the step.  If only some
coordinates of a joint are independent, and its configuration is not a vector of coordinates (a quaternion), equations
for the tangent coordinates of the independent ones are added to φ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.control import while_loop
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import fabs, fmax, fmin, lt, sqrt
from linkwork.joints.base.plain_coordinates import is_plain
from linkwork.kinematics.algorithms.configuration_manifold import integrate
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState, error_scales, rates_of
from linkwork.mechanisms.algorithms.velocity_embedding import INDEPENDENT, Names, NormalEquations, velocity_indices
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = ["ROWS", "closed_configuration"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]

MAX_ITERATIONS = 60
LAST_STEP = 1e-9  # [rad, characteristic lengths] size of the last step
MAX_STEP = 0.5  # [rad, characteristic lengths]


def closed_configuration(
    tree: Tree, q0: Scalars, q1: Scalars, phi: Scalars, independent: Names, time: Scalars | None = None
) -> tuple[list[Any], Any, Any]:
    """Return the configuration q (nq) near q0 that satisfies the constraints, with selected coordinates of q1 ⊕ φ.

    ``independent`` names these coordinates. The other results are the largest remaining constraint error, of lengths
    in characteristic lengths, and the margin with which the independent coordinates determine the others: 0 if they do
    not.
    """
    problem = _Problem.of(tree, q0, q1, phi, independent, 0.0 if time is None else time[0])
    q = problem.start
    if problem.open and problem.equations:

        def step(state: Any) -> Any:
            q, _ = state
            change = problem.step(q)
            size = [x / u for x, u in zip(change, problem.units, strict=True)]
            return tuple(integrate(tree, q, change)), dot(size, size)

        q = list(
            while_loop(
                lambda state: lt(LAST_STEP * LAST_STEP, state[1]), step, (tuple(q), 1.0), max_iterations=MAX_ITERATIONS
            ).state[0]
        )
    if not problem.equations:
        return q, 0.0, 1.0
    error, rows = problem.at(q)
    worst, least = 0.0, 1.0
    for x in error:
        worst = fmax(worst, fabs(x))
    for share in NormalEquations(rows).shares if problem.open else ():
        least = fmin(least, share)
    return q, worst, sqrt(fmax(least, 0.0))


@dataclass(frozen=True)
class _Problem:
    """Equations for the dependent coordinates of a configuration, and their solution by Newton's method."""

    tree: Tree
    start: list[Any]
    open: list[int]  # velocity indices of the unknowns
    charts: list[tuple[int, list[int], Scalars, Scalars]]  # partly set bodies: index, set components, q1 and φ
    time: Any
    units: Scalars  # 1 rad or a characteristic length, by velocity

    @staticmethod
    def of(tree: Tree, q0: Scalars, q1: Scalars, phi: Scalars, independent: Names, time: Any) -> _Problem:
        set_indices = set(velocity_indices(tree, independent))
        start, open_, charts = list(q0), list[int](), list[tuple[int, list[int], Scalars, Scalars]]()
        for i, body in tree.stacked():
            indices, entries = range(tree.nv)[tree.v_slices[i]], range(tree.nq)[tree.q_slices[i]]
            known = [k for k, index in enumerate(indices) if index in set_indices]
            at, by = [q1[k] for k in entries], [phi[k] for k in indices]
            if len(known) == len(indices):
                for k, x in zip(entries, body.call_joint("integrate", at, by), strict=True):
                    start[k] = x
            elif is_plain(body.joint):
                for k in known:
                    start[entries[k]] = at[k] + by[k]
                open_ += [index for index in indices if index not in set_indices]
            else:
                open_ += indices
                charts += [(i, known, at, by)] if known else []
                delta = body.call_joint("difference", at, [q0[k] for k in entries]) if known else []
                for k in known:
                    delta[k] = by[k]
                for k, x in zip(entries, body.call_joint("integrate", at, delta) if known else (), strict=bool(known)):
                    start[k] = x
        return _Problem(tree, start, open_, charts, time, unit_steps(tree))

    @property
    def equations(self) -> bool:
        return any(constraint.holonomic for constraint in self.tree.constraints)

    def at(self, q: Scalars) -> tuple[list[Any], Matrix]:
        """Return the errors of the equations at q, and their derivatives by the dependent velocity components.

        Errors and components are free of units.
        """
        state = KinematicState(self.tree, q, None, self.time)
        holonomic = [c.holonomic for c in self.tree.constraints for _ in c.component_names]
        scales, units = error_scales(self.tree), self.units
        error = [x for c in self.tree.constraints if c.holonomic for x in c.error(state)]
        error = [x * s for x, s in zip(error, scales, strict=True)]
        rows = rates_of(self.tree, q, [0.0] * self.tree.nv, self.time).rows
        rows = [row for row, is_holonomic in zip(rows, holonomic, strict=True) if is_holonomic]
        result = [[row[k] * (s * units[k]) for k in self.open] for row, s in zip(rows, scales, strict=True)]
        for i, known, at, by in self.charts:
            values, derivatives = self._chart(i, q, at)
            sizes = units[self.tree.v_slices[i]]
            error += [(values[k] - by[k]) / sizes[k] for k in known]
            result += [[derivatives[k].get(index) * (units[index] / sizes[k]) for index in self.open] for k in known]
        return error, result

    def _chart(self, i: int, q: Scalars, at: Scalars) -> tuple[list[Any], list[SparseTangent]]:
        """Return the tangent coordinates of joint i's configuration relative to ``at``, and their derivatives by v."""
        body, start = self.tree.bodies[i], self.tree.v_slices[i].start
        q_i = [q[k] for k in range(self.tree.nq)[self.tree.q_slices[i]]]
        rates = [
            SparseTangent({start + k: x for k, x in enumerate(row)}) for row in body.call_joint("q_dot_jacobian", q_i)
        ]
        moving = seeded(q_i, rates)
        result = [parts(x, moving[0].level) for x in body.call_joint("difference", at, moving)]
        return [x for x, _ in result], [t if isinstance(t, SparseTangent) else SparseTangent({}) for _, t in result]

    def step(self, q: Scalars) -> list[Any]:
        """Return Newton's step δ (nv) of the dependent coordinates at q, shortened to `MAX_STEP`."""
        error, rows = self.at(q)
        if not rows:
            return [0.0] * self.tree.nv
        change = NormalEquations(rows).once([-x for x in error])
        share = MAX_STEP / fmax(MAX_STEP, sqrt(dot(change, change)))
        result: list[Any] = [0.0] * self.tree.nv
        for k, x in zip(self.open, change, strict=True):
            result[k] = x * (share * self.units[k])
        return result


ROWS = (
    FunctionSpec.of(
        closed_configuration,
        "q0 q1 phi",
        (
            Output(("nq",), "rad, m, 1", "q", configuration=True),
            Output((), "1", "error"),
            Output((), "1", "margin"),
        ),
        "Configuration that satisfies the constraints and has the given independent coordinates.",
        optional=("time",),
        options=(INDEPENDENT,),
    ),
)
