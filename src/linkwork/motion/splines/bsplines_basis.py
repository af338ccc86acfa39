"""B-splines' basis functions: knots, and polynomials between them, of times that are numbers or symbols.

Between symbols, which are taken to increase, there are as many spans as between as many other times: `in_order`.

Source: de Boor, A Practical Guide to Splines, revised edition, Springer 2001, chapters IX, X and XIII.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["basis_polynomials", "control_knots", "in_order", "interpolation_knots", "spans", "values_at"]


def in_order(t: Any) -> np.ndarray:
    """The times (n,), or of symbols others."""
    return np.arange(float(len(t))) if t.dtype == object else t


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


def basis_polynomials(knots: np.ndarray, degree: int, places: np.ndarray) -> np.ndarray:
    """On each of the `spans` the functions that are not zero there: coefficients (spans, degree + 1, degree + 1).

    By powers of the time since the span's beginning, lowest first; by Cox's and de Boor's recursion.
    """
    found = np.zeros((degree + 1, degree + 1, len(places)), dtype=knots.dtype)  # by function and power
    found[0, 0] = 1.0
    start = knots[places]
    for d in range(1, degree + 1):
        before, found = found, np.zeros_like(found)
        i = places + np.arange(1 - d, 1)[:, None]  # function i of degree d − 1 gives to two of degree d
        left, right = knots[i], knots[i + d]
        part = before[:d, :d] / (right - left)[:, None]
        found[1 : d + 1, 1 : d + 1] = part  # times u
        found[:d, 1 : d + 1] -= part
        found[1 : d + 1, :d] += part * (start - left)[:, None]
        found[:d, :d] += part * (right - start)[:, None]
    return found.transpose(2, 0, 1)


def values_at(
    knots: np.ndarray, degree: int, polynomials: np.ndarray, t: np.ndarray, places: np.ndarray, which: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The basis functions that are not zero at times (n,), each in its span ``which`` (n,) of those at ``places``: the
    first of them, and the values (n, degree + 1)."""
    u, c = (t - knots[places[which]])[:, None], polynomials[which]
    values = c[..., degree]
    for k in range(degree - 1, -1, -1):
        values = values * u + c[..., k]
    return places[which] - degree, values
