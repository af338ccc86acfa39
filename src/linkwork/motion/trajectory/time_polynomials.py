"""A section of a trajectory as polynomials of time, where it is that."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from linkwork.motion.trajectory.map_segments import each
from linkwork.motion.trajectory.piecewise_evaluation import pieces_at
from linkwork.motion.trajectory.trajectory_segment import Section, composed, shifted

__all__ = ["polynomials_of"]


def polynomials_of(section: Section) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (m + 1,), coefficients (m, nv, terms) of the time since each begins, and for which coordinates (nv,) they
    are the trajectory: those of joints whose configurations are plain numbers.

    """
    space, name = section.space, section.kind.name
    plain = np.ones(space.nv, dtype=bool)
    for place in space.joints:
        plain[place.in_v] = place.is_plain
    knots = section.knots()
    starts = section.arrays["starts"]
    if name == "cumulative":
        coefficients = section.arrays["steps"].swapaxes(1, 2) @ section.arrays["weights"]
    elif name == "squad":
        coefficients = _quadrangles(section)
    else:
        coefficients = section.arrays["coefficients"]
    own = starts.ndim == 2
    terms = coefficients.shape[-1]
    moments = 2 if section.clock is None else section.clock.coefficients.shape[1]
    result = np.zeros((len(knots) - 1, space.nv, (terms - 1) * (moments - 1) + 1))
    for i, (b, e) in enumerate(pairwise(knots)):
        s = section.parameter(np.array(0.5 * (b + e)))
        clock = _clock_from(section, b, 0.5 * (b + e))
        if own:
            places = np.array([pieces_at(x, s) for x in starts])
            c, start = coefficients[np.arange(space.nv), places], starts[np.arange(space.nv), places]
        else:
            k = pieces_at(starts, s)
            c, start = coefficients[k], np.full(space.nv, starts[k])
        result[i] = _composed(shifted(c, clock[0] - start), clock)
        for joint in space.joints:
            if joint.is_plain and "base" in section.arrays:
                base = section.arrays["base"] if own else section.arrays["base"][k]
                result[i, joint.in_v, 0] += base[joint.in_q]
        if space.is_plain and "base" in section.arrays:
            result[i, :, 0] += section.arrays["base"] if own else section.arrays["base"][k]
    return knots, result, plain


def _quadrangles(section: Section) -> np.ndarray:
    """Of squads (pieces, nv, 4), whose coordinates are u φ + 2 u (1 − u) (d + u (ψ − φ)) where they are plain."""
    x = section.arrays
    d, closing = each(section.space.difference, x["base"], x["inner"]), x["inner_steps"] - x["steps"]
    result = np.stack([0.0 * d, x["steps"] + 2.0 * d, 2.0 * (closing - d), -2.0 * closing], axis=-1)
    coefficients: np.ndarray = result * x["rates"][:, None, None] ** np.arange(4)
    return coefficients


def _clock_from(section: Section, begin: float, inside: float) -> np.ndarray:
    """The parameter's polynomial of the time since ``begin``."""
    if section.clock is None:
        return np.array([begin, 1.0])
    starts = section.clock.starts
    k = pieces_at(starts, inside)
    result: np.ndarray = shifted(section.clock.coefficients[k][None], np.array([begin - starts[k]]))[0]
    return result


def _composed(c: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """p(s(t) − s(0)), row by row (n, terms)."""
    if len(clock) == 2:
        result: np.ndarray = c * clock[1] ** np.arange(c.shape[1])
        return result
    return np.array([composed(row, clock) for row in c])
