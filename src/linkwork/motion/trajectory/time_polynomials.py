"""Sections of trajectories as polynomials of time."""

from __future__ import annotations

import numpy as np

from linkwork.motion.trajectory.map_segments import each
from linkwork.motion.trajectory.piecewise_evaluation import composed, segment_indices, shifted
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["polynomials_of"]


def polynomials_of(section: Section) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a section as polynomials of time: times (m + 1,), coefficients (m, nv, terms), and a mask (nv,).

    The polynomials are functions of the time since each segment began. The mask is True for joints with plain
    coordinates, whose polynomials equal the trajectory.
    """
    space, name = section.space, section.kind.name
    plain = np.ones(space.nv, dtype=bool)
    for joint_coordinates in space.joints:
        plain[joint_coordinates.in_v] = joint_coordinates.is_plain
    knots = section.knots()
    middle = 0.5 * (knots[1:] + knots[:-1])
    starts, segments = section.arrays["starts"], section.segments_at(middle)
    if name == "cumulative":
        coefficients = section.arrays["steps"].swapaxes(1, 2) @ section.arrays["weights"]
    elif name == "squad":
        coefficients = _squad_polynomials(section)
    else:
        coefficients = section.arrays["coefficients"]
    by_coordinate = starts.ndim == 2
    where = (np.arange(space.nv), segments) if by_coordinate else segments
    start = starts[where] if by_coordinate else starts[where][:, None]
    clock = np.stack([knots[:-1], np.ones(len(middle))], axis=-1)
    if section.clock is not None:
        k = segment_indices(section.clock.starts, middle)
        clock = shifted(section.clock.coefficients[k], knots[:-1] - section.clock.starts[k])
    result = composed(shifted(coefficients[where], clock[:, :1] - start), clock[:, None])
    if "base" in section.arrays:
        base = section.arrays["base"] if by_coordinate else section.arrays["base"][segments]
        for joint in space.joints:
            if joint.is_plain:
                result[:, joint.in_v, 0] += base[..., joint.in_q]
        if space.is_plain:
            result[..., 0] += base
    return knots, result, plain


def _squad_polynomials(section: Section) -> np.ndarray:
    """Return the cubics of time (segments, nv, 4) of squad curves in plain coordinates, without their base points.

    With u from 0 to 1 on a segment, the cubics are u φ + 2 u (1 − u) (d + u (ψ − φ)). d is the displacement from the
    base point to the inner control point. φ and ψ are the displacements along both geodesics.
    """
    x = section.arrays
    d, closing = each(section.space.difference, x["base"], x["inner"]), x["inner_steps"] - x["steps"]
    result = np.stack([0.0 * d, x["steps"] + 2.0 * d, 2.0 * (closing - d), -2.0 * closing], axis=-1)
    coefficients: np.ndarray = result * x["rates"][:, None, None] ** np.arange(4)
    return coefficients
