"""Decisions of motions on constraints, of motions at the same time, of knots and of profiles, on small inputs."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.motion import Trajectory, closed_motion
from linkwork.motion.algorithms.profiles.compensated_time import Instant
from linkwork.motion.algorithms.profiles.jerk_limited_profile import merged
from linkwork.motion.trajectory import simultaneous_motions as together

TWO = lw.load("double_pendulum")


def refused(words, function, *positional, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*positional, **options)


# -- motions on constraints


def test_profiles_of_mechanisms_are_slowed_as_a_whole_if_they_may_be(monkeypatch):
    monkeypatch.setattr(own_code, "_replaced", {})
    for name in ("refuse_open", "refuse_velocities"):
        monkeypatch.setattr(closed_motion, name, lambda *args: None)

    class Motion:
        duration = 2.0

        def __call__(self, t):
            return SimpleNamespace(v=np.zeros(2))

        def retimed(self, factor):
            return factor

    result = Motion()
    monkeypatch.setattr(closed_motion, "closed_motion", lambda *args: result)

    def profile(longer=1.5, duration=2.0, limits="limits", rates=0.0, is_fixed=False, timed=False):
        monkeypatch.setattr(closed_motion, "_stretch", lambda motion, limits: (longer, "rocker"))
        robot = SimpleNamespace(name="bar", constraints=[SimpleNamespace(time_dependent=timed)])
        curve = SimpleNamespace(robot=robot, start_time=0.0, end_time=duration, duration=duration)
        ends, v = (np.zeros(2), np.zeros(2)), (np.zeros(2), np.array([0.0, rates]))
        answer = closed_motion.closed_profile("f", curve, ends, v, limits, is_fixed, None)
        return "curve" if answer is curve else answer

    assert profile(duration=0.0) == "curve"
    assert profile(limits=None) is result and profile(longer=1.0 + 5e-7) is result and profile(longer=0.5) is result
    assert np.isclose(profile(longer=1.0 + 5e-6), 1.000005, rtol=1e-6) and np.isclose(profile(), 1.5, rtol=1e-6)
    assert profile(limits=None, is_fixed=True) is result and profile(longer=0.5, rates=0.1) is result
    words = (
        "f: 'rocker', which follows from other joints of 'bar', needs 1.5 times the duration of 2 s to keep its limits"
    )
    for change in ({"is_fixed": True}, {"rates": 0.1}, {"timed": True}):
        refused(words, profile, **change)


def states(v, a=(0.0, 0.0), done=(True, True)):
    """Return states of a motion before and after one time, and the mask of those that are solved."""
    x = np.zeros((2, 1))
    result = closed_motion._States(np.zeros(2), np.array([True, False]), x, np.array(v)[:, None], np.array(a)[:, None])
    return result, np.array(done)


def test_states_at_a_jump_are_two():
    def at(t, *args, **options):
        self = SimpleNamespace(states=lambda *more: states(*args, **options), curve=SimpleNamespace(end_time=2.0))
        result = closed_motion._ClosedMotion._at(self, t, np.zeros(1))
        return 0 if result is None else len(result.t)

    assert at(1.0, (2.0, 2.0)) == 1 and at(1.0, (2.0, 3.0)) == 2 and at(1.0, (2.0, 2.0), (0.5, 0.7)) == 2
    assert at(2.0, (2.0, 3.0)) == 1  # nothing follows the end
    assert at(1.0, (3.0, 3.0 + 2e-9)) == 1 and at(1.0, (3.0, 3.0 + 8e-9)) == 2  # relative to 1 + |v|
    assert at(1.0, (2.0, 3.0), done=(True, False)) == at(1.0, (2.0, 3.0), done=(False, True)) == 0


def test_motions_that_cannot_be_continued_are_refused_at_the_time_where_they_end():
    lost = []

    def continued(end=1.0, first=True, until=0.6):
        def solved(t):
            row = np.full((1, 1), t)
            return closed_motion._States(np.array([t]), np.zeros(1, bool), row, np.full((1, 1), 0.5), np.zeros((1, 1)))

        self = SimpleNamespace(through=[(0.0, "q[0]", np.zeros(1))], units=np.ones(1))
        self.curve = SimpleNamespace(knots=np.array([0.0, 0.5, end]))
        self.robot = SimpleNamespace(integrate=lambda q, step: q + step)
        self.states = lambda t, before, near: (solved(0.0), np.array([first]))
        self._at = lambda t, near: solved(t) if t <= until else None
        self._distance = lambda a, b: 0.0
        self._refuse_elsewhere = lambda *args: None
        self._lost = lambda t: lost.append(t) or ValueError("lost")
        return closed_motion._ClosedMotion.continued(self)

    assert continued(until=2.0).t.tolist() == [0.0, 0.5, 1.0]
    refused("lost", continued, first=False)
    refused("lost", continued)
    assert lost[0] == 0.0 and 0.6 < lost[1] < 0.6 + 3.0 * closed_motion._MIN_STEP


def test_independent_coordinates_are_pivots_of_the_motions_that_constraints_permit():
    rng = np.random.default_rng(2)
    G = rng.normal(size=(2, 5))
    basis = closed_motion._motions(np.concatenate([G, G[:1]]))
    assert basis.shape == (5, 3) and np.allclose(G @ basis, 0.0) and np.allclose(basis.T @ basis, np.eye(3))
    for size, count in ((3e-9, 3), (3e-10, 4)):
        assert closed_motion._motions(np.diag([1.0, size, 0.0, 0.0, 0.0])).shape == (5, count)
    rows = closed_motion._pivots(basis, [], np.arange(5), 3)
    assert len(set(rows)) == 3 and np.linalg.matrix_rank(basis[rows]) == 3
    assert closed_motion._pivots(basis, [4], np.arange(5), 3)[0] == 4
    assert len(closed_motion._pivots(basis, [], np.array([0, 2]), 3)) == 2
    flat = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 5e-5]])
    assert len(closed_motion._pivots(flat, [], np.arange(3), 2)) == 1
    assert len(closed_motion._pivots(flat * [1.0, 10.0], [], np.arange(3), 2)) == 2


# -- motions at the same time


def moving(shoulder, elbow, end=2.0):
    """Return a motion of both joints, each from the first to the second of two values."""
    return TWO.spline([0.0, 1.0, end], np.array([shoulder, elbow], float).T, boundary="clamped")


def test_motions_at_the_same_time_move_different_joints():
    first = moving((0.1, 0.3, 0.5), (0.2, 0.2, 0.2))
    second = moving((0.1, 0.1, 0.1), (0.2, -0.4, 0.7))
    both = Trajectory(together.at_the_same_time("f", first, second, TWO, None), TWO)
    t = np.linspace(0.0, 2.0, 9)
    assert np.allclose(both(t).q, np.stack([first(t).q[:, 0], second(t).q[:, 1]], axis=1))
    refused("f: others: expected a motion of other joints, got one in which 'elbow' move", both_of, second, second)
    untimed = Trajectory(second.sections, TWO, is_timed=False)
    for pair in ((first, untimed), (Trajectory(first.sections, TWO, is_timed=False), second)):
        refused("f: expected a trajectory over time, got .* not timed", both_of, *pair)
    near = moving((0.1 + 5e-10,) * 3, (0.2, -0.4, 0.7))
    assert both_of(first, near)
    resting = moving((0.1,) * 3, (0.2,) * 3)
    assert both_of(resting, moving((0.1,) * 3, (0.2 + 5e-10,) * 3))
    words = r"f: others: joint 'elbow' rests in both motions, at \[0.2\] here and at \[0.200000005\] there"
    refused(words, both_of, resting, moving((0.1,) * 3, (0.2 + 5e-9,) * 3))
    chosen = both_of(resting, moving((0.1,) * 3, (0.7,) * 3), np.array([True, False]))
    assert np.allclose(Trajectory(chosen, TWO)(1.0).q, [0.1, 0.7])


def both_of(first, second, of_first=None):
    return together.at_the_same_time("f", first, second, TWO, of_first)


def test_floating_joints_translate_alike_in_motions_at_the_same_time():
    joints = [
        SimpleNamespace(goes_straight=True),
        SimpleNamespace(goes_straight=False),
        SimpleNamespace(goes_straight=True),
    ]

    def paths(*apart):
        return tuple(SimpleNamespace(sections=[SimpleNamespace(space=SimpleNamespace(apart=x))]) for x in apart)

    choose = together._translations_apart
    assert choose("f", paths(True, True), joints, np.array([0, 1, 1])) is True
    assert choose("f", paths(False, True), joints, np.array([0, 1, 0])) is False
    assert choose("f", paths(False, True), joints, np.array([-1, 0, 1])) is True
    assert choose("f", paths(True, True), joints, np.array([-1, 0, -1])) is False
    refused(
        "f: others: floating and planar joints translate along lines",
        choose,
        "f",
        paths(False, True),
        joints,
        np.array([0, 1, 1]),
    )


def test_common_knots_are_apart():
    knots = together._common_knots(
        1.0, 3.0, np.array([2.0, 1.0, 3.0, 2.0 + 1e-12, 1.0 + 1e-12, 2.5, 0.5, 3.5, 3.0 - 1e-12])
    )
    assert knots.tolist() == [1.0, 2.0, 2.5, 3.0]
    apart = together._common_knots(1.0, 3.0, np.array([2.0, 2.0 + 1e-11, 3.0 - 1e-11]))
    assert len(apart) == 5
    assert together._common_knots(1.0, 3.0, np.zeros(0)).tolist() == [1.0, 3.0]


# -- profiles, splines and files


def test_sorted_lists_of_instants_are_merged():
    def instants(*times):
        return [(Instant(t, 0.0), -t) for t in times]

    def times(result):
        return [(float(instant.high), float(value)) for instant, value in result]

    first = instants(0.5, 2.0)
    assert merged(first, []) == merged([], first) == first and merged([], []) == []
    for first, second in (((0.5,), (0.25,)), ((0.0, 1.0, 4.0), (0.5, 2.0)), ((3.0,), (1.0, 2.0, 5.0, 6.0))):
        result = merged(instants(*first), instants(*second))
        assert times(result) == [(t, -t) for t in sorted(first + second)]


def test_robots_without_joints_have_no_profile():
    robot = lw.Robot.build("fixed", lw.Link("base", mass=1.0))
    refused("robot: expected at least one degree of freedom, got 'fixed', which has none", robot.profile, [], [])


def test_splines_by_control_points_begin_and_end_in_them():
    points = np.array([[0.1, 0.2], [0.9, -0.6], [-0.4, 0.8], [0.5, 0.3]])
    times = [0.0, 1.0, 2.0, 3.0]
    through = TWO.spline(times, points, kind="bspline")
    curve = TWO.spline(times, points, kind="bspline", control=True)
    assert np.allclose(through(times).q, points)
    u = np.linspace(0.0, 1.0, 7)[:, None]
    bezier = (
        (1 - u) ** 3 * points[0] + 3 * u * (1 - u) ** 2 * points[1] + 3 * u**2 * (1 - u) * points[2] + u**3 * points[3]
    )
    assert np.allclose(curve(3.0 * u[:, 0]).q, bezier)
