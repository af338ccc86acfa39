"""A mechanism's velocities as functions of independent ones: the explicit form of its constraints.

With the columns of G split into those of independent velocities u and of the others, the rows G v + σ = 0 give

    v = K u + k,      K_i = 1,      G_d K_d = −G_i,      G_d k_d = −σ,

and with accelerations a, G a + γ = 0, a = K u̇ + g, where G_d g_d = −γ; g is K̇ u + k̇.  G_d may have more rows than
columns: where rows depend on each other, and agree, the normal equations G_dᵀ G_d x = G_dᵀ b have the solution of all
of them, and they are regular wherever u determines the rest.  What squaring costs in digits a step of refinement on b −
G_d x brings back, as far as G_dᵀ G_d tells its columns apart.

Sources: Björck, Stability analysis of the method of seminormal equations, Linear Algebra Appl. 88/89, 1987;
Featherstone, Rigid Body Dynamics Algorithms, 2008, section 3.5 (explicit constraints).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, reciprocal_or_zero, transposed
from linkwork.expr.scalar.functions import eq
from linkwork.kinematics.algorithms.configuration_manifold import velocity_to_configuration_derivative as rate_of
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.coordinate_names import index_of
from linkwork.model.function_spec import FunctionSpec, Option, Output
from linkwork.model.tree import Tree

__all__ = ["INDEPENDENT", "ROWS", "Explicit", "Solved", "explicit_acceleration", "places_of"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]
Names = str | Sequence[str]

INDEPENDENT = Option("independent", required=True, names="velocity", counted="ni")


def places_of(tree: Tree, names: Names) -> list[int]:
    """Where named numbers are in v."""
    result: list[int] = index_of(tree, "v", (names,) if isinstance(names, str) else tuple(names)).tolist()
    return result


@dataclass(frozen=True)
class Solved:
    """Some columns of a matrix, factored: of A x = b, which has a solution, the one."""

    rows: Matrix  # of these columns alone

    @cached_property
    def columns(self) -> Matrix:
        return transposed(self.rows)

    @cached_property
    def factors(self) -> Semidefinite:
        """Of AᵀA."""
        count = len(self.columns)
        lower = [[dot(self.columns[i], self.columns[j]) for j in range(i + 1)] for i in range(count)]
        return Semidefinite.of(lower, more=0.0)

    @property
    def pivots(self) -> list[Any]:
        """What is left of the square of each column beside those before it, relative: 0 where it is one of theirs."""
        factors = self.factors
        shares = [factors.D_inv[k] * factors.A[column][column] for k, column in enumerate(factors.order)]
        return [reciprocal_or_zero(share, eq(share, 0.0)) for share in shares]

    def of(self, b: Scalars) -> list[Any]:
        """x, with a step of refinement."""
        if not self.rows or all(map(is_zero, b)):
            return [0.0] * len(self.columns)
        x = self.once(b)
        rest = self.once([y - dot(row, x) for y, row in zip(b, self.rows, strict=True)])
        return [value + more for value, more in zip(x, rest, strict=True)]

    def pulled(self, b: Scalars) -> list[Any]:
        """The shortest y with Aᵀ y = b, with a step of refinement."""
        if not self.rows:
            return []
        x = self.factors.once(b)
        y = [dot(row, x) for row in self.rows]
        x = self.factors.once([value - dot(column, y) for value, column in zip(b, self.columns, strict=True)])
        return [value + dot(row, x) for value, row in zip(y, self.rows, strict=True)]

    def once(self, b: Scalars) -> list[Any]:
        """(AᵀA)⁻¹ Aᵀ b."""
        return self.factors.once([dot(column, b) for column in self.columns])


@dataclass(frozen=True)
class Explicit:
    """The rows of constraints in one state, solved for the velocities that depend on others."""

    rows: Matrix  # G
    nv: int
    independent: list[int]

    @staticmethod
    def at(tree: Tree, q: Scalars, independent: Names, time: Any = 0.0, holonomic: bool = False) -> Explicit:
        """Of all constraints, or of those alone that have an error."""
        rows = rates_of(tree, q, [0.0] * tree.nv, time).rows
        if holonomic:
            kept = [c.holonomic for c in tree.constraints for _ in c.component_names]
            rows = [row for row, is_kept in zip(rows, kept, strict=True) if is_kept]
        return Explicit(rows, tree.nv, places_of(tree, independent))

    @cached_property
    def dependent(self) -> list[int]:
        return [k for k in range(self.nv) if k not in self.independent]

    @cached_property
    def _solved(self) -> Solved:
        return Solved([[row[k] for k in self.dependent] for row in self.rows] or [])

    def whole(self, independent: Scalars, rest: Scalars) -> list[Any]:
        """x (nv) with G x + rest = 0, where those of the independent velocities are given."""
        result: list[Any] = [0.0] * self.nv
        for k, x in zip(self.independent, independent, strict=True):
            result[k] = x
        if self.rows:
            known = [dot([row[k] for k in self.independent], independent) for row in self.rows]
            b = [-x if is_zero(r) else -(x + r) for x, r in zip(known, rest, strict=True)]
            for k, x in zip(self.dependent, self._solved.of(b), strict=True):
                result[k] = x
        return result

    @cached_property
    def K(self) -> Matrix:
        """K (nv × ni)."""
        none = [0.0] * len(self.rows)
        columns = [self.whole([float(i == j) for j in self.independent], none) for i in self.independent]
        return transposed(columns) if columns else [[] for _ in range(self.nv)]

    def forces(self, needed: Scalars) -> list[Any]:
        """λ with Gᵀ λ = needed, where some has it: what each row exerts."""
        return self._solved.pulled([needed[k] for k in self.dependent])

    def reduced(self, forces: Scalars) -> list[Any]:
        """Kᵀ τ: the forces on the independent velocities that do the same work."""
        return [dot(column, forces) for column in transposed(self.K)]


def explicit_jacobian(tree: Tree, q: Scalars, independent: Names, time: Scalars | None = None) -> Matrix:
    """K (nv × ni): velocities that obey all constraints are v = K u + k."""
    return Explicit.at(tree, q, independent, _time(time)).K


def explicit_jacobian_derivative(
    tree: Tree, q: Scalars, v: Scalars, independent: Names, time: Scalars | None = None
) -> Matrix:
    """K̇ (nv × ni) at velocities that obey the constraints: G_d K̇_d = −Ġ K."""
    t = _time(time)
    explicit = Explicit.at(tree, q, independent, t)
    going = seeded([*q, t], [*rate_of(tree, q, v), 1.0])
    moving = rates_of(tree, going[:-1], [0.0] * tree.nv, going[-1]).rows
    G_dot = [[parts(x, going[0].level)[1] for x in row] for row in moving]
    still = [0.0] * len(explicit.independent)
    columns = [explicit.whole(still, [dot(row, column) for row in G_dot]) for column in transposed(explicit.K)]
    return transposed(columns) if columns else [[] for _ in range(tree.nv)]


def explicit_velocity(tree: Tree, q: Scalars, v: Scalars, independent: Names, time: Scalars | None = None) -> list[Any]:
    """K u + k (nv), u being the independent ones of v; the others are not read."""
    t = _time(time)
    explicit = Explicit.at(tree, q, independent, t)
    drift = rates_of(tree, q, [0.0] * tree.nv, t).drift
    return explicit.whole([v[k] for k in explicit.independent], drift)


def explicit_acceleration(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, independent: Names, time: Scalars | None = None
) -> list[Any]:
    """K u̇ + g (nv), u̇ being the independent ones of a; v obeys the constraints."""
    t = _time(time)
    explicit = Explicit.at(tree, q, independent, t)
    return explicit.whole([a[k] for k in explicit.independent], rates_of(tree, q, v, t).bias)


def _time(time: Scalars | None) -> Any:
    return 0.0 if time is None else time[0]


_OF_RATES: dict[str, Any] = {"optional": ("time",), "options": (INDEPENDENT,)}

ROWS = (
    FunctionSpec.of(
        explicit_jacobian,
        "q",
        Output(("nv", "ni"), "1, m, 1/m"),
        "What independent velocities make of all, where constraints hold.",
        **_OF_RATES,
    ),
    FunctionSpec.of(
        explicit_jacobian_derivative,
        "q v",
        Output(("nv", "ni"), "1/s, m/s"),
        "Its rate, at velocities that obey the constraints.",
        **_OF_RATES,
    ),
    FunctionSpec.of(
        explicit_velocity,
        "q v",
        Output(("nv",), "rad/s, m/s"),
        "Velocities that obey the constraints, of the independent ones among them.",
        **_OF_RATES,
    ),
    FunctionSpec.of(
        explicit_acceleration,
        "q v a",
        Output(("nv",), "rad/s², m/s²"),
        "Accelerations that obey the constraints, of the independent ones among them.",
        **_OF_RATES,
    ),
)
