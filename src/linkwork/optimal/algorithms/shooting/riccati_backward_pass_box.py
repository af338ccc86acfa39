"""The control of least ½ dᵀQ d + qᵀd within a box, and how it goes along with what moves q.

Which numbers are at a bound follows by a primal–dual active-set method: those are held that are beyond it, or would be
pressed there; others solve what is left; until the sets do not change.

Sources: Tassa, Mansard and Todorov, Control-limited differential dynamic programming, ICRA 2014; Hintermüller, Ito and
Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 13, 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.control.loops import while_loop
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, not_, or_, where

__all__ = ["BoxAnswer", "BoxFactors", "free_answer", "within_box"]

Scalars = Sequence[Any]
Matrix = Sequence[Scalars]

_ROUNDS = 12
_LEAST = 1e-13  # of the diagonal: a smaller pivot is none


class BoxAnswer(NamedTuple):
    """d, how it goes along with columns of q (a row each number of d), and whether Q is positive definite."""

    d: list[Any]
    gains: list[list[Any]]
    regular: Any


class BoxFactors:
    """LDLᵀ of a symmetric matrix; numbers with a pivot that is not positive stay 0."""

    def __init__(self, Q: Matrix) -> None:
        n = len(Q)
        left = [list(row[: i + 1]) for i, row in enumerate(Q)]
        self.inverse: list[Any] = []
        self.regular: Any = 1.0
        for k in range(n):
            fine = lt(_LEAST * fabs(Q[k][k]), left[k][k])
            self.regular = where(fine, self.regular, 0.0)
            self.inverse.append(where(fine, 1.0 / where(fine, left[k][k], 1.0), 0.0))
            column = [left[i][k] for i in range(k + 1, n)]
            for i in range(k + 1, n):
                if is_zero(column[i - k - 1]):
                    continue
                left[i][k] = column[i - k - 1] * self.inverse[k]
                for j in range(k + 1, i + 1):
                    if not is_zero(column[j - k - 1]):
                        left[i][j] = left[i][j] - left[i][k] * column[j - k - 1]
        self.lower = left

    def solved(self, b: Scalars) -> list[Any]:
        """Q⁻¹ b."""
        n = len(b)
        y = list(b)
        for i in range(n):
            for k in range(i):
                if not is_zero(self.lower[i][k]) and not is_zero(y[k]):
                    y[i] = y[i] - self.lower[i][k] * y[k]
        y = [a if is_zero(a) else a * d for a, d in zip(y, self.inverse, strict=True)]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                if not is_zero(self.lower[k][i]):
                    y[i] = y[i] - self.lower[k][i] * y[k]
        return y


def free_answer(Q: Matrix, q: Scalars, columns: Matrix) -> BoxAnswer:
    """Without bounds: d = −Q⁻¹ q, gains −Q⁻¹ C, of the columns of C."""
    factors = BoxFactors(Q)
    d = [-x for x in factors.solved(q)]
    found = [[-x for x in factors.solved(column)] for column in columns]
    return BoxAnswer(d, [list(row) for row in zip(*found, strict=True)], factors.regular)


def within_box(Q: Matrix, q: Scalars, columns: Matrix, lower: Scalars, upper: Scalars) -> BoxAnswer:
    """With lower ≤ d ≤ upper.  Numbers at a bound do not go along with anything."""
    count = len(q)

    def split(at: Scalars) -> tuple[list[Any], list[Any]]:
        """By number: 1 where it is free, and where it is held."""
        return [where(lt(fabs(x), 0.5), 1.0, 0.0) for x in at], [
            where(lt(0.5, x), u, where(lt(x, -0.5), low, 0.0)) for x, low, u in zip(at, lower, upper, strict=True)
        ]

    def masked(free: Scalars) -> BoxFactors:
        rows = [
            [Q[i][j] * (free[i] * free[j]) if j < i else where(lt(0.5, free[i]), Q[i][i], 1.0) for j in range(i + 1)]
            for i in range(count)
        ]
        return BoxFactors(rows)

    def solved(at: Scalars) -> list[Any]:
        free, held = split(at)
        b = [-(x + dot(row, held)) * f for x, row, f in zip(q, Q, free, strict=True)]
        return [x + h for x, h in zip(masked(free).solved(b), held, strict=True)]

    def step(state: Any) -> Any:
        at, _, tried = state
        d = solved(at)
        new, moved = [], 0.0
        for k, old in enumerate(at):
            slope = q[k] + dot(Q[k], d)
            over = _either(lt(0.5, old), lt(slope, 0.0), lt(upper[k], d[k]))
            under = _either(lt(old, -0.5), lt(0.0, slope), lt(d[k], lower[k]))
            side = where(over, 1.0, where(under, -1.0, 0.0))
            moved = fmax(moved, fabs(side - old))
            new.append(side)
        return tuple(new), moved, tried + 1.0

    start = tuple(
        where(and_(le(u, 0.0), lt(x, 0.0)), 1.0, where(and_(le(0.0, low), lt(0.0, x)), -1.0, 0.0))
        for x, low, u in zip(q, lower, upper, strict=True)
    )
    found = while_loop(lambda s: lt(0.5, s[1]), step, (start, 1.0, 0.0), at_most=_ROUNDS).state
    at = list(found[0])
    free, _ = split(at)
    d = [fmin(fmax(x, low), u) for x, low, u in zip(solved(at), lower, upper, strict=True)]
    factors = masked(free)
    gains = [[-x for x in factors.solved([c * f for c, f in zip(column, free, strict=True)])] for column in columns]
    return BoxAnswer(d, [list(row) for row in zip(*gains, strict=True)], factors.regular)


def _either(condition: Any, yes: Any, no: Any) -> Any:
    """One truth value or the other."""
    return or_(and_(condition, yes), and_(not_(condition), no))
