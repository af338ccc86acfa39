"""Arc-length parametrisation of a path, where the path's own parameter is unsuitable for limits of jerk.

With q' = dq/ds, the path's own parameter s is unsuitable if q' vanishes at an end of the path, or if |q'| is
discontinuous.  The arc length σ has dσ = g ds with g = |q'|, so dq/dσ has length 1.  It has no jumps where q' and q''
jump only in the direction of q'.  Where q' vanishes in the interior, because the path turns back, g has a positive
lower bound.  At an end, g is |q'|.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from linkwork.motion.timing.limits import LimitSet, PathSamples
from linkwork.motion.timing.path_grid import LengthTable
from linkwork.motion.trajectory.time_scaling import lengths_of
from linkwork.motion.trajectory.trajectory import Trajectory, state_and_jerk

__all__ = ["ArcLengthPath", "LastResult", "PathRates", "arc_length_paths"]

_MIN_SPEED_SHARE = 0.1  # of the greatest |q'|: lower bound of g in the interior
_REST_SHARE = 1e-3  # of the greatest |q'|: below it q' vanishes at an end
_STRAIGHT = 1e-5  # of the distance from an end to the moving interval: the path is straight there
_END_SHARE = 1e-9  # of the length squared: grid points of a motion nearer to an end are dropped
_INSIDE = 1e-9  # of a curve between knots: one-sided values at its ends are taken so far inside
_SAMPLES = 32  # samples of |q'| on each curve between knots
_NEWTON = 20
_QUADRATIC = 1e-9  # of the distance from a cell's end: after a smaller step of Newton's method the result is exact
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_CELLS_PER_CURVE, _END_CELLS = 8, 24  # cells between knots, and further ones near an end where q' vanishes
_MAX_JERK_RATIO = 1e3  # times the smallest limit of jerk: larger limits count as this
_JUMP = 1e-6  # of the greatest rate: larger differences at a knot are jumps


class PathRates(NamedTuple):
    """Derivatives of a path with respect to its own parameter s, at given positions.

    ``path`` is q, q' and q'', and ``third`` is q'''.  ``g`` is dσ/ds, where σ is the arc length; ``g_first`` and
    ``g_second`` are the first two derivatives of g with respect to s.
    """

    path: PathSamples
    third: np.ndarray
    g: np.ndarray
    g_first: np.ndarray
    g_second: np.ndarray


def arc_length_paths(
    path: Trajectory, begin: float, end: float, inner: np.ndarray, limit_set: LimitSet
) -> list[ArcLengthPath]:
    """Return arc-length parametrisations of the path between two positions, with knots ``inner`` in between.

    The parametrisations differ in the lower bound of g = dσ/ds in the interior, and are in the order to try them. The
    list is empty if the path's own parameter is suitable.
    """
    cuts = np.concatenate([[begin], inner, [end]])
    u = 0.5 - 0.5 * np.cos(np.pi * np.arange(_SAMPLES + 1) / _SAMPLES)
    positions = np.unique(cuts[:-1, None] + np.diff(cuts)[:, None] * u)
    inside = positions.copy()  # one-sided limits at corners at the ends
    inside[0] += _INSIDE * (cuts[1] - begin)
    inside[-1] -= _INSIDE * (end - cuts[-2])
    weights = _weights_of(limit_set)
    state = path(inside)
    size = np.sqrt((weights * state.v**2).sum(axis=-1))
    top = float(size.max())
    rests = bool(size[0] < _REST_SHARE * top), bool(size[-1] < _REST_SHARE * top)
    uneven = _is_uneven(path, cuts, float(np.abs(state.v).max()), float(np.abs(state.a).max()))
    if not any(rests) and not uneven:
        return []
    result: list[ArcLengthPath] = []
    lowest = min(0.5 * _first_maximum(x) for x in (size, size[::-1]))
    for minimum in (
        _MIN_SPEED_SHARE * top,
        _MIN_SPEED_SHARE * float(np.median(size)),
        min(lowest, _MIN_SPEED_SHARE * top),
    ):
        ends = [begin, end]
        grows = True
        for side, x in enumerate((size, size[::-1])):
            k = int(np.argmax(x >= minimum))
            if rests[side]:
                ends[side] = float(positions[k if side == 0 else len(positions) - 1 - k])
                grows &= bool((np.diff(x[: k + 1]) > 0.0).all())  # beyond it |q'| may be small again
        if grows and ends[0] < ends[1] and all(minimum != earlier.minimum for earlier in result):
            result.append(ArcLengthPath(path, cuts, weights, minimum, (ends[0], ends[1]), uneven))
    return result


def _first_maximum(size: np.ndarray) -> float:
    """Return the first local maximum of a sequence ``size``, or its greatest value if it only rises."""
    falls = np.flatnonzero(np.diff(size) < 0.0)
    falls = falls[falls > 0]
    return float(size[falls[0]]) if len(falls) else float(size.max())


def _weights_of(limit_set: LimitSet) -> np.ndarray:
    """Return the weights (nv,) of coordinates in |q'|²: the narrower a coordinate's limit of jerk, the larger."""
    assert limit_set.jerk is not None
    most = np.minimum(np.abs(limit_set.jerk[0]), np.abs(limit_set.jerk[1]))
    moving = most > 1e-9
    minimum = float(most[moving].min()) if moving.any() else 1.0
    minimum = minimum if np.isfinite(minimum) else 1.0
    result: np.ndarray = np.where(moving, minimum / np.clip(most, minimum, _MAX_JERK_RATIO * minimum), 1.0) ** 2
    return result


def _is_uneven(path: Trajectory, cuts: np.ndarray, speed: float, rate: float) -> bool:
    """Return True if v or a jumps at an inner knot, relative to their largest magnitudes ``speed`` and ``rate``."""
    if len(cuts) < 3:
        return False
    room = _INSIDE * np.diff(cuts)
    before, after = path(cuts[1:-1] - room[:-1]), path(cuts[1:-1] + room[1:])
    pairs = (before.v, after.v, speed), (before.a, after.a, rate)
    return any(bool(np.abs(y - x).max() > _JUMP * most + 1e-12) for x, y, most in pairs)


class ArcLengthPath:
    """A path as a function of its arc length σ, from 0 to ``length``.

    ``inner`` are the values of σ at the inner knots. ``rests`` is a pair of flags for the path's beginning and end:
    True where dq/ds vanishes. ``uneven`` is True if the path's v or a jumps at a knot.
    """

    def __init__(
        self,
        path: Trajectory,
        cuts: np.ndarray,
        weights: np.ndarray,
        minimum: float,
        moving: tuple[float, float],
        uneven: bool,
    ) -> None:
        self.path, self.weights, self.minimum, self.moving, self.uneven = path, weights, minimum, moving, uneven
        self.begin, self.end = begin, end = float(cuts[0]), float(cuts[-1])
        self.rests = moving[0] > self.begin, moving[1] < self.end
        more = [x for x, rests in zip(moving, self.rests, strict=True) if rests]
        self.cells = _subdivided(
            lengths_of(lambda s, _: self._rate(s), np.unique(np.concatenate([cuts, more])))[0], self.rests
        )
        self.table = LengthTable(self._rate, self.cells)
        rough = np.flatnonzero(~self.table.resolved)
        self.sizes = self.table.sizes.copy()
        self.sizes[rough] = self._lengths_between(self.cells[rough], self.cells[rough + 1])
        self.sums = np.append(0.0, np.cumsum(self.sizes))
        self.to_end = np.append(0.0, np.cumsum(self.sizes[::-1]))[::-1]
        self.length = float(self.sums[-1])
        self._evaluated = LastResult(self._evaluate)
        self.inner = self.sums[np.searchsorted(self.cells, cuts[1:-1])]
        near = _INSIDE * (cuts[1] - cuts[0]), _INSIDE * (cuts[-1] - cuts[-2])
        self.straight = max(_STRAIGHT * (moving[0] - begin), near[0]), max(_STRAIGHT * (end - moving[1]), near[1])

    # -- the path by its own parameter

    def _speed_and_derivatives(self, s: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return g = dσ/ds and its first two derivatives with respect to y = |q'|², at positions s.

        g is √y, but has a positive lower bound inside the path.
        """
        root = np.sqrt(np.maximum(y, 1e-180))
        result, first, second = root, 0.5 / root, -0.25 / root**3
        inside = (s >= self.moving[0]) & (s <= self.moving[1]) & (y < self.minimum**2)
        z = y / self.minimum**2 - 1.0
        return (
            np.where(inside, self.minimum * (1.0 + z * (0.5 - 0.125 * z)), result),
            np.where(inside, (0.5 - 0.25 * z) / self.minimum, first),
            np.where(inside, -0.25 / self.minimum**3, second),
        )

    def _rate(self, s: np.ndarray) -> np.ndarray:
        return self._speed_and_derivatives(s, self._product(*[state_and_jerk(self.path, s)[1]] * 2))[0]

    def _product(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the scalar product (...) of derivatives x and y (..., nv), with the weights of the coordinates."""
        result: np.ndarray = np.einsum("...j,...j->...", self.weights * x, y)
        return result

    def rates(self, s: np.ndarray) -> PathRates:
        """Return q and g = dσ/ds with their derivatives with respect to s, at positions s.

        σ is the arc length and s the path's own parameter.
        """
        q, v, a, third = state_and_jerk(self.path, s)
        y1 = 2.0 * self._product(v, a)
        y2 = 2.0 * (self._product(a, a) + self._product(v, third))
        g, g1, g2 = self._speed_and_derivatives(s, self._product(v, v))
        return PathRates(PathSamples(q, v, a), third, g, g1 * y1, g2 * y1 * y1 + g1 * y2)

    # -- by its length

    def lengths(self, s: np.ndarray) -> np.ndarray:
        """Return the arc lengths σ at positions s (n,)."""
        k = np.clip(np.searchsorted(self.cells, s, side="right") - 1, 0, len(self.cells) - 2)
        result: np.ndarray = self.sums[k] + self._lengths_between(self.cells[k], s)
        return result

    def motion_by_length(
        self, s: np.ndarray, x: np.ndarray, resting: tuple[bool, bool]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a motion as a function of arc length: σ (k,), σ̇² at these σ (k,), and σ̈ between them (k − 1,).

        The motion has ṡ² = x at distances s from the path's beginning, the last of which is its end. Points very near
        to an end are left out. At an end that is ``resting``, σ̇ is 0.
        """
        positions = self.begin + s
        sigma = self.lengths(positions)
        far = sigma * (self.length - sigma) > _END_SHARE * self.length**2
        positions = np.concatenate([positions[:1], positions[1:-1][far[1:-1]], positions[-1:]])
        x = np.concatenate([x[:1], x[1:-1][far[1:-1]], x[-1:]])
        x = x * self.rates(positions).g ** 2
        x[0], x[-1] = (0.0 if rests else y for rests, y in zip(resting, (x[0], x[-1]), strict=True))
        sigma = np.concatenate([[0.0], sigma[1:-1][far[1:-1]], [self.length]])
        return sigma, x, 0.5 * np.diff(x) / np.diff(sigma)

    def positions(self, sigma: np.ndarray) -> np.ndarray:
        """Return the positions s at arc lengths σ."""
        flat = np.clip(sigma.ravel(), 0.0, self.length)
        k = np.clip(np.searchsorted(self.sums, flat, side="right") - 1, 0, len(self.cells) - 2)
        # measured from the nearer end of a cell, where rounding errors are smallest
        later = flat - self.sums[k] > self.sums[k + 1] - flat
        lengths = np.where(later, flat - self.sums[k + 1], flat - self.sums[k])
        result: np.ndarray = self._positions_in_cells(k, lengths, later).reshape(sigma.shape)
        return result

    def _positions_in_cells(self, k: np.ndarray, lengths: np.ndarray, later: np.ndarray) -> np.ndarray:
        """Return positions s in cells k, from signed arc lengths measured from an end of each cell.

        Arc lengths are measured from the cell's end where ``later`` is True (and are negative), else from its
        beginning.
        """
        positions: np.ndarray = np.where(later, self.cells[k + 1], self.cells[k])
        moved = np.flatnonzero(lengths)
        k, lengths, later = k[moved], lengths[moved], later[moved]
        result, exact = self.table.positions(k, np.where(later, self.sizes[k] + lengths, lengths))
        if not exact.all():
            rough = np.flatnonzero(~exact)
            result[rough] = self._searched_positions(k[rough], lengths[rough], positions[moved[rough]])
        positions[moved] = result
        return positions

    def _searched_positions(self, k: np.ndarray, lengths: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return positions s in cells k at signed arc lengths from an end ``start`` of each cell, from the path.

        The method is Newton's, with bisection where a step leaves the bracket.
        """
        low, high = self.cells[k] - start, self.cells[k + 1] - start
        result = (high - low) * np.clip(lengths / np.maximum(self.sizes[k], 1e-300), -1.0, 1.0)
        active = np.arange(len(k))
        for _ in range(_NEWTON):
            x, a = result[active], start[active]
            between, rate = self._lengths_and_rates(a, a + x)
            error, rate = between - lengths[active], np.maximum(rate, 1e-300)
            b, e = np.where(error < 0.0, x, low[active]), np.where(error < 0.0, high[active], x)
            low[active], high[active] = b, e
            step = x - error / rate
            inside = (step >= b) & (step <= e)
            result[active] = following = np.where(inside, step, 0.5 * (b + e))
            exact = inside & (np.abs(following - x) <= _QUADRATIC * np.abs(x))
            active = active[~exact & (np.abs(following - x) > 0.5 * np.spacing(np.abs(a)))]
            if not len(active):
                break
        positions: np.ndarray = start + result
        return positions

    def _lengths_between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self._lengths_and_rates(a, b)[0]

    def _lengths_and_rates(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the arc lengths σ between positions a and b (n,), and g = dσ/ds at b, from one evaluation."""
        half = 0.5 * (b - a)
        at = np.empty((len(a), len(_NODES) + 1))
        at[:, :-1] = (0.5 * (a + b))[:, None] + half[:, None] * _NODES
        at[:, -1] = b
        rates = self._rate(at)
        return half * (np.ascontiguousarray(rates[:, :-1]) @ _WEIGHTS), rates[:, -1]

    def distance_from_end(self, side: int, sigma: np.ndarray) -> tuple[np.ndarray, PathRates]:
        """Return distances in s from an end of the path, at arc lengths σ from it, and the path's derivatives there.

        ``side`` is 0 for the path's beginning and 1 for its end.
        """
        if side == 0:
            k = np.clip(np.searchsorted(self.sums, sigma, side="right") - 1, 0, len(self.cells) - 2)
            positions = self._positions_in_cells(k, sigma - self.sums[k], np.zeros(len(sigma), bool))
            return positions - self.begin, self.rates(positions)
        last = len(self.cells) - 1
        k = last - np.clip(np.searchsorted(self.to_end[::-1], sigma, side="right"), 1, last)
        positions = self._positions_in_cells(k, self.to_end[k + 1] - sigma, np.ones(len(sigma), bool))
        return self.end - positions, self.rates(positions)

    def _evaluate(self, sigma: np.ndarray) -> tuple[PathRates, np.ndarray]:
        """Return the path's derivatives at arc lengths σ; positions too near to an end with dq/ds = 0 are moved inside.

        The second value (..., 1) is True where a position was moved.
        """
        s = self.positions(sigma)
        low, high = self.begin + self.straight[0], self.end - self.straight[1]
        near = (self.rests[0] & (s < low)) | (self.rests[1] & (s > high))
        return self.rates(np.clip(s, low, high)), near[..., None]

    def samples(self, sigma: np.ndarray) -> PathSamples:
        """Return q and its first two derivatives with respect to arc length, at arc lengths σ."""
        r, near = self._evaluated(sigma)
        g, g1 = r.g[..., None], r.g_first[..., None]
        second = (r.path.second - r.path.first * g1 / g) / g**2
        return PathSamples(r.path.q, r.path.first / g, np.where(near, 0.0, second))

    def third(self, sigma: np.ndarray) -> np.ndarray:
        """Return the third derivative of q with respect to σ, at arc lengths σ."""
        r, near = self._evaluated(sigma)
        g, g1, g2 = r.g[..., None], r.g_first[..., None], r.g_second[..., None]
        v, a = r.path.first, r.path.second
        result = r.third / g**3 - 3.0 * a * g1 / g**4 + v * (3.0 * g1 * g1 / g**5 - g2 / g**4)
        return np.where(near, 0.0, result)


def _subdivided(cells: np.ndarray, rests: tuple[bool, bool]) -> np.ndarray:
    """Return the ends of finer cells, in which Newton's method finds a position s in few steps.

    Towards an end where q' vanishes, cells become ever smaller.
    """
    result = [
        (cells[:-1, None] + np.diff(cells)[:, None] * np.arange(_CELLS_PER_CURVE) / _CELLS_PER_CURVE).ravel(),
        cells[-1:],
    ]
    shares = 0.5 ** np.arange(_END_CELLS, 0.0, -1.0) / _CELLS_PER_CURVE
    if rests[0]:
        result.append(cells[0] + (cells[1] - cells[0]) * shares)
    if rests[1]:
        result.append(cells[-1] - (cells[-1] - cells[-2]) * shares)
    return np.unique(np.concatenate(result))


# -- a function of positions that stores its last result


Result = TypeVar("Result")


class LastResult(Generic[Result]):
    """Function of positions that returns its last result again if called with the same positions."""

    def __init__(self, function: Callable[[np.ndarray], Result]) -> None:
        self._function = function
        self._stored: tuple[tuple[int, ...], bytes, Result] | None = None

    def __call__(self, positions: np.ndarray) -> Result:
        """Return the function's value at the positions; callers must not modify the value."""
        shape, values = positions.shape, positions.tobytes()
        if self._stored is None or self._stored[:2] != (shape, values):
            self._stored = shape, values, self._function(positions)
        return self._stored[2]
