"""Properties of motions of random robots, limits and paths."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import linkwork as lw
from linkwork import joints
from linkwork.model.random_tree import random_tree
from linkwork.motion import Trajectory, profile, time_optimal
from linkwork.motion.timing.jerk_limited import JerkLimitedMotion, is_continuous
from linkwork.motion.timing.limits import LimitSet, PathSamples

POINTS = {"num_points": 50, "num_passes": 1}


SIXES = (  # joints of six coordinates together, so that one kernel serves all
    (joints.Revolute, joints.UnboundedRevolute, joints.Prismatic, joints.Helical, joints.Cylindrical),
    (joints.Universal,) * 3,
    (joints.Planar, joints.Translational),
    (joints.Spherical, joints.SphericalMRP),
    (joints.SphericalEuler, joints.Ellipsoid),
    (joints.Floating,),
    (joints.FloatingMRP,),
)


@cache
def _robot(types: tuple) -> lw.Robot:
    return lw.Robot(random_tree(np.random.default_rng(2), len(types), types=types))


def _waypoints(robot: lw.Robot, n: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Times, and configurations each near the one before."""
    rng = np.random.default_rng(5)
    q = [robot.random_configuration(seed=3)]
    for _ in range(n - 1):
        q.append(robot.integrate(q[-1], 0.3 * rng.normal(size=robot.nv)))
    return np.arange(n) * 0.7, np.array(q)


def _plain(seed: int, n: int = 2) -> Trajectory:
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.5, 1.5, 4))
    return lw.motion.spline(times, rng.uniform(-1.0, 1.0, (4, n)))


def _limits(rng: np.random.Generator, n: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    return -size * rng.uniform(0.3, 1.0, n), size * rng.uniform(0.3, 1.0, n)


def _consistent(trajectory: Trajectory, tolerance: float = 1e-5) -> None:
    """Each derivative is that of what is before it, by differences inside of pieces."""
    knots = trajectory.knots
    long = np.diff(knots) > 1e-3 * trajectory.duration
    middle, h = 0.5 * (knots[1:] + knots[:-1])[long], 1e-4 * np.diff(knots)[long]
    before, at, after = (trajectory(middle + x) for x in (-h, 0.0 * h, h))
    space = trajectory.sections[0].space
    for k, step in enumerate(h):
        moved = np.asarray(space.difference([*before.q[k]], [*after.q[k]]), dtype=float)
        size = 1.0 + np.abs(at.v[k]).max() + np.abs(at.a[k]).max()
        assert np.abs(moved / (2.0 * step) - at.v[k]).max() < tolerance * size
        assert np.abs((after.v[k] - before.v[k]) / (2.0 * step) - at.a[k]).max() < tolerance * size


@pytest.mark.slow(every=5)
def test_time_optimal_motions_of_every_joint_type_satisfy_limits(tmp_path):
    for types in SIXES:
        robot = _robot(types)
        times, q = _waypoints(robot)
        path = robot.spline(times, q, "hermite")
        v, a = (_limits(np.random.default_rng(1), robot.nv, x) for x in (1.0, 3.0))
        timed_path = time_optimal(path, velocity=v, acceleration=a, **POINTS)
        state = timed_path.trajectory(np.linspace(0.0, timed_path.duration, 2001))
        for x, (low, high) in ((state.v, v), (state.a, a)):
            assert (np.maximum(x - high, low - x) / np.maximum(-low, high)).max() < 1e-6, types
        ends = timed_path.trajectory(np.array([0.0, timed_path.duration]))
        assert np.abs(robot.difference(ends.q[1], q[-1])).max() < 1e-6 and np.abs(ends.v).max() < 1e-6
        _consistent(timed_path.trajectory, 1e-4)
        # a path that was timed already is the same path
        again = time_optimal(timed_path.trajectory, velocity=v, acceleration=a, **POINTS)
        assert again.t.tobytes() == timed_path.t.tobytes()
        timed_path.trajectory.save(tmp_path / "way.npz")
        assert Trajectory.load(tmp_path / "way.npz", robot=robot) == timed_path.trajectory


@pytest.mark.slow(every=5)
def test_time_optimal_motions_satisfy_random_limits():
    for seed in range(4):
        rng, path = np.random.default_rng(seed), _plain(seed)
        v, a, j = (_limits(rng, 2, x) for x in (1.0, 3.0, 30.0))
        if seed % 3 == 1:
            v[1][0], a[0][1], j[1][1] = np.inf, -np.inf, np.inf
        timed_path = time_optimal(path, velocity=v, acceleration=a, **POINTS)
        rounded = time_optimal(path, velocity=v, acceleration=a, jerk=j, num_points=200)
        for timed in (timed_path, rounded):
            for k, (low, high) in ((1, v), (2, a)):
                extremes = timed.trajectory.extremes(k)
                assert (extremes.lower >= low - 1e-6).all() and (extremes.upper <= high + 1e-6).all()
            _consistent(timed.trajectory)
        low, high = rounded.trajectory.extremes(3)
        assert (low >= j[0] - 1e-4).all() and (high <= j[1] + 1e-4).all()
        assert rounded.duration > time_optimal(path, velocity=v, acceleration=a, num_points=100).duration
        # backwards, with limits turned around
        how = {"velocity": (-v[1], -v[0]), "acceleration": a}
        fine = time_optimal(path, velocity=v, acceleration=a, num_points=200)
        back = time_optimal(path.reversed(), **how, num_points=200)
        assert abs(back.duration - fine.duration) < 5e-3 * fine.duration
        turned = time_optimal(path.reversed(), **how, jerk=(-j[1], -j[0]), num_points=200)
        assert abs(turned.duration - rounded.duration) < 1e-2 * rounded.duration
        # again, and wider limits
        assert (
            time_optimal(timed_path.trajectory, velocity=v, acceleration=a, **POINTS).t.tobytes()
            == timed_path.t.tobytes()
        )
        wider = {"velocity": (2.0 * v[0], 2.0 * v[1]), "acceleration": (4.0 * a[0], 4.0 * a[1])}
        assert (
            abs(2.0 * time_optimal(path, **wider, **POINTS).duration - timed_path.duration) < 1e-9 * timed_path.duration
        )
    # what may not move does not have to: limits without width
    rest_motion = Trajectory.polynomial([0.0, 1.0], [[[0.0, 1.0], [0.5, 0.0]]])
    how = {"velocity": [1.0, 0.0], "acceleration": [2.0, 0.0]}
    assert abs(time_optimal(rest_motion, **how).duration - 1.5) < 1e-2
    exact = profile([0.0], [1.0], velocity=1.0, acceleration=2.0, jerk=8.0).duration
    assert abs(time_optimal(rest_motion, **how, jerk=[8.0, 0.0], **POINTS).duration - exact) < 1e-2 * exact


@pytest.mark.slow(every=5)
def test_reversed_profiles_and_reversed_timings_have_the_same_duration():
    rng = np.random.default_rng(0)
    for _ in range(20):
        v, a, j = (_limits(rng, 1, x) for x in (1.0, 3.0, 20.0))
        q0, q1 = rng.uniform(-1.0, 1.0, (2, 1))
        ends = rng.uniform(0.9 * v[0], 0.9 * v[1], (2, 1))
        profile_there = profile(q0, q1, v0=ends[0], v1=ends[1], velocity=v, acceleration=a, jerk=j)
        # q(T − t): velocities change signs, accelerations change places, jerks both
        how = {"velocity": (-v[1], -v[0]), "acceleration": a, "jerk": (-j[1], -j[0])}
        back = profile(q1, q0, v0=-ends[1], v1=-ends[0], **how)
        assert abs(profile_there.duration - back.duration) < 1e-8 * max(profile_there.duration, 1.0)
        _consistent(profile_there)
    # velocities at their limits at both ends, and of no room at all
    profile_there = profile([0.0], [1.0], v0=[1.0], v1=[1.0], velocity=1.0, acceleration=2.0, jerk=8.0)
    assert abs(profile_there.duration - 1.0) < 1e-9
    line = Trajectory.polynomial([0.0, 1.0], [[[0.0, 1.0]]])
    at_limit = time_optimal(line, velocity=1.0, acceleration=2.0, start_speed=1.0, end_speed=1.0)
    assert abs(at_limit.duration - 1.0) < 1e-9


def _linear_program_duration(path: Trajectory, rates: np.ndarray, limits: tuple[float, float], count: int) -> float:
    """Duration of the fastest motion from rest to rest with constant s̈ on each of ``count`` equal segments.

    ``rates`` (count + 1,) are the largest ṡ by all limits of speed, and ``limits`` those of acceleration.  The largest
    feasible ṡ² at all ends of segments maximises their sum: a linear program.
    """
    s = np.linspace(path.start_time, path.end_time, count + 1)
    _, first, second = path(s)
    k, step = np.arange(count), s[1] - s[0]
    rows = []
    for end in (k, k + 1):
        for j in range(path.nv):
            slope, bend = scipy.sparse.diags(first[end, j] / (2.0 * step)), scipy.sparse.diags(second[end, j])
            along = scipy.sparse.eye(count, count + 1, 1) - scipy.sparse.eye(count, count + 1)
            rows.append(slope @ along + bend @ scipy.sparse.eye(count + 1, format="csr")[end])
    matrix = scipy.sparse.vstack(rows)
    bounds = np.concatenate([np.full(matrix.shape[0], limits[1]), np.full(matrix.shape[0], -limits[0])])
    caps = rates**2 * np.r_[0.0, np.ones(count - 1), 0.0]
    result = scipy.optimize.linprog(
        -np.ones(count + 1), scipy.sparse.vstack([matrix, -matrix]), bounds, bounds=np.stack([0.0 * caps, caps], axis=1)
    )
    speed = np.sqrt(np.maximum(result.x, 0.0))
    return float((2.0 * step / (speed[1:] + speed[:-1])).sum())


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("seed", [1, 0, 2, 6])
def test_motions_within_speed_limits_of_a_frame_are_as_fast_as_a_linear_program_allows(seed: int) -> None:
    """Motions with few segments, or with limits of jerk that hardly matter, are little slower."""
    robot = lw.load("double_pendulum" if seed == 6 else "arm6")
    path = robot.spline(np.arange(6.0), np.random.default_rng(seed).uniform(-1.0, 1.0, (6, robot.nq)))
    frame, count = robot.frames[-1], 1000
    q, v, _ = path(np.linspace(0.0, 5.0, count + 1))
    moves = np.linalg.norm(robot.twist(q, v, frame)[..., 3:], axis=-1)
    rates = np.minimum((robot.velocity_limits / np.abs(v)).min(axis=-1), 0.2 / moves)
    shortest = _linear_program_duration(path, rates, (-4.0, 4.0), count)
    for how, longest in ({}, 1.002), ({"num_points": 50}, 1.1), ({"num_points": 100}, 1.05), ({"jerk": 50.0}, 1.15):
        motion = time_optimal(path, acceleration=4.0, speed={frame: 0.2}, **how)
        assert 0.998 < motion.duration / shortest < longest, how
        q, v, _ = motion.trajectory(np.linspace(0.0, motion.duration, 5000))
        speeds = np.linalg.norm(robot.twist(q, v, frame)[..., 3:], axis=-1)
        assert speeds.max() < 0.2 * (1.0 + 2e-6)
        np.testing.assert_allclose(q[[0, -1]], path([0.0, 5.0]).q, atol=1e-9)


@pytest.mark.light
def test_speed_limits_of_frames_constrain_the_rates_of_their_origins_along_the_path() -> None:
    robot = lw.load("arm6")
    path = robot.spline(np.arange(3.0), np.random.default_rng(4).uniform(-1.0, 1.0, (3, robot.nq)))
    frames, s = robot.frames[-2:], np.linspace(0.0, 2.0, 9)
    for speed in ({}, {frames[1]: 0.2, frames[0]: 0.3}):
        limits = LimitSet.read("caller", path, robot, 3.0, 4.0, None, speed, ())
        constraints = limits.constraints("caller", PathSamples(*path(s)))
        if not speed:
            assert constraints.speeds is None and constraints.fastest is None
            continue
        q, v, _ = path(s)
        for k, name in enumerate(limits.speed_names):
            rates = np.linalg.norm(constraints.speeds[:, k], axis=-1)
            np.testing.assert_allclose(rates, np.linalg.norm(robot.twist(q, v, name)[:, 3:], axis=-1), rtol=1e-12)
            assert constraints.fastest[k] == speed[name]


def test_motions_between_stops_are_continuous_polynomials_of_increasing_time() -> None:
    t, c = np.array([0.0, 1.0, 3.0]), np.array([[0.0, 1.0, 0.0, 0.5], [1.5, 2.5, 0.0, 0.0]])
    motion = JerkLimitedMotion(np.array([0.0, 1.5, 6.5]), t, np.zeros(3), np.zeros(3), c, 2)
    assert is_continuous(motion)
    assert is_continuous(motion._replace(s=np.array([0.0, 1.5, 6.5 + 4e-9])))
    assert not is_continuous(motion._replace(s=np.array([0.0, 1.5, 6.5 + 9e-9])))
    assert not is_continuous(motion._replace(t=np.array([0.0, 1.0, 1.0]), s=np.array([0.0, 1.5, 1.5])))
    back = np.array([[0.0, 1.5, 0.0, 0.0], [1.5, -0.05, 0.0, 0.0]])
    assert not is_continuous(motion._replace(s=np.array([0.0, 1.5, 1.4]), coefficients=back))


def test_continuous_joints_rotate_in_the_shorter_direction_in_motions():
    robot = lw.Robot(random_tree(np.random.default_rng(0), 1, types=(joints.UnboundedRevolute,)))
    q0 = robot.random_configuration(seed=0)
    q1 = robot.integrate(q0, [3.0])
    q2 = robot.integrate(q1, [1.0])  # four ahead: less than a turn less than that back
    motion = robot.profile(q0, q2, velocity=1.0, acceleration=2.0, jerk=8.0)
    v = motion(np.linspace(0.0, motion.duration, 50)).v
    assert v.max() < 1e-9 and abs(motion.path_length() - (2.0 * np.pi - 4.0)) < 1e-6


def test_invalid_arguments_of_motions_are_refused():
    path = _plain(0)
    cases = [
        (lambda: lw.motion.spline([0.0, 1.0, 1.0], np.zeros((3, 2))), "increas"),
        (lambda: lw.motion.spline([0.0], np.zeros((1, 2))), "two|at least"),
        (lambda: lw.motion.spline([0.0, 1.0], [[0.0], [np.nan]]), "finite|NaN|nan"),
        (lambda: Trajectory.polynomial([0.0, np.nan], [[[0.0, 1.0]]]), "finite|increas|NaN|nan"),
        (lambda: time_optimal(path, velocity=[1.0, np.nan], acceleration=1.0), "got nan"),
        (lambda: time_optimal(path, acceleration=(0.5, 1.0)), "permits rest"),
        (lambda: time_optimal(path, acceleration=1.0, num_points=np.nan), "num_points: expected an integer"),
        (lambda: time_optimal(path, acceleration=1.0, num_passes=1.5), "num_passes: expected an integer"),
        (lambda: time_optimal(path, acceleration=1.0, tolerance=np.nan), "tolerance"),
        (lambda: time_optimal(path, acceleration=1.0, end_speed=np.inf), "end_speed: expected a number"),
    ]
    for call, text in cases:
        with pytest.raises(ValueError, match=text):
            call()
    # points that are repeated are stood at, or passed at once
    twice = lw.motion.spline([0.0, 1.0, 2.0, 3.0], [[0.0], [0.5], [0.5], [1.0]], "linear")
    timed_path = time_optimal(twice, velocity=1.0, acceleration=2.0, **POINTS)
    assert np.isfinite(timed_path.t).all() and abs(timed_path.trajectory(timed_path.duration).q[0] - 1.0) < 1e-9
    assert timed_path.duration < 2.2 * 1.0
