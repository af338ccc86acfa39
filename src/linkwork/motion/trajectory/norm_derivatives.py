"""Lengths of vectors and of their derivatives by time: what bounds of velocities are made of.

What turns a vector leaves its length, so that lengths obey inequalities in which no rotation is left.
"""

from __future__ import annotations

from math import comb, factorial

import numpy as np

__all__ = ["Lengths", "decoupled", "derivatives", "exponential", "over", "product", "turned"]

Lengths = list[np.ndarray]  # (n,) each: of a vector and its derivatives, no more than that


def derivatives(c: np.ndarray, u: np.ndarray, count: int) -> list[np.ndarray]:
    """Polynomials (n, m, terms) at u (n,), and all derivatives, ``count`` at least: (n, m) each."""
    found = []
    for _ in range(max(count + 1, c.shape[-1])):
        x = np.zeros(c.shape[:-1])
        for k in range(c.shape[-1] - 1, -1, -1):
            x = x * u[:, None] + c[..., k]
        found.append(x)
        c = c[..., 1:] * np.arange(1, c.shape[-1]) if c.shape[-1] > 1 else np.zeros_like(c)
    return found


def over(sizes: Lengths, half: np.ndarray) -> Lengths:
    """How large vectors are at most in an interval around where they, and all their derivatives, are so large."""
    count = len(sizes)
    return [
        sum((sizes[i + j] * half**j / factorial(j) for j in range(count - i)), np.zeros(len(half)))
        for i in range(count)
    ]


def exponential(turns: Lengths, moves: Lengths, order: int) -> tuple[Lengths, Lengths]:
    """The twist of exp p and its derivatives, of the lengths of p's angular and linear parts and their derivatives."""
    w: list[list[np.ndarray]] = []  # polynomials in s, lowest first
    u: list[list[np.ndarray]] = []
    for k in range(order + 1):
        angular, linear = ([np.zeros_like(turns[0])] * (k + 2) for _ in range(2))
        angular[1], linear[1] = turns[k + 1], moves[k + 1]
        for i in range(k + 1):
            if i:
                _add(angular, comb(k, i) * turns[i], w[k - i])
                _add(linear, comb(k, i) * turns[i], u[k - i])
                _add(linear, comb(k, i) * moves[i], w[k - i])
        linear = [*linear, np.zeros_like(turns[0])]
        _add(linear, moves[0], angular)
        w.append(angular)
        u.append(linear)
    return [np.sum(x, axis=0) for x in w], [np.sum(x, axis=0) for x in u]


def _add(total: list[np.ndarray], factor: np.ndarray, polynomial: list[np.ndarray]) -> None:
    """Add a factor times the integral of a polynomial."""
    while len(total) <= len(polynomial):
        total.append(np.zeros_like(factor))
    for power, x in enumerate(polynomial):
        total[power + 1] = total[power + 1] + factor * x / (power + 1)


def decoupled(turns: Lengths, moves: Lengths, order: int) -> tuple[Lengths, Lengths]:
    """The same where the origin goes by p itself, seen from what turns."""
    w = exponential(turns, [0.0 * x for x in turns], order)[0]
    return w, turned(moves[1:], w, order)


def turned(vectors: Lengths, w: Lengths, order: int) -> Lengths:
    """A vector and its derivatives, seen from what turns at ω, of the lengths in the axes that it is in."""
    table = [list(vectors[: order + 1])]  # [k][j]: the k-th derivative of what the j-th is seen as
    for k in range(1, order + 1):
        row = []
        for j in range(order + 1 - k):
            x = table[k - 1][j + 1]
            for i in range(k):
                x = x + comb(k - 1, i) * w[i] * table[k - 1 - i][j]
            row.append(x)
        table.append(row)
    return [row[0] for row in table]


def product(
    before: tuple[Lengths, Lengths] | None,
    factor: tuple[Lengths, Lengths],
    way: np.ndarray,
    order: int,
    *,
    apart: bool,
) -> tuple[Lengths, Lengths]:
    """The twist of X Y, of that of X and of the factor Y, whose origin is so far from X's."""
    w, u = factor
    if before is None:
        return list(w), list(u)
    angular, linear = before
    if apart:
        # the origin's velocity in fixed axes adds up; seen from what turns, each part turns on with what comes after
        along = turned(linear, w, order)
        total = [x + y for x, y in zip(turned(angular, w, order), w, strict=True)]
        return total, [x + y for x, y in zip(along, turned(u, w, order), strict=True)]
    place = [way, *turned(u, w, order)]  # of the factor's origin, in X's axes
    swept = [
        linear[k] + sum((comb(k, i) * angular[i] * place[k - i] for i in range(k + 1)), np.zeros_like(w[0]))
        for k in range(order + 1)
    ]
    return (
        [x + y for x, y in zip(turned(angular, w, order), w, strict=True)],
        [x + y for x, y in zip(turned(swept, w, order), u, strict=True)],
    )
