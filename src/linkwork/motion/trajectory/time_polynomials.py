"""Sections of trajectories as polynomials of time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from linkwork.motion.trajectory.map_segments import each
from linkwork.motion.trajectory.piecewise_evaluation import segment_indices
from linkwork.motion.trajectory.trajectory_segment import Section, composed, shifted

__all__ = ["polynomials_of"]


def polynomials_of(section: Section) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a section as polynomials of time: times (m + 1,), coefficients (m, nv, terms), and a mask (nv,).

    The coefficients are of the time since each segment began. The mask is True for coordinates whose polynomials are
    the trajectory: those of joints with plain coordinates.
    """
    space, name = section.space, section.kind.name
    plain = np.ones(space.nv, dtype=bool)
    for joint_coordinates in space.joints:
        plain[joint_coordinates.in_v] = joint_coordinates.is_plain
    knots = section.knots()
    starts = section.arrays["starts"]
    if name == "cumulative":
        coefficients = section.arrays["steps"].swapaxes(1, 2) @ section.arrays["weights"]
    elif name == "squad":
        coefficients = _squad_polynomials(section)
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
            indices = np.array([segment_indices(x, s) for x in starts])
            c, start = coefficients[np.arange(space.nv), indices], starts[np.arange(space.nv), indices]
        else:
            k = segment_indices(starts, s)
            c, start = coefficients[k], np.full(space.nv, starts[k])
        result[i] = _composed(shifted(c, clock[0] - start), clock)
        for joint in space.joints:
            if joint.is_plain and "base" in section.arrays:
                base = section.arrays["base"] if own else section.arrays["base"][k]
                result[i, joint.in_v, 0] += base[joint.in_q]
        if space.is_plain and "base" in section.arrays:
            result[i, :, 0] += section.arrays["base"] if own else section.arrays["base"][k]
    return knots, result, plain


def _squad_polynomials(section: Section) -> np.ndarray:
    """Return the cubics (segments, nv, 4) of squad curves in coordinates of a vector space.

    In units u of a segment they are u φ + 2 u (1 − u) (d + u (ψ − φ)).
    """
    x = section.arrays
    d, closing = each(section.space.difference, x["base"], x["inner"]), x["inner_steps"] - x["steps"]
    result = np.stack([0.0 * d, x["steps"] + 2.0 * d, 2.0 * (closing - d), -2.0 * closing], axis=-1)
    coefficients: np.ndarray = result * x["rates"][:, None, None] ** np.arange(4)
    return coefficients


def _clock_from(section: Section, begin: float, inside: float) -> np.ndarray:
    """Return the coefficients of the curve's parameter as a polynomial of the time since ``begin``.

    The polynomial is the one that holds at time ``inside``.
    """
    if section.clock is None:
        return np.array([begin, 1.0])
    starts = section.clock.starts
    k = segment_indices(starts, inside)
    result: np.ndarray = shifted(section.clock.coefficients[k][None], np.array([begin - starts[k]]))[0]
    return result


def _composed(c: np.ndarray, clock: np.ndarray) -> np.ndarray:
    """Return the coefficients of p(s(t) − s(0)) for each row p of c (n, terms), with s(t) as ``clock``."""
    if len(clock) == 2:
        result: np.ndarray = c * clock[1] ** np.arange(c.shape[1])
        return result
    return np.array([composed(row, clock) for row in c])
