"""Second derivatives of the accelerations of robots with constraints, by implicit differentiation.

The accelerations a and constraint forces λ solve R = 0 for all q, v and τ, with the residuals M a + h − τ − Gᵀλ and
G a + γ.  For weights w of a, multipliers p and π,

    M p + Gᵀ π = w,      G p = 0,      L = p·(M a + h − Gᵀλ) + π·(G a + γ),

have ∂L/∂a = w and ∂L/∂λ = 0.  L is linear in X = (a; λ), so two derivatives of R = 0 with respect to x and y are, times
(p; π),

    w·∂²a/∂x∂y = −(L_xy + L_xX X_y + L_yX X_x),

with the first derivatives X_x of `constrained_forward_dynamics_derivatives`; (p; −π) is ∂X/∂τ w.  No other equation is
solved, so rows may be redundant.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.dynamics.algorithms.derivatives.forward_dynamics_derivatives import along_accelerations
from linkwork.dynamics.algorithms.derivatives.inverse_dynamics_derivatives import symmetric, weighted_gradient
from linkwork.dynamics.algorithms.derivatives.tangent_autodiff import derivatives
from linkwork.dynamics.algorithms.external_wrenches import Wrenches
from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.sparse_dot import add_matrices, dot, flat, identity, is_zero, negated, transposed
from linkwork.mechanisms.algorithms.constrained_forward_dynamics import solution_derivatives
from linkwork.mechanisms.algorithms.constraint_jacobian_derivative import constraint_derivatives
from linkwork.mechanisms.algorithms.constraint_rows import rates_of
from linkwork.mechanisms.algorithms.loop_joint_functions import loop_force_derivatives, loops_of
from linkwork.model.friction_laws import DEFAULT, FrictionLaw
from linkwork.model.tree import Tree

__all__ = ["constrained_hessian", "constrained_second_derivatives"]

Scalars = Sequence[Any]
Matrix = list[list[Any]]
_MANY = 4  # velocities from which on the second derivatives of accelerations are computed in a loop


def constrained_hessian(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    weights: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[Matrix, ...]:
    """Return ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂q∂τ of a weighted sum Σ w_i a_i of accelerations (nv × nv each).

    It is the implementation of `forward_dynamics_hessian` for robots with constraints.
    """
    return _hessians(tree, q, v, tau, [weights], wrenches, passive, friction)[0]


def constrained_second_derivatives(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    wrenches: Wrenches = (),
    passive: bool = False,
    friction: str | FrictionLaw = DEFAULT.name,
) -> tuple[list[Matrix], ...]:
    """Return the second derivatives of every acceleration, for `forward_dynamics_second_derivatives`."""
    parts = _hessians(tree, q, v, tau, identity(tree.nv), wrenches, passive, friction)
    return tuple([list(part) for part in each] for each in zip(*parts, strict=True)) if parts else ([],) * 4


def _hessians(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    tau: Scalars,
    weights: Sequence[Scalars],
    wrenches: Wrenches,
    passive: bool,
    friction: str | FrictionLaw,
) -> list[tuple[Matrix, ...]]:
    """Return four second derivatives of weighted sums Σ w_i a_i of accelerations, for each vector w of weights.

    They are ∂²/∂q∂q, ∂²/∂q∂v, ∂²/∂v∂v and ∂²/∂q∂τ.
    """
    n = tree.nv
    a, forces, *by = solution_derivatives(tree, q, v, tau, wrenches, 0.0, passive, friction)
    first = [[*of_a, *of_forces] for of_a, of_forces in zip(*by, strict=True)][:3]
    m, zeros = len(forces), [0.0] * n

    def of_constraints(q: Scalars, v: Scalars) -> list[Any]:
        rows, G = constraint_derivatives(tree, q, v, a, forces), rates_of(tree, q, zeros).rows
        by_q, by_v = rows.pulled_by_q, [zeros for _ in zeros]
        if passive and any(loop.resists for loop in loops_of(tree)):
            loops_by_q, by_v = loop_force_derivatives(tree, q, v, friction)
            by_q = add_matrices(by_q, loops_by_q)
        return flat(by_q, by_v, rows.by_q, rows.by_v, G)

    by_q, by_v = derivatives(tree, of_constraints, q, v)
    sizes = [n * n, n * n, m * n, m * n, m * n]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    (pulled_qq, _, qq, _, G_q), (pulled_qv, pulled_vv, qv, vv, _) = (
        [part[start : start + size] for start, size in zip(starts, sizes, strict=True)] for part in (by_q, by_v)
    )

    def hessian(multipliers: Scalars) -> list[Any]:
        p, pi, minus_p = multipliers[:n], negated([multipliers[n:]])[0], negated([multipliers[:n]])[0]

        def gradient(q: Scalars, v: Scalars) -> list[Any]:
            return flat(weighted_gradient(tree, q, v, a, p, wrenches, passive, friction))

        by_q, by_v = derivatives(tree, gradient, q, v)
        L_qq = add_matrices(by_q[:n], _weighted(n, n, (minus_p, pulled_qq), (pi, qq)))
        L_qv = add_matrices(by_v[:n], _weighted(n, n, (minus_p, pulled_qv), (pi, qv)))
        L_vv = add_matrices(by_v[n : 2 * n], _weighted(n, n, (minus_p, pulled_vv), (pi, vv)))
        L_aq = add_matrices(by_q[2 * n :], _weighted(n, n, (pi, G_q)))
        L_forces_q = [_weighted(1, n, (minus_p, G_q[c * n : (c + 1) * n]))[0] for c in range(m)]
        H = symmetric(tree, L_qq), L_qv, symmetric(tree, L_vv), transposed([*L_aq, *L_forces_q])
        return flat(*map(negated, along_accelerations(H, first)))

    multipliers = [[dot(row, w) for row in first[2]] for w in weights]
    rows = map_rows(hessian, multipliers, in_loops=len(weights) > _MANY, alike=True)
    return [
        tuple([row[(part * n + i) * n : (part * n + i + 1) * n] for i in range(n)] for part in range(4)) for row in rows
    ]


def _weighted(n: int, columns: int, *terms: tuple[Scalars, Matrix]) -> Matrix:
    """Return the sum of Σ_i w_i A_i over pairs of weights w and matrices A_i (n × columns), one below the other."""
    result = [[0.0] * columns for _ in range(n)]
    for weights, A in terms:
        for i, w in enumerate(weights):
            for row, row_of_A in zip(result, A[i * n : (i + 1) * n], strict=True):
                for k, x in enumerate(row_of_A):
                    if not is_zero(x):
                        row[k] = row[k] + w * x
    return result
