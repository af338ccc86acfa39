"""B-splines' basis functions: knots, and polynomials between them.

Source: de Boor, A Practical Guide to Splines, revised edition, Springer 2001, chapters IX, X and XIII.
"""

from __future__ import annotations

import numpy as np

__all__ = ["basis_polynomials", "control_knots", "interpolation_knots", "spans", "values_at"]


def interpolation_knots(t: np.ndarray, degree: int) -> np.ndarray:
    """Knots (n + degree + 1,) of the spline through n points at times t: none at the points next to the ends.

    Of even degree they lie halfway between points.
    """
    inner = t[1:-1] if degree % 2 else 0.5 * (t[1:] + t[:-1])
    left = (degree - 1) // 2 if degree % 2 else degree // 2
    inner = inner[left : len(inner) - left]
    return np.concatenate([np.full(degree + 1, t[0]), inner, np.full(degree + 1, t[-1])])


def control_knots(t: np.ndarray, degree: int) -> np.ndarray:
    """Knots of n control points at times t: the mean of each ``degree`` times that follow each other."""
    inner = [t[k : k + degree].mean() for k in range(1, len(t) - degree)]
    return np.concatenate([np.full(degree + 1, t[0]), inner, np.full(degree + 1, t[-1])])


def spans(knots: np.ndarray, degree: int) -> np.ndarray:
    """Which intervals between knots have a length: the index of the knot before each."""
    k = np.arange(degree, len(knots) - degree - 1)
    return k[knots[k + 1] > knots[k]]


def basis_polynomials(knots: np.ndarray, degree: int) -> np.ndarray:
    """On each span the functions that are not zero there: coefficients (spans, degree + 1, degree + 1).

    By powers of the time since the span's beginning, lowest first; by Cox's and de Boor's recursion.
    """
    places = spans(knots, degree)
    found = np.zeros((len(places), degree + 1, degree + 1))
    found[:, 0, 0] = 1.0
    start = knots[places]
    for d in range(1, degree + 1):
        before, found = found, np.zeros_like(found)
        for r in range(d):  # what function i − d + 1 + r of degree d − 1 gives to two of degree d
            i = places - d + 1 + r
            left, right = knots[i], knots[i + d]
            part = before[:, r] / (right - left)[:, None]
            shifted = np.concatenate([np.zeros((len(places), 1)), part[:, :-1]], axis=1)  # times u
            found[:, r + 1] += shifted + part * (start - left)[:, None]
            found[:, r] += part * (right - start)[:, None] - shifted
    return found


def values_at(knots: np.ndarray, degree: int, t: np.ndarray) -> list[dict[int, float]]:
    """What the basis functions are at times: by function, those that are not zero."""
    places, polynomials = spans(knots, degree), basis_polynomials(knots, degree)
    which = np.clip(np.searchsorted(knots[places], t, side="right") - 1, 0, len(places) - 1)
    u = t - knots[places[which]]
    values = (polynomials[which] * u[:, None, None] ** np.arange(degree + 1)).sum(axis=-1)
    return [
        {int(places[k]) - degree + j: float(x) for j, x in enumerate(row) if x != 0.0}
        for k, row in zip(which, values, strict=True)
    ]
