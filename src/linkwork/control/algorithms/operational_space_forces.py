"""Operational-space control: forces under which tasks accelerate as they are to, a priority after the other.

Under τ = h(q, v) + M a_0 + Σ J̃_kᵀ F_k the robot accelerates by a = a_0 + Σ M⁻¹ J̃_kᵀ F_k.  Of each level

    F_k = Λ_k (a_k* − J̇_k v − J_k a),     Λ_k⁻¹ = J̃_k M⁻¹ J̃_kᵀ,     J̃_k = J_k − Σ_{j<k} (J_k M⁻¹ J̃_jᵀ) Λ_j J̃_j,

a being what those before it and a_0 lead to.  As J_j M⁻¹ J̃_kᵀ = 0 for j < k, no level moves one before it (the null
space is dynamically consistent), and a_0 acts in what all of them leave.

Where tasks are singular, or ask for what those before them have, Λ⁻¹ is.  Then it gets λ 1 more, with

    λ = max(0, tr/κ − s),      s = 1/tr(Λ) ≤ σ_min,

tr being the trace of J_k M⁻¹ J_kᵀ, an upper bound of its largest eigenvalue: so the condition is κ at most, forces are
bounded, and nothing changes where 1/tr(Λ) is above tr/κ.

Sources: Khatib, A unified approach for motion and force control of robot manipulators, IEEE J. Robotics and Automation
RA-3(1), 1987; Sentis and Khatib, Synthesis of whole-body behaviors through hierarchical control of behavioral
primitives, Int. J. Humanoid Robotics 2(4), 2005; Nakamura and Hanafusa, ASME J. Dyn. Syst. Meas. Control 108, 1986
(damping near singularities alone).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.dynamics.algorithms.mass_matrix_inverse import inverse_mass_matrix
from linkwork.expr.linalg.semidefinite_solve import Semidefinite
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import eq, fmax, where
from linkwork.model.tree import Tree

__all__ = ["Level", "regular", "task_forces"]

Scalars = Sequence[Any]
Rows = Sequence[Scalars]

_LEAST = 1e-12  # part of the diagonal with which the condition is looked at


@dataclass(frozen=True, slots=True)
class Level:
    """Rows J of tasks of one priority, and what J a is to be: a* − J̇ v; in units that are comparable."""

    rows: Rows
    wanted: Scalars


@dataclass(frozen=True, slots=True)
class _Consistent:
    """J̃, L⁻ᵀJ̃, and Λ⁻¹ in factors."""

    rows: list[list[Any]]
    inward: list[list[Any]]
    inverse: Semidefinite


def task_forces(
    tree: Tree, q: Scalars, levels: Sequence[Level], a0: Scalars, condition: float, armature: bool = False
) -> list[Any]:
    """Σ J̃ᵀF (nv), of levels in the order of their priority, beside h + M a_0."""
    M_inv = inverse_mass_matrix(tree, q, armature)
    before: list[_Consistent] = []
    tau: list[Any] = [0.0] * tree.nv
    y: list[Any] = [0.0] * tree.nv  # D⁻¹ L⁻ᵀ τ
    for level in levels:
        rows, inward = [list(row) for row in level.rows], [M_inv.inward(row) for row in level.rows]
        own = [M_inv.weighed(row) for row in inward]
        size = sum((dot(a, b) for a, b in zip(inward, own, strict=True)), 0.0)
        left = [
            a - (0.0 if all(map(is_zero, a0)) else dot(row, a0)) - dot(z, y)
            for a, row, z in zip(level.wanted, rows, inward, strict=True)
        ]
        for other in before:
            for k, z in enumerate(own):
                share = other.inverse.once([dot(w, z) for w in other.inward])
                rows[k] = [
                    x - dot(column, share) for x, column in zip(rows[k], zip(*other.rows, strict=True), strict=True)
                ]
                inward[k] = [
                    x - dot(column, share) for x, column in zip(inward[k], zip(*other.inward, strict=True), strict=True)
                ]
        own = [M_inv.weighed(row) for row in inward]
        S = [[dot(row, own[j]) for j in range(i + 1)] for i, row in enumerate(inward)]
        found = _Consistent(rows, inward, regular(S, size, condition))
        forces = found.inverse.once(left)
        tau = [x + dot(column, forces) for x, column in zip(tau, zip(*rows, strict=True), strict=True)]
        y = [x + dot(column, forces) for x, column in zip(y, zip(*own, strict=True), strict=True)]
        before.append(found)
    return tau


def regular(S: Rows, size: Any, condition: float) -> Semidefinite:
    """The factors of S + λ 1, of bounded condition; ``size`` is at least the largest eigenvalue of S."""
    m = len(S)
    looked = Semidefinite.of([list(row) + [0.0] * (m - len(row)) for row in S], [_LEAST * size] * m, 0.0)
    inverses: Any = 0.0
    for k in range(m):
        half = looked.half([1.0 if i == k else 0.0 for i in range(m)])
        inverses = inverses + sum((x * x * d for x, d in zip(half, looked.D_inv, strict=True)), 0.0)
    none = eq(inverses, 0.0)  # nothing moves it
    least = where(none, 0.0, 1.0 / where(none, 1.0, inverses))
    more = fmax(size / (condition - 1.0) - least, 0.0)
    return Semidefinite.of([list(row) + [0.0] * (m - len(row)) for row in S], [more] * m, 0.0)
