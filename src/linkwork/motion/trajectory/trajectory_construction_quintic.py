"""Trajectories through states of motion: polynomials of degree five."""

from __future__ import annotations

import numpy as np

from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.algorithms.hermite_interpolation import quintic_between
from linkwork.motion.trajectory.map_segments import Rows, between_points, each, one_sign
from linkwork.motion.trajectory.trajectory_segment import Section

__all__ = ["through_states"]


def through_states(space: CurveSpace, t: np.ndarray, q: Rows, v: Rows, a: Rows) -> Section:
    """q (n, nq), v and a (n, nv) at times t (n,), and between each two a polynomial of degree five."""
    q = one_sign(space, q)

    def piece(h: object, *states: list[object]) -> list[list[object]]:
        return quintic_between(space, h, *states)

    return between_points(space, t, q, each(piece, np.diff(t), q[:-1], q[1:], v[:-1], v[1:], a[:-1], a[1:]))
