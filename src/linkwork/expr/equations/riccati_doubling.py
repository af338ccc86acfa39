"""Riccati's equation by doubling, over any scalar; matrices are lists of rows.

A step of time (A, G, H), with G and H symmetric and nowhere negative, becomes two:

    A ← A (1 + G H)⁻¹ A,   G ← G + A (1 + G H)⁻¹ G Aᵀ,   H ← H + Aᵀ H (1 + G H)⁻¹ A.

With H = C Cᵀ and S = 1 + CᵀG C = L Lᵀ it is (1 + G H)⁻¹ = 1 − G C S⁻¹ Cᵀ, and with Y = L⁻¹CᵀA and Z = L⁻¹CᵀG

    A ← A (A − ZᵀY),   G ← G + A (G − ZᵀZ) Aᵀ,   H ← H + YᵀY:

two roots, and no exchanges of rows.  Pivots of C that are rounding are not taken below a part of their diagonal.

Motions in continuous time become steps by a Cayley transform, λ → (λ + γ)/(λ − γ).  How many doublings there are is
told by the slowest and the fastest motion beside γ, so γ lies between the geometric mean of all |λ|, which is a
determinant, and the largest of them.

Source: Chu, Fan and Lin, A structure-preserving doubling algorithm for continuous-time algebraic Riccati equations,
Linear Algebra Appl. 396, 2005; Golub and Van Loan, Matrix Computations, section 4.2.8 (semidefinite roots).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork.expr.control.loops import while_loop
from linkwork.expr.equations.linear_quadratic import TINY, BoundedRoot
from linkwork.expr.equations.matmul_lists import (
    Matrix,
    by_rows,
    gram,
    products,
    shifted,
    solved_columns,
    squares,
)
from linkwork.expr.linalg.sparse_dot import add_matrices, dot, identity, mirrored, negated, transposed
from linkwork.expr.scalar.functions import and_, exp, fmax, le, log, lt, not_, or_, sqrt

__all__ = ["cayley", "doubled"]

_MOST = 44  # doublings: what takes more does not end, but for rounding
_LEFT = 1e-15  # of H: changes that are rounding
_LARGE = 1e200
_NOISE = 1e-13  # of a diagonal element: what may be rounding
_FAR = 1e6  # of 1/γ: an inverse of A − γ that is larger says that γ is nearly an eigenvalue
_TRIES = 8
_SLIGHT = 1e-6  # what is added where a determinant is estimated
_SLOW = 1e-8  # of the fastest motion: slower ones do not count for γ
_POWERS = 6
_LEAST = 1e-3  # γ, where nothing moves


@dataclass(frozen=True, slots=True)
class _Step:
    """What one doubling of (A, G, H) needs: a row of Yᵀ or Zᵀ each."""

    Y: Matrix
    GC: Matrix
    S: BoundedRoot

    @staticmethod
    def of(A: Matrix, G: Matrix, H: Matrix) -> _Step:
        n = len(A)
        C = BoundedRoot.of(H, [fmax(_NOISE * H[i][i], TINY) for i in range(n)])
        GC = by_rows(C.from_left, G, n * n)
        lower = [
            [dot([C.rows[k][i] for k in range(i, n)], [GC[k][j] for k in range(i, n)]) for j in range(i + 1)]
            for i in range(n)
        ]
        for i in range(n):
            lower[i][i] = lower[i][i] + 1.0
        S = BoundedRoot.of(lower, [1.0] * n)
        return _Step(by_rows(lambda column: S.solved(C.from_left(column)), transposed(A), n * n), GC, S)

    @property
    def Z(self) -> Matrix:
        return by_rows(self.S.solved, self.GC, len(self.GC) ** 2)


def doubled(A: Matrix, G: Matrix, H: Matrix) -> tuple[Matrix, Any, Any]:
    """Where H tends to, whether A tends to zero, and how many doublings it took."""

    def more(state: Any) -> Any:
        *_, H, going = state  # how large A was: H has changed by so much, at most, and will by its square
        return and_(lt(_LEFT, going * going), lt(going + squares(H), _LARGE))

    def step(state: Any) -> Any:
        A, G, H = ([list(row) for row in M] for M in state[:3])
        result = _Step.of(A, G, H)
        Z = result.Z
        after = products(A, add_matrices(A, negated(products(Z, transposed(result.Y)))))
        kept = products(A, add_matrices(G, negated(gram(Z))))
        return after, add_matrices(G, gram(kept, A)), add_matrices(H, gram(result.Y)), squares(A)

    result = while_loop(more, step, (A, G, H, 1.0), max_iterations=_MOST)
    *_, H, going = result.state
    return [list(row) for row in H], le(going * going, _LEFT), result.iterations


def cayley(A: Matrix, G: Matrix, H: Matrix) -> tuple[Matrix, Matrix, Matrix, Any]:
    """The matrices in steps of time that have the X of those in continuous time, and γ."""
    n = len(A)

    def inverted(gamma: Any) -> tuple[Matrix, Matrix]:  # (A − γ)⁻¹ G, (A − γ)⁻¹
        both = solved_columns(shifted(A, -gamma), [[*g, *e] for g, e in zip(G, identity(n), strict=True)])
        return [row[:n] for row in both], [row[n:] for row in both]

    def near(state: Any) -> Any:
        gamma, _, inverse = state
        size = squares(inverse)
        return or_(not_(lt(size * gamma * gamma, _FAR * _FAR)), le(size, 0.0))

    def away(state: Any) -> Any:
        gamma = 1.5 * state[0]
        return (gamma, *inverted(gamma))

    none = [[0.0] * n for _ in range(n)]
    result = while_loop(near, away, (_gamma(A, G, H) / 1.5, none, none), max_iterations=_TRIES)
    gamma, LG, inverse = result.state
    LG, inverse = ([list(row) for row in M] for M in (LG, inverse))
    W = add_matrices(transposed(shifted(A, -gamma)), products(H, LG))
    both = solved_columns(W, [[*e, *h] for e, h in zip(identity(n), products(H, inverse), strict=True)])
    W_inverse, WH = [row[:n] for row in both], [row[n:] for row in both]
    doubled = 2.0 * gamma
    return (
        shifted([[doubled * x for x in row] for row in transposed(W_inverse)], 1.0),
        mirrored([[doubled * x for x in row] for row in products(LG, W_inverse)]),
        mirrored([[doubled * x for x in row] for row in WH]),
        gamma,
    )


def _gamma(A: Matrix, G: Matrix, H: Matrix) -> Any:
    """g^¾ l^¼ of the geometric mean g of the motions' |λ|, roughly, and of about the largest, l."""
    n = len(A)
    G_size, H_size = (fmax(sum(M[i][i] for i in range(n)), TINY) for M in (G, H))
    # |det| of [[A, −G], [−H, −Aᵀ]] is that of H times that of G + A H⁻¹Aᵀ
    C = BoundedRoot.of(
        [[x + _SLIGHT * H_size if i == j else x for j, x in enumerate(r)] for i, r in enumerate(H)], [TINY] * n
    )
    V = by_rows(C.solved, A, n * n)
    S = add_matrices(G, gram(V))
    L = BoundedRoot.of(
        [[x * (1.0 + _SLIGHT) if i == j else x for j, x in enumerate(r)] for i, r in enumerate(S)], [TINY] * n
    )
    mean = exp(-sum(log(x) for x in (*C.inverses, *L.inverses)) / n)
    # the power method, with the two halves in units in which G and H weigh the same
    unit = sqrt(H_size / G_size)
    x, y, largest = [1.0] * n, [1.0 * unit] * n, mean
    At = transposed(A)
    for _ in range(_POWERS):
        up = [dot(a, x) - dot(g, y) for a, g in zip(A, G, strict=True)]
        down = [-dot(h, x) - dot(a, y) for h, a in zip(H, At, strict=True)]
        before, largest = (
            largest,
            sqrt((dot(up, up) * unit * unit + dot(down, down)) / fmax(dot(x, x) * unit * unit + dot(y, y), TINY)),
        )
        scale = 1.0 / fmax(largest, TINY)
        x, y = [scale * a for a in up], [scale * b for b in down]
    largest = sqrt(largest * before)
    mean = fmax(mean, _SLOW * largest)
    return fmax(sqrt(mean * sqrt(mean * largest)), _LEAST)
