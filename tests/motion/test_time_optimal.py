"""Time-optimal timing along a path: known durations, limits at all times, and refused arguments."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import linkwork as lw
from linkwork.motion import MotionLimit, Trajectory, time_optimal
from linkwork.motion.timing import toppra as sweeps
from linkwork.motion.timing import toppra_kernels as kernels
from linkwork.motion.timing.limits import LimitSet
from linkwork.motion.timing.path_grid import coarse_count
from linkwork.motion.timing.toppra_kernels import motions_by_single_kernel


def _cubic(seed: int, n: int, many: int = 5, **how: object) -> Trajectory:
    rng = np.random.default_rng(seed)
    knots = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, many))])
    spline = CubicSpline(knots, rng.uniform(-1.5, 1.5, (many + 1, n)), bc_type="natural")
    return Trajectory.polynomial(knots, np.moveaxis(spline.c[::-1], (0, 1, 2), (2, 0, 1)), **how)


def _excess(result: lw.motion.TimedPath, order: int, low: np.ndarray, high: np.ndarray) -> float:
    """Return the largest relative excess of a limit at many times."""
    times = np.linspace(result.trajectory.start_time, result.trajectory.end_time, 20_011)
    x = result.trajectory(times)[order]
    return float(np.maximum(x - high, low - x).max() / np.abs(high).max())


@pytest.mark.slow(every=5)
def test_time_optimal_durations_equal_closed_forms():
    # a straight line from rest to rest is a trapezoid, or a triangle where the line is short
    for length, v, a in ((2.0, 1.0, 2.0), (0.2, 1.0, 2.0), (5.0, 0.3, 40.0)):
        line = Trajectory.polynomial([0.0, 1.0], [[[0.3, length]]])
        timed_path = time_optimal(line, velocity=v, acceleration=a, num_points=100)
        known = length / v + v / a if length > v * v / a else 2.0 * np.sqrt(length / a)
        assert abs(timed_path.duration - known) < 2e-3 * known and timed_path.duration > known * (1.0 - 1e-9)
        assert abs(timed_path.trajectory.duration - timed_path.duration) < 1e-12 * known
    # of limits that are not symmetric the way up and the way down take a √ of theirs each: v² = 2 l a b/(a + b)
    line = Trajectory.polynomial([0.0, 1.0], [[[0.0, 1.0]]])
    timed_path = time_optimal(line, velocity=100.0, acceleration=(-1.0, 3.0))
    top = np.sqrt(2.0 * 3.0 / 4.0)
    assert abs(timed_path.duration - (top / 3.0 + top)) < 2e-3 and timed_path.speed.max() <= top * (1.0 + 1e-9)
    # at a speed that is given at both ends, and kept
    timed_path = time_optimal(line, velocity=0.5, acceleration=1.0, start_speed=0.5, end_speed=0.5)
    assert abs(timed_path.duration - 2.0) < 1e-6
    # around a circle, where one coordinate turns back it has all of the centripetal acceleration: v² = a r there, and
    # rates that are 0 but for rounding do not spoil it
    turn = np.linspace(0.0, 4.0 * np.pi, 161)
    ring = CubicSpline(turn, np.stack([np.cos(turn), np.sin(turn)], -1), bc_type="periodic")
    path = Trajectory.polynomial(turn, np.moveaxis(ring.c[::-1], (0, 1, 2), (2, 0, 1)))
    timed_path = time_optimal(path, velocity=10.0, acceleration=1.0)
    quarters = np.interp(np.pi * np.arange(1, 8) / 2.0, timed_path.s, timed_path.speed)
    assert np.abs(quarters - 1.0).max() < 5e-3 and timed_path.speed.max() < 2.0**0.25 * 1.01
    assert np.abs(np.array(timed_path.trajectory.extremes(2))).max() < 1.0 + 1e-8


@pytest.mark.slow(every=3)
def test_time_optimal_timing_of_a_batch_of_paths_equals_that_of_each_path():
    paths = [_cubic(seed, 2) for seed in range(5)] + [_cubic(9, 2, many=3)]
    how = {"velocity": 1.0, "acceleration": (-2.0, 3.0), "num_points": 50}
    timed_path = time_optimal(paths, **how)
    for path, timed in zip(paths, timed_path, strict=True):
        alone = time_optimal(path, **how)
        assert timed.trajectory == alone.trajectory and timed.t.tobytes() == alone.t.tobytes()
        assert timed.trajectory.satisfies_limits(velocity=1.0, acceleration=3.0, tolerance=1e-8)
    rounded = time_optimal([paths[0], paths[0].reversed()], jerk=30.0, **how)
    assert rounded[0].duration > timed_path[0].duration and len(rounded) == 2
    assert time_optimal([], **how) == []
    # one that is blocked, here at its start, leaves the others as they are alone
    limits = LimitSet.read("", paths[0], None, 1.0, 2.0, None, None, ())
    slow = Trajectory.polynomial([0.0, 1.0], [[[0.0, 0.2], [0.0, 0.1]]])
    fast = Trajectory.polynomial([0.0, 1.0], [[[0.0, 5.0], [0.0, 0.1]]])
    pairs = ([slow], [fast, slow, slow])
    (alone,), (_, *singles) = (motions_by_single_kernel(x, limits, [1.0, 1.0], [50] * len(x), 2, 1e-6) for x in pairs)
    assert all(a.tobytes() == b.tobytes() for timed in singles for a, b in zip(alone[:5], timed[:5], strict=True))
    with pytest.raises(ValueError, match="time_optimal: path 1: no motion found, with constant"):
        time_optimal([slow, fast], velocity=1.0, acceleration=2.0, start_speed=1.0, end_speed=1.0)
    flat = Trajectory.polynomial([0.0, 1.0], [[[0.0, 0.0], [0.0, 0.1]]])
    with pytest.raises(ValueError, match="time_optimal: path 1: velocity: '0' moves along the path"):
        time_optimal([flat, slow], velocity=[0.0, 1.0], acceleration=2.0)
    with pytest.raises(TypeError, match="path 1: expected a trajectory, got 3"):
        time_optimal([paths[0], 3], **how)
    with pytest.raises(ValueError, match="path 1: expected the robot and coordinates of path 0"):
        time_optimal([paths[0], _cubic(0, 3)], **how)


@pytest.mark.slow(every=5)
def test_coarse_first_pass_of_time_optimal_timing_gives_nearly_the_same_duration():
    """About as short as with many segments, also for paths of a higher degree."""
    path = _cubic(0, 2)
    longer = np.pad(path.sections[0].arrays["coefficients"], ((0, 0), (0, 0), (0, 2)))
    same = Trajectory.polynomial(path.knots, longer)
    how = {"velocity": 1.0, "acceleration": 3.0, "num_points": 400}
    timed_path, of_all = time_optimal(path, **how), time_optimal(same, **how)
    assert abs(timed_path.duration - of_all.duration) < 4e-4 * of_all.duration
    assert _excess(timed_path, 1, -np.ones(2), np.ones(2)) < 1e-8
    assert _excess(timed_path, 2, np.full(2, -3.0), np.full(2, 3.0)) < 1e-8
    assert [coarse_count(n, 3) for n in (50, 100, 200, 400, 800)] == [50, 100, 100, 100, 200]
    assert coarse_count(400, 40) == coarse_count(400, 200) == 400


@pytest.mark.slow(every=3)
def test_time_optimal_motions_satisfy_limits_between_grid_points():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        path = _cubic(seed, 3)
        v = -rng.uniform(0.5, 2.0, 3), rng.uniform(0.5, 2.0, 3)
        a = -rng.uniform(1.0, 5.0, 3), rng.uniform(1.0, 5.0, 3)
        timed_path = time_optimal(path, velocity=v, acceleration=a, num_points=100)
        assert _excess(timed_path, 1, *v) < 1e-8 and _excess(timed_path, 2, *a) < 1e-8
        # at each time something is at its limit, all but where segments end
        times = np.linspace(0.0, timed_path.duration, 2001)[1:-1]
        _, rate, more = timed_path.trajectory(times)
        near = np.maximum(np.where(rate > 0, rate / v[1], rate / v[0]), np.where(more > 0, more / a[1], more / a[0]))
        assert np.quantile(near.max(-1), 0.05) > 0.75
        # more segments find less time, and what is in the least time already stays as it is
        finer = time_optimal(path, velocity=v, acceleration=a, num_points=200)
        assert 0.98 * timed_path.duration < finer.duration <= timed_path.duration * (1.0 + 1e-9)
        again = time_optimal(finer.trajectory, velocity=v, acceleration=a, num_points=200)
        assert abs(again.duration - finer.duration) < 4e-3 * finer.duration
        q = finer.trajectory(np.interp(timed_path.s, finer.s, finer.t)).q
        assert np.abs(path(timed_path.s).q - q).max() < 0.05  # the same way


@pytest.mark.parametrize(
    "name",
    [pytest.param("double_pendulum", marks=pytest.mark.slow(every=3)), pytest.param("arm7", marks=pytest.mark.slow)],
)
def test_robot_paths_are_timed_within_velocity_and_torque_limits(name: str):
    robot = lw.load(name)
    rng = np.random.default_rng(0)
    knots = np.linspace(0.0, 1.0, 5)
    spline = CubicSpline(knots, 0.5 * rng.uniform(-1.0, 1.0, (5, robot.nq)), bc_type="natural")
    path = Trajectory.polynomial(knots, np.moveaxis(spline.c[::-1], (0, 1, 2), (2, 0, 1)), robot=robot)
    q, v, _ = path(np.linspace(0.0, 1.0, 500))
    static_torque = np.abs(robot.inverse_dynamics(q, 0 * v, 0 * v)).max(0)
    torque = 1.1 * static_torque + 2.0
    free = time_optimal(path, velocity=3.0, acceleration=8.0, num_points=100)
    timed_path = time_optimal(path, velocity=3.0, acceleration=8.0, torque=torque, num_points=100)
    moved = timed_path.trajectory(np.linspace(0.0, timed_path.duration, 20_000))
    passed = np.abs(robot.inverse_dynamics(*moved, passive=True)) - torque
    assert -2e-2 < (passed / torque).max() < 1e-9
    assert timed_path.duration > free.duration
    frame = robot.frames[-1]
    slow = time_optimal(path, velocity=3.0, acceleration=8.0, speed={frame: 0.2}, num_points=100)
    q, v, _ = slow.trajectory(np.linspace(0.0, slow.duration, 20_000))
    speed = np.linalg.norm(robot.twist(q, v, frame)[..., 3:], axis=-1)
    assert 0.199 < speed.max() < 0.2 * (1.0 + 1e-6) and slow.duration > free.duration

    # a limit of one's own, that of the accelerations again, says the same
    same = MotionLimit(lambda q, v, a: a, -8.0, 8.0, "a")
    retimed = time_optimal(path, velocity=3.0, motion_limits=[same], num_points=100)
    assert abs(retimed.duration - free.duration) < 1e-9


def test_user_defined_limits_of_timed_paths_hold_between_grid_points(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _cubic(0, 2)
    durations = set()
    for name in ("acceleration", "velocity", "speed", "another"):
        limit = MotionLimit(lambda q, v, a: a * (1.0 + 0.5 * np.sin(3.0 * q)), -4.0, 4.0, name)
        timed_path = time_optimal(path, velocity=3.0, acceleration=8.0, motion_limits=[limit], num_points=50)
        moved = timed_path.trajectory(np.linspace(0.0, timed_path.duration, 20_001))
        assert np.abs(limit.function(*moved)).max() < 4.0 * (1.0 + 1e-6)
        durations.add(timed_path.duration)
    assert len(durations) == 1
    # what rounds of narrower limits leave is kept in a little more time, or told where the ends have speeds
    monkeypatch.setattr(sweeps, "_ROUNDS", 0)
    slower = time_optimal(path, velocity=3.0, acceleration=8.0, motion_limits=[limit], num_points=50)
    moved = slower.trajectory(np.linspace(0.0, slower.duration, 20_001))
    assert np.abs(limit.function(*moved)).max() < 4.0 * (1.0 + 1e-6)
    assert timed_path.duration < slower.duration < 1.01 * timed_path.duration
    monkeypatch.setattr("linkwork.motion.timing.time_optimal._FINEST", 50)
    with pytest.raises(ValueError, match=r"between points of the grid: another is exceeded by 0\.\d+ of its limit"):
        time_optimal(path, velocity=3.0, acceleration=8.0, motion_limits=[limit], num_points=50, start_speed=0.05)


@pytest.mark.slow(every=5)
def test_timed_motions_stop_at_corners():
    polyline = Trajectory.polynomial([0.0, 1.0, 2.0], [[[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    timed_path = time_optimal(polyline, velocity=10.0, acceleration=1.0)
    assert abs(timed_path.duration - 4.0) < 8e-3  # two triangles, 2 √(1/1) each
    corner = timed_path.trajectory(np.interp(1.0, timed_path.s, timed_path.t))
    assert np.abs(corner.v).max() < 1e-6 and np.abs(corner.q - [1.0, 0.0]).max() < 1e-9


@pytest.mark.slow(every=5)
def test_time_optimal_durations_of_short_edges_equal_closed_forms():
    """Rest to rest: 2 √(length / a), or within limits of jerk 2 ∛(4 length / j); no NaN."""
    ends = np.array([[0.0, 0.0], [1.0, 0.5], [1.5, 2.0]])
    how = {"velocity": 1.0, "acceleration": 3.0, "num_points": 50}
    for jerk in (None, 30.0):
        whole = []
        for edge in (0.0, 1e-15, 1e-12, 1e-9, 1e-6):
            q = np.insert(ends, 2, ends[1] + [edge, -edge], axis=0)
            begins = np.array([0.0, 1.0, 1.0 + max(edge, 1e-12), 3.0])
            rates = np.diff(q, axis=0) / np.diff(begins)[:, None]
            lines = np.stack([q[:-1], rates], axis=-1)
            longer = np.pad(lines, ((0, 0), (0, 0), (0, 3)))  # of fifth degree, which goes the long way
            for c in (lines, longer) if jerk is None else (lines,):
                with np.errstate(all="raise", under="ignore"):
                    timed_path = time_optimal(Trajectory.polynomial(begins, c), jerk=jerk, **how)
                assert np.isfinite(timed_path.t).all() and (np.diff(timed_path.t) >= 0.0).all()
                more = 2.0 * np.sqrt(edge / 3.0) if jerk is None else 2.0 * np.cbrt(4.0 * edge / jerk)
                whole.append(timed_path.duration - more)
        assert np.ptp(whole) < 2e-3 * max(whole)


@pytest.mark.slow(every=3)
def test_time_optimal_timing_does_not_depend_on_the_paths_original_speed():
    """Several sections, cut in two, or with jumps of the rate along them."""
    how = {"velocity": 1.0, "acceleration": 2.0, "num_points": 100}
    path = _cubic(1, 2)
    begin, middle, end = path.start_time, 0.45 * path.end_time, path.end_time
    halves = path.slice(begin, middle), path.slice(middle, end)
    alone = time_optimal(path, **how)
    cut = alone.trajectory.slice(0.0, 1.0).concatenate(alone.trajectory.slice(1.0, alone.duration))
    for variant in (
        halves[0].concatenate(halves[1]),
        halves[0].concatenate(halves[1].retimed(0.3), allow_jump=True),
        cut,
    ):
        timed_path = time_optimal(variant, **how)
        assert len(variant.sections) == 2 and abs(timed_path.duration - alone.duration) < 1e-3 * alone.duration
        assert np.allclose(
            timed_path.s[[0, -1]], [begin, end] if variant is cut else [variant.start_time, variant.end_time]
        )
    joined = path.concatenate(_cubic(2, 2), allow_jump=True)
    once = time_optimal(joined, **how)
    for variant in (once.trajectory, once.trajectory.retimed(2.0), once.trajectory.reversed().reversed()):
        assert len(variant.sections) == 2
        assert abs(time_optimal(variant, **how).duration - once.duration) < 1e-9 * once.duration
    # a straight line at two speeds
    line = lw.motion.spline([0.0, 1.0, 2.0], [[0.0], [1.0], [3.0]], "linear")
    timed_path = time_optimal(line, **how)
    assert abs(timed_path.duration - 3.5) < 1e-3 and timed_path.s[-1] == 2.0
    assert abs(timed_path.trajectory(np.interp(1.0, timed_path.s, timed_path.t)).q[0] - 1.0) < 0.02
    fast = time_optimal(line, start_speed=0.5, end_speed=0.25, **how)
    assert np.allclose(fast.trajectory([0.0, fast.duration]).v[:, 0], [0.5, 0.5])


def test_time_optimal_duration_of_a_path_without_motion_is_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr("linkwork.motion.timing.time_optimal.motions_by_single_kernel", never)
    monkeypatch.setattr("linkwork.motion.timing.time_optimal._time_path", never)
    arm = lw.load("arm7")
    q = arm.random_configuration(seed=0)
    for path in (
        lw.motion.spline([0.0, 1.0], [[1.0, 2.0], [1.0, 2.0]], "linear"),
        lw.motion.spline([0.0, 1.0, 3.0], np.ones((3, 1))),
        arm.spline([0.0, 1.0], [q, q]),
        arm.spline([0.0, 1.0], [q, q]).concatenate(arm.spline([0.0, 1.0], [q, q])),
    ):
        for jerk in (None, 10.0):
            timed_path = time_optimal(path, velocity=2.0, acceleration=1.0, jerk=jerk)
            state = timed_path.trajectory(0.0)
            assert timed_path.duration == 0.0 == timed_path.trajectory.duration
            assert np.allclose(state.q, path(0.0).q) and not state.v.any() and not state.a.any()


@pytest.mark.slow(every=5)
def test_torque_limits_apply_to_the_timing_of_a_path_without_motion():
    arm = lw.load("double_pendulum")
    rest_motion = arm.spline([0.0, 1.0], [np.full(2, 0.6)] * 2)
    with pytest.raises(ValueError, match="no motion found, with constant"):
        time_optimal(rest_motion, velocity=1.0, torque=0.1)


def test_invalid_arguments_of_time_optimal_are_refused():
    arm = lw.load("arm6")
    line = arm.spline([0.0, 1.0], [arm.neutral(), arm.neutral() + 0.3], kind="linear")
    with pytest.raises(TypeError, match=r'speed: expected a dict of speeds \[m/s\] by frame, as in \{"tool": 0.25\}'):
        time_optimal(line, acceleration=1.0, speed=0.25)
    path = _cubic(0, 2)
    cases = [
        ({"velocity": 1.0}, "expected limits acceleration= or torque="),
        ({"acceleration": [1.0, 2.0, 3.0]}, r"acceleration: expected a positive number"),
        ({"acceleration": (0.1, 1.0)}, "acceleration of 0: expected a lower limit <= 0, which permits rest, got 0.1"),
        ({"acceleration": 1.0, "velocity": [0.0, 1.0]}, "'0' moves along the path, and its limit is 0"),
        (
            {"acceleration": 1.0, "velocity": 1.0, "start_speed": 50.0},
            "start_speed: no motion found within the limits that begins",
        ),
        ({"acceleration": 1.0, "start_speed": -1.0}, "start_speed: expected a number >= 0"),
        ({"acceleration": float("nan")}, "expected a limit >= 0, which permits rest, got nan"),
        ({"torque": 1.0}, "torque: expected a path of a robot, or robot="),
        ({"acceleration": 1.0, "num_points": 0}, "num_points: expected an integer >= 1"),
        (
            {"motion_limits": [MotionLimit(lambda q, v, a: a + v, -1.0, 1.0, "drag")]},
            "drag: expected a function that is linear",
        ),
        ({"motion_limits": [MotionLimit(lambda q, v, a: a[0], -1.0, 1.0, "odd")]}, "odd: expected a result of shape"),
        (
            {"motion_limits": [MotionLimit(lambda q, v, a: 3.0 + 0.0 * a, -1.0, 1.0, "far")]},
            "no motion found, with constant",
        ),
    ]
    for how, text in cases:
        with pytest.raises((ValueError, TypeError), match=text):
            time_optimal(path, **how)
    robot = lw.load("double_pendulum")
    for speed in (0.0, -0.2, float("nan")):
        with pytest.raises(ValueError, match=f"speed: '{robot.frames[-1]}': expected a positive speed"):
            time_optimal(path, robot=robot, acceleration=1.0, speed={robot.frames[-1]: speed})
    with pytest.raises(TypeError, match="expected a trajectory"):
        time_optimal([[0.0], [1.0]], acceleration=1.0)


@pytest.mark.slow(every=5)
def test_timing_grid_adapts_to_the_path() -> None:
    """Through many way points the duration is within 0.5 % of that of a much finer grid.
    is estimated, and falls with the number of segments."""
    knots = np.linspace(0.0, 1.0, 101)
    rng = np.random.default_rng(0)
    for q in (rng.uniform(-2.0, 2.0, (101, 2)), np.cumsum(rng.normal(size=(101, 2)), axis=0)):
        spline = CubicSpline(knots, q)
        path = Trajectory.polynomial(knots, np.moveaxis(spline.c[::-1], (0, 1, 2), (2, 0, 1)))
        timed_path = time_optimal(path, velocity=2.0, acceleration=4.0)
        finest = time_optimal(path, velocity=2.0, acceleration=4.0, num_points=25_000)
        coarse = time_optimal(path, velocity=2.0, acceleration=4.0, num_points=400)
        assert len(coarse.t) == 401 < len(timed_path.t)
        assert timed_path.duration < 1.005 * finest.duration and coarse.duration > 1.02 * finest.duration
        for timed in (timed_path, coarse):
            left = timed.duration - finest.duration
            assert left < timed.optimality_gap < 2.5 * left
        assert timed_path.optimality_gap < 0.3 * coarse.optimality_gap
        assert timed_path.trajectory.satisfies_limits(velocity=2.0, acceleration=4.0, tolerance=1e-7)


def test_time_optimal_timing_uses_the_same_kernel_for_any_count_of_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _cubic(0, 2)
    how = {"velocity": 1.0, "acceleration": 3.0}
    time_optimal(path, num_points=500, **how)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("compiled")

    monkeypatch.setattr(kernels, "compile", never)
    durations = [time_optimal(path, num_points=n, **how).duration for n in (500, 777, 2000, 10_000)]
    assert durations == sorted(durations, reverse=True)
    # blocks that end anywhere: the number of segments is a multiple of theirs, or is not
    for n in (1, 2, 63, 64, 65, 128, 129):
        s = np.linspace(path.start_time, path.end_time, n + 1)
        limits = LimitSet.read("", path, None, 1.0, 3.0, None, None, ())
        grid = sweeps.Grid(sweeps.TimingQuery("", path, limits, np.zeros(0), [0.1, 0.0], 1, None), s)
        x, u = grid.solve(None)
        assert x.shape == (n + 1,) and u.shape == (n,) and (x >= 0.0).all()
        assert abs(x[0] - 0.01) < 1e-15 and x[-1] == 0.0 and np.allclose(np.diff(x), 2.0 * u * grid.steps)


def _trapezoid(length: float, v: float = 1.0, a: float = 2.0) -> float:
    return length / v + v / a if length > v * v / a else 2.0 * np.sqrt(length / a)


@pytest.mark.slow(every=5)
def test_straight_path_that_rests_inside_is_timed_without_a_stop() -> None:
    """Only the line counts, not how it was run through before: each way between places at which it turns back is a
    trapezoid."""
    turns = np.polynomial.polynomial.polyint(np.polynomial.polynomial.polymul([1.0, -2.0, 1.0], [2.0, -1.0]))
    distances = np.abs(np.diff(np.polynomial.polynomial.polyval([0.0, 2.0, 3.0], turns)))
    cubed = Trajectory.polynomial([0.0, 2.0], [[[-1.0, 3.0, -3.0, 1.0], [0.5, -1.5, 1.5, -0.5]]])
    clamped = Trajectory.polynomial([0.0, 1.0, 2.0], [[[0.0, 0.0, 3.0, -2.0]], [[1.0, 0.0, 3.0, -2.0]]])
    halves = clamped.slice(0.0, 1.0).concatenate(clamped.slice(1.0, 2.0))
    paths = {
        "a cubic": (cubed, 2.5),
        "slow inside": (Trajectory.polynomial([0.0, 2.0], [[[-1.001, 3.001, -3.0, 1.0]]]), _trapezoid(2.002)),
        "of degree five": (Trajectory.polynomial([0.0, 2.0], [[[-1.0, 5.0, -10.0, 10.0, -5.0, 1.0]]]), 2.5),
        "at a knot": (clamped, 2.5),
        "where sections meet": (halves, 2.5),
        "backward": (halves.reversed(), 2.5),
        "a part": (cubed.slice(0.5, 2.0), _trapezoid(1.125)),
        "and turns back": (Trajectory.polynomial([0.0, 3.0], [[list(turns)]]), sum(map(_trapezoid, distances))),
        "and goes on in a curve": (
            Trajectory.polynomial([0.0, 2.0, 3.0], [[[-1, 3, -3, 1], [0] * 4], [[1, 3, 0, 0], [0, 0, 1, 0]]]),
            time_optimal(
                Trajectory.polynomial([0.0, 2.0], [[[-1.0, 1.0], [0.0, 0.0]]]).concatenate(
                    Trajectory.polynomial([0.0, 1.0], [[[1.0, 3.0, 0.0], [0.0, 0.0, 1.0]]]), allow_jump=True
                ),
                velocity=1.0,
                acceleration=2.0,
            ).duration,
        ),
    }
    for name, (path, known) in paths.items():
        timed_path = time_optimal(path, velocity=1.0, acceleration=2.0)
        assert known * (1.0 - 1e-4) < timed_path.duration < 1.001 * known, name
        ends = path([path.start_time, path.end_time]).q
        assert np.allclose(timed_path.trajectory([0.0, timed_path.duration]).q, ends, rtol=0.0, atol=1e-12), name
        assert timed_path.trajectory.satisfies_limits(velocity=1.0, acceleration=2.0, tolerance=1e-8), name
    # ṡ is given of the path as it is
    fast = time_optimal(cubed, velocity=1.0, acceleration=2.0, start_speed=0.2, end_speed=1.0 / 3.0)
    assert np.allclose(np.abs(fast.trajectory([0.0, fast.duration]).v[:, 0]), [0.6, 1.0])
    smooth = time_optimal(cubed, velocity=1.0, acceleration=2.0, jerk=8.0, num_points=100)
    best = lw.motion.profile(-1.0, 1.0, velocity=1.0, acceleration=2.0, jerk=8.0).duration
    assert best * (1.0 - 1e-9) < smooth.duration < 1.001 * best
    assert smooth.duration - best < smooth.optimality_gap < smooth.duration - 2.5 + 1e-3


def test_result_of_time_optimal_timing_is_a_tuple_that_can_be_copied() -> None:
    timed_path = time_optimal(_cubic(0, 2), velocity=1.0, acceleration=3.0)
    trajectory, s, t, speed, acceleration = timed_path
    assert np.isnan(copy.copy(timed_path).optimality_gap)
    assert 0.0 < timed_path.optimality_gap < 0.01 * timed_path.duration
    copied = pickle.loads(pickle.dumps(timed_path))
    assert type(copied) is type(timed_path) and copied.optimality_gap == timed_path.optimality_gap
    assert copied.trajectory == trajectory and all(
        np.array_equal(a, b) for a, b in zip(copied[1:], (s, t, speed, acceleration), strict=True)
    )


def test_smooth_knots_with_slow_motion_do_not_count_as_corners() -> None:
    """At some knots v changes by more than the threshold of a jump, within the distance of both samples."""
    path = lw.motion.spline(np.linspace(0.0, 1.0, 101), np.random.default_rng(0).uniform(-2.0, 2.0, (101, 2)))
    timed_path = time_optimal(path, velocity=2.0, acceleration=4.0)
    assert timed_path.speed[1:-1].min() > 0.0


def test_motion_limits_take_functions_of_q_v_and_a():
    for function, text in (
        (lambda q: q, "too many positional arguments"),
        (lambda q, v, a, b: q, "missing a required argument: 'b'"),
        (lambda *, q: q, "too many positional arguments"),
    ):
        with pytest.raises(
            TypeError, match=r"MotionLimit: function: expected a function called as \(q, v, a\): " + text
        ):
            MotionLimit(function, -1.0, 1.0)
    for function in (lambda q, v, a, b=1: a, lambda *arrays: arrays[2], np.add):
        assert MotionLimit(function, -1.0, 1.0).function is function
