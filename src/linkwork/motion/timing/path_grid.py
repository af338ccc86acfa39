"""Grids of segments on a path, of about equal lengths or weights, and lengths along a path.

A path is divided into cells.  On each cell the derivative of its length is interpolated at Gauss-Legendre nodes, and
the length is a polynomial.  Newton's method inverts this polynomial without evaluating the path.  The polynomial is
exact if the last terms of its series of Legendre polynomials are as small as rounding errors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import legendre

__all__ = ["LengthTable", "apportioned", "coarse_count", "grid", "halved", "redistributed", "segment_count"]

_LEAST = 2  # segments between knots: a motion cannot pass a segment at both of whose ends it rests
_FIRST, _PER_CURVE = 100, 8  # minimum segments of passes before the last: in all, and between two knots
_COUNTS = (50, 100, 200, 400, 800, 1600, 3200, 6400)  # few numbers of segments, so that few kernels are compiled


def grid(knots: np.ndarray, points: int) -> np.ndarray:
    """Return the ends of at least ``points`` segments; all knots are among these ends.

    Segments at the path's ends, where a motion is slow, are shorter.
    """
    count = segment_count(points, len(knots) - 1)
    shares = np.diff(knots) / (knots[-1] - knots[0])
    counts = apportioned(shares, count, _LEAST)
    result = [knots[:1]]
    for k, n in enumerate(counts):
        t = np.arange(1, n + 1) / n
        if k == 0:
            t = 0.5 * (t + t * t)
        if k == len(counts) - 1:
            t = 1.0 - (0.5 * ((1.0 - t) + (1.0 - t) ** 2))
        new = knots[k] + t * (knots[k + 1] - knots[k])
        new[-1] = knots[k + 1]
        result.append(new)
    whole: np.ndarray = np.concatenate(result)
    return whole


def segment_count(points: int, curves: int) -> int:
    """Return the number of segments: at least ``points``, and at least a fixed number for each of the ``curves``.

    The number is rounded up to one of few values, so that few kernels are compiled.
    """
    least = max(points, _LEAST * curves)
    return next((n for n in _COUNTS if n >= least), least)


def coarse_count(count: int, curves: int) -> int:
    """Return the number of segments of all passes before the last: about a quarter of ``count``, that of the last pass.

    The number is larger for a path with many ``curves``.
    """
    least = max(count / 4, _FIRST, _PER_CURVE * curves)
    return min(count, next((n for n in _COUNTS if n >= least), count))


def redistributed(
    knots: np.ndarray, s: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray, count: int | None = None
) -> np.ndarray:
    """Return the ends of new segments, distributed according to a motion along a path.

    The motion has ṡ² = x and times t at positions s, and s̈ = u between. There are ``count`` segments, by default as
    many as before. On all segments, the sum of two fractions is about equal: of the motion's time, and of all changes
    of ṡ. ``knots`` are among the ends.
    """
    count = len(s) - 1 if count is None else count
    changes = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(np.sqrt(x))))])
    weight = t / t[-1] + changes / max(changes[-1], 1e-300)
    at = np.interp(knots, s, weight)
    counts = apportioned(np.diff(at) / weight[-1], count, _LEAST)
    ends = np.cumsum(counts)
    curve = np.repeat(np.arange(len(counts)), counts)
    fraction = (np.arange(ends[-1]) - np.append(0, ends[:-1])[curve] + 1) / counts[curve]
    times = np.interp(at[curve] + fraction * (at[curve + 1] - at[curve]), weight, t)
    segment = np.clip(np.searchsorted(t, times, side="right") - 1, 0, len(u) - 1)
    d = times - t[segment]  # on a segment the speed, and so the weight, is linear in time
    result: np.ndarray = np.append(knots[0], s[segment] + d * (np.sqrt(x[segment]) + 0.5 * u[segment] * d))
    result[ends] = knots[1:]
    return result if (np.diff(result) > 0.0).all() else grid(knots, count)


def halved(s: np.ndarray, chosen: np.ndarray | None = None) -> np.ndarray:
    """Return the grid with all segments halved, or those ``chosen`` (n,)."""
    k = np.arange(len(s) - 1) if chosen is None else np.flatnonzero(chosen)
    return np.insert(s, k + 1, 0.5 * (s[k] + s[k + 1]))


def apportioned(shares: np.ndarray, count: int, least: int = 1) -> np.ndarray:
    """Return the number of segments of each interval, in proportion to ``shares``; the numbers sum to ``count``.

    Each interval has at least ``least`` segments.
    """
    count = max(count, least * len(shares))
    counts: np.ndarray = np.maximum(np.round(shares * count).astype(int), least)
    while counts.sum() > count:
        counts[(counts / np.maximum(shares, 1e-300) * (counts > least)).argmax()] -= 1
    while counts.sum() < count:
        counts[(shares / counts).argmax()] += 1
    return counts


_COUNT = 12  # nodes of a cell
_NODES, _WEIGHTS = legendre.leggauss(_COUNT)
_RESOLVED = 1e-14  # of the mean rate of a cell: last terms of its series
_NOISE = 2e-15  # of the greatest mean rate: rounding errors of the rate, which the last terms may show
_NEWTON = 8
_CONVERGED = 1e-9  # of half a cell: after a smaller step the error is below rounding errors


def _series() -> np.ndarray:
    """Return the matrix that maps a polynomial's values at the nodes to its Legendre coefficients."""
    orders = np.arange(_COUNT)
    result: np.ndarray = (orders[:, None] + 0.5) * (legendre.legvander(_NODES, _COUNT - 1).T * _WEIGHTS)
    return result


def _integrals() -> np.ndarray:
    """Return the matrix that integrates polynomials of u from u = −1.

    It maps Legendre coefficients of a polynomial to the coefficients of powers of u of its integral.
    """
    result = np.zeros((_COUNT + 1, _COUNT))
    for k, unit in enumerate(np.eye(_COUNT)):
        powers = legendre.leg2poly(legendre.legint(unit, lbnd=-1.0))
        result[: len(powers), k] = powers
    return result


_SERIES, _INTEGRALS = _series(), _integrals()


class LengthTable:
    """Lengths along a path within each of its n cells, as polynomials of u, which runs from −1 to 1 in each cell.

    ``sizes`` (n,) are the lengths of the cells. ``resolved`` (n,) is False for a cell whose polynomial is not exact.
    """

    def __init__(self, rate: Callable[[np.ndarray], np.ndarray], cells: np.ndarray) -> None:
        """Fit the polynomials on cells with ends ``cells`` (n + 1,); ``rate`` maps positions to dlength/dposition."""
        self.half, self.middle = 0.5 * np.diff(cells), 0.5 * (cells[1:] + cells[:-1])
        terms = _SERIES @ rate(self.middle[:, None] + self.half[:, None] * _NODES).T
        self.resolved = np.abs(terms[-2:]).max(axis=0) <= _RESOLVED * terms[0] + _NOISE * terms[0].max()
        self.powers = np.ascontiguousarray((_INTEGRALS @ terms * self.half).T)
        self.sizes = 2.0 * self.half * terms[0]

    def positions(self, k: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return positions in the cells with indices k (n,), at ``lengths`` (n,) from the cells' beginnings.

        The second result is a mask (n,) of exact positions.
        """
        powers = self.powers.take(k, axis=0).T.copy()
        size, resolved = self.sizes[k], self.resolved[k]
        u = np.clip(2.0 * lengths / np.maximum(size, 1e-300) - 1.0, -1.0, 1.0)
        step = np.ones_like(u)
        with np.errstate(all="ignore"):  # of cells without length; their positions are not exact
            for _ in range(_NEWTON):
                value, rate = powers[-1].copy(), np.zeros_like(u)
                for power in powers[-2::-1]:
                    rate *= u
                    rate += value
                    value *= u
                    value += power
                before, u = u, np.clip(u + (lengths - value) / rate, -1.0, 1.0)
                step = np.abs(u - before)
                if step.max(initial=0.0, where=resolved) <= _CONVERGED:
                    break
            exact = resolved & (step <= _CONVERGED)
        return self.middle[k] + self.half[k] * u, exact
