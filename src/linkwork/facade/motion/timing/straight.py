"""Straight pieces on which a path rests, run evenly instead: along a straight line no rest is needed.

On q = a + d f(s), a straight line, no speed ṡ passes a place with f' = 0 without a stop, although the line itself has
none there.  With the length for a parameter it is passed at any speed.  Where f' changes sign the line turns back, and
two pieces meet in a corner.  Curved pieces keep their parameter: where q' vanishes their curvature has no bound.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..section import Section
from ..trajectory import Trajectory
from .beneath import Beneath

__all__ = ["may_rest_inside", "straightened"]

_STRAIGHT = 1e-12  # of a piece's extent: what it leaves its line by
_NEAR = 1e-6  # of a piece: a double root of a rate is two that are so near, real or not
_RESTS = 1e-9  # of the greatest rate of a piece
_NOTHING = 1e-14  # of a piece's way: what is shorter is no part of it


def may_rest_inside(path: Trajectory) -> bool:
    """Whether one section of cubics may rest inside of itself, as its first coordinate tells: soon said."""
    for k, (p, q, r) in enumerate(_first_coordinate(path.sections[0].arrays["coefficients"])):
        if p == 0.0 and (k or not (q or r)):
            return True
        product = 3.0 * p * r
        if (q or r) and abs(q * q - product) <= _RESTS * (q * q + abs(product)) and (q or p == 0.0) and r:
            return True
    return False


def _first_coordinate(c: np.ndarray) -> list[list[float]]:
    found = c[:, 0, 1:4].tolist()
    return found if c.shape[-1] == 4 else [[*row, 0.0, 0.0, 0.0][:3] for row in found]


def straightened(given: Beneath) -> Beneath:
    """With straight pieces of polynomials, on which the path rests elsewhere than at its own ends, run at one rate.

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
    return given._replace(path=Trajectory(sections, given.path.robot), rates=tuple(rates)) if changed else given


def _straightened(section: Section, *, first: bool, last: bool) -> tuple[Section, tuple[float, float]] | None:
    """And by what the rates at its ends are divided; None where there is no such piece."""
    if section.kind.name != "polynomial" or not section.space.is_plain or section.is_symbolic:
        return None
    c, starts = section.arrays["coefficients"], section.arrays["starts"]
    if section.clock is not None or c.shape[-1] < 3 or starts[0] != section.start or not section.end > starts[-1]:
        return None
    lengths = np.diff(np.append(starts, section.end))
    scaled = c[:, :, 1:] * lengths[:, None, None] ** np.arange(1, c.shape[-1])
    left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
    straight = sizes[:, 0] > 0.0
    if sizes.shape[1] > 1:
        straight &= sizes[:, 1] <= _STRAIGHT * sizes[:, 0]
    pieces: list[np.ndarray] = []
    begins: list[float] = []
    rates, changed = [1.0, 1.0], False
    for k, h in enumerate(lengths):
        at_start, at_end = first and k == 0, last and k == len(lengths) - 1
        parts = None
        if straight[k]:
            f = np.append(0.0, sizes[k, 0] * right[k, 0])
            parts = _monotone(f, at_start=at_start, at_end=at_end)
        if parts is None:
            pieces.append(c[k])
            begins.append(float(starts[k]))
            continue
        changed = True
        whole = np.abs(np.diff(parts)).sum()
        t = np.append(0.0, np.cumsum(np.abs(np.diff(parts)))) / whole
        for j, (a, b) in enumerate(pairwise(parts)):
            line = np.zeros_like(c[k])
            line[:, 0] = c[k, :, 0] + left[k, :, 0] * a
            line[:, 1] = left[k, :, 0] * (np.sign(b - a) * whole / h)
            pieces.append(line)
            begins.append(float(starts[k] + h * t[j]))
        powers = np.arange(1, len(f))
        if k == 0:
            rates[0] = float(abs(f[1]) / whole)
        if k == len(lengths) - 1:
            rates[1] = float(abs((f[1:] * powers).sum()) / whole)
    if not changed:
        return None
    arrays = {"starts": np.array(begins), "coefficients": np.array(pieces)}
    return Section(section.space, section.kind, arrays, section.start, section.end), (rates[0], rates[1])


def _monotone(f: np.ndarray, *, at_start: bool, at_end: bool) -> np.ndarray | None:
    """The values of a polynomial on [0, 1] between which it rises or falls; None where its rate has no zero but at
    what are ends of the path, or but where it turns back."""
    rate = f[1:] * np.arange(1, len(f))
    found = np.roots(rate[::-1])
    near = (np.abs(found.imag) <= _NEAR) & (found.real >= -_NEAR) & (found.real <= 1.0 + _NEAR)
    roots = np.sort(np.clip(found.real[near], 0.0, 1.0))
    values = np.polynomial.polynomial.polyval(np.concatenate([[0.0], roots, [1.0]]), f)
    steps = np.diff(values)
    whole = float(np.abs(steps).sum())
    parts = [0.0]
    turns = []
    for a, step in zip(values[:-1], steps, strict=True):
        if abs(step) <= _NOTHING * whole:
            continue
        if len(parts) > 1 and (parts[-1] - parts[-2]) * step > 0.0:
            parts[-1] = float(a + step)
        else:
            turns.append(a)
            parts.append(float(a + step))
    parts[-1] = float(f.sum())
    inside = [x for x in roots if not (at_start and x <= _NEAR) and not (at_end and x >= 1.0 - _NEAR)]
    return np.array(parts) if len(inside) > len(turns) - 1 else None
