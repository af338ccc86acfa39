"""Straight pieces on which a path rests, or nearly so, run evenly instead: along a straight line no rest is needed.

On q = a + d f(s), a straight line, no speed ṡ passes a place with f' = 0 without a stop, although the line itself has
none there.  With the length for a parameter it is passed at any speed.  Where f' changes sign the line turns back, and
two pieces meet in a corner.  Curved pieces keep their parameter: where q' vanishes their curvature has no bound.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from linkwork.motion.timing.path_geometry import GeometricPath
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.motion.trajectory.trajectory_segment import Section, shifted

__all__ = ["may_rest_inside", "straightened"]

_STRAIGHT = 1e-12  # of a piece's extent: what it leaves its line by
_NEAR = 1e-6  # of a piece: a double root of a rate is two that are so near, real or not
_SLOW = 0.05  # of the greatest rate of a piece: a path that is slower inside nearly rests
_ALIKE, _MORE = 1e-9, 1.5  # of a quick look: it rather says that a piece may be straight and slow
_NOTHING = 1e-14  # of a piece's way: what is shorter is no part of it


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


def straightened(given: GeometricPath) -> GeometricPath:
    """With straight pieces of polynomials, on which the path rests or nearly so elsewhere than at its own ends, run at
    one rate.

    Places at the ends of pieces stay what they are.
    """
    sections, changed = [], False
    rates = list(given.rates)
    last = len(given.path.sections) - 1
    for k, section in enumerate(given.path.sections):
        made = _straightened(section, first=k == 0, last=k == last)
        if made is not None:
            section, (begin, end) = made
            changed = True
            rates[0] *= begin if k == 0 else 1.0
            rates[1] *= end if k == last else 1.0
        sections.append(section)
    if not changed:
        return given
    return given._replace(path=Trajectory(sections, given.path.robot), rates=(rates[0], rates[1]))


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
    what are ends of the path, or but where it turns back."""
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
    least = _NOTHING * float(np.abs(steps).sum())
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
    found = np.roots(c[::-1])
    near = (np.abs(found.imag) <= _NEAR) & (found.real >= -_NEAR) & (found.real <= 1.0 + _NEAR)
    return np.sort(np.clip(found.real[near], 0.0, 1.0))
