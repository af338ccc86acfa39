"""A part of a path by its length, where its own parameter says too little: it rests at an end, or jumps along the path.

With g = |q'|, dσ = g ds, the path by σ has q' of length 1, and where q'' or |q'| jump along q' alone it has no jump.
Where q' vanishes inside, at a place where the path turns back, g stays above a part of the greatest.  At an end it is
|q'| to the end itself, where the motion begins as on a straight line, σ ~ t³, and s by a root of that: of polynomials
by time, those that s is to be, none begins so.  So it begins with s ~ t² there (or t, where q' vanishes to higher
order), in a small part of the first segment, whose jerk has room for that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linkwork.motion.timing.limits import MotionAsked, PathNumbers
from linkwork.motion.trajectory.time_scaling import lengths_of
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_segment import shifted

__all__ = ["BEGINNING", "Clocked", "Lengthwise", "lengthwise"]

BEGINNING = 0.965  # of the limits of jerk have segments at an end at which q' vanishes
_RESTS = 0.1  # of the greatest |q'|: g is no less inside
_VANISHES = 1e-3  # of it: where it is less at an end it is said to vanish
_STRAIGHT = 1e-5  # of the distance to where it moves, from an end: the path is taken to be straight there
_APART = 1e-9  # of the length, from an end: where a motion to begin with is looked at
_INSIDE = 1e-9  # of a piece: so far from its ends the path is that piece's
_LOOKED_AT = 32  # places of a piece
_NEWTON = 20
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_PARTS, _CELLS = 8, 24  # of a piece, and more near an end at which q' vanishes
_RATIO = 1.25  # of the times at which pieces of s end, near an end
_HALVINGS = 6
_SHORTEST = 1e-4  # of the motion's time: pieces are halved until they are shorter
_SPOILT = 8.0  # times what rounding makes of a jerk it is off by: halves are as much worse
_WIDE = 1e3  # times the least limit of jerk: what is above counts as that
_ALONG = 1e-6  # of the greatest rate: a jump along the path
_RAMP = 0.01  # of the first segment: how long s is a power of t where q' vanishes
_PHASES = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)  # of it: σ⃛ changes between

_Pair = tuple[np.ndarray, np.ndarray]


class Clocked(NamedTuple):
    """s by time: pieces (n, 6) between times (n + 1,)."""

    t: np.ndarray
    pieces: np.ndarray


class _Rates(NamedTuple):
    """Of the path by its own parameter, and of σ: g and its derivatives."""

    path: PathNumbers
    third: np.ndarray
    g: np.ndarray
    once: np.ndarray
    twice: np.ndarray


def lengthwise(path: Trajectory, begin: float, end: float, inner: np.ndarray, asked: MotionAsked) -> list[Lengthwise]:
    """Between two places of a path, whose knots between are ``inner``: several, as g is no less than more or less
    inside, to be tried in this order; none where its own parameter does.
    """
    cuts = np.concatenate([[begin], inner, [end]])
    u = 0.5 - 0.5 * np.cos(np.pi * np.arange(_LOOKED_AT + 1) / _LOOKED_AT)
    places = np.unique(cuts[:-1, None] + np.diff(cuts)[:, None] * u)
    inside = places.copy()  # on this side of corners at the ends
    inside[0] += _INSIDE * (cuts[1] - begin)
    inside[-1] -= _INSIDE * (end - cuts[-2])
    weights = _weights(asked)
    state = path(inside)
    size = np.sqrt((weights * state.v**2).sum(axis=-1))
    top = float(size.max())
    rests = bool(size[0] < _VANISHES * top), bool(size[-1] < _VANISHES * top)
    uneven = _jumps_along(path, cuts, float(np.abs(state.v).max()), float(np.abs(state.a).max()))
    if not any(rests) and not uneven:
        return []
    result: list[Lengthwise] = []
    lowest = min(0.5 * _first_top(x) for x in (size, size[::-1]))
    for least in (_RESTS * top, _RESTS * float(np.median(size)), min(lowest, _RESTS * top)):
        ends = [begin, end]
        grows = True
        for side, x in enumerate((size, size[::-1])):
            k = int(np.argmax(x >= least))
            if rests[side]:
                ends[side] = float(places[k if side == 0 else len(places) - 1 - k])
                grows &= bool((np.diff(x[: k + 1]) > 0.0).all())  # behind it |q'| may be small again
        if grows and ends[0] < ends[1] and all(least != one.least for one in result):
            result.append(Lengthwise(path, cuts, weights, least, (ends[0], ends[1]), uneven))
    return result


def _first_top(size: np.ndarray) -> float:
    """The first of sizes from which they fall."""
    falls = np.flatnonzero(np.diff(size) < 0.0)
    falls = falls[falls > 0]
    return float(size[falls[0]]) if len(falls) else float(size.max())


def _weights(asked: MotionAsked) -> np.ndarray:
    """Of coordinates: the narrower limits of jerk, the more."""
    assert asked.jerk is not None
    most = np.minimum(np.abs(asked.jerk[0]), np.abs(asked.jerk[1]))
    moves = most > 1e-9
    least = float(most[moves].min()) if moves.any() else 1.0
    least = least if np.isfinite(least) else 1.0
    result: np.ndarray = np.where(moves, least / np.clip(most, least, _WIDE * least), 1.0) ** 2
    return result


def _jumps_along(path: Trajectory, cuts: np.ndarray, speed: float, rate: float) -> bool:
    """Whether rates jump at knots inside, that come to so much at most."""
    if len(cuts) < 3:
        return False
    room = _INSIDE * np.diff(cuts)
    before, after = path(cuts[1:-1] - room[:-1]), path(cuts[1:-1] + room[1:])
    pairs = (before.v, after.v, speed), (before.a, after.a, rate)
    return any(bool(np.abs(y - x).max() > _ALONG * most + 1e-12) for x, y, most in pairs)


class Lengthwise:
    """A part of a path by σ, from 0 to its ``length``; ``inner`` are knots, ``rests`` says at which ends q' vanishes,
    and ``uneven`` whether rates jump along it.
    """

    def __init__(
        self,
        path: Trajectory,
        cuts: np.ndarray,
        weights: np.ndarray,
        least: float,
        moves: tuple[float, float],
        uneven: bool,
    ) -> None:
        self.path, self.weights, self.least, self.moves, self.uneven = path, weights, least, moves, uneven
        self.begin, self.end = begin, end = float(cuts[0]), float(cuts[-1])
        self.rests = moves[0] > self.begin, moves[1] < self.end
        more = [x for x, rests in zip(moves, self.rests, strict=True) if rests]
        self.cells = _divided(lengths_of(self._rate, np.unique(np.concatenate([cuts, more])))[0], self.rests)
        self.sizes = self._between(self.cells[:-1], self.cells[1:])
        self.sums = np.append(0.0, np.cumsum(self.sizes))
        self.left = np.append(0.0, np.cumsum(self.sizes[::-1]))[::-1]  # to the end
        self.length = float(self.sums[-1])
        self.inner = self.sums[np.searchsorted(self.cells, cuts[1:-1])]
        near = _INSIDE * (cuts[1] - cuts[0]), _INSIDE * (cuts[-1] - cuts[-2])
        self.straight = max(_STRAIGHT * (moves[0] - begin), near[0]), max(_STRAIGHT * (end - moves[1]), near[1])

    # -- the path by its own parameter

    def _sized(self, s: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g of y = |q'|², and its derivatives by y."""
        root = np.sqrt(np.maximum(y, 1e-180))
        result, once, twice = root, 0.5 / root, -0.25 / root**3
        inside = (s >= self.moves[0]) & (s <= self.moves[1]) & (y < self.least**2)
        z = y / self.least**2 - 1.0
        return (
            np.where(inside, self.least * (1.0 + z * (0.5 - 0.125 * z)), result),
            np.where(inside, (0.5 - 0.25 * z) / self.least, once),
            np.where(inside, -0.25 / self.least**3, twice),
        )

    def _rate(self, s: np.ndarray) -> np.ndarray:
        return self._sized(s, (self.weights * self.path(s).v ** 2).sum(axis=-1))[0]

    def rates(self, s: np.ndarray) -> _Rates:
        """At its own places."""
        path, third = PathNumbers(*self.path(s)), self.path.jerk(s)
        w, v, a = self.weights, path.first, path.second
        y, y1 = (w * v * v).sum(axis=-1), 2.0 * (w * v * a).sum(axis=-1)
        y2 = 2.0 * (w * (a * a + v * third)).sum(axis=-1)
        g, one, two = self._sized(s, y)
        return _Rates(path, third, g, one * y1, two * y1 * y1 + one * y2)

    # -- by its length

    def lengths(self, s: np.ndarray) -> np.ndarray:
        """σ at its own places (n,)."""
        k = np.clip(np.searchsorted(self.cells, s, side="right") - 1, 0, len(self.cells) - 2)
        result: np.ndarray = self.sums[k] + self._between(self.cells[k], s)
        return result

    def run_by(
        self, s: np.ndarray, x: np.ndarray, resting: tuple[bool, bool]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """σ, σ̇² and σ̈ between of a motion with ṡ² = x at places s from the beginning on, which are its ends at last."""
        places = self.begin + s
        sigma = self.lengths(places)
        far = sigma * (self.length - sigma) > _APART * self.length**2
        places = np.concatenate([places[:1], places[1:-1][far[1:-1]], places[-1:]])
        x = np.concatenate([x[:1], x[1:-1][far[1:-1]], x[-1:]])
        x = x * self.rates(places).g ** 2
        x[0], x[-1] = (0.0 if still else y for still, y in zip(resting, (x[0], x[-1]), strict=True))
        sigma = np.concatenate([[0.0], sigma[1:-1][far[1:-1]], [self.length]])
        return sigma, x, 0.5 * np.diff(x) / np.diff(sigma)

    def places(self, sigma: np.ndarray) -> np.ndarray:
        """Its own places at σ."""
        flat = np.clip(sigma.ravel(), 0.0, self.length)
        k = np.clip(np.searchsorted(self.sums, flat, side="right") - 1, 0, len(self.cells) - 2)
        later = (
            flat - self.sums[k] > self.sums[k + 1] - flat
        )  # from the nearer end of a cell: roundings are least there
        return self._reached(k, np.where(later, flat - self.sums[k + 1], flat - self.sums[k]), later).reshape(
            sigma.shape
        )

    def _reached(self, k: np.ndarray, wanted: np.ndarray, later: np.ndarray) -> np.ndarray:
        """Places in cells to which lengths from their beginnings, or where ``later`` back from their ends, are as
        wanted: Newton's method, halved where it leaves.
        """
        begin, end = self.cells[k], self.cells[k + 1]
        start = np.where(later, end, begin)
        low, high = begin - start, end - start
        result = (high - low) * np.clip(wanted / np.maximum(self.sizes[k], 1e-300), -1.0, 1.0)
        left = np.flatnonzero(wanted)
        for _ in range(_NEWTON):
            x, a = result[left], start[left]
            off = self._between(a, a + x) - wanted[left]
            rate = np.maximum(self._rate(a + x), 1e-300)
            b, e = np.where(off < 0.0, x, low[left]), np.where(off < 0.0, high[left], x)
            low[left], high[left] = b, e
            following = x - off / rate
            following = np.where((following >= b) & (following <= e), following, 0.5 * (b + e))
            result[left] = following
            left = left[np.abs(following - x) > 4e-16 * np.abs(x) + 0.5 * np.spacing(np.abs(a))]
            if not len(left):
                break
        places: np.ndarray = start + result
        return places

    def _between(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        half = 0.5 * (b - a)
        at = (0.5 * (a + b))[:, None] + half[:, None] * _NODES
        result: np.ndarray = half * (self._rate(at) @ _WEIGHTS)
        return result

    def _looked_at(self, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Its own places, not so near to an end that q' vanishes or that it is another piece's; and where q' does."""
        s = self.places(sigma)
        low, high = self.begin + self.straight[0], self.end - self.straight[1]
        return np.clip(s, low, high), (self.rests[0] & (s < low)) | (self.rests[1] & (s > high))

    def numbers(self, sigma: np.ndarray) -> PathNumbers:
        """The path by σ."""
        s, near = self._looked_at(sigma)
        r = self.rates(s)
        g, g1 = r.g[..., None], r.once[..., None]
        second = (r.path.second - r.path.first * g1 / g) / g**2
        return PathNumbers(r.path.q, r.path.first / g, np.where(near[..., None], 0.0, second))

    def third(self, sigma: np.ndarray) -> np.ndarray:
        """Its third derivative by σ."""
        s, near = self._looked_at(sigma)
        r = self.rates(s)
        g, g1, g2 = r.g[..., None], r.once[..., None], r.twice[..., None]
        v, a = r.path.first, r.path.second
        result = r.third / g**3 - 3.0 * a * g1 / g**4 + v * (3.0 * g1 * g1 / g**5 - g2 / g**4)
        return np.where(near[..., None], 0.0, result)

    # -- s by time

    def clock(self, t: np.ndarray, pieces: np.ndarray, jerk: np.ndarray, tolerance: float) -> Clocked:
        """s of a motion, pieces (n, 4) of σ between times: of degree five, their jerk off by a part of limits (nv,)."""
        ends = []
        for side in (0, 1):
            if self.rests[side]:
                h = float(t[1] - t[0] if side == 0 else t[-1] - t[-2])
                ends.append(self._end(side, h, 6.0 * float(pieces[-side, 3]), float(t[-side])))
        b, e = t[:-1].copy(), t[1:].copy()
        k = np.arange(len(b))
        if self.rests[0]:
            b, e, k = b[1:], e[1:], k[1:]
        if self.rests[1]:
            b, e, k = b[:-1], e[:-1], k[:-1]
        done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [*ends]
        for left in range(_HALVINGS, -1, -1):
            steep = np.zeros(len(b), bool)
            if self.rests[0]:
                steep |= e > _RATIO * b
            if self.rests[1]:
                steep |= t[-1] - b > _RATIO * (t[-1] - e)
            c, off, spoilt = self._fitted(t, pieces, k, b, e, jerk)
            rough = (off > np.maximum(tolerance, _SPOILT * spoilt)) & (e - b > _SHORTEST * t[-1])
            bad = (steep | rough) & (left > 0)
            done.append((b[~bad], e[~bad], c[~bad]))
            m = 0.5 * (b + e)[bad]
            k = np.repeat(k[bad], 2)
            b, e = (np.stack(x, axis=1).ravel() for x in ((b[bad], m), (m, e[bad])))
            if not len(b):
                break
        b, e, c = (np.concatenate(x) for x in zip(*done, strict=True))
        order = np.argsort(b)
        return Clocked(np.append(b[order], t[-1]), c[order])

    def _fitted(
        self, t: np.ndarray, pieces: np.ndarray, k: np.ndarray, b: np.ndarray, e: np.ndarray, jerk: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pieces of degree five from times to times within segments k, by how much of limits the jerk is off, and what
        of it may be rounding.
        """
        inside = _INSIDE * (e - b)
        low, high = (self._state(pieces[k], x - t[k]) for x in (b + inside, e - inside))
        middle = self._state(pieces[k], 0.5 * (b + e) - t[k])
        first = self._state(pieces[k], b - t[k])[0], self._state(pieces[k], e - t[k])[0]
        c = _through(e - b, first, (low[1], high[1]), (low[2], high[2]))
        h = 0.5 * (e - b)
        third = 6.0 * c[:, 3] + h * (24.0 * c[:, 4] + h * 60.0 * c[:, 5])
        edges = [6.0 * c[:, 3], 6.0 * c[:, 3] + (e - b) * (24.0 * c[:, 4] + (e - b) * 60.0 * c[:, 5])]
        off = np.zeros(len(b))
        for value, state in ((third, middle), (edges[0], low), (edges[1], high)):
            off = np.maximum(off, (np.abs((value - state[3])[:, None] * state[4]) / jerk).max(axis=-1, initial=0.0))
        most = (np.abs(middle[4]) / jerk).max(axis=-1, initial=0.0)
        rounded = np.maximum(np.spacing(np.abs(first[0])), np.spacing(self.length) * middle[1] / middle[5])
        return c, off, 60.0 * rounded / (e - b) ** 3 * most

    def _state(self, c: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """s, its three derivatives by time, q' and σ̇, where σ is polynomials (n, 4) at times of theirs."""
        sigma = c[:, 0] + u * (c[:, 1] + u * (c[:, 2] + u * c[:, 3]))
        w, a, j = c[:, 1] + u * (2.0 * c[:, 2] + 3.0 * u * c[:, 3]), 2.0 * c[:, 2] + 6.0 * u * c[:, 3], 6.0 * c[:, 3]
        return self._by_time(self.places(sigma), w, a, j)

    def _by_time(self, s: np.ndarray, w: np.ndarray, a: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, ...]:
        r = self.rates(s)
        speed = w / r.g
        rate = (a - r.once * speed**2) / r.g
        return s, speed, rate, (j - 3.0 * r.once * speed * rate - r.twice * speed**3) / r.g, r.path.first, w

    # -- where q' vanishes at an end

    def _end(self, side: int, h: float, jerk: float, at: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pieces of s over a segment of time h, on which σ is jerk t³/6 from an end, where it is ``at`` a time: when
        they begin and end, and what they are.
        """
        many = int(np.ceil(-np.log(_RAMP) / np.log(_RATIO)))
        times = np.unique(np.concatenate([_RAMP ** (np.arange(many + 1) / many), _PHASES[1:]]))
        power = self._power(side, jerk * (_RAMP * h) ** 3 / 6.0)
        steps = power * int(np.ceil(3.0 / power))
        sigma, *rates = _ramped(times, steps)
        way, *state = self._by_time_from(side, jerk * h**3 * sigma, jerk * h * h * rates[0], jerk * h * rates[1])
        times = h * times
        c = np.zeros((len(times), 6))
        c[1:] = _through(np.diff(times), (way[:-1], way[1:]), *((x[:-1], x[1:]) for x in state[:2]))
        first, k = times[0], steps // power + np.arange(3)
        matrix = np.array([first**k, k * first ** (k - 1), k * (k - 1) * first ** np.maximum(k - 2, 0)])
        c[0, k] = np.linalg.solve(matrix, [way[0], state[0][0], state[1][0]])
        begins, ends = np.append(0.0, times[:-1]), times
        if side:
            c = np.array([shifted(x, e - b) for x, b, e in zip(c, begins, ends, strict=True)]) * (-1.0) ** np.arange(6)
            c, begins, ends = -c[::-1], at - ends[::-1], at - begins[::-1]
            begins[1:] = ends[:-1]
            ends[-1] = at
        else:
            begins, ends = at + begins, at + ends
        c[:, 0] += self.end if side else self.begin
        return begins, ends, c

    def _power(self, side: int, sigma: float) -> int:
        """Of s, that σ grows with from an end."""
        way, r = self._from(side, np.array([sigma]))
        return max(int(np.round(way[0] * r.g[0] / sigma)), 1)

    def _from(self, side: int, sigma: np.ndarray) -> tuple[np.ndarray, _Rates]:
        """How far s is from an end where σ is so far from it, and what is there."""
        if side == 0:
            k = np.clip(np.searchsorted(self.sums, sigma, side="right") - 1, 0, len(self.cells) - 2)
            places = self._reached(k, sigma - self.sums[k], np.zeros(len(sigma), bool))
            return places - self.begin, self.rates(places)
        k = len(self.cells) - 1 - np.clip(np.searchsorted(self.left[::-1], sigma, side="right"), 1, len(self.cells) - 1)
        places = self._reached(k, self.left[k + 1] - sigma, np.ones(len(sigma), bool))
        return self.end - places, self.rates(places)

    def _by_time_from(self, side: int, sigma: np.ndarray, w: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, ...]:
        way, r = self._from(side, sigma)
        once = r.once if side == 0 else -r.once
        speed = w / r.g
        return way, speed, (a - once * speed**2) / r.g


def _divided(cells: np.ndarray, rests: tuple[bool, bool]) -> np.ndarray:
    """Cells in parts, so that a few of Newton's steps find places in them: smaller and smaller where q' vanishes."""
    result = [(cells[:-1, None] + np.diff(cells)[:, None] * np.arange(_PARTS) / _PARTS).ravel(), cells[-1:]]
    shares = 0.5 ** np.arange(_CELLS, 0.0, -1.0) / _PARTS
    if rests[0]:
        result.append(cells[0] + (cells[1] - cells[0]) * shares)
    if rests[1]:
        result.append(cells[-1] - (cells[-1] - cells[-2]) * shares)
    return np.unique(np.concatenate(result))


def _through(h: np.ndarray, places: _Pair, speeds: _Pair, rates: _Pair) -> np.ndarray:
    """Of degree five (n, 6) over times h, with places, speeds and their rates at both ends."""
    (p, p1), (v, v1), (a, a1) = places, speeds, rates
    d, e, f = p1 - p - h * (v + 0.5 * h * a), (v1 - v - h * a) * h, (a1 - a) * h * h
    more = (10.0 * d - 4.0 * e + 0.5 * f) / h**3, (7.0 * e - 15.0 * d - f) / h**4, (6.0 * d - 3.0 * e + 0.5 * f) / h**5
    return np.stack([p, v, 0.5 * a, *more], axis=-1)


def _ramped(t: np.ndarray, power: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """σ and its first two derivatives at times of [0, 1], from rest to where σ = t³/6 leads: first σ grows with a power
    of t, then σ⃛ is the same on each of three parts.
    """
    result = np.array([_by_jerk(t, k, power) for k in range(len(_PHASES) - 1)])
    last = np.array([_by_jerk(np.array([1.0]), k, power)[:, 0] for k in range(len(_PHASES) - 1)])
    sizes = np.linalg.solve(last.T, [1.0 / 6.0, 0.5, 1.0])
    sigma, speed, rate = np.tensordot(sizes, result, 1)
    return sigma, speed, rate


def _by_jerk(t: np.ndarray, k: int, power: int) -> np.ndarray:
    """σ and its derivatives (3, n) of a jerk of 1 in one of the parts, of the first after it has grown."""
    begin, end = _PHASES[k], _PHASES[k + 1]
    result = np.zeros((3, len(t)))
    state = np.zeros(3)
    if k == 0:
        begin = _RAMP
        u = np.minimum(t, begin) / begin
        n = float(power)
        shares = begin**3 / (n * (n - 1.0) * (n - 2.0)), begin**2 / ((n - 1.0) * (n - 2.0)), begin / (n - 2.0)
        result = np.array([share * u ** (n - m) for m, share in enumerate(shares)])
        state = np.array(shares)
    for low, high, jerk in ((begin, end, 1.0), (end, np.inf, 0.0)):
        u = np.clip(t - low, 0.0, high - low)
        here = t > low
        moved = _moved(state, u, jerk)
        result = np.where(here, moved, result)
        if np.isfinite(high):
            state = _moved(state, np.array([high - low]), jerk)[:, 0]
    return result


def _moved(state: np.ndarray, u: np.ndarray, jerk: float) -> np.ndarray:
    p, v, a = state
    return np.array([p + u * (v + u * (a / 2.0 + u * jerk / 6.0)), v + u * (a + u * jerk / 2.0), a + u * jerk])
