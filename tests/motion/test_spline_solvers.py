"""Splines on a manifold over any scalar: their equations, and the iteration that solves them."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.model.random_tree import random_tree
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.splines import interpolation
from linkwork.motion.splines.spline_solvers import iterated, iterated_on_symbols

TIMES = np.array([0.0, 0.7, 1.5, 1.9])


@cache
def points():
    """Return a robot and configurations (4, nq)."""
    rng = np.random.default_rng(0)
    robot = lw.Robot(random_tree(np.random.default_rng(1), 1, types=(joints.Spherical,)))
    q = [robot.random_configuration(seed=0)]
    for _ in range(3):
        q.append(robot.integrate(q[-1], 0.4 * rng.normal(size=robot.nv)))
    return robot, np.array(q)


V = np.array([0.3, -0.5, 0.7])


@pytest.mark.slow(every=3)
def test_splines_on_manifolds_solved_over_any_scalar_satisfy_their_equations():
    """Acceleration is continuous, ends are launched or natural, and points are passed through."""
    robot, q = points()
    space, times = CurveSpace.of(robot.tree), np.array(TIMES.tolist(), dtype=object)
    for kind, make in (
        ("launched", lambda: interpolation.cubic(space, times, q, "launched", V, "spline")),
        ("b-spline", lambda: interpolation.through_points(space, times, q, 3, "spline")),
    ):
        section = make()
        around = np.stack([TIMES - 1e-9, TIMES + 1e-9])
        around[0, 0], around[1, -1] = TIMES[0], TIMES[-1]
        at, v, a = (np.array(x, dtype=float).reshape(-1, 2, 4) for x in section.on_symbols(around.ravel(), 2))
        assert np.abs(robot.difference(at[:, 1].T, q)).max() < 1e-8, kind
        assert np.abs(v[:, 0] - v[:, 1]).max() < 1e-7 and np.abs(a[:, 0, 1:3] - a[:, 1, 1:3]).max() < 1e-6, kind
        assert np.abs(a).max() > 0.5
        if kind == "launched":
            assert np.abs(v[:, 0, 0] - V).max() < 1e-12 and np.abs(a[:, 0, -1]).max() < 1e-6


def test_fixed_points_by_anderson_acceleration_are_solutions_or_refused():
    """x = cos(x + 0.3) for each of independent coordinates, by both methods."""
    slices = [slice(0, 1), slice(1, 3)]
    start = np.array([[0.1, 0.6, -0.4], [1.2, 0.9, 0.2]])
    shift = np.array([0.3, -0.2, 0.1])

    def correction(x, shift=shift):
        return np.array([[np.cos(y + s) - y for y, s in zip(row, shift, strict=True)] for row in x])

    expected = iterated(start, correction, slices, 1.0, "spline")
    assert np.abs(np.cos(expected + shift) - expected).max() < 1e-14
    assert np.abs(np.array(iterated_on_symbols(start, correction, slices), dtype=float) - expected).max() < 1e-12
    with pytest.raises(ValueError, match=r"spline: q: no spline found through these points, .*; add points between"):
        iterated(start, lambda x: 1.5 + np.sin(40.0 * x), slices, 1.0, "spline")
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="rotations are too far apart"):
        iterated(start, lambda x: np.exp(700.0 * x * x), slices, 1.0, "spline")
    assert np.isnan(np.array(iterated_on_symbols(start, lambda x: 1.5 + np.sin(40.0 * x), slices), dtype=float)).all()
