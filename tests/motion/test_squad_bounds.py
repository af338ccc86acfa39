"""Bounds of twists along squads and B-splines: above samples of all derivatives, and exact along a geodesic."""

from functools import cache

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.model.random_tree import random_tree
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.splines.interpolation import of_control_points, squad
from linkwork.motion.trajectory.squad_bounds import SquadNormBounds
from linkwork.motion.trajectory.trajectory_extremes import _columns, _TwistNormBounds

TIMES = np.array([0.0, 0.7, 1.5, 1.9])
ANGULAR = np.array([True] * 3 + [False] * 3)


@cache
def robot():
    return lw.Robot(random_tree(np.random.default_rng(1), 1, types=(joints.Floating,)))


def points_along(steps):
    q = [robot().random_configuration(seed=2)]
    for step in steps:
        q.append(robot().integrate(q[-1], step))
    return np.array(q)


def bounds_and_samples(section, bounds, half, order):
    """Return bounds (order + 1, n) of angular and linear norms on intervals, and the largest norms of 9 samples."""
    (coordinates,), knots = section.space.joints, section.knots()
    assert _columns(coordinates) == ANGULAR.tolist()
    segment = np.repeat(np.arange(len(knots) - 1), 5)
    middle = knots[segment] + np.diff(knots)[segment] * np.tile([0.13, 0.31, 0.5, 0.68, 0.84], len(knots) - 1)
    half = half * np.diff(knots)[segment]
    angular, linear = bounds(section, coordinates, knots).at(segment, middle, half, order)
    t, h = middle[:, None] + half[:, None] * np.linspace(-1.0, 1.0, 5), 1e-4
    around = np.stack([t - h, t, t + h])
    v = np.array(section.on_symbols(around.ravel(), 1)[1]).reshape(6, *around.shape)
    before, v, after = v.swapaxes(0, 1)
    rates = np.array([v, (after - before) / (2.0 * h), (after - 2.0 * v + before) / h**2])
    samples = (np.linalg.norm(rates[:, part], axis=1).max(axis=-1) for part in (ANGULAR, ~ANGULAR))
    return (np.array(angular), np.array(linear)), tuple(samples)


def squad_bounds(section, coordinates, knots):
    return SquadNormBounds(section, coordinates, knots, ANGULAR)


@pytest.mark.parametrize("apart", [True, False])
def test_twists_of_squads_and_b_splines_and_their_derivatives_are_within_bounds(apart):
    space = CurveSpace.of(robot().tree, apart)
    assert space.apart == apart
    for seed, size, most in ((3, 0.5, 9.0), (4, 1.0, np.inf)):
        q = points_along(np.random.default_rng(seed).normal(size=(3, 6)) * ([size] * 3 + [2.0 * size] * 3))
        for section, bounds in (
            (squad(space, TIMES, q), squad_bounds),
            (of_control_points(space, TIMES, q, 2), _TwistNormBounds),
        ):
            for half in (0.0, 0.1) if seed == 3 else (0.12,):
                lengths, samples = bounds_and_samples(section, bounds, half, 2)
                for bound, sample in zip(lengths, samples, strict=True):
                    assert (sample <= bound * (1.0 + 1e-6) + 1e-6).all()
                    assert (bound[0] <= most * sample[0]).all()  # of velocities they are not far away


def test_bounds_of_twists_along_a_geodesic_are_equal_to_the_constant_twist():
    step = np.array([0.3, -0.5, 0.7, 0.2, 0.9, -0.4])
    t = np.array([0.0, 0.5, 1.0, 1.5])
    for apart in (True, False):
        section = squad(CurveSpace.of(robot().tree, apart), t, points_along([step] * 3))
        (angular, linear), (turn, move) = bounds_and_samples(section, squad_bounds, 0.02, 2)
        assert turn[0] == pytest.approx(2.0 * np.linalg.norm(step[:3])) == pytest.approx(angular[0], rel=1e-6)
        assert angular[1:] == pytest.approx(0.0, abs=1e-6)
        if not apart:  # a screw motion
            assert move[0] == pytest.approx(2.0 * np.linalg.norm(step[3:])) == pytest.approx(linear[0], rel=1e-6)
            assert linear[1:] == pytest.approx(0.0, abs=1e-6)


def test_squads_with_geodesics_that_may_be_half_a_turn_apart_have_no_bound():
    for size, is_bounded in ((0.8, True), (3.0, False)):
        turns = size * np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, -1.0], [1.0, 0, 0]])
        section = squad(CurveSpace.of(robot().tree), np.arange(5.0), points_along(np.hstack([turns, 0.1 * turns])))
        (angular, linear), (turn, _) = bounds_and_samples(section, squad_bounds, 0.01, 1)
        known = np.isfinite(angular)
        assert known.all() == is_bounded and (known == np.isfinite(linear)).all() and known.any()
        assert (turn[:2][known] <= angular[known] * (1.0 + 1e-9)).all()
