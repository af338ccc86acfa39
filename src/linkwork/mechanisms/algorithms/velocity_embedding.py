"""Velocity embedding: all velocities of a mechanism as functions of independent ones, v = K u + k.

With the columns of G split into those of the independent velocities u and of the dependent ones d, G v + σ = 0 gives

    v = K u + k,      K_i = 1,      G_d K_d = −G_i,      G_d k_d = −σ,

and for accelerations, G a + γ = 0 gives a = K u̇ + g with G_d g_d = −γ, where g = K̇ u + k̇.  G_d may have more rows than
columns.  If redundant rows are consistent, the normal equations G_dᵀ G_d x = G_dᵀ b solve all rows, and they are
regular wherever u determines d.  One step of refinement with the residual b − G_d x recovers the digits lost by
squaring, as long as G_dᵀ G_d is numerically regular.

Sources: Björck, Stability analysis of the method of seminormal equations, Linear Algebra Appl. 88/89, 1987;
Featherstone, Rigid Body Dynamics Algorithms, 2008, section 3.5 (embedding constraints).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork._util.cached_properties import cached_property
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero, reciprocal_or_zero, transposed
from linkwork.expr.scalar.functions import eq, or_
from linkwork.kinematics.algorithms.configuration_manifold import velocity_to_configuration_derivative as rate_of
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.model.coordinate_names import index_of
from linkwork.model.function_spec import FunctionSpec, Option, Output
from linkwork.model.tree import Tree

__all__ = ["INDEPENDENT", "ROWS", "NormalEquations", "VelocityEmbedding", "explicit_acceleration", "velocity_indices"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]
Names = str | Sequence[str]

INDEPENDENT = Option("independent", required=True, names="velocity", counted="ni")


def velocity_indices(tree: Tree, names: Names) -> list[int]:
    """Return the indices of named components of v."""
    result: list[int] = index_of(tree, "v", (names,) if isinstance(names, str) else tuple(names)).tolist()
    return result


@dataclass(frozen=True)
class NormalEquations:
    """Solver of consistent equations A x = b by factored normal equations."""

    rows: Matrix  # of A

    @cached_property
    def columns(self) -> Matrix:
        return transposed(self.rows)

    @cached_property
    def factors(self) -> Semidefinite:
        """Factors of AᵀA."""
        count = len(self.columns)
        lower = [[dot(self.columns[i], self.columns[j]) for j in range(i + 1)] for i in range(count)]
        return Semidefinite.of(lower, more=0.0)

    @property
    def shares(self) -> list[Any]:
        """For each column of A, the fraction of its squared norm that is orthogonal to the other columns.

        It is 0 if the column depends on them, else 1/(N_kk (N⁻¹)_kk) with N = AᵀA.  The pivots of N depend on the order
        of elimination, and so on elements that are zero by rounding.
        """
        factors, result = self.factors, [0.0] * len(self.columns)
        for k, column in enumerate(factors.order):
            half = factors.half([1.0 if i == column else 0.0 for i in range(len(result))])
            inverse = dot([x * d for x, d in zip(half, factors.D_inv, strict=True)], half)
            is_dependent = or_(eq(factors.D_inv[k], 0.0), eq(inverse, 0.0))
            result[column] = reciprocal_or_zero(inverse * factors.A[column][column], is_dependent)
        return result

    def of(self, b: Scalars) -> list[Any]:
        """Return the solution x of A x = b, with one step of iterative refinement."""
        if not self.rows or all(map(is_zero, b)):
            return [0.0] * len(self.columns)
        x = self.once(b)
        residual = self.once([y - dot(row, x) for y, row in zip(b, self.rows, strict=True)])
        return [value + more for value, more in zip(x, residual, strict=True)]

    def pulled(self, b: Scalars) -> list[Any]:
        """Return the minimum-norm y with Aᵀ y = b, with one step of refinement."""
        if not self.rows:
            return []
        x = self.factors.once(b)
        y = [dot(row, x) for row in self.rows]
        x = self.factors.once([value - dot(column, y) for value, column in zip(b, self.columns, strict=True)])
        return [value + dot(row, x) for value, row in zip(y, self.rows, strict=True)]

    def once(self, b: Scalars) -> list[Any]:
        """Return (AᵀA)⁻¹ Aᵀ b, the solution of A x = b without refinement."""
        return self.factors.once([dot(column, b) for column in self.columns])


@dataclass(frozen=True)
class VelocityEmbedding:
    """All velocities of a robot as functions of the independent ones in one state, v = K u + k.

    It solves the constraint rows G for the dependent velocities.
    """

    rows: Matrix  # G
    nv: int
    independent: list[int]

    @staticmethod
    def at(tree: Tree, q: Scalars, independent: Names, time: Any = 0.0, holonomic: bool = False) -> VelocityEmbedding:
        """Return the velocity embedding at q: of all constraints, or with ``holonomic`` of the holonomic ones only."""
        rows = rates_of(tree, q, [0.0] * tree.nv, time).rows
        if holonomic:
            has_errors = [c.holonomic for c in tree.constraints for _ in c.component_names]
            rows = [row for row, has_error in zip(rows, has_errors, strict=True) if has_error]
        return VelocityEmbedding(rows, tree.nv, velocity_indices(tree, independent))

    @cached_property
    def dependent(self) -> list[int]:
        return [k for k in range(self.nv) if k not in self.independent]

    @cached_property
    def _solved(self) -> NormalEquations:
        return NormalEquations([[row[k] for k in self.dependent] for row in self.rows] or [])

    def whole(self, independent: Scalars, bias: Scalars) -> list[Any]:
        """Return the vector x (nv) with G x + ``bias`` = 0 for the rows G that has these independent components."""
        result: list[Any] = [0.0] * self.nv
        for k, x in zip(self.independent, independent, strict=True):
            result[k] = x
        if self.rows:
            known = [dot([row[k] for k in self.independent], independent) for row in self.rows]
            b = [-x if is_zero(r) else -(x + r) for x, r in zip(known, bias, strict=True)]
            for k, x in zip(self.dependent, self._solved.of(b), strict=True):
                result[k] = x
        return result

    @cached_property
    def K(self) -> Matrix:
        """Matrix K (nv × ni) that maps independent velocities u to all velocities, v = K u + k."""
        zeros = [0.0] * len(self.rows)
        columns = [self.whole([float(i == j) for j in self.independent], zeros) for i in self.independent]
        return transposed(columns) if columns else [[] for _ in range(self.nv)]

    def forces(self, required: Scalars) -> list[Any]:
        """Return the constraint forces λ with Gᵀ λ = ``required`` (nv), if such λ exist."""
        return self._solved.pulled([required[k] for k in self.dependent])

    def reduced(self, forces: Scalars) -> list[Any]:
        """Return the generalized forces Kᵀ τ on the independent velocities, with the same power as the joint forces τ.

        ``forces`` are τ (nv).
        """
        return [dot(column, forces) for column in transposed(self.K)]


def explicit_jacobian(tree: Tree, q: Scalars, independent: Names, time: Scalars | None = None) -> Matrix:
    """Return the matrix K (nv × ni) of the velocities v = K u + k that satisfy all constraints.

    u (ni) are the ``independent`` velocities.
    """
    return VelocityEmbedding.at(tree, q, independent, _time(time)).K


def explicit_jacobian_derivative(
    tree: Tree, q: Scalars, v: Scalars, independent: Names, time: Scalars | None = None
) -> Matrix:
    """Return the time derivative K̇ (nv × ni) of `explicit_jacobian`, for a velocity v that satisfies the constraints.

    The rows of the dependent velocities d follow from G_d K̇_d = −Ġ K, with the columns G_d of the constraint Jacobian
    G.
    """
    t = _time(time)
    embedding = VelocityEmbedding.at(tree, q, independent, t)
    advancing = seeded([*q, t], [*rate_of(tree, q, v), 1.0])
    moving = rates_of(tree, advancing[:-1], [0.0] * tree.nv, advancing[-1]).rows
    G_dot = [[parts(x, advancing[0].level)[1] for x in row] for row in moving]
    zero = [0.0] * len(embedding.independent)
    columns = [embedding.whole(zero, [dot(row, column) for row in G_dot]) for column in transposed(embedding.K)]
    return transposed(columns) if columns else [[] for _ in range(tree.nv)]


def explicit_velocity(tree: Tree, q: Scalars, v: Scalars, independent: Names, time: Scalars | None = None) -> list[Any]:
    """Return the velocity K u + k (nv) that satisfies the constraints, with u the independent components of v.

    The other components of v are not used.
    """
    t = _time(time)
    embedding = VelocityEmbedding.at(tree, q, independent, t)
    drift = rates_of(tree, q, [0.0] * tree.nv, t).drift
    return embedding.whole([v[k] for k in embedding.independent], drift)


def explicit_acceleration(
    tree: Tree, q: Scalars, v: Scalars, a: Scalars, independent: Names, time: Scalars | None = None
) -> list[Any]:
    """Return the acceleration K u̇ + g (nv) that satisfies the constraints, for v that satisfies them.

    u̇ are the ``independent`` components of a; the others are not used.  g is the acceleration at u̇ = 0.
    """
    t = _time(time)
    embedding = VelocityEmbedding.at(tree, q, independent, t)
    return embedding.whole([a[k] for k in embedding.independent], rates_of(tree, q, v, t).bias)


def _time(time: Scalars | None) -> Any:
    return 0.0 if time is None else time[0]


_OF_RATES: dict[str, Any] = {"optional": ("time",), "options": (INDEPENDENT,)}

ROWS = (
    FunctionSpec.of(
        explicit_jacobian,
        "q",
        Output(("nv", "ni"), "1, m, 1/m"),
        "Matrix K of all velocities by the independent ones.",
        **_OF_RATES,
    ),
    FunctionSpec.of(
        explicit_jacobian_derivative,
        "q v",
        Output(("nv", "ni"), "1/s, m/s"),
        "Time derivative of K, for velocities that satisfy the constraints.",
        **_OF_RATES,
    ),
    FunctionSpec.of(
        explicit_velocity,
        "q v",
        Output(("nv",), "rad/s, m/s"),
        "Velocities that satisfy the constraints, from the independent ones.",
        **_OF_RATES,
    ),
    FunctionSpec.of(
        explicit_acceleration,
        "q v a",
        Output(("nv",), "rad/s², m/s²"),
        "Accelerations that satisfy the constraints, from the independent ones.",
        **_OF_RATES,
    ),
)
