"""Signed distances of bodies to forty digits, with proofs: independent of the package's algorithms.

A body near a point is p(n, u): a curved part is its farthest point along the normal n that leaves it, and along lines
and faces, which are across n, it goes on by u.  Of two bodies, with n from A to B, the nearest points obey

    p_B(−n, v) − p_A(n, u) = d n,   n · n = 1,   n · t = 0 for every line or face,

apart and in overlaps alike: as many equations as unknowns n, d, u, v, which Newton's method solves.  Apart, the answer
is proved: the planes across n leave a gap of d, and the points, which are in the bodies, are d apart.
"""

from __future__ import annotations

import mpmath as mp
import numpy as np

DIGITS = 40
_FLAT = 1e-6  # sines of angles below which a normal is across a line or along that of a face


class Body:
    """A kind, a pose (rotation and place, floats), sizes as those of cores, and the radius that rounds it."""

    def __init__(self, kind, R, p, sizes, radius=0.0):
        self.kind, self.R, self.p = kind, mp.matrix(np.array(R).tolist()), mp.matrix(np.array(p).tolist())
        self.sizes, self.radius = np.array(sizes).tolist(), mp.mpf(radius)

    def height(self, n):
        """max n · x of its points x, without the radius."""
        d, s = self.R.T * n, self.sizes
        across = mp.sqrt(d[0] ** 2 + d[1] ** 2)
        support = {
            "point": lambda: mp.mpf(0),
            "segment": lambda: s[0] * abs(d[2]),
            "box": lambda: sum(h * abs(x) for h, x in zip(s, d, strict=True)),
            "cylinder": lambda: s[0] * across + s[1] * abs(d[2]),
            "cone": lambda: max(s[1] * d[2], s[0] * across - s[1] * d[2]),
            "ellipsoid": lambda: mp.sqrt(sum((r * x) ** 2 for r, x in zip(s, d, strict=True))),
            "hull": lambda: max(_dot(v, d) for v in s),
        }[self.kind]()
        return _dot(n, self.p) + support

    def part(self, n):
        """Return the feature where n leaves the body, in its axes: p(n), directions of lines, and limits of u."""
        d, s = [float(x) for x in self.R.T * n], self.sizes
        sign = [1.0 if x > 0.0 else -1.0 for x in d]
        z = mp.matrix([0, 0, 1])
        level, upright = abs(d[2]) < _FLAT, np.hypot(d[0], d[1]) < _FLAT
        if self.kind == "point":
            return (lambda n: z * 0), [], []
        if self.kind == "segment":
            return (
                ((lambda n: z * 0), [lambda n: z], [(-s[0], s[0])])
                if level
                else ((lambda n: z * (sign[2] * s[0])), [], [])
            )
        if self.kind == "box":
            free = [k for k in range(3) if abs(d[k]) < _FLAT]
            corner = mp.matrix([0 if k in free else sign[k] * s[k] for k in range(3)])
            lines = [lambda n, k=k: mp.matrix([mp.mpf(j == k) for j in range(3)]) for k in free]
            return (lambda n: corner), lines, [(-s[k], s[k]) for k in free]
        if self.kind == "ellipsoid":
            return self._ellipsoid, [], []
        if self.kind == "hull":
            heights = np.array(s) @ d
            top = [mp.matrix(s[k]) for k in np.argsort(-heights) if heights[k] > heights.max() - _FLAT][:3]
            return (lambda n: top[0]), [lambda n, v=v: v - top[0] for v in top[1:]], [(0.0, 1.0)] * (len(top) - 1)
        if upright and (self.kind == "cylinder" or d[2] < 0.0):
            flat = [lambda n: mp.matrix([1, 0, 0]), lambda n: mp.matrix([0, 1, 0])]
            return (lambda n: z * (sign[2] * s[1])), flat, [(-s[0], s[0])] * 2
        if self.kind == "cylinder":
            if level:
                return (lambda n: _rim(n, s[0])), [lambda n: z], [(-s[1], s[1])]
            return (lambda n: _rim(n, s[0]) + z * (sign[2] * s[1])), [], []
        lean = 2.0 * s[1] * d[2] - s[0] * np.hypot(d[0], d[1])
        if abs(lean) < _FLAT:
            return (lambda n: z * s[1]), [lambda n: _rim(n, s[0]) - z * (2.0 * s[1])], [(0.0, 1.0)]
        return (lambda n: z * s[1] if lean > 0.0 else _rim(n, s[0]) - z * s[1]), [], []

    def _ellipsoid(self, n):
        scaled = [r * x for r, x in zip(self.sizes, n, strict=True)]
        length = mp.sqrt(_dot(scaled, scaled))
        return mp.matrix([r * x / length for r, x in zip(self.sizes, scaled, strict=True)])


def _rim(n, radius):
    return mp.matrix([n[0], n[1], 0]) * (radius / mp.sqrt(n[0] ** 2 + n[1] ** 2))


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def _floats(v):
    return np.array([float(x) for x in v])


class _Side:
    """One of two bodies near the other: n points out of A, and into B."""

    def __init__(self, body, sign, n, point):
        self.body, self.sign = body, sign
        self.at, self.lines, self.limits = body.part(mp.matrix(n) * sign)
        local = body.R.T * mp.matrix(n) * sign
        core = np.array(point) - sign * float(body.radius) * np.array(n)  # without the radius
        offset = _floats(body.R.T * (mp.matrix(core) - body.p) - self.at(local))
        T = np.array([_floats(t(local)) for t in self.lines]).reshape(-1, 3)
        self.start = np.linalg.lstsq(T.T, offset, rcond=None)[0].tolist() if len(T) else []

    def point(self, n, u):
        local = self.body.R.T * n * self.sign
        x = self.at(local)
        for t, weight in zip(self.lines, u, strict=True):
            x = x + t(local) * weight
        return self.body.p + self.body.R * x

    def across(self, n):
        local = self.body.R.T * n * self.sign
        return [_dot(local, t(local)) for t in self.lines]


def _solved(equations, x):
    """Newton's method, from about seven digits."""
    x, h = mp.matrix(x), mp.mpf(10) ** -25
    for _ in range(4):
        value = mp.matrix(equations(*x))
        J = mp.matrix(len(x), len(x))
        for k in range(len(x)):
            moved = x.copy()
            moved[k] += h
            J[:, k] = (mp.matrix(equations(*moved)) - value) / h
        x = x - mp.lu_solve(J, value)
    return [*x]


def nearest(a, b, n, on_a, on_b):
    """Return distance, normal and both points, refined from approximate ones, and the largest violated condition.

    The doubt counts the equations, by how much the gap that planes leave is not the distance, and by how much points
    are out of their bodies; so that apart, it is the most by which the distance can be wrong.
    """
    with mp.workdps(DIGITS):
        sides = _Side(a, 1, n, on_a), _Side(b, -1, n, on_b)
        start = [x + e for x, e in zip(n, (3e-7, -2e-7, 4e-7), strict=True)]  # half of the digits are to be found
        distance = float(np.dot(n, np.subtract(on_b, on_a)) + a.radius + b.radius)
        k = 4 + len(sides[0].start)

        def split(x):
            n = mp.matrix(x[:3])
            return n, x[3], sides[0].point(n, x[4:k]), sides[1].point(n, x[k:])

        def equations(*x):
            n, d, p, q = split(x)
            return [*(q - p - n * d), _dot(n, n) - 1, *sides[0].across(n), *sides[1].across(n)]

        x = _solved(equations, [*start, distance, *sides[0].start, *sides[1].start])
        n, d, p, q = split(x)
        limits = [*sides[0].limits, *sides[1].limits]
        out = max((max(low - u, u - high) for u, (low, high) in zip(x[4:], limits, strict=True)), default=0)
        doubt = max(abs(gap(a, b, n) - d), *(abs(e) for e in equations(*x)), out)
        points = (_floats(p + n * a.radius), _floats(q - n * b.radius))
        return float(d - a.radius - b.radius), _floats(n), *points, float(doubt), n


def gap(a, b, n):
    """Return the gap between planes across n, which points from A to B, without radii."""
    return -a.height(n) - b.height(-n)


def is_least_nearby(a, b, n):
    """Return True if no direction near n separates the two with less."""
    with mp.workdps(DIGITS):
        gap_n = gap(a, b, n)
        for turn in (mp.mpf("1e-2"), mp.mpf("1e-6"), mp.mpf("1e-12")):
            for k in range(12):
                direction = n + mp.matrix([mp.cos(2 * k), mp.sin(2 * k), mp.cos(3 * k + 1)]) * turn
                if gap(a, b, direction / mp.sqrt(_dot(direction, direction))) > gap_n:
                    return False
        return True
