"""Geometry of a path without its timing: curves without time scaling, corners, continuous rates.

On a straight segment q = a + d f(s), the motion stops at a point with f' = 0 at any finite speed ṡ, although the line
itself requires no stop.  With the length as the parameter, the motion passes this point at any speed.  Where f' changes
sign the line turns back, and two segments meet in a corner.  Curved segments keep their parameter, because their
curvature is unbounded where q' vanishes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from linkwork.motion.trajectory.piecewise_evaluation import segment_indices, shifted, values_of
from linkwork.motion.trajectory.robot_changes import refuse_changes
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_construction import chained
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = [
    "GeometricPath",
    "corners",
    "geometric_path",
    "is_stationary",
    "may_have_lines",
    "uniform_on_lines",
    "with_continuous_rate",
]

_UNIT_RATES = 1.0, 1.0
_REST_SAMPLES = 4  # points of a curve between knots: polynomials that rest at all of them rest
_REST_RATE = 1e-14  # [rad/s, m/s] and of their derivatives: slower is at rest
_MOVES = 1e-9  # [rad/s, m/s] of q': slower rates have no direction
_CORNER = 1e-7  # of the path's rate: a larger jump of it is a corner
_BEND = 1e-6  # of the path's second derivative: a larger difference is a jump
_STRAIGHT = 1e-12  # of a polynomial's extent: a smaller deviation from its line is none
_NEAR = 1e-6  # of a polynomial's interval: roots of a rate that are nearer form a double root, real or not
_SLOW = 0.05  # of a polynomial's greatest rate: a path that is slower inside nearly rests
_PARALLEL = 1e-9  # tolerance of the quick check, which errs towards straight
_NEGLIGIBLE = 1e-14  # of a polynomial's total variation: smaller monotone intervals are dropped


class GeometricPath(NamedTuple):
    """A path without time scaling, in a parameter s that may differ from the original one.

    ``rates`` are the speeds ṡ of the removed time scaling at the beginning and at the end. ``knots`` (n,) are values of
    s, and ``reported`` (n,) are the values at the knots of the original parameter, which is reported to users. Between
    knots it is linear in s. If both are None, both parameters are the same.
    """

    path: Trajectory
    rates: tuple[float, float]
    knots: np.ndarray | None = None
    reported: np.ndarray | None = None

    def reported_motion(
        self, s: np.ndarray, speed: np.ndarray, acceleration: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return s, ṡ and s̈ of a motion converted to the parameter reported to users."""
        if self.knots is None or self.reported is None:
            return s, speed, acceleration
        slopes = np.diff(self.reported) / np.diff(self.knots)
        by = slopes[np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, len(slopes) - 1)]
        return np.interp(s, self.knots, self.reported), by * speed, by[: len(acceleration)] * acceleration


def geometric_path(path: Trajectory) -> GeometricPath:
    """Return the curves that a path follows, in their order, without time scaling.

    Raises ValueError if the robot picks up or puts down objects on the path, so that its dynamics change.
    """
    refuse_changes("time_optimal", path)
    sections = path.sections
    if len(sections) == 1 and sections[0].clock is None:
        return GeometricPath(path, _UNIT_RATES)
    if any(section.is_symbolic for section in sections):
        return GeometricPath(path, _UNIT_RATES)
    unclocked = [_without_clock(section) for section in sections]
    result: list[Section] = []
    for section, _ in unclocked:
        if result and _continues(result[-1], section):
            before = result.pop()
            section = Section(section.space, section.kind, section.arrays, before.start, section.end)
        result.append(section)
    if len(result) > 1:
        result = chained(result, result[0].start)
    return GeometricPath(Trajectory(result, path.robot), (unclocked[0][1][0], unclocked[-1][1][1]))


def _without_clock(section: Section) -> tuple[Section, tuple[float, float]]:
    """Return a section of a trajectory without its time scaling, and the rates ṡ of the time scaling at both ends."""
    clock = section.clock
    first, last = (float(section.parameter(np.array(t))) for t in (section.start, section.end))
    if clock is None or first == last:
        return section, _UNIT_RATES
    starts, c = clock.starts, clock.coefficients
    ends = [max(int(np.searchsorted(starts, section.end, side="left")) - 1, 0)]
    ends.insert(0, int(segment_indices(starts, section.start)))
    powers = np.arange(1, c.shape[1])
    rates = [
        abs(float(values_of(c[k, 1:] * powers, t - starts[k])))
        for t, k in zip((section.start, section.end), ends, strict=True)
    ]
    result = Section(section.space, section.kind, section.arrays, min(first, last), max(first, last))
    result = result.part(result.start, result.end)
    return result if first < last else result.run_backwards(), (rates[0], rates[1])


def _continues(before: Section, after: Section) -> bool:
    """Return True if the section ``after`` continues the same curve from the end of ``before``."""
    if before.clock is not None or after.clock is not None or before.end != after.start:
        return False
    if before.kind is not after.kind or before.space != after.space:
        return False
    n = len(before.arrays["starts"])  # segments after a section's end are left out
    return all(np.array_equal(x, after.arrays[name][:n]) for name, x in before.arrays.items())


def is_stationary(path: Trajectory) -> bool:
    """Return True if no coordinate moves along the path."""
    section = path.sections[0]
    c = section.arrays.get("coefficients")
    if c is not None and c.dtype == np.float64 and c.size > 1 < c.shape[-1] and c.item(1) != 0.0:
        return False  # the common case, cheap to detect: the first coordinate moves from the beginning on
    if any(section.is_symbolic for section in path.sections):
        return False
    knots = path.knots
    positions = knots[:-1, None] + np.diff(knots)[:, None] * (np.arange(_REST_SAMPLES) + 0.5) / _REST_SAMPLES
    return not any(np.abs(x).max(initial=0.0) > _REST_RATE for x in path(positions)[1:])


def with_continuous_rate(value: GeometricPath) -> GeometricPath:
    """Return the path with s rescaled on each part so that |dq/ds| is continuous, except at corners."""
    path = value.path
    knots = path.knots
    inner, before, after = one_sided_limits(path, knots)
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
    new = cuts[0] + np.append(0.0, np.cumsum(np.diff(cuts) * scales))
    rates = value.rates[0], value.rates[1] * float(scales[-1])
    section = path.sections[0]
    if len(path.sections) == 1 and section.kind.name == "polynomial" and section.clock is None:
        c, starts = _between(section.arrays["coefficients"], section.arrays["starts"], section.start, section.end)
        of_curve = scales[np.searchsorted(cuts, starts, side="right") - 1]
        moved = np.interp(starts, cuts, new)
        arrays = {"starts": moved, "coefficients": c / of_curve[:, None, None] ** np.arange(c.shape[-1])}
        parts = [Section(section.space, section.kind, arrays, float(new[0]), float(new[-1]))]
    else:
        parts = []
        for (begin, end), scale in zip(pairwise(cuts), scales, strict=True):
            parts += [x.scaled(0.0, float(scale)) for x in path.slice(float(begin), float(end)).sections]
        parts = chained(parts, float(cuts[0]))
    return GeometricPath(Trajectory(parts, path.robot), rates, new, cuts)


def one_sided_limits(path: Any, knots: np.ndarray) -> tuple[np.ndarray, Any, Any]:
    """Return the indices of inner knots, and the path's one-sided limits of q, v and a before and after each knot."""
    inner = np.arange(1, len(knots) - 1)
    if not len(inner):
        return inner, None, None
    middle = 0.5 * (knots[1:] + knots[:-1])
    return inner, path._beside(knots[inner], middle[:-1]), path._beside(knots[inner], middle[1:])


def jumps(before: np.ndarray, after: np.ndarray, part: float = _CORNER, size: np.ndarray | None = None) -> np.ndarray:
    """Return True where vectors (..., nv) before and after a knot differ by more than a fraction of their size.

    ``size`` (...), if passed, replaces the size of the vectors.
    """
    if size is None:
        size = np.maximum(np.abs(before).max(-1), np.abs(after).max(-1))
    result: np.ndarray = np.abs(after - before).max(-1) > part * np.maximum(size, 1e-300) + 1e-12
    return result


def corners(path: Trajectory, knots: np.ndarray, *, bends: bool, along: bool = False) -> np.ndarray:
    """Return the indices of inner knots at which the path's direction jumps.

    With ``bends`` they include knots at which its curvature jumps: where the acceleration normal to the path jumps.
    With ``along``, a jump of the acceleration along the path counts too.
    """
    inner, before, after = one_sided_limits(path, knots)
    if not len(inner):
        return inner
    result = jumps(before.v, after.v)
    if bends:
        a, b = (state.a if along else _across(state.v, state.a) for state in (before, after))
        inside = np.abs(path(0.5 * (knots[1:] + knots[:-1])).a).max(-1)  # the accelerations may be 0 at the knots only
        size = np.max([np.abs(before.a).max(-1), np.abs(after.a).max(-1), inside[:-1], inside[1:]], axis=0)
        result |= jumps(a, b, _BEND, size)
    positions: np.ndarray = inner[result]
    return positions


def _across(v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return the components of accelerations (..., nv) normal to the velocities; all of them at rest."""
    square = (v * v).sum(axis=-1, keepdims=True)
    result: np.ndarray = a - v * (v * a).sum(axis=-1, keepdims=True) / np.where(square > _MOVES**2, square, np.inf)
    return result


def may_have_lines(path: Trajectory) -> bool:
    """Return True if a path of cubics may contain straight segments on which |dq/ds| varies: a quick check.

    The path has a single section. The check uses only the first two coordinates. A result of False is reliable; True
    may be wrong.
    """
    c = path.sections[0].arrays["coefficients"]
    if c.shape[-1] < 3:
        return False
    for first, *second in c[:, :2, 1:3].tolist():
        left, right = (first[0] * second[0][1], first[1] * second[0][0]) if second else (0.0, 0.0)
        if abs(left - right) <= _PARALLEL * (abs(left) + abs(right)):
            return True
    return False


def uniform_on_lines(value: GeometricPath, *, smooth: bool) -> GeometricPath:
    """Return the path with |dq/ds| constant on straight polynomial segments, and a corner where a segment turns back.

    Knots keep their positions. ``smooth`` is True for motions with limited jerk, which may pass a turning point faster
    than a corner. Then only segments with dq/ds ≈ 0 at an inner point are changed; points with dq/ds = 0 at the path's
    ends remain.
    """
    sections, changed = [], False
    rates = list(value.rates)
    last = len(value.path.sections) - 1
    for k, section in enumerate(value.path.sections):
        changes = _uniform_on_lines(section, first=k == 0, last=k == last, smooth=smooth)
        if changes is not None:
            section, (begin, end) = changes
            changed = True
            rates[0] *= begin if k == 0 else 1.0
            rates[1] *= end if k == last else 1.0
        sections.append(section)
    if not changed:
        return value
    return value._replace(path=Trajectory(sections, value.path.robot), rates=(rates[0], rates[1]))


def _uniform_on_lines(
    section: Section, *, first: bool, last: bool, smooth: bool
) -> tuple[Section, tuple[float, float]] | None:
    """Return a path's section with |dq/ds| constant on straight segments, and the factors of |dq/ds| at both ends.

    ``first`` and ``last`` are True for the path's first and last section. The result is None if no segment changes.
    """
    if section.kind.name != "polynomial" or not section.space.is_plain or section.is_symbolic:
        return None
    if section.clock is not None or section.arrays["coefficients"].shape[-1] < 3:
        return None
    ends = section.start, section.end
    c, starts = _between(section.arrays["coefficients"], section.arrays["starts"], *ends)
    lengths = np.diff(np.append(starts, ends[1]))
    scaled = c[:, :, 1:] * lengths[:, None, None] ** np.arange(1, c.shape[-1])
    left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
    straight = sizes[:, 0] > 0.0
    if sizes.shape[1] > 1:
        straight &= sizes[:, 1] <= _STRAIGHT * sizes[:, 0]
    polynomials: list[np.ndarray] = []
    begins: list[float] = []
    rates, changed = [1.0, 1.0], False
    for k, h in enumerate(lengths):
        parts = None
        if straight[k]:
            f = np.append(0.0, sizes[k, 0] * right[k, 0])
            if _is_uneven(f, at_start=first and k == 0, at_end=last and k == len(lengths) - 1, smooth=smooth):
                parts = _monotone(f)
        if parts is None:
            polynomials.append(c[k])
            begins.append(float(starts[k]))
            continue
        changed = True
        whole = float(np.abs(np.diff(parts)).sum())
        t = np.append(0.0, np.cumsum(np.abs(np.diff(parts)))) / whole
        for j, (a, b) in enumerate(pairwise(parts)):
            line = np.zeros_like(c[k])
            line[:, 0] = c[k, :, 0] + left[k, :, 0] * a
            line[:, 1] = left[k, :, 0] * (np.sign(b - a) * whole / h)
            polynomials.append(line)
            begins.append(float(starts[k] + h * t[j]))
        if k == 0:
            rates[0] = float(abs(f[1]) / whole)
        if k == len(lengths) - 1:
            rates[1] = float(abs(f[1:] @ np.arange(1, len(f))) / whole)
    if not changed:
        return None
    arrays = {"starts": np.array(begins), "coefficients": np.array(polynomials)}
    return Section(section.space, section.kind, arrays, *ends), (rates[0], rates[1])


def _between(c: np.ndarray, starts: np.ndarray, begin: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficients and beginnings of a curve's polynomials between the parameters ``begin`` and ``end``.

    ``c`` and ``starts`` are the coefficients and beginnings of all polynomials. The first polynomial is shifted to
    begin at ``begin``.
    """
    k = max(int(np.searchsorted(starts, begin, side="right")) - 1, 0)
    last = max(int(np.searchsorted(starts, end, side="left")), k + 1)
    c, starts = np.array(c[k:last], dtype=float), np.array(starts[k:last], dtype=float)
    c[0] = shifted(c[0], begin - starts[0])
    starts[0] = begin
    return c, starts


def _is_uneven(f: np.ndarray, *, at_start: bool, at_end: bool, smooth: bool) -> bool:
    """Return True if df/du of the polynomial f(u), u in [0, 1], varies; with ``smooth``, if df/du ≈ 0 inside.

    With ``smooth``, small values of df/du at an end of the path (``at_start``, ``at_end``) do not count.
    """
    if not smooth:
        return bool(np.abs(f[2:]).max(initial=0.0) > _STRAIGHT * np.abs(f).max())
    rate = f[1:] * np.arange(1, len(f))
    flat = _roots(rate[1:] * np.arange(1, len(rate)))
    flat = flat[(flat > _NEAR) & (flat < 1.0 - _NEAR)]
    slopes = np.abs(np.polynomial.polynomial.polyval(np.concatenate([[0.0, 1.0], flat]), rate))
    slow = slopes <= _SLOW * slopes.max()
    return bool((slow[0] and not at_start) or (slow[1] and not at_end) or slow[2:].any())


def _monotone(f: np.ndarray) -> np.ndarray:
    """Return the values of the polynomial f on [0, 1] at its ends and turning points; in between it is monotone."""
    roots = _roots(f[1:] * np.arange(1, len(f)))
    values = np.polynomial.polynomial.polyval(np.concatenate([[0.0], roots, [1.0]]), f)
    steps = np.diff(values)
    least = _NEGLIGIBLE * float(np.abs(steps).sum())
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
    """Return the roots in [0, 1] of a polynomial, lowest coefficient first, that are real or nearly real."""
    size = np.abs(c).max(initial=0.0)
    c = np.where(np.abs(c) <= 1e-15 * size, 0.0, c)
    result = np.roots(c[::-1])
    near = (np.abs(result.imag) <= _NEAR) & (result.real >= -_NEAR) & (result.real <= 1.0 + _NEAR)
    return np.sort(np.clip(result.real[near], 0.0, 1.0))
