"""The geometry of a path without its timing: curves without clocks, their corners, and rates without jumps or rests.

On a straight piece q = a + d f(s) no speed ṡ passes a place with f' = 0 without a stop, although the line itself has
none there.  With the length as the parameter it is passed at any speed.  Where f' changes sign the line turns back, and
two pieces meet in a corner.  Curved pieces keep their parameter: where q' vanishes their curvature has no bound.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_construction import chained
from linkwork.motion.trajectory.trajectory_segment import Section, shifted

__all__ = ["GeometricPath", "beneath", "corners", "evened", "may_rest_inside", "stands_still", "straightened"]

_SAME = 1.0, 1.0
_LOOKED_AT = 4  # places of a piece: polynomials that rest at all of them rest
_NOTHING = 1e-14  # [rad/s, m/s] and of their derivatives: nothing moves
_MOVES = 1e-9  # [rad/s, m/s] of q': what is slower has no direction
_CORNER = 1e-7  # of the path's rate: a jump of it is a corner
_BEND = 1e-6  # of the path's second derivative: a jump of it
_STRAIGHT = 1e-12  # of a piece's extent: what it leaves its line by
_NEAR = 1e-6  # of a piece: a double root of a rate is two that are so near, real or not
_SLOW = 0.05  # of the greatest rate of a piece: a path that is slower inside nearly rests
_ALIKE, _MORE = 1e-9, 1.5  # of a quick look: it rather says that a piece may be straight and slow
_NO_PART = 1e-14  # of a piece's way: what is shorter is no part of it


class GeometricPath(NamedTuple):
    """A path's curves, and how fast it runs through them at both ends.

    ``knots`` (n,) are places on it, between which ``told`` (n,) are linear: those that people are told of.
    """

    path: Trajectory
    rates: tuple[float, float]
    knots: np.ndarray | None = None
    told: np.ndarray | None = None

    def places(
        self, s: np.ndarray, speed: np.ndarray, acceleration: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, ṡ and s̈ as people are told."""
        if self.knots is None or self.told is None:
            return s, speed, acceleration
        slopes = np.diff(self.told) / np.diff(self.knots)
        by = slopes[np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, len(slopes) - 1)]
        return np.interp(s, self.knots, self.told), by * speed, by[: len(acceleration)] * acceleration


def beneath(path: Trajectory) -> GeometricPath:
    """The curves that a path runs along, one after the other, without their clocks."""
    sections = path.sections
    if len(sections) == 1 and sections[0].clock is None:
        return GeometricPath(path, _SAME)
    if any(section.is_symbolic for section in sections):
        return GeometricPath(path, _SAME)
    bare = [_bare(section, alone=len(sections) == 1) for section in sections]
    result: list[Section] = []
    for section, _ in bare:
        if result and _goes_on(result[-1], section):
            before = result.pop()
            section = Section(before.space, before.kind, before.arrays, before.start, section.end)
        result.append(section)
    if len(result) > 1:
        result = chained(result, result[0].start)
    return GeometricPath(Trajectory(result, path.robot), (bare[0][1][0], bare[-1][1][1]))


def _bare(section: Section, *, alone: bool) -> tuple[Section, tuple[float, float]]:
    """Without its clock, unless that is even and others are before or after; and how fast it runs at both ends."""
    clock = section.clock
    first, last = (float(section.parameter(np.array(t))) for t in (section.start, section.end))
    if clock is None or first == last or (section.is_affine and first < last and not alone):
        return section, _SAME
    starts, c = clock.starts, clock.coefficients
    rates = []
    for t, k in ((section.start, 0), (section.end, len(starts) - 1)):
        u, powers = t - starts[k], np.arange(1, c.shape[1])
        rates.append(abs(float((c[k, 1:] * powers * u ** (powers - 1)).sum())))
    result = Section(section.space, section.kind, section.arrays, min(first, last), max(first, last))
    return result if first < last else result.turned(0.0), (rates[0], rates[1])


def _goes_on(before: Section, after: Section) -> bool:
    """Whether it is the same curve, from where the other one ends."""
    if before.clock is not None or after.clock is not None or before.end != after.start:
        return False
    same = before.kind is after.kind and before.space == after.space
    return same and all(np.array_equal(x, after.arrays[name]) for name, x in before.arrays.items())


def stands_still(path: Trajectory) -> bool:
    """Whether nothing moves along it: looked at closely where nothing does at its beginning."""
    section = path.sections[0]
    c = section.arrays.get("coefficients")
    if c is not None and c.dtype == np.float64 and c.size > 1 < c.shape[-1] and c.item(1) != 0.0:
        return False  # its first coordinate moves from the beginning on, which is what most do, and soon said
    if any(section.is_symbolic for section in path.sections):
        return False
    knots = path.knots
    places = knots[:-1, None] + np.diff(knots)[:, None] * (np.arange(_LOOKED_AT) + 0.5) / _LOOKED_AT
    return not any(np.abs(x).max(initial=0.0) > _NOTHING for x in path(places)[1:])


def evened(value: GeometricPath) -> GeometricPath:
    """Where the rate jumps along the path alone, parts run through faster or slower, so that it does not."""
    path = value.path
    knots = path.knots
    inner, before, after = beside(path, knots)
    if not len(inner):
        return value
    sizes = [np.sqrt((state.v**2).sum(axis=-1)) for state in (before, after)]
    moves = np.minimum(*sizes) > _MOVES
    a, b = (state.v / np.where(moves, size, 1.0)[:, None] for state, size in zip((before, after), sizes, strict=True))
    uneven = moves & jumps(before.v, after.v) & ~jumps(a, b)
    if not uneven.any():
        return value
    cuts = knots[[0, *inner[uneven], -1]]
    scales = np.append(1.0, np.cumprod(sizes[1][uneven] / sizes[0][uneven]))
    parts: list[Section] = []
    for (begin, end), scale in zip(pairwise(cuts), scales, strict=True):
        parts += [x.scaled(0.0, float(scale)) for x in path.slice(float(begin), float(end)).sections]
    new = cuts[0] + np.append(0.0, np.cumsum(np.diff(cuts) * scales))
    rates = value.rates[0], value.rates[1] * float(scales[-1])
    return GeometricPath(Trajectory(chained(parts, float(cuts[0])), path.robot), rates, new, cuts)


def beside(path: Any, knots: np.ndarray, *, bends: bool = False) -> tuple[np.ndarray, Any, Any]:
    """Return the inner ones of a path's knots, as places among them, and the limits of q and v from both sides of each,
    with ``bends`` of a too.

    They are extrapolated from places a little before and after by the next derivative: where a path is slow beside its
    curvature, v changes by more over that little than a jump that would be told of.
    """
    inner = np.arange(1, len(knots) - 1)
    if not len(inner):
        return inner, None, None
    least = np.minimum(knots[inner] - knots[inner - 1], knots[inner + 1] - knots[inner])
    room = np.minimum(np.maximum(1e-9 * least, 4.0 * np.spacing(np.abs(knots).max())), 0.25 * least)
    sides = []
    for places in (knots[inner] - room, knots[inner] + room):
        state, left = path(places), (knots[inner] - places)[:, None]
        a = state.a + left * path.jerk(places) if bends else state.a
        sides.append(state._replace(v=state.v + left * state.a, a=a))
    return inner, sides[0], sides[1]


def jumps(before: np.ndarray, after: np.ndarray, part: float = _CORNER, size: np.ndarray | None = None) -> np.ndarray:
    """Whether rates (..., nv) beside a place differ by more than a part of them, or of a size (...)."""
    if size is None:
        size = np.maximum(np.abs(before).max(-1), np.abs(after).max(-1))
    result: np.ndarray = np.abs(after - before).max(-1) > part * np.maximum(size, 1e-300) + 1e-12
    return result


def corners(path: Trajectory, knots: np.ndarray, *, bends: bool, along: bool = False) -> np.ndarray:
    """The inner knots (as places among them) at which the path's direction jumps, or with ``bends`` its curvature: what
    jumps along the path alone is no corner of it, unless that counts as well.
    """
    inner, before, after = beside(path, knots, bends=bends)
    if not len(inner):
        return inner
    result = jumps(before.v, after.v)
    if bends:
        a, b = (state.a if along else _across(state.v, state.a) for state in (before, after))
        inside = np.abs(path(0.5 * (knots[1:] + knots[:-1])).a).max(-1)  # where it may be 0 at knots alone
        size = np.max([np.abs(before.a).max(-1), np.abs(after.a).max(-1), inside[:-1], inside[1:]], axis=0)
        result |= jumps(a, b, _BEND, size)
    places: np.ndarray = inner[result]
    return places


def _across(v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """The part of accelerations (..., nv) that is not along the velocities; all of those where nothing moves."""
    square = (v * v).sum(axis=-1, keepdims=True)
    result: np.ndarray = a - v * (v * a).sum(axis=-1, keepdims=True) / np.where(square > _MOVES**2, square, np.inf)
    return result


def may_rest_inside(path: Trajectory) -> bool:
    """Whether `straightened` may change one section of cubics: a quick look at its first two coordinates."""
    section = path.sections[0]
    c, starts = section.arrays["coefficients"], section.arrays["starts"].tolist()
    if c.shape[-1] < 3:
        return False
    for k, (own, *others) in enumerate(c[:, :2, 1:4].tolist()):
        if others:
            a, b = own[:2], others[0][:2]
            left, right = a[0] * b[1], a[1] * b[0]
            if abs(left - right) > _ALIKE * (abs(left) + abs(right)):
                continue  # not a straight line
        h = (starts[k + 1] if k + 1 < len(starts) else section.end) - starts[k]
        p, q, r = own[0], own[1] * h, own[2] * h * h if len(own) > 2 else 0.0
        at_end = p + 2.0 * q + 3.0 * r
        most = _SLOW * max(abs(p), abs(at_end), abs(p + q + 0.75 * r))
        if most == 0.0 or (k and abs(p) <= most) or (k + 1 < len(starts) and abs(at_end) <= most):
            return True
        if 0.0 < -q * r < 3.0 * r * r and abs(p - q * q / (3.0 * r)) <= _MORE * most:
            return True
    return False


def straightened(value: GeometricPath) -> GeometricPath:
    """With straight pieces of polynomials, on which the path rests or nearly so elsewhere than at its own ends, run at
    one rate.

    Places at the ends of pieces stay what they are.
    """
    sections, changed = [], False
    rates = list(value.rates)
    last = len(value.path.sections) - 1
    for k, section in enumerate(value.path.sections):
        made = _straightened(section, first=k == 0, last=k == last)
        if made is not None:
            section, (begin, end) = made
            changed = True
            rates[0] *= begin if k == 0 else 1.0
            rates[1] *= end if k == last else 1.0
        sections.append(section)
    if not changed:
        return value
    return value._replace(path=Trajectory(sections, value.path.robot), rates=(rates[0], rates[1]))


def _straightened(section: Section, *, first: bool, last: bool) -> tuple[Section, tuple[float, float]] | None:
    """And by what the rates at its ends are divided; None where there is no such piece."""
    if section.kind.name != "polynomial" or not section.space.is_plain or section.is_symbolic or not section.is_affine:
        return None
    if section.arrays["coefficients"].shape[-1] < 3:
        return None
    ends = [float(x) for x in section.parameter(np.array([section.start, section.end]))]
    backward = ends[0] > ends[1]
    if backward:
        ends, first, last = ends[::-1], last, first
    c, starts = _between(section.arrays["coefficients"], section.arrays["starts"], *ends)
    lengths = np.diff(np.append(starts, ends[1]))
    scaled = c[:, :, 1:] * lengths[:, None, None] ** np.arange(1, c.shape[-1])
    left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
    straight = sizes[:, 0] > 0.0
    if sizes.shape[1] > 1:
        straight &= sizes[:, 1] <= _STRAIGHT * sizes[:, 0]
    pieces: list[np.ndarray] = []
    begins: list[float] = []
    rates, changed = [1.0, 1.0], False
    for k, h in enumerate(lengths):
        parts = None
        if straight[k]:
            f = np.append(0.0, sizes[k, 0] * right[k, 0])
            parts = _monotone(f, at_start=first and k == 0, at_end=last and k == len(lengths) - 1)
        if parts is None:
            pieces.append(c[k])
            begins.append(float(starts[k]))
            continue
        changed = True
        whole = float(np.abs(np.diff(parts)).sum())
        t = np.append(0.0, np.cumsum(np.abs(np.diff(parts)))) / whole
        for j, (a, b) in enumerate(pairwise(parts)):
            line = np.zeros_like(c[k])
            line[:, 0] = c[k, :, 0] + left[k, :, 0] * a
            line[:, 1] = left[k, :, 0] * (np.sign(b - a) * whole / h)
            pieces.append(line)
            begins.append(float(starts[k] + h * t[j]))
        if k == 0:
            rates[0] = float(abs(f[1]) / whole)
        if k == len(lengths) - 1:
            rates[1] = float(abs(f[1:] @ np.arange(1, len(f))) / whole)
    if not changed:
        return None
    arrays = {"starts": np.array(begins), "coefficients": np.array(pieces)}
    made = Section(section.space, section.kind, arrays, section.start, section.end, section.clock)
    return made, (rates[1], rates[0]) if backward else (rates[0], rates[1])


def _between(c: np.ndarray, starts: np.ndarray, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """The pieces between two places, the first of which begins there."""
    k = max(int(np.searchsorted(starts, begin, side="right")) - 1, 0)
    last = max(int(np.searchsorted(starts, end, side="left")), k + 1)
    c, starts = np.array(c[k:last], dtype=float), np.array(starts[k:last], dtype=float)
    c[0] = shifted(c[0], begin - starts[0])
    starts[0] = begin
    return c, starts


def _monotone(f: np.ndarray, *, at_start: bool, at_end: bool) -> np.ndarray | None:
    """The values of a polynomial on [0, 1] between which it rises or falls; None where its rate is never small but at
    what are ends of the path, or but where it turns back.
    """
    polynomial = np.polynomial.polynomial
    rate = f[1:] * np.arange(1, len(f))
    roots, flat = _roots(rate), _roots(rate[1:] * np.arange(1, len(rate)))
    flat = flat[(flat > _NEAR) & (flat < 1.0 - _NEAR)]
    slopes = np.abs(polynomial.polyval(np.concatenate([[0.0, 1.0], flat]), rate))
    slow = slopes <= _SLOW * slopes.max()
    if not (slow[0] and not at_start) and not (slow[1] and not at_end) and not slow[2:].any():
        return None
    values = polynomial.polyval(np.concatenate([[0.0], roots, [1.0]]), f)
    steps = np.diff(values)
    least = _NO_PART * float(np.abs(steps).sum())
    parts = [0.0]
    for value, step in zip(values[1:].tolist(), steps.tolist(), strict=True):
        if abs(step) <= least:
            continue
        if len(parts) > 1 and (parts[-1] - parts[-2]) * step > 0.0:
            parts[-1] = value
        else:
            parts.append(value)
    parts[-1] = float(f.sum())
    return np.array(parts)


def _roots(c: np.ndarray) -> np.ndarray:
    """The real roots in [0, 1] of a polynomial, lowest coefficient first, or those that are nearly so."""
    size = np.abs(c).max(initial=0.0)
    c = np.where(np.abs(c) <= 1e-15 * size, 0.0, c)
    result = np.roots(c[::-1])
    near = (np.abs(result.imag) <= _NEAR) & (result.real >= -_NEAR) & (result.real <= 1.0 + _NEAR)
    return np.sort(np.clip(result.real[near], 0.0, 1.0))
