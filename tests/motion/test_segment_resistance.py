"""Damping and friction on segments of a path, on floats: forces of the motion, permitted rest, and excess of limits."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion.algorithms.timing.path_discretization import squares_at
from linkwork.motion.algorithms.timing.segment_constraints import NODES, PathLimits, PathValues
from linkwork.motion.algorithms.timing.segment_resistance import (
    excess_with_resistance,
    fitting_share,
    segment_resistance,
    with_resistance,
)
from linkwork.motion.timing.jerk_limited import _SHORT_TIME, _short_motion, is_continuous

DAMPING = np.array([0.7, 0.0, 1.3])
X0, X1 = 0.49, 0.53
NODE = np.array(NODES[5])
SQUARES = X0 + NODE * (X1 - X0)
SIZES = [50.0] * 3


def damped_tree():
    parts, parent = [], "world"
    for k, (damping, axis) in enumerate(zip(DAMPING, np.array([[0.6, 0.0, 0.8], [0, 1, 0], [1, 0, 0]]), strict=True)):
        joint = lw.joints.Revolute(tuple(axis))
        parts += [lw.Link(f"link{k}", mass=1.0)]
        parts += [lw.Joint.of(joint, name=f"joint{k}", parent=parent, child=f"link{k}", damping=float(damping))]
        parent = f"link{k}"
    return lw.Robot.build("damped", *parts).tree


TREE = damped_tree()
RATES = np.array([[0.5, 1.1, -0.4], [0.7, 0.9, -0.6], [0.8, 1.0, -0.9]])  # q' at three nodes
AT_NODES = np.array([np.polyval(np.polyfit(NODES[3], column, 2), NODE) for column in RATES.T]).T


def test_resistance_of_dampers_on_a_segment_equals_the_damping_at_its_nodes():
    result = segment_resistance(TREE, RATES.tolist(), X0, X1, SIZES)
    speed = np.sqrt(SQUARES)[:, None]
    assert np.abs(np.array(result.values) - DAMPING * AT_NODES * speed).max() < 1e-12
    assert np.abs(np.array(result.slopes) - 0.5 * DAMPING * AT_NODES / speed).max() < 1e-12
    assert result.least == result.most == [0.0] * 3
    smooth = np.polyfit(NODE, (DAMPING * AT_NODES * speed)[:, 0], 4)
    ends = [
        abs(np.polyval(smooth, t) - 0.7 * np.polyval(np.polyfit(NODES[3], RATES[:, 0], 2), t) * x**0.5)
        for t, x in ((0.0, X0), (1.0, X1))
    ]
    assert result.errors[0] == pytest.approx(max(ends), rel=1e-6) and result.errors[1] == 0.0
    for factor, is_smooth in ((1.0 + 1e-6, True), (1.0 - 1e-6, False)):
        sizes = [factor * result.errors[0] / 1e-8, 50.0, 50.0]
        at_limit = segment_resistance(TREE, RATES.tolist(), X0, X1, sizes)
        assert (at_limit.values[2][0] != 0.0) == is_smooth == (at_limit.most[0] == 0.0)
    rough = segment_resistance(TREE, RATES.tolist(), X0, X1, [1e-6] * 3)  # its error counts against small limits
    assert not np.any(rough.values) and rough.errors == [0.0] * 3
    for j, (low, high) in enumerate(zip(rough.least, rough.most, strict=True)):
        values = DAMPING[j] * np.outer(np.linspace(RATES[0, j], RATES[-1, j], 9), np.sqrt([X0, X1]))
        assert low <= values.min() + 1e-12 and high >= values.max() - 1e-12 and high - low < 0.8


def test_forces_with_linear_resistance_equal_the_forces_of_the_motion_and_permit_rest_within_limits():
    rng = np.random.default_rng(5)
    first, second, at_rest = (rng.normal(size=(5, 3)) * size for size in (1.0, 1.0, 0.3))
    along = PathValues(None, first.tolist(), second.tolist(), at_rest.tolist())
    resistance = segment_resistance(TREE, RATES.tolist(), X0, X1, SIZES)
    force = second * SQUARES[:, None] + at_rest + np.array(resistance.values)
    start = at_rest + np.array(resistance.values) - np.array(resistance.slopes) * SQUARES[:, None]
    for most, rests, linear in ((9.0, 1.0, True), (0.05, -1.0, False)):
        limits = PathLimits((), (), [-most] * 3, [most] * 3)
        changed, narrowed, may_rest = with_resistance(along, limits, resistance, X0, X1)
        assert may_rest == rests and narrowed.lower == limits.lower and narrowed.upper == limits.upper
        again = np.array(changed.second) * SQUARES[:, None] + np.array(changed.at_rest)
        assert np.abs(again - force).max() < 1e-12
        assert np.abs(np.array(changed.at_rest) - (start if linear else at_rest)).max() < 1e-12
        assert along.second == second.tolist()  # the arguments remain
    rough = resistance._replace(
        values=[[0.0] * 3] * 5, slopes=[[0.0] * 3] * 5, least=[-0.2, 0.0, -0.1], most=[0.3, 0.0, 0.4]
    )
    changed, narrowed, _ = with_resistance(along, PathLimits((), (), [-9.0] * 3, [9.0] * 3), rough, X0, X1)
    assert narrowed.lower == pytest.approx([-8.8, -9.0, -8.9]) and narrowed.upper == pytest.approx([8.7, 9.0, 8.6])
    assert changed.second == along.second and changed.at_rest == along.at_rest


def test_excess_with_resistance_uses_the_largest_and_smallest_force_on_the_segment():
    shape = np.ones((5, 3))
    along = PathValues(None, (2.0 * shape).tolist(), (0.5 * shape).tolist(), (0.25 * shape).tolist())
    resistance = segment_resistance(TREE, RATES.tolist(), X0, X1, SIZES)._replace(
        values=shape.tolist(), least=[-0.2, 0.0, -0.1], most=[0.3, 0.0, 0.4], errors=[0.0, 0.01, 0.0]
    )
    u, step = 0.6, 0.5 * (X1 - X0) / 0.6
    high = 2.0 * u + 0.5 * X1 + 0.25 + 1.0  # at the end; x increases along the segment
    low = 2.0 * u + 0.5 * X0 + 0.25 + 1.0
    limits = PathLimits((), (), [low - 0.2, low + 0.03, -9.0], [9.0, 9.0, high + 0.1])
    result = excess_with_resistance(along, limits, resistance, step, X0, u)
    assert result == pytest.approx([0.0, 0.03 + 0.01, 0.3], abs=1e-12)


def test_fitting_factor_of_squared_speed_keeps_rest_forces_plus_resistance_within_limits():
    at_rest = np.tile([2.0, -1.0, 1.0], (5, 1))
    rates = RATES.tolist()
    for most, fits in ((90.0, True), (2.3, False)):
        limits = PathLimits((), (), [-most] * 3, [most] * 3)
        share = fitting_share(TREE, rates, at_rest.tolist(), limits, X0, X1)
        assert share == 1.0 if fits else 0.0 < share < 1.0
        speed = np.sqrt(share * X1)
        need = DAMPING * np.abs(RATES).max(axis=0) * speed  # in the direction of the motion
        room = np.where(RATES[0] > 0.0, most - at_rest[0], at_rest[0] + most)
        assert (need <= 0.8 * room + 1e-9).all()
        if not fits:  # the control points of q' are beyond its values
            assert (need / room).max() > 0.6


def test_squares_of_speeds_are_linear_between_the_ends_of_segments():
    s, w = np.array([0.0, 0.4, 1.3, 1.9, 2.2]), np.array([0.0, 0.7, 1.1, 0.9, 0.3])
    at = np.array([0.0, 0.1, 0.4, 0.9, 1.3, 1.8, 2.0, 2.2])
    assert np.abs(np.array(squares_at(s, w, at)) - np.interp(at, s, w**2)).max() < 1e-12


def test_motion_along_a_very_short_path_rests_at_both_ends_with_jerk_of_one_magnitude():
    length = 3e-7
    motion = _short_motion(length)
    assert is_continuous(motion) and motion.s[[0, -1]].tolist() == [0.0, length] and motion.t[-1] == _SHORT_TIME
    h, c = np.diff(motion.t), motion.coefficients
    assert np.abs(np.abs(c[:, 3]) / abs(c[0, 3]) - 1.0).max() < 1e-12
    end = [sum(k * c[:, k] * h ** (k - 1) for k in (1, 2, 3)), 2.0 * c[:, 2] + 6.0 * c[:, 3] * h]
    for begin, last in ((c[:, 1], end[0]), (2.0 * c[:, 2], end[1])):
        assert np.abs(begin[1:] - last[:-1]).max() < 1e-9 * np.abs(begin).max() and abs(begin[0]) < 1e-20
        assert abs(last[-1]) < 1e-9 * np.abs(begin).max()
