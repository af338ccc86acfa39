"""Functions of paths and of their limits on small arrays, against brute force and closed forms."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion import CartesianPath, Trajectory, line, spline
from linkwork.motion.cartesian.cartesian_path import _behind
from linkwork.motion.timing import arc_length_path, jerk_subproblem, limits, path_geometry
from linkwork.motion.timing.limits import PathConstraints, PathSamples
from linkwork.motion.timing.timed_path import fastest_speeds
from linkwork.motion.trajectory.time_scaling import _rates

X0 = lw.pose((0.1, 0.2, 0.3))
X1 = lw.pose((0.5, -0.1, 0.7), axis=(0.3, 0.4, 0.5), angle=0.8)


def refused(words, function, *positional, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*positional, **options)


def fastest(A, B, lower, upper, C=None, once=None, velocity=None, speeds=None):
    """Return the largest speed of a path at one position, with constraints lower <= A s'' + B s'^2 + C <= upper."""
    A, B, lower, upper = (np.array(x, float) for x in (A, B, lower, upper))
    once = np.zeros(1) if once is None else np.array(once, float)
    velocity = (np.full(len(once), -np.inf), np.full(len(once), np.inf)) if velocity is None else velocity
    at_rest = None if C is None else np.array(C, float)[None, None]
    moving = (None, None) if speeds is None else (np.array(speeds[0])[None, None], np.array(speeds[1]))
    constraints = PathConstraints(A[None, None], B[None, None], at_rest, lower, upper, *moving)
    path = PathSamples(None, once[None, None], None)
    return float(fastest_speeds(path, constraints, tuple(np.asarray(x) for x in velocity))[0])


def test_fastest_speeds_are_the_largest_with_a_permitted_acceleration():
    rng = np.random.default_rng(12)

    def is_permitted(x, A, B, lower, upper):
        low, high = -np.inf, np.inf
        for a, least, most in zip(A, lower - B * x, upper - B * x, strict=True):
            if a == 0.0:
                if not least <= 0.0 <= most:
                    return False
                continue
            ends = sorted((least / a, most / a))
            low, high = max(low, ends[0]), min(high, ends[1])
        return low <= high

    for k in range(25):
        A, B = rng.normal(size=(2, 4))
        A[0] *= k % 3 > 0  # a limit that does not depend on s''
        lower, upper = -rng.uniform(0.5, 2.0, 4), rng.uniform(0.5, 2.0, 4)
        upper[3] = np.inf if k % 4 == 0 else upper[3]
        least, most = 0.0, 1e4
        for _ in range(80):
            middle = 0.5 * (least + most)
            least, most = (middle, most) if is_permitted(middle, A, B, lower, upper) else (least, middle)
        C = rng.normal(size=4)
        result = fastest(A, B, lower + C, upper + C, C)
        assert result > 99.0 if least > 9999.0 else np.isclose(result, np.sqrt(least), rtol=1e-6)


def test_fastest_speeds_respect_velocities_of_joints_and_frames():
    free = ([1.0], [0.0], [-np.inf], [np.inf])
    sides = np.array([-0.5, -3.0, -1.0]), np.array([2.0, 0.75, 1.0])
    assert np.isclose(fastest(*free, once=[0.25, 0.5, 0.0], velocity=sides), 1.5)
    assert np.isclose(fastest(*free, once=[-0.25, 0.5, 0.0], velocity=sides), 1.5)
    assert np.isclose(fastest(*free, once=[-0.5, 0.25, 0.0], velocity=sides), 1.0)
    assert fastest(*free, once=[0.0, 0.0, 0.0], velocity=sides) == np.inf
    assert np.isclose(fastest(*free, speeds=([[0.3, 0.0, 0.4], [0.0, 2.0, 0.0]], [0.25, 4.0])), 0.5)
    assert np.isclose(fastest([0.0], [0.5], [-1.0], [2.0]), 2.0)  # b s'^2 <= c
    assert np.isclose(fastest([0.0], [-0.5], [-1.0], [2.0]), np.sqrt(2.0))
    assert np.isclose(fastest([1e-13, 1.0], [0.5, 0.0], [-1.0, -9.0], [2.0, 9.0]), 2.0)  # rounding of A


def test_narrow_limits_of_jerk_weigh_most_in_arc_lengths():
    def weights(*most):
        jerk = -np.array(most, float), np.array(most, float) * 1.5
        return arc_length_path._weights_of(SimpleNamespace(jerk=jerk)).tolist()

    assert weights(2.0, 4.0, 1.0) == [0.25, 0.0625, 1.0]
    assert weights(2.0, 4000.0)[1] == 1e-6  # no more than a thousand times the smallest
    assert weights(5e-10, 2.0, 4.0) == [1.0, 1.0, 0.25]  # a limit of 0 is no limit of the speed
    assert weights(5e-9, 5e-9) == [1.0, 1.0] and weights(np.inf, 2.0) == [1e-6, 1.0]
    first = arc_length_path._first_maximum
    assert first(np.array([1.0, 3.0, 2.0, 5.0, 4.0])) == 3.0 and first(np.array([1.0, 2.0, 2.0, 4.0])) == 4.0
    assert first(np.array([5.0, 1.0, 3.0, 2.0])) == 3.0  # a fall at the beginning is none
    path = spline([0.0, 1.0, 2.0], [[0.0, 0.1], [0.5, 0.3], [0.2, 0.9]])
    cuts = np.array([0.0, 1.0, 2.0])
    assert not arc_length_path._is_uneven(path, cuts, 1.0, 5.0) and not arc_length_path._is_uneven(
        path, cuts[[0, 2]], 0.0, 0.0
    )


def test_turning_points_divide_a_polynomial_into_monotone_parts():
    rng = np.random.default_rng(3)
    for f in (
        *(np.append(0.0, rng.normal(size=3)) for _ in range(6)),
        np.array([0.0, 1.0, -1.0]),
        np.array([0.0, 2.0]),
    ):
        parts = path_geometry._monotone(f)
        u = np.linspace(0.0, 1.0, 20001)
        values = np.polynomial.polynomial.polyval(u, f)
        assert parts[0] == 0.0 and np.isclose(parts[-1], values[-1])
        assert np.isclose(np.abs(np.diff(parts)).sum(), np.abs(np.diff(values)).sum(), atol=1e-6)
        steps = np.diff(parts)
        assert (steps[1:] * steps[:-1] < 0.0).all()  # it turns at each inner value
    assert path_geometry._monotone(np.array([0.0, 3.0, -3.0, 1.0])).tolist() == [0.0, 1.0]  # (1 - (1 - u)^3)
    inflected = np.array([0.0, 0.75, -1.5, 1.0])  # its rate is 3 (u - 1/2)^2
    assert path_geometry._monotone(inflected).tolist() == [0.0, 0.25]
    uneven = path_geometry._is_uneven
    straight = np.array([0.0, 2.0, 1e-13, 0.0])
    assert not uneven(straight, at_start=False, at_end=False, smooth=False)
    assert uneven(np.array([0.0, 2.0, 1e-11, 0.0]), at_start=False, at_end=False, smooth=False)
    ease = np.array([0.0, 0.0, 3.0, -2.0])  # at rest at both ends
    assert uneven(ease, at_start=False, at_end=True, smooth=True) and uneven(
        ease, at_start=True, at_end=False, smooth=True
    )
    assert not uneven(ease, at_start=True, at_end=True, smooth=True)
    assert uneven(inflected, at_start=True, at_end=True, smooth=True)
    assert not uneven(np.array([0.0, 1.0, 0.2]), at_start=False, at_end=False, smooth=True)


def test_polynomials_cut_between_two_positions_equal_the_whole_path():
    (section,) = spline([0.0, 1.0, 2.0, 3.0], [[0.0], [0.5], [0.2], [0.9]]).sections
    c, starts = section.arrays["coefficients"], section.arrays["starts"]
    for begin, end, count in (
        (0.0, 3.0, 3),
        (0.25, 1.0, 1),
        (0.25, 1.5, 2),
        (1.0, 2.0, 1),
        (1.75, 1.8, 1),
        (2.0, 2.0, 1),
    ):
        part, at = path_geometry._between(c, starts, begin, end)
        assert len(part) == len(at) == count and at[0] == begin
        k = int(np.searchsorted(starts, begin, side="right")) - 1
        for s in np.linspace(begin, min(end, [*starts, 3.0][k + 1]), 3):
            value = np.polynomial.polynomial.polyval(s - starts[k], c[k, 0])
            assert np.isclose(np.polynomial.polynomial.polyval(s - begin, part[0, 0]), value)
    at_rest = path_geometry.is_stationary
    assert not at_rest(spline([0.0, 1.0], [[0.1, 0.2], [0.3, 0.2]])) and at_rest(spline([0.0, 1.0], [[0.1, 0.2]] * 2))
    assert not at_rest(spline([0.0, 1.0], [[0.1, 0.2], [0.1, 0.2 + 1e-13]]))
    assert at_rest(Trajectory(spline([0.0, 1.0], [[0.1, 0.2], [0.1, 0.2]]).sections))


def test_segments_that_no_position_divides_are_not_halved():
    motion = SimpleNamespace(
        t=np.array([0.0, 1.0]), s=np.array([0.0, 1.0]), coefficients=np.array([[0.0, 1.0, 0.0, 0.0]])
    )
    assert jerk_subproblem.halved(None, None, motion, np.array([False])) is None
    motion.coefficients = np.array([[1.0, 0.0, 0.0, 0.0]])  # its middle is its end
    assert jerk_subproblem.halved(None, None, motion, np.array([True])) is None


def test_limits_and_distances_of_paths_have_ranges():
    number = limits._number
    assert number("f", 0.0, 0.0) == number("f", 0, 0.0) == 0.0 and number("f", 0.5, 0.25) == 0.5
    for value in (-5e-324, np.inf, np.nan, [1.0]):
        refused("f, got", number, "f", value, 0.0)
    low, high = limits._sides("f", "velocity", 0.5, ("a", "b"), None)
    assert low.tolist() == [-0.5] * 2 and high.tolist() == [0.5] * 2
    low, high = limits._sides("f", "velocity", np.inf, ("a",), None)
    assert (low.tolist(), high.tolist()) == ([-limits._UNLIMITED], [limits._UNLIMITED])
    refused("segments: expected segments of positive length", CartesianPath, [SimpleNamespace(size=0.0)])
    behind = _behind(X1, "f", 0.25, "z")
    assert np.allclose(behind[:3, 3], X1[:3, 3] - 0.25 * X1[:3, 2]) and (behind[:3, :3] == X1[:3, :3]).all()
    assert np.allclose(_behind(X1, "f", 0.25, "-y")[:3, 3], X1[:3, 3] + 0.25 * X1[:3, 1])
    assert np.allclose(_behind(X1, "f", 0.25, (0.0, 0.3, 0.4))[:3, 3], X1[:3, 3] - X1[:3, :3] @ [0.0, 0.15, 0.2])
    for axis in ("w", "--z", "+-x", ""):
        refused("f: axis: expected", _behind, X1, "f", 0.25, axis)
    for axis in ((0.0, 0.0, 0.0), (1.0, 0.0), (np.nan, 0.0, 1.0), (np.inf, 0.0, 1.0)):
        refused("f: axis: expected three numbers", _behind, X1, "f", 0.25, axis)
    for distance in (0.0, -0.1, np.nan, [0.1]):
        refused("f: distance: expected a positive number", _behind, X1, "f", distance, "z")


def test_paths_are_appended_where_they_end():
    path = line(X0, X1)
    for shift, fits in ((0.5, True), (2.0, False)):
        begin = X1.copy()
        begin[0, 3] += shift * 0.01
        further = line(begin, lw.pose((0.9, 0.9, 0.9)))
        if fits:
            assert np.isclose(path.append(further, tolerance=0.01).length, path.length + further.length)
        else:
            refused("append: other: it begins 0.02 m and", path.append, further, tolerance=0.01)
    turned = line(X1 @ lw.pose(axis=(0.0, 0.6, 0.8), angle=0.02), lw.pose((0.9, 0.9, 0.9)))
    refused("append: other: it begins .* 0.02 rad from the end", path.append, turned, tolerance=0.01)
    assert path.append(turned, tolerance=0.03).length > path.length


@pytest.mark.parametrize("unit", [1e-7, 1.0, 1e7])
def test_whether_a_path_is_at_rest_depends_on_the_ratio_of_its_speed_to_the_greatest_speed(unit):
    first, last = _rates(lambda t, middles: unit * np.maximum(t, 1e-10), np.array([0.0, 0.25, 1.0]))
    assert np.allclose(unit * first, [np.inf, 4.0]) and np.allclose(unit * last, [4.0, 1.0])
