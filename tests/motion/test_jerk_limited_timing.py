"""Timing along a path within limits of jerk: exact durations, and limits at all times."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import linkwork as lw
from linkwork._util import own_code
from linkwork.motion import Trajectory, profile, time_optimal
from linkwork.motion.timing.arc_length_clock import fitted_time_law
from linkwork.motion.timing.arc_length_path import ArcLengthPath
from linkwork.motion.timing.jerk_newton import SmoothProgram
from linkwork.motion.timing.path_grid import LengthTable


def _line(length: float) -> Trajectory:
    return Trajectory.polynomial([0.0, 1.0], [[[0.3, length]]])


def _cubic(seed: int, n: int = 2, many: int = 4) -> Trajectory:
    rng = np.random.default_rng(seed)
    knots = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, many))])
    spline = CubicSpline(knots, rng.uniform(-1.5, 1.5, (many + 1, n)), bc_type="natural")
    return Trajectory.polynomial(knots, np.moveaxis(spline.c[::-1], (0, 1, 2), (2, 0, 1)))


def test_path_parameters_computed_from_arc_lengths_are_exact_to_rounding():
    cells, k = np.linspace(0.0, 2.0, 9), np.array([0, 3, 3, 7, 7])
    shares = np.array([0.0, 1e-3, 0.4, 0.999, 1.0])
    s = cells[k] + 0.25 * shares
    table = LengthTable(lambda s: 1.0 + np.sin(s) ** 2, cells)
    exact = 1.5 * s - 0.25 * np.sin(2.0 * s) - (1.5 * cells[k] - 0.25 * np.sin(2.0 * cells[k]))
    result, are_exact = table.positions(k, exact)
    assert table.resolved.all() and are_exact.all()
    assert np.abs(result - s).max() < 1e-15
    # a kink inside of a cell
    table = LengthTable(lambda s: 1.0 + np.abs(s - 0.9), cells)
    assert np.flatnonzero(~table.resolved).tolist() == [3]
    assert table.positions(k, exact)[1].tolist() == [True, False, False, True, True]


def test_path_parameters_are_computed_from_arc_lengths_of_a_path_at_rest_at_its_ends():
    # q = (p, p) with p = s³ (4 − 3 s), so that σ = √2 p
    path = Trajectory.polynomial([0.0, 1.0], [[[0.0, 0.0, 0.0, 4.0, -3.0]] * 2])
    arc = ArcLengthPath(path, np.array([0.0, 1.0]), np.ones(2), 1e-8, (1e-4, 1.0 - 1e-4), False)
    s = np.concatenate([[0.0, 1e-7, 1e-3], np.linspace(0.01, 1.0, 50)])
    sigma = 2.0**0.5 * s**3 * (4.0 - 3.0 * s)
    assert np.abs(arc.lengths(s) - sigma).max() < 1e-15
    rate = 2.0**0.5 * 12.0 * s * s * (1.0 - s)
    allowed = 1e-15 + 4.0 * np.spacing(sigma) / np.maximum(rate, 1e-7)
    assert (np.abs(arc.positions(sigma) - s) < allowed)[s > 0.0].all() and arc.positions(sigma)[0] == 0.0
    assert arc.positions(sigma[::-1].reshape(-1, 1))[-1, 0] == 0.0


def test_positions_at_known_arc_lengths_are_exact():
    # q = (p, p) with p = s + 0.3 s², so that σ = √2 p; and σ(t) is a cubic from rest to rest
    path = Trajectory.polynomial([0.0, 1.0], [[[0.0, 1.0, 0.3]] * 2])
    arc = ArcLengthPath(path, np.array([0.0, 1.0]), np.ones(2), 1e-8, (0.0, 1.0), False)
    length = 1.3 * 2.0**0.5
    law = fitted_time_law(arc, np.array([0.0, 2.0]), length * np.array([[0.0, 0.0, 0.75, -0.25]]), np.ones(2), 1e-4)
    t = np.linspace(0.0, 2.0, 201)
    k = np.clip(np.searchsorted(law.t, t, side="right") - 1, 0, len(law.t) - 2)
    s = sum(law.coefficients[k, n] * (t - law.t[k]) ** n for n in range(6))
    assert np.abs(2.0**0.5 * (s + 0.3 * s * s) - length * (0.75 * t**2 - 0.25 * t**3)).max() < 3e-9


@pytest.mark.slow(every=5)
def test_jerk_limited_timing_of_straight_lines_has_the_duration_of_a_profile():
    cases = [
        (2.0, 1.0, 2.0, 8.0),  # all of seven phases
        (0.1, 1.0, 2.0, 8.0),  # of jerk alone
        (1.0, 1.0, 50.0, 8.0),  # no constant acceleration
        (0.5, 10.0, 1.0, 30.0),  # no constant velocity
        (20.0, 1.0, 2.0, (-8.0, 5.0)),
        (1.0, (-0.4, 0.9), (-1.0, 3.0), (-20.0, 7.0)),
    ]
    for length, v, a, j in cases:
        timed_path = time_optimal(_line(length), velocity=v, acceleration=a, jerk=j, num_points=100)
        exact = profile([0.3], [0.3 + length], velocity=v, acceleration=a, jerk=j).duration
        assert exact * (1.0 - 1e-6) < timed_path.duration < 1.01 * exact
        assert abs(timed_path.trajectory(timed_path.duration).q[0] - 0.3 - length) < 1e-12
        ends = timed_path.trajectory([0.0, timed_path.duration])
        assert np.abs(ends.v).max() < 1e-9 and np.abs(ends.a).max() < 1e-9
    # within wider limits it takes less, and as little as without them in the end
    how = {"velocity": 2.0, "acceleration": 3.0}
    times = [time_optimal(_line(1.0), jerk=j, num_points=100, **how).duration for j in (3.0, 30.0, 300.0)]
    free = time_optimal(_line(1.0), **how).duration
    assert times[0] > times[1] > times[2] > free and times[2] < 1.02 * free


@pytest.mark.slow(every=5)
def test_jerk_limits_increase_the_duration_of_a_path_by_little():
    """Paths on which rounding spoils the first descent of the search, or the first segments."""
    for seed in (4, 53, 78):
        path, how = _cubic(seed, many=8), {"velocity": 2.0, "acceleration": 5.0, "num_points": 100}
        assert time_optimal(path, jerk=60.0, **how).duration < 1.05 * time_optimal(path, **how).duration


@pytest.mark.slow(every=5)
def test_jerk_limited_timing_satisfies_all_limits_at_all_times():
    for seed in range(3):
        rng, path = np.random.default_rng(seed), _cubic(seed)
        v, a, j = ((-rng.uniform(0.5, 1.0, 2) * x, rng.uniform(0.5, 1.0, 2) * x) for x in (2.0, 5.0, 40.0))
        timed_path = time_optimal(path, velocity=v, acceleration=a, jerk=j, num_points=100)
        n = int(timed_path.duration / 1e-4)
        times = np.linspace(0.0, timed_path.duration, n)
        state = timed_path.trajectory(times)
        for x, (low, high) in ((state.v, v), (state.a, a), (timed_path.trajectory.jerk(times), j)):
            assert np.maximum(x - high, low - x).max() < 1e-6 * np.abs(high).max()
        low, high = timed_path.trajectory.extremes(3)  # by polynomials
        assert (low >= j[0] * (1.0 + 1e-6)).all() and (high <= j[1] * (1.0 + 1e-6)).all()
        # accelerations have no jumps, and something is at its limit nearly always
        assert np.abs(np.diff(state.a, axis=0)).max() < 1.01e-4 * max(-low.min(), high.max()) + 1e-6
        at = [np.maximum(x / y[1], x / y[0]).max(-1) for x, y in ((state.v, v), (state.a, a))]
        at.append(
            np.maximum(timed_path.trajectory.jerk(times) / j[1], timed_path.trajectory.jerk(times) / j[0]).max(-1)
        )
        assert np.quantile(np.max(at, axis=0), 0.1) > 0.8
        free = time_optimal(path, velocity=v, acceleration=a)
        assert free.duration < timed_path.duration < 1.15 * free.duration
        # the same again, of what it made
        again = time_optimal(timed_path.trajectory, velocity=v, acceleration=a, jerk=j, num_points=100)
        assert abs(again.duration - timed_path.duration) < 1e-3 * timed_path.duration


@pytest.mark.slow(every=5)
def test_jerk_limited_timing_starts_and_ends_at_rest_or_at_prescribed_speeds():
    polyline = Trajectory.polynomial([0.0, 1.0, 2.0], [[[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    how = {"velocity": 1.0, "acceleration": 2.0, "jerk": 8.0, "num_points": 100}
    timed_path = time_optimal(polyline, **how)
    leg = profile([0.0], [1.0], velocity=1.0, acceleration=2.0, jerk=8.0).duration
    assert abs(timed_path.duration - 2.0 * leg) < 0.02 * leg
    corner = timed_path.trajectory(timed_path.t[len(timed_path.t) // 2])
    assert np.abs(corner.v).max() < 1e-9 and np.abs(corner.a).max() < 1e-9
    # curvature that jumps: a quarter of a turn after a straight line
    s = np.linspace(0.0, 1.5, 5)
    arc = CubicSpline(
        s, np.stack([np.sin(s), 1.0 - np.cos(s)], -1), bc_type=((1, [1.0, 0.0]), (1, [np.cos(1.5), np.sin(1.5)]))
    )
    c = np.moveaxis(arc.c[::-1], (0, 1, 2), (2, 0, 1))
    straight = np.array([[[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]])
    bent = Trajectory.polynomial(np.concatenate([[-1.0], s]), np.concatenate([straight, c]))
    timed_path = time_optimal(bent, **how)
    assert abs(timed_path.trajectory(np.interp(0.0, timed_path.s, timed_path.t)).v).max() < 1e-6
    assert timed_path.trajectory.satisfies_limits(velocity=1.0, acceleration=2.0, jerk=8.0, tolerance=1e-5)

    path = _cubic(5)
    timed_path = time_optimal(
        path, velocity=2.0, acceleration=4.0, jerk=50.0, start_speed=0.5, end_speed=0.3, num_points=100
    )
    assert np.allclose(timed_path.speed[[0, -1]], [0.5, 0.3], atol=1e-9)
    assert np.allclose(timed_path.trajectory(0.0).v, 0.5 * path(path.start_time).v, atol=1e-9)
    assert timed_path.trajectory.satisfies_limits(velocity=2.0, acceleration=4.0, jerk=50.0, tolerance=5e-5)
    timed_rest = time_optimal(path, velocity=2.0, acceleration=4.0, jerk=50.0, num_points=100)
    assert timed_path.duration < timed_rest.duration


@pytest.mark.slow(every=5)
def test_loaded_arm_satisfies_torque_and_jerk_limits():
    arm = lw.load("arm7")
    loaded = arm.with_payload("payload", arm.frames[-1], 2.0)
    knots = np.linspace(0.0, 1.0, 4)
    spline = CubicSpline(knots, np.random.default_rng(3).uniform(-0.6, 0.6, (4, 7)), bc_type="natural")
    path = Trajectory.polynomial(knots, np.moveaxis(spline.c[::-1], (0, 1, 2), (2, 0, 1)), robot=arm)
    q = path(np.linspace(0.0, 1.0, 200)).q
    torque = 1.2 * np.abs(loaded.inverse_dynamics(q, 0.0 * q, 0.0 * q)).max(0) + 1.0
    timed_path = time_optimal(
        path, velocity=2.0, acceleration=6.0, jerk=100.0, torque=torque, robot=loaded, num_points=50, num_passes=1
    )
    times = np.linspace(0.0, timed_path.duration, int(timed_path.duration / 1e-4))
    state = timed_path.trajectory(times)
    used = np.abs(loaded.inverse_dynamics(*state, passive=True)) / torque
    assert 0.9 < used.max() < 1.0 + 1e-9
    assert np.abs(state.a).max() < 6.0 * (1.0 + 1e-6)
    assert np.abs(timed_path.trajectory.jerk(times)).max() < 100.0 * (1.0 + 1e-6)


def test_invalid_arguments_of_jerk_limited_timing_are_refused():
    path = _cubic(0)
    cases = [
        ({"jerk": -1.0}, "jerk of 0: expected a limit >= 0, which permits rest, got -1"),
        ({"jerk": float("nan")}, "jerk of 0: expected a limit >= 0, which permits rest, got nan"),
        ({"jerk": [0.0, 1.0]}, "jerk: '0' moves along the path, and its limit is 0"),
        ({"jerk": 1.0, "tolerance": 0.0}, "tolerance: expected a positive number or None"),
    ]
    for how, text in cases:
        with pytest.raises(ValueError, match=text):
            time_optimal(path, velocity=2.0, acceleration=4.0, **{"num_points": 100, **how})


@pytest.mark.parametrize(
    "path",
    [pytest.param(_line(1.0), marks=pytest.mark.slow(every=9)), pytest.param(_cubic(0), marks=pytest.mark.slow)],
    ids=["line", "cubic"],
)
def test_start_speed_that_the_jerk_limit_cannot_stop_is_refused(path: Trajectory):
    with pytest.raises(ValueError, match="no motion found within the limits between s = 0"):
        time_optimal(path, velocity=2.0, acceleration=4.0, jerk=1e-3, start_speed=1.0, num_points=25)


@pytest.mark.slow(every=9)
def test_jerk_limited_timing_does_not_depend_on_the_paths_original_speed(drawn):
    """Paths at rest at their ends, or with jumps of the rate, need the duration of a profile."""
    how = {"velocity": 1.0, "acceleration": 2.0, "jerk": 8.0}
    spline = lw.motion.spline
    once, twice = profile(0.0, 2.0, **how).duration, 2.0 * profile(0.0, 1.0, **how).duration
    slow = {"velocity": 1.0, "acceleration": 2.0}
    cases = [
        (spline([0.0, 1.0], [[0.0], [2.0]], boundary="clamped"), once),
        (spline([0.0, 0.5, 1.0], [[0.0], [1.0], [2.0]], boundary="clamped"), once),
        (spline([0.0, 1e3], [[0.0], [2.0]], boundary="clamped"), once),
        (spline([0.0, 1.0], [[0.0], [1e-4]], boundary="clamped"), profile(0.0, 1e-4, **how).duration),
        (profile(0.0, 2.0, kind="minimum_jerk", duration=1.0), once),
        (profile(0.0, 2.0, kind="quintic", duration=1.0), once),
        (profile(0.0, 2.0, kind="trapezoid", **slow), once),
        (profile(0.0, 2.0, **how), once),
        (profile([0.0, 0.0], [2.0, 1.0], synchronize="phase", **how), once),
        (spline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]], boundary="clamped"), twice),
    ]
    for path, exact in drawn(cases):
        timed_path = time_optimal(path, num_points=100, **how)
        assert exact * (1.0 - 1e-6) < timed_path.duration < 1.002 * exact
        state = timed_path.trajectory(np.linspace(0.0, timed_path.duration, 5001))
        most = [timed_path.trajectory.jerk(np.linspace(0.0, timed_path.duration, 5001)), state.a, state.v]
        assert all(np.abs(x).max() < y * (1.0 + 1e-6) for x, y in zip(most, (8.0, 2.0, 1.0), strict=True))
        assert np.abs(np.diff(state.a, axis=0)).max() < 8.01 * timed_path.duration / 5000  # no jumps
        assert np.abs(state.q[[0, -1]] - [path(path.start_time).q, path(path.end_time).q]).max() < 1e-12
        assert np.abs(state.v[[0, -1]]).max() < 1e-9 and np.abs(state.a[[0, -1]]).max() < 1e-6
    # a robot's, at rest at its ends or not
    arm = lw.load("arm7")
    points = np.array([arm.random_configuration(seed=k) for k in range(5)])
    limits = {"velocity": 2.0, "acceleration": 5.0, "jerk": 50.0}
    rests, natural = (
        time_optimal(arm.spline(np.arange(5.0), points, boundary=b), **limits) for b in ("clamped", "natural")
    )
    assert rests.duration < 1.02 * natural.duration
    # the same again, of what it made
    again = time_optimal(rests.trajectory, **limits)
    assert abs(again.duration - rests.duration) < 1e-6 * rests.duration


@pytest.mark.slow(every=3)
def test_acceleration_discontinuities_along_a_path_cause_no_stop():
    # a straight line, faster and faster, and from its middle on at one speed
    coefficients = [[0.0, 0.5, 0.5], [0.0, 0.25, 0.25]], [[1.0, 1.5, 0.0], [0.5, 0.75, 0.0]]
    path = Trajectory.polynomial([0.0, 1.0, 1.0 + 2.0 / 3.0], coefficients)
    how = {"velocity": 1.0, "acceleration": 2.0, "jerk": 8.0}
    timed_path = time_optimal(path, num_points=100, **how)
    exact = profile(0.0, 2.0, **how).duration
    assert exact * (1.0 - 1e-6) < timed_path.duration < 1.002 * exact
    assert timed_path.trajectory.satisfies_limits(velocity=1.0, acceleration=2.0, jerk=8.0, tolerance=1e-5)
    # the same in two sections, one of which is faster, and what was made of it, cut in two
    half = path.slice(0.0, 1.2), path.slice(1.2, path.end_time).retimed(0.4)
    trajectory = timed_path.trajectory
    cut = trajectory.slice(0.0, 1.0).concatenate(trajectory.slice(1.0, timed_path.duration))
    for variant in (half[0].concatenate(half[1], allow_jump=True), cut, trajectory.retimed(2.0)):
        assert abs(time_optimal(variant, num_points=100, **how).duration - timed_path.duration) < 1e-3 * exact


@pytest.mark.slow
def test_jerk_limited_durations_are_at_most_a_known_multiple_of_the_shortest():
    """Random paths that turn back near jumps, and a floating robot's path."""
    for seed, kind, most in ((23, "hermite", 2.5), (31, "quintic", 1.5), (38, "quintic", 1.75)):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(1, 4)), int(rng.integers(2, 9))
        knots = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 2.0, m - 1))])
        q = rng.uniform(-1.5, 1.5, (m, n))
        assert kind == rng.choice(["clamped", "hermite", "quintic", "cut"])
        rates = [rng.normal(size=(m, n)) for _ in range(1 if kind == "hermite" else 2)]
        for x in rates:
            x[[0, -1]] = 0.0
        path = lw.motion.spline(knots, q, kind, **dict(zip(("velocity", "acceleration"), rates, strict=False)))
        how = {"velocity": 2.0, "acceleration": 5.0}
        timed_path = time_optimal(path, jerk=rng.choice([10.0, 40.0, 200.0]), num_points=100, **how)
        assert timed_path.duration < most * time_optimal(path, **how).duration
    robot = lw.load("quadruped")
    path = robot.spline([0.0, 1.0, 2.0], [robot.random_configuration(seed=k) for k in range(3)], boundary="clamped")
    timed_path = time_optimal(path, velocity=2.0, acceleration=5.0, jerk=50.0, num_points=100)
    assert timed_path.duration < 1.1 * time_optimal(path, velocity=2.0, acceleration=5.0).duration


@pytest.mark.costly
@pytest.mark.parametrize(
    ("seed", "velocity", "acceleration", "jerk"),
    [(3, 0.71, 5.5, 318.6), (11, 0.82, 10.5, 100.9), (34, 0.51, 17.6, 12.8)],
)
def test_jerk_limited_durations_do_not_depend_on_the_first_barrier_parameter(
    monkeypatch: pytest.MonkeyPatch, seed: int, velocity: float, acceleration: float, jerk: float
) -> None:
    """Newton steps are finite: where x and u are inconsistent, slopes of limits are those after the correction of x."""
    steps, direction = [], SmoothProgram._direction

    def recorded(program: SmoothProgram, motion: np.ndarray, mu: float) -> np.ndarray:
        steps.append(direction(program, motion, mu))
        return steps[-1]

    monkeypatch.setattr(own_code, "_replaced", {})
    monkeypatch.setattr(SmoothProgram, "_direction", recorded)
    durations = []
    for factor in (1.0, 10.0):
        monkeypatch.setattr("linkwork.motion.timing.jerk_subproblem._FIRST", (factor, 0.1, 0.01, 1e-3))
        motion = time_optimal(_cubic(seed, 2, 2), velocity=velocity, acceleration=acceleration, jerk=jerk)
        durations.append(motion.duration)
    assert len(steps) > 20 and all(np.isfinite(step).all() for step in steps)
    assert durations[1] == pytest.approx(durations[0], rel=1e-5)


@pytest.mark.slow(every=5)
def test_jerk_limited_timing_adapts_its_segments_to_a_path_with_many_knots():
    """Without limits of jerk it takes little less, so that little is lost by the segments."""
    path = lw.motion.spline(np.linspace(0.0, 1.0, 61), np.random.default_rng(0).uniform(-2.0, 2.0, (61, 2)))
    how = {"velocity": 2.0, "acceleration": 4.0}
    free, timed_path = time_optimal(path, **how), time_optimal(path, jerk=40.0, **how)
    assert free.duration < timed_path.duration < 1.015 * free.duration
    assert timed_path.trajectory.satisfies_limits(velocity=2.0, acceleration=4.0, jerk=40.0, tolerance=1e-5)
    assert timed_path.speed[1:-1].min() > 0.0 and len(timed_path.t) > 32 * 60
    # fewer segments take longer, and the estimate of what they leave says so
    few = time_optimal(path, jerk=40.0, num_points=400, **how)
    assert 1.01 * timed_path.duration < few.duration < 1.1 * timed_path.duration
    assert few.trajectory.satisfies_limits(velocity=2.0, acceleration=4.0, jerk=40.0, tolerance=1e-5)
    assert few.duration - few.optimality_gap < timed_path.duration
    line = time_optimal(_line(2.0), velocity=1.0, acceleration=2.0, jerk=8.0)
    exact = profile([0.3], [2.3], velocity=1.0, acceleration=2.0, jerk=8.0).duration
    assert line.duration - exact < line.optimality_gap < 1e-2 * exact


@pytest.mark.costly
@pytest.mark.parametrize("jerk", [None, 300.0])
@pytest.mark.parametrize("kind", ["curve", "line", "timed"])
def test_positions_speeds_and_accelerations_of_a_jerk_limited_timing_follow_from_the_path(
    kind: str, jerk: float | None
) -> None:
    """q = c(s), v = c′ ṡ and a = c″ ṡ² + c′ s̈ at the ends and in the middle of all segments."""
    robot, points = lw.load("double_pendulum"), [[0.3, -0.4], [1.7, 0.5], [0.9, 1.6], [-0.6, 1.1]]
    curve = robot.spline([0.0, 0.4, 1.5, 2.0], points, "linear" if kind == "line" else "cubic")
    limits = {"velocity": 2.0, "acceleration": 5.0, "num_points": 40}
    path = time_optimal(curve, **limits).trajectory if kind == "timed" else curve
    if kind == "timed":  # which the single kernel does not time
        limits["motion_limits"] = [lw.motion.MotionLimit(lambda q, v, a: a, -4.0, 4.0, "a")]
    timed = time_optimal(path, jerk=jerk, **limits)
    s, speed, dt = timed.s[:-1], timed.speed[:-1], np.diff(timed.t)
    first, last = timed.acceleration[: len(dt)], timed.acceleration[-len(dt) :]
    for share in (0.0, 0.5, 1.0):
        tau, slope = share * dt, (last - first) / dt
        x = curve(s + speed * tau + first * tau**2 / 2.0 + slope * tau**3 / 6.0, side="left" if share else "right")
        rate, second = (speed + first * tau + slope * tau**2 / 2.0)[:, None], (first + slope * tau)[:, None]
        q, v, a = timed.trajectory(timed.t[:-1] + tau, side="left" if share else "right")
        assert np.abs(q - x.q).max() < 1e-12 and np.abs(v - x.v * rate).max() < 1e-12
        assert np.abs(a - x.a * rate**2 - x.v * second).max() < 1e-10


@pytest.mark.slow(every=5)
def test_motions_within_jerk_limits_are_continuous_where_q_prime_vanishes_at_one_end() -> None:
    limits = {"velocity": 1.0, "acceleration": 2.0, "jerk": 30.0}
    for begin in ([[0.0, 0.0, 2.0, 1.0], [0.0, 0.0, 1.0, -0.5]], [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.5, -0.7]]):
        path = lw.motion.Trajectory.polynomial([0.0, 1.0], [begin])
        for direction in (path, path.reversed()):
            motion = lw.motion.time_optimal(direction, num_points=50, **limits).trajectory
            assert motion.satisfies_limits(**limits, tolerance=1e-5)
            knots = motion.knots[1:-1]
            for before, after in zip(motion(knots, side="left"), motion(knots), strict=True):
                assert np.abs(after - before).max() < 1e-8
            np.testing.assert_allclose(motion(motion.duration).q, direction(direction.end_time).q, atol=1e-12)
