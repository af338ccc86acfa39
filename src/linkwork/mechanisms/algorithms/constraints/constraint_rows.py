"""The rows of all constraints of a robot in one state.

Where a constraint states no rates in closed form they follow from its error, or from its velocity, by differentiation:
with φ̇ = A v + σ, A from velocities that are dual numbers, and γ the rate of φ̇ while v stays.

The velocities that constraints allow: a smooth basis of the distribution that their rows leave.

G v + σ ṫ = 0 for the velocities u = (v; ṫ) of configurations and time.  Rows are eliminated in an order of pivots that
is chosen in one state and kept around it: what is left is a basis with a one at each free velocity, smooth wherever no
pivot vanishes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.constraints import Constraint, Rates
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.kinematics.algorithms.configuration_manifold import velocity_to_configuration_derivative as rate_of
from linkwork.mechanisms.algorithms.constraints.constraint_kinematics import KinematicState
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree

__all__ = [
    "ROWS",
    "AllRates",
    "allowed",
    "constraint_bias",
    "constraint_drift",
    "constraint_error",
    "constraint_jacobian",
    "derived",
    "rates_of",
    "rates_of_some",
    "rows_in_time",
]


Scalars = Sequence[Any]


@dataclass(frozen=True, slots=True)
class AllRates:
    """G v + σ = 0 and G a + γ = 0 of all constraints, one after the other."""

    rows: list[list[Any]]
    bias: list[Any]
    drift: list[Any]
    sizes: list[list[Any]]


def rates_of(tree: Tree, q: Scalars, v: Scalars, time: Any = 0.0) -> AllRates:
    """The rows of all constraints of a robot."""
    return rates_of_some(tree, tree.constraints, q, v, time)


def rates_of_some(tree: Tree, constraints: Iterable[Constraint], q: Scalars, v: Scalars, time: Any = 0.0) -> AllRates:
    """The rows of some constraints."""
    state = KinematicState(tree, q, v, time)
    found = AllRates([], [], [], [])
    for constraint in constraints:
        rates = constraint.rates(state) or derived(tree, constraint, q, v, time)
        found.rows.extend(rates.rows)
        found.bias.extend(rates.bias)
        found.drift.extend(rates.drift or [0.0] * len(rates.rows))
        found.sizes.extend(rates.sizes or [[x * x for x in row] for row in rates.rows])
    return found


def derived(tree: Tree, constraint: Constraint, q: Scalars, v: Scalars, time: Any) -> Rates:
    """The rates of a constraint that states an error, or a velocity, alone."""

    def velocity(q: Scalars, v: Scalars, time: Any) -> list[Any]:
        if not constraint.holonomic:
            return list(constraint.velocity(KinematicState(tree, q, v, time)))
        moving = seeded([*q, time], [*rate_of(tree, q, v), 1.0])
        error = constraint.error(KinematicState(tree, moving[:-1], None, moving[-1]))
        return [parts(x, moving[0].level)[1] for x in error]

    if constraint.holonomic:
        rows = _rows_of_error(tree, constraint, q, time)
        drift = _drift(tree, constraint, q, time)
    else:
        moving = seeded(v, [SparseTangent({k: 1.0}) for k in range(tree.nv)])
        found = [parts(x, moving[0].level) if moving else (x, 0.0) for x in velocity(q, moving, time)]
        rows = [[t.get(k) if isinstance(t, SparseTangent) else 0.0 for k in range(tree.nv)] for _, t in found]
        drift = velocity(q, [0.0] * tree.nv, time)
    going = seeded([*q, time], [*rate_of(tree, q, v), 1.0])
    bias = [parts(x, going[0].level)[1] for x in velocity(going[:-1], v, going[-1])]
    return Rates(rows, bias, drift)


def _rows_of_error(tree: Tree, constraint: Constraint, q: Scalars, time: Any) -> list[list[Any]]:
    moving = seeded(q, [SparseTangent(row) for row in tangent_rates(tree, q)])
    found = [parts(x, moving[0].level)[1] for x in constraint.error(KinematicState(tree, moving, None, time))]
    return [[t.get(k) if isinstance(t, SparseTangent) else 0.0 for k in range(tree.nv)] for t in found]


def _drift(tree: Tree, constraint: Constraint, q: Scalars, time: Any) -> list[Any]:
    if not constraint.time_dependent:
        return [0.0] * len(constraint.component_names)
    (moving,) = seeded([time], [1.0])
    return [parts(x, moving.level)[1] for x in constraint.error(KinematicState(tree, q, None, moving))]


def constraint_error(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[Any]:
    """φ(q, t) of the holonomic constraints, one after the other: zero where they hold."""
    state = KinematicState(tree, q, None, 0.0 if time is None else time[0])
    return [x for constraint in tree.constraints if constraint.holonomic for x in constraint.error(state)]


def constraint_jacobian(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[list[Any]]:
    """G (nc × nv): velocities that obey all constraints have G v + σ = 0."""
    return rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0]).rows


def constraint_drift(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[Any]:
    """σ (nc): what time, and what moves by itself, adds to G v."""
    return rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0]).drift


def constraint_bias(tree: Tree, q: Scalars, v: Scalars, time: Scalars | None = None) -> list[Any]:
    """γ (nc): accelerations that obey all constraints have G a + γ = 0, at velocities that do."""
    return rates_of(tree, q, v, 0.0 if time is None else time[0]).bias


Matrix = list[list[Any]]


def rows_in_time(tree: Tree, q: Scalars, time: Any) -> tuple[Matrix, Matrix]:
    """(G σ), nc × (nv + 1), and the squares of G's numbers as they would be without cancellation."""
    rates = rates_of(tree, q, [0.0] * tree.nv, time)
    return [[*row, drift] for row, drift in zip(rates.rows, rates.drift, strict=True)], rates.sizes


def allowed(rows: Matrix, pivots: Sequence[tuple[int, int]], free: Sequence[int]) -> Matrix:
    """Vectors that rows take to zero, one for each free column, by elimination with pivots (row, column) in order."""
    rows = [list(row) for row in rows]
    for i, j in pivots:
        pivot = rows[i][j]
        rows[i] = [x if is_zero(x) else x / pivot for x in rows[i]]
        rows[i][j] = 1.0
        for other, _ in pivots:
            factor = rows[other][j]
            if other != i and not is_zero(factor):
                rows[other] = [a if is_zero(b) else a - factor * b for a, b in zip(rows[other], rows[i], strict=True)]
                rows[other][j] = 0.0
    found = []
    for column in free:
        u: list[Any] = [0.0] * len(rows[0])
        u[column] = 1.0
        for i, j in pivots:
            u[j] = 0.0 if is_zero(rows[i][column]) else -rows[i][column]
        found.append(u)
    return found


ROWS = (
    FunctionSpec.of(
        constraint_error, "q", Output(("ne",), "m, rad"), "What is left to where constraints hold.", optional=("time",)
    ),
    FunctionSpec.of(
        constraint_jacobian,
        "q",
        Output(("nc", "nv"), "m, 1"),
        "The velocities that constraints rule out, a row each.",
        optional=("time",),
    ),
    FunctionSpec.of(
        constraint_drift,
        "q",
        Output(("nc",), "m/s, rad/s"),
        "What velocities that obey constraints make up for, where these move by themselves.",
        optional=("time",),
    ),
    FunctionSpec.of(
        constraint_bias,
        "q v",
        Output(("nc",), "m/s², rad/s²"),
        "What constraints add to accelerations while velocities stay the same.",
        optional=("time",),
    ),
)
