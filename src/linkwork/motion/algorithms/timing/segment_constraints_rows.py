"""Limits along a segment of a path, as limits of its squared speed and acceleration there: by control points.

With s = s_i + Δ t, t in [0, 1], u held and x(t) = x_i + 2 Δ t u,

    A(t) u + B(t) x(t) + C(t) = (A + 2 Δ t B) u + B x_i + C,     W(t) x(t) = W x_i + 2 Δ t W u

are polynomials in t whose coefficients are linear in u and x_i.  A polynomial lies between the least and the greatest
of its control points, its coefficients by Bernstein's polynomials: limits on those hold on the whole segment, not at
points of it alone.

Source: Farouki, The Bernstein polynomial basis: a centennial retrospective, 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from typing import Any

import numpy as np

__all__ = ["NODES", "control_points", "polynomial_at", "product"]


@cache
def _to_control_points(count: int) -> tuple[tuple[float, ...], ...]:
    """Rows: the control points of a polynomial, of its values at `NODES`."""
    nodes = NODES[count]
    degree = count - 1
    values = [[comb(degree, k) * t**k * (1.0 - t) ** (degree - k) for k in range(count)] for t in nodes]
    return tuple(tuple(row) for row in np.linalg.inv(np.array(values)).tolist())


NODES: dict[int, tuple[float, ...]] = {
    count: tuple((0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / count)).tolist()) for count in (2, 3, 5)
}
"""Where a segment is looked at, t in (0, 1), by how many places: Chebyshev's."""


def control_points(values: Sequence[Any]) -> list[Any]:
    """Of the polynomial that has these values at `NODES`."""
    return [
        sum((weight * value for weight, value in zip(row[1:], values[1:], strict=True)), row[0] * values[0])
        for row in _to_control_points(len(values))
    ]


def product(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """Control points of a product of two polynomials, of theirs."""
    m, n = len(a) - 1, len(b) - 1
    found = []
    for k in range(m + n + 1):
        total: Any = 0.0
        for i in range(max(0, k - n), min(m, k) + 1):
            total = total + (comb(m, i) * comb(n, k - i) / comb(m + n, k)) * a[i] * b[k - i]
        found.append(total)
    return found


def polynomial_at(t: float, values: Sequence[Any]) -> Any:
    """The polynomial that has these values at `NODES`, at t."""
    nodes = NODES[len(values)]
    found: Any = 0.0
    for k, (node, value) in enumerate(zip(nodes, values, strict=True)):
        others = [x for j, x in enumerate(nodes) if j != k]
        found = found + float(np.prod([(t - x) / (node - x) for x in others])) * value
    return found
