"""What a path runs along, without how fast it does: curves without their clocks, their rates without jumps."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from linkwork.motion.timing.segment_grid import beside, jumps
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_construction import chained
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["GeometricPath", "beneath", "evened", "stands_still"]

_SAME = 1.0, 1.0
_LOOKED_AT = 4  # places of a piece: polynomials that rest at all of them rest
_NOTHING = 1e-14  # [rad/s, m/s] and of their derivatives: nothing moves
_MOVES = 1e-9  # [rad/s, m/s] of q': what is slower has no direction


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
    found: list[Section] = []
    for section, _ in bare:
        if found and _goes_on(found[-1], section):
            before = found.pop()
            section = Section(before.space, before.kind, before.arrays, before.start, section.end)
        found.append(section)
    if len(found) > 1:
        found = chained(found, found[0].start)
    return GeometricPath(Trajectory(found, path.robot), (bare[0][1][0], bare[-1][1][1]))


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
    found = Section(section.space, section.kind, section.arrays, min(first, last), max(first, last))
    return found if first < last else found.turned(0.0), (rates[0], rates[1])


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


def evened(given: GeometricPath) -> GeometricPath:
    """Where the rate jumps along the path alone, parts run through faster or slower, so that it does not."""
    path = given.path
    knots = path.knots
    inner, before, after = beside(path, knots)
    if not len(inner):
        return given
    sizes = [np.sqrt((state.v**2).sum(axis=-1)) for state in (before, after)]
    moves = np.minimum(*sizes) > _MOVES
    a, b = (state.v / np.where(moves, size, 1.0)[:, None] for state, size in zip((before, after), sizes, strict=True))
    uneven = moves & jumps(before.v, after.v) & ~jumps(a, b)
    if not uneven.any():
        return given
    cuts = knots[[0, *inner[uneven], -1]]
    scales = np.append(1.0, np.cumprod(sizes[1][uneven] / sizes[0][uneven]))
    parts: list[Section] = []
    for (begin, end), scale in zip(pairwise(cuts), scales, strict=True):
        parts += [x.scaled(0.0, float(scale)) for x in path.slice(float(begin), float(end)).sections]
    new = cuts[0] + np.append(0.0, np.cumsum(np.diff(cuts) * scales))
    rates = given.rates[0], given.rates[1] * float(scales[-1])
    return GeometricPath(Trajectory(chained(parts, float(cuts[0])), path.robot), rates, new, cuts)
