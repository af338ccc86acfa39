"""Constraints of a robot in one state: errors, Jacobian rows, bias and drift, and the admissible velocities.

`KinematicState` is the state of a robot that constraints query.  Rates of a constraint without a closed form follow
from its error or velocity by differentiation: φ̇ = A v + σ, with A from dual-number velocities, and γ as the rate of φ̇
for constant v.  `bind_constraints` traces user functions when constraints are added to a robot, so that errors are
raised before any computation.

Admissible velocities u = (v; ṫ) satisfy G v + σ ṫ = 0.  Rows are eliminated with pivots that are chosen in one state
and used around it.  The result is a basis with a one at each free velocity, smooth wherever no pivot vanishes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.constraints import Constraint, Rates
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import tangent_rates
from linkwork.dynamics.algorithms.momentum.center_of_mass import center_of_mass
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.symbol import Graph
from linkwork.kinematics.algorithms.configuration_manifold import velocity_to_configuration_derivative as rate_of
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.kinematics.algorithms.forward_kinematics import pose_between
from linkwork.kinematics.algorithms.joint_path import BetweenFrames
from linkwork.model.body import WORLD
from linkwork.model.function_spec import FunctionSpec, Output
from linkwork.model.tree import Tree
from linkwork.model.tree_attachments import with_constraints
from linkwork.spatial import Pose, Vec3

__all__ = [
    "ROWS",
    "AllRates",
    "KinematicState",
    "allowed",
    "bind_constraints",
    "constraint_bias",
    "constraint_drift",
    "constraint_error",
    "constraint_jacobian",
    "derived",
    "error_scales",
    "position_rounding",
    "rates_of",
    "rates_of_some",
    "rebind_constraints",
    "rows_in_time",
]


Scalars = Sequence[Any]
_PLACED = 1e-15  # rounding of positions, relative to their distance from the world's origin


@dataclass(frozen=True, slots=True)
class AllRates:
    """Constraints of a robot in one state on velocity and acceleration level: G v + σ = 0 and G a + γ = 0.

    ``rows`` are the rows of G (nc × nv), ``bias`` is γ (nc), ``drift`` is σ (nc), and ``sizes`` are the squared
    elements of G without cancellation; the constraints are concatenated.
    """

    rows: list[list[Any]]
    bias: list[Any]
    drift: list[Any]
    sizes: list[list[Any]]


def rates_of(tree: Tree, q: Scalars, v: Scalars, time: Any = 0.0) -> AllRates:
    """Return Jacobian G, bias γ and drift σ of all constraints in one state: G v + σ = 0 and G a + γ = 0."""
    return rates_of_some(tree, tree.constraints, q, v, time)


def rates_of_some(tree: Tree, constraints: Iterable[Constraint], q: Scalars, v: Scalars, time: Any = 0.0) -> AllRates:
    """Return Jacobian G, bias γ and drift σ of these constraints in one state: G v + σ = 0 and G a + γ = 0."""
    state = KinematicState(tree, q, v, time)
    result = AllRates([], [], [], [])
    for constraint in constraints:
        rates = constraint.rates(state) or derived(tree, constraint, q, v, time)
        result.rows.extend(rates.rows)
        result.bias.extend(rates.bias)
        result.drift.extend(rates.drift or [0.0] * len(rates.rows))
        result.sizes.extend(rates.sizes or [[x * x for x in row] for row in rates.rows])
    return result


def derived(tree: Tree, constraint: Constraint, q: Scalars, v: Scalars, time: Any) -> Rates:
    """Return the Jacobian G, bias γ and drift σ of a constraint by automatic differentiation of its error or velocity.

    G v + σ = 0 and G a + γ = 0.
    """

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
        result = [parts(x, moving[0].level) if moving else (x, 0.0) for x in velocity(q, moving, time)]
        rows = [[t.get(k) if isinstance(t, SparseTangent) else 0.0 for k in range(tree.nv)] for _, t in result]
        drift = velocity(q, [0.0] * tree.nv, time)
    advancing = seeded([*q, time], [*rate_of(tree, q, v), 1.0])
    bias = [parts(x, advancing[0].level)[1] for x in velocity(advancing[:-1], v, advancing[-1])]
    return Rates(rows, bias, drift, constraint.row_sizes(KinematicState(tree, q, v, time)))


def _rows_of_error(tree: Tree, constraint: Constraint, q: Scalars, time: Any) -> list[list[Any]]:
    moving = seeded(q, [SparseTangent(row) for row in tangent_rates(tree, q)])
    result = [parts(x, moving[0].level)[1] for x in constraint.error(KinematicState(tree, moving, None, time))]
    return [[t.get(k) if isinstance(t, SparseTangent) else 0.0 for k in range(tree.nv)] for t in result]


def _drift(tree: Tree, constraint: Constraint, q: Scalars, time: Any) -> list[Any]:
    if not constraint.time_dependent:
        return [0.0] * len(constraint.component_names)
    (moving,) = seeded([time], [1.0])
    return [parts(x, moving.level)[1] for x in constraint.error(KinematicState(tree, q, None, moving))]


def constraint_error(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[Any]:
    """Return the errors φ(q, t) of the holonomic constraints, concatenated."""
    state = KinematicState(tree, q, None, 0.0 if time is None else time[0])
    return [x for constraint in tree.constraints if constraint.holonomic for x in constraint.error(state)]


def error_scales(tree: Tree) -> list[float]:
    """Return the factor of each holonomic error (ne) that makes it free of units: 1/L for lengths, 1 for angles.

    L is the characteristic length.
    """
    per = 1.0 / characteristic_length(tree)
    return [per if unit == "m" else 1.0 for c in tree.constraints if c.holonomic for unit in c.row_units]


def position_rounding(tree: Tree) -> float:
    """Return the rounding error [m] of positions in the world.

    It is proportional to the largest distance of joints and frames that are fixed to the world from its origin.
    """
    placements = [body.placement for body in tree.bodies if body.parent == WORLD]
    placements += [frame.placement for frame in tree.frames if frame.body == WORLD]
    known = [[*X.translation] for X in placements]
    return _PLACED * max((math.hypot(*x) for x in known if all(isinstance(a, float) for a in x)), default=0.0)


def constraint_jacobian(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[list[Any]]:
    """Return the constraint Jacobian G (nc × nv): the constraints allow velocities v with G v + σ = 0."""
    return rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0]).rows


def constraint_drift(tree: Tree, q: Scalars, time: Scalars | None = None) -> list[Any]:
    """Return the drift σ (nc) of the constraints G v + σ = 0 on velocities, due to explicit time dependence."""
    return rates_of(tree, q, [0.0] * tree.nv, 0.0 if time is None else time[0]).drift


def constraint_bias(tree: Tree, q: Scalars, v: Scalars, time: Scalars | None = None) -> list[Any]:
    """Return the bias γ (nc) of the constraints G a + γ = 0 on accelerations a, for v that satisfies them."""
    return rates_of(tree, q, v, 0.0 if time is None else time[0]).bias


Matrix = list[list[Any]]


def rows_in_time(tree: Tree, q: Scalars, time: Any) -> tuple[Matrix, Matrix]:
    """Return the constraint Jacobian G with the drift σ, their rate by time, as last column: nc × (nv + 1).

    The second result are the squared elements of G without cancellation.
    """
    rates = rates_of(tree, q, [0.0] * tree.nv, time)
    return [[*row, drift] for row, drift in zip(rates.rows, rates.drift, strict=True)], rates.sizes


def allowed(rows: Matrix, pivots: Sequence[tuple[int, int]], free: Sequence[int]) -> Matrix:
    """Return a basis of the null space, one vector for each free column, by elimination with ordered pivots."""
    rows = [list(row) for row in rows]
    for i, j in pivots:
        pivot = rows[i][j]
        rows[i] = [x if is_zero(x) else x / pivot for x in rows[i]]
        rows[i][j] = 1.0
        for k, _ in pivots:
            factor = rows[k][j]
            if k != i and not is_zero(factor):
                rows[k] = [a if is_zero(b) else a - factor * b for a, b in zip(rows[k], rows[i], strict=True)]
                rows[k][j] = 0.0
    result = []
    for column in free:
        u: list[Any] = [0.0] * len(rows[0])
        u[column] = 1.0
        for i, j in pivots:
            u[j] = 0.0 if is_zero(rows[i][column]) else -rows[i][column]
        result.append(u)
    return result


class KinematicState:
    """State (q, v, time) of a robot, in which constraints query kinematics.

    Without v, queries of velocities are errors.
    """

    def __init__(self, tree: Tree, q: Scalars, v: Scalars | None = None, time: Any = 0.0) -> None:
        self.tree, self.time = tree, time
        self._q, self._v = list(q), None if v is None else list(v)
        self._split_q = tree.split_q(q)
        self._between: dict[tuple[str, str], BetweenFrames] = {}

    @property
    def nv(self) -> int:
        return self.tree.nv

    def q(self, joint: str) -> list[Any]:
        i = self.tree.joint_index(joint)
        values, coupling = self._split_q[i], self.tree.bodies[i].coupling
        return list(values) if coupling is None else coupling.q(values)

    def v(self, joint: str) -> list[Any]:
        i = self.tree.joint_index(joint)
        values, coupling = self.split_v[i], self.tree.bodies[i].coupling
        return list(values) if coupling is None else coupling.v(values)

    def moving(self, joint: str) -> list[list[Any]]:
        i = self.tree.joint_index(joint)
        columns, ratio = range(self.nv)[self.tree.v_slices[i]], self.tree.bodies[i].ratio
        return [[ratio if k == column else 0.0 for k in range(self.nv)] for column in columns]

    def units(self, joint: str) -> tuple[str, ...]:
        rates = self.tree.bodies[self.tree.joint_index(joint)].joint.v_units
        return tuple(unit.removesuffix("/s") for unit in rates)

    def pose(self, frame: str, relative_to: str = "world") -> Pose:
        return pose_between(self.tree, self._split_q, self.tree.frame(relative_to), self.tree.frame(frame))

    def point(self, name: str, relative_to: str = "world") -> Vec3:
        point = self.tree.point(name)
        return self.pose(point.frame, relative_to).point(point.position)

    def direction(self, name: str, relative_to: str = "world") -> Vec3:
        direction = self.tree.direction(name)
        result: Vec3 = self.pose(direction.frame, relative_to).rotation @ direction.vector
        return result

    def locate(self, point: str) -> tuple[str, Vec3]:
        result = self.tree.point(point)
        return result.frame, result.position

    def axis_of(self, direction: str) -> tuple[str, Vec3]:
        result = self.tree.direction(direction)
        return result.frame, result.vector

    def center_of_mass(self, relative_to: str = "world") -> Vec3:
        return Vec3.of(center_of_mass(self.tree, self._q, None, relative_to, relative_to))

    def between(self, frame: str, relative_to: str = "world") -> BetweenFrames:
        key = frame, relative_to
        if key not in self._between:
            self._between[key] = BetweenFrames(self, frame, relative_to)
        return self._between[key]

    @cached_property
    def split_v(self) -> list[Any]:
        assert self._v is not None, "the error of a constraint queries a velocity"
        return self.tree.split_v(self._v)

    @property
    def split_q(self) -> list[Any]:
        return self._split_q


_STATES = 16  # random states in which linearity is checked
_ROUNDING = 1e-9  # largest relative deviation from linearity


def bind_constraints(tree: Tree, constraint: Constraint) -> Constraint:
    """Return the constraint bound to a robot (`Constraint.bind`).

    Raises ValueError for a user function that is unsuitable, not differentiable, or a function of velocities that is
    not linear in them; UnknownNameError for a query with an unknown name.
    """
    if not isinstance(constraint, Constraint):
        return constraint  # the caller raises the error
    graph = Graph(f"constraint {constraint.name!r}")
    q, v, (time,) = graph.inputs("q", (tree.nq,)), graph.inputs("v", (tree.nv,)), graph.inputs("time", (1,))
    result = constraint.bind(KinematicState(tree, q, v, time))
    if result.functions and not any(result.checked(tree)):
        derived(tree, result, q, v, time)
        if not result.holonomic:
            _check_linear(tree, result)
    return result


def _check_linear(tree: Tree, constraint: Constraint) -> None:
    """Raise ValueError for a velocity function that is not affine in v, or is NaN, in random states."""
    rng = np.random.default_rng(0)
    free = [np.full(body.joint.nq, np.inf).tolist() for _, body in tree.stacked()]
    bounded = zip(tree.stacked(), free, strict=True)
    q = [x for (_, body), high in bounded for x in body.joint.random(rng, [-x for x in high], high, (_STATES,)).T]
    v, w = rng.normal(size=(2, tree.nv, _STATES))
    time, a, b = np.ones(_STATES), 2.0, -3.0

    def value(v: np.ndarray) -> np.ndarray:
        result = constraint.velocity(KinematicState(tree, q, list(v), time))
        return np.array([np.broadcast_to(np.asarray(x, dtype=float), _STATES) for x in result])

    with np.errstate(all="ignore"):
        drift = value(0.0 * v)
        by_v, by_w, both = value(v) - drift, value(w) - drift, value(a * v + b * w) - drift
        size = 1.0 + sum(np.abs(x) for x in (drift, by_v, by_w, both))
        off = np.abs(both - a * by_v - b * by_w) / size
    for name, row in zip(constraint.component_names, off, strict=True):
        if np.isnan(row).all():
            raise ValueError(
                f"constraint {constraint.name!r}: its function returns NaN in {_STATES} random states ({name})"
            )
        if np.nanmax(row) > _ROUNDING:
            raise ValueError(
                f"constraint {constraint.name!r}: its function is not linear in velocities ({name}): f(2 v - 3 w) "
                f"differs from 2 f(v) - 3 f(w) by {np.nanmax(row):.1e}, relative; expected A(q, t) v + σ(q, t)"
            )


def rebind_constraints(tree: Tree) -> Tree:
    """Return a tree with its constraints bound again, after its joints have changed.  Raises ValueError."""
    if not tree.constraints:
        return tree
    return with_constraints(replace(tree, constraints=()), [bind_constraints(tree, c) for c in tree.constraints])


ROWS = (
    FunctionSpec.of(
        constraint_error, "q", Output(("ne",), "m, rad"), "Errors of the holonomic constraints.", optional=("time",)
    ),
    FunctionSpec.of(
        constraint_jacobian,
        "q",
        Output(("nc", "nv"), "m, 1"),
        "Constraint Jacobian, one row for each constrained velocity.",
        optional=("time",),
    ),
    FunctionSpec.of(
        constraint_drift,
        "q",
        Output(("nc",), "m/s, rad/s"),
        "Drift of the constraint velocities, due to explicit time dependence.",
        optional=("time",),
    ),
    FunctionSpec.of(
        constraint_bias,
        "q v",
        Output(("nc",), "m/s², rad/s²"),
        "Bias of the constraint accelerations, for constant velocities.",
        optional=("time",),
    ),
)
