"""Cubic splines of plain numbers without jumps of acceleration, all pieces at once."""

from __future__ import annotations

import numpy as np

from linkwork.motion.splines.euclidean_spline_bands import solved_band
from linkwork.motion.trajectory.time_scaling import cubic_pieces

__all__ = ["plain_cubics"]


def plain_cubics(t: np.ndarray, q: np.ndarray, boundary: str, ends: np.ndarray | None) -> np.ndarray:
    """Coefficients (n - 1, nv, 4) of the pieces through points (n, nv): natural, clamped (at rest, or with velocities
    (2, nv) of the ends), launched (with a velocity (nv,), and natural at the end), or periodic."""
    h = np.diff(t)
    inverse = 1.0 / h
    rate = np.diff(q, axis=0) * inverse[:, None]
    if boundary == "periodic":
        v = _periodic(inverse, rate)
    else:
        band, right = np.zeros((len(t), 3)), np.zeros(q.shape)
        band[1:, 0] = band[:-1, 2] = inverse
        band[1:-1, 1] = 2.0 * (inverse[1:] + inverse[:-1])
        pull = rate * (3.0 * inverse)[:, None]
        right[1:-1] = pull[1:] + pull[:-1]
        if boundary == "clamped":
            band[[0, -1]] = 0.0, 1.0, 0.0
            right[[0, -1]] = 0.0 if ends is None else ends
        else:
            band[[0, -1], 1] = 2.0 * inverse[[0, -1]]
            right[[0, -1]] = pull[[0, -1]]
            if boundary == "launched":
                band[0], right[0] = (0.0, 1.0, 0.0), ends
        v = solved_band(band, right)
    return cubic_pieces(h, q, v)


def _periodic(inverse: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Velocities (n, nv), the last being the first.  The last unknown is left out of the others, solved twice."""
    m = len(inverse)
    before, after = np.roll(inverse, 1), inverse  # of point k: the pieces on both sides
    right = 3.0 * (rate * inverse[:, None] + np.roll(rate * inverse[:, None], 1, axis=0))
    if m == 1:
        return np.repeat(right / (6.0 * inverse[0]), 2, axis=0)
    last, border = m - 1, np.zeros((m - 1, 1))
    band = np.zeros((last, 3))
    band[:, 0], band[:, 1], band[:, 2] = before[:last], 2.0 * (before + after)[:last], after[:last]
    border[0] += before[0]
    border[-1] += after[last - 1]
    band[0, 0] = band[-1, 2] = 0.0
    found = solved_band(band, np.concatenate([right[:last], border], axis=1))
    x, y = found[:, :-1], found[:, -1]
    pivot = 2.0 * (before[last] + after[last]) - after[last] * y[0] - before[last] * y[-1]
    end = (right[last] - after[last] * x[0] - before[last] * x[-1]) / pivot
    v = np.concatenate([x - y[:, None] * end, end[None]])
    return np.concatenate([v, v[:1]])
