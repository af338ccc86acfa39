"""Profiles: limits at extremes of segments, durations compared with ruckig and linear programs, failures."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import polynomial as P

import linkwork as lw
from linkwork.errors import UnknownNameError
from linkwork.motion import profile
from linkwork.motion.algorithms.profiles.jerk_limited_profile import (
    Ends,
    JointBounds,
    displacement_and_rate,
    family_of,
    mirrored,
    phases,
)
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest, jerk_limited
from linkwork.motion.algorithms.profiles.trapezoidal_profile import trapezoid
from linkwork.motion.profiles.profile_kinds import KINDS, ProfileArrays, profile_kernel, with_slow_motions

LIMITS = {"velocity": 1.0, "acceleration": 2.0, "jerk": 8.0}


def random_requests(rng, count, n, jerks=(1.0, 1.0)):
    """Arrays (count, n) of states that are possible, a third of their numbers 0 or at a limit, and of limits."""
    results = []
    while len(results) < count * n:
        V, V_down, A, B = rng.uniform(0.3, 3.0, 4)
        up, down = rng.uniform(0.3, 10.0) * np.array(jerks)
        v, a = (
            [rng.choice([0.0, -low, high]) if rng.random() < 0.3 else rng.uniform(-low, high) for _ in range(2)]
            for low, high in ((V_down, V), (B, A))
        )
        turned = [0.5 * x * abs(x) / (down if x > 0 else up) for x in (a[0], -a[1])]
        if all(-V_down <= x + y <= V for x, y in zip(v, turned, strict=True)):
            distance = rng.choice([0.0, rng.uniform(-1.0, 1.0), rng.uniform(-0.05, 0.05), rng.uniform(-10.0, 10.0)])
            results.append([0.0, distance, *v, *a, V, V_down, A, B, up, down])
    return [np.ascontiguousarray(x) for x in np.moveaxis(np.array(results).reshape(count, n, 12), -1, 0)]


def request(q0, q1, v0, v1, a0, a1, V, V_down, A, B, up, down):
    return JointRequest(q0, q1, Ends(v0, a0, v1, a1), JointBounds(V, A, B, 1.0 / up, 1.0 / down), V_down)


def excess(times, c, arrays):
    """Return excesses of limits and the missed end of a coordinate, from roots of the derivatives."""
    _, q1, _, v1, _, a1, V, V_down, A, B, up, down = arrays
    worst = 0.0
    for k, row in enumerate(c):
        h = times[k + 1] - times[k]
        v, a, j = (P.polyder(row, order) for order in (1, 2, 3))
        inside = [-a[0] / j[0]] if len(a) > 1 and a[1] != 0.0 and 0.0 < -a[0] / a[1] < h else []
        for x, most, least, at in ((v, V, V_down, [0.0, h, *inside]), (a, A, B, [0.0, h]), (j, up, down, [0.0])):
            values = P.polyval(np.array(at), x)
            worst = max(worst, (values.max() - most) / most, (-least - values.min()) / least)
    end = [P.polyval(h, P.polyder(c[-1], order)) for order in range(3)]
    missed = max(abs(x - y) for x, y in zip(end, (q1, v1, a1), strict=True))
    return worst, missed


@pytest.mark.slow(every=3)
def test_jerk_limited_profiles_respect_limits_and_reach_their_goals():
    rng = np.random.default_rng(1)
    kernel = profile_kernel(KINDS["jerk"], 2, True, False)
    for jerks in ((1.0, 1.0), (1.0, 0.2), (3.0, 7.0)):
        arrays = random_requests(rng, 200, 2, jerks)
        outputs = kernel(*arrays, np.zeros(2))
        assert (outputs.status == 0).all()
        assert (outputs.durations[:, 0] == outputs.durations[:, 1]).all()
        assert (np.diff(outputs.times) >= 0.0).all() and (outputs.times[..., -1] == outputs.durations).all()
        for k in range(0, 200, 4):
            for i in range(2):
                worst, missed = excess(outputs.times[k, i], outputs.coefficients[k, i], [x[k, i] for x in arrays])
                assert worst < 1e-10 and missed < 1e-10
        single = jerk_limited([request(*(x[0, i] for x in arrays)) for i in range(2)])
        np.testing.assert_allclose(single.durations, outputs.durations[0], rtol=1e-14)
        np.testing.assert_allclose(np.array(single.coefficients)[..., :3], outputs.coefficients[0, ..., :3], atol=1e-9)


def test_jerk_limited_profiles_are_as_short_as_ruckigs():
    ruckig = pytest.importorskip("ruckig")
    rng = np.random.default_rng(2)
    for n, count in ((1, 1500), (2, 600)):
        arrays = random_requests(rng, count, n)
        ours = profile_kernel(KINDS["jerk"], n, True, False)(*arrays, np.zeros(n)).durations[:, 0]
        otg, trajectory, request_ = ruckig.Ruckig(n), ruckig.Trajectory(n), ruckig.InputParameter(n)
        for k in range(count):
            q0, q1, v0, v1, a0, a1, V, V_down, A, B, up, _ = (x[k].tolist() for x in arrays)
            request_.current_position, request_.current_velocity, request_.current_acceleration = q0, v0, a0
            request_.target_position, request_.target_velocity, request_.target_acceleration = q1, v1, a1
            request_.max_velocity, request_.min_velocity = V, [-x for x in V_down]
            request_.max_acceleration, request_.min_acceleration, request_.max_jerk = A, [-x for x in B], up
            if otg.calculate(request_, trajectory) == ruckig.Result.Working:
                is_at_goal = q0 == q1 and v0 == v1 and a0 == a1  # the goal is the start: that takes no time
                assert ours[k] <= trajectory.duration * (1.0 + 1e-9)
                assert is_at_goal or ours[k] >= trajectory.duration * (1.0 - 1e-9)


@pytest.mark.slow(every=5)
def test_extreme_displacements_of_profiles_of_a_duration_equal_linear_programs():
    """Jerks that are constant on a grid give no displacement beyond, and come near it."""
    linprog = pytest.importorskip("scipy.optimize").linprog
    rng = np.random.default_rng(3)
    N, checked = 100, 0
    for row in np.stack(random_requests(rng, 16, 1, (1.0, 0.6)), axis=-1)[:, 0]:
        joint = request(*row)
        V, A, B, up, down = joint.limits
        T = jerk_limited([joint]).durations[0] * rng.uniform(1.02, 1.6)
        if T < 0.05:
            continue
        h = T / N
        steps = np.tril(np.ones((N, N)))
        a_rows = h * steps
        lag = (np.arange(N)[:, None] - np.arange(N)[None, :] + 0.5) * steps
        v_rows = h * h * lag
        t = h * np.arange(1, N + 1)
        v_free, a_free = joint.ends.v0 + joint.ends.a0 * t, np.full(N, joint.ends.a0)
        left = N - np.arange(N) - 0.5
        displacement = h**3 * (0.5 * left**2 + 1.0 / 24.0)
        results = []
        for sense in (-1.0, 1.0):
            answer = linprog(
                sense * displacement,
                A_ub=np.vstack([a_rows, -a_rows, v_rows, -v_rows]),
                b_ub=np.concatenate([A - a_free, B + a_free, V - v_free, joint.V_down + v_free]) + 1e-9,
                A_eq=np.vstack([a_rows[-1], v_rows[-1]]),
                b_eq=[joint.ends.a1 - a_free[-1], joint.ends.v1 - v_free[-1]],
                bounds=(-1.0 / down, 1.0 / up),
            )
            free = joint.ends.v0 * T + 0.5 * joint.ends.a0 * T * T
            results.append(None if answer.status else free + sense * answer.fun)
        if None in results:  # in a gap between durations, or too near its end for the grid
            continue
        far = family_of(joint.ends, joint.limits)
        near = family_of(*mirrored(joint.ends, joint.limits, joint.V_down))
        most, least = (displacement_and_rate(f, phases(f, T))[0] for f in (far, near))
        size = 1e-6 * (1.0 + T * T)
        assert results[0] <= most + size and results[1] >= -least - size
        room = 0.03 * (most + least) + 0.02 * T * (V + joint.V_down) / N
        assert results[0] >= most - room and results[1] <= -least + room
        checked += 1
    assert checked > 6


def test_reversed_and_mirrored_profiles_have_the_same_duration():
    rng = np.random.default_rng(4)
    kernel = profile_kernel(KINDS["jerk"], 2, True, False)
    q0, q1, v0, v1, a0, a1, V, Vd, A, B, up, down = random_requests(rng, 300, 2, (1.0, 0.5))
    least = np.zeros(2)
    forth = kernel(q0, q1, v0, v1, a0, a1, V, Vd, A, B, up, down, least).durations
    back = kernel(q1, q0, -v1, -v0, a1, a0, Vd, V, A, B, down, up, least).durations
    mirror = kernel(-q0, -q1, -v0, -v1, -a0, -a1, Vd, V, B, A, down, up, least).durations
    np.testing.assert_allclose(back, forth, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(mirror, forth, rtol=1e-11, atol=1e-12)


def test_profiles_are_accurate_in_units_of_any_scale():
    for scale in (1e-9, 1e-4, 1e4, 1e9):
        for time in (1e-6, 1.0, 1e6):
            v, a, j = scale / time, scale / time**2, scale / time**3
            plain = lw.motion.profile([0.0], [1.0], v0=[0.3], a1=[0.5], **LIMITS)
            curve = lw.motion.profile(
                [0.0], [scale], v0=0.3 * v, a1=0.5 * a, velocity=v, acceleration=2.0 * a, jerk=8.0 * j
            )
            assert abs(curve.duration / (plain.duration * time) - 1.0) < 1e-12
            assert abs(curve(curve.duration).q[0] / scale - 1.0) < 1e-12
    slow = lw.motion.profile([0.0], [1e9], velocity=1e-9, acceleration=1e9, jerk=1e9)
    assert abs(slow.duration / 1e18 - 1.0) < 1e-12 and abs(slow(slow.duration).q[0] / 1e9 - 1.0) < 1e-12
    endless = lw.motion.profile([0.0], [1.0], acceleration=1e300, jerk=32.0)
    assert abs(endless.duration - 1.0) < 1e-12


def test_profiles_with_infinite_limits_equal_profiles_with_limits_never_reached():
    """Limits of velocity and acceleration, between random states."""
    rng = np.random.default_rng(4)
    q1, v0, v1, a0, a1 = rng.normal(size=(5, 4000, 1))
    few = rng.random((4, 4000, 1)) < 0.5
    kernel, jerk, zero = profile_kernel(KINDS["jerk"], 1, True, False), np.full((4000, 1), 2.0), 0.0 * q1
    results = []
    for v, a in ((1e6, 1e4), (1e60, 1e60)):
        limits = [
            np.where(few[k], large, free_limit)
            for k, large, free_limit in ((0, v, 6.0), (1, v, 6.0), (2, a, 5.0), (3, a, 5.0))
        ]
        results.append(kernel(zero, q1, v0, v1, a0, a1, *limits, jerk, jerk, np.zeros(1)))
    assert np.array_equal(results[0].status, results[1].status) and (results[0].status == 0).mean() > 0.99
    np.testing.assert_allclose(results[1].durations, results[0].durations, rtol=1e-12)
    motion = lw.motion.profile(0.0, 1.0, acceleration=np.inf, jerk=32.0)
    assert abs(motion.duration - 1.0) < 1e-12


def test_joint_with_spare_time_in_a_synchronised_profile_makes_no_detour():
    motion = lw.motion.profile([0.0, 0.0, 1.0], [1.0, 0.1, 1.0], velocity=1.0, acceleration=(-2.0, 1.0), jerk=8.0)
    low, high = motion.extremes(0)
    assert (low >= [-1e-12, -1e-12, 1.0 - 1e-12]).all() and (high <= [1.0 + 1e-12, 0.1 + 1e-12, 1.0 + 1e-12]).all()
    long = lw.motion.profile([0.0], [1.0], duration=7.0, **LIMITS)
    assert long.duration == 7.0 and long.extremes(1).upper[0] < 0.3
    for kind in ("trapezoid", "quintic"):
        assert abs(lw.motion.profile([0.0], [1.0], kind=kind, duration=7.0, **LIMITS).duration - 7.0) < 1e-12


def test_phase_synchronised_profiles_follow_a_straight_line():
    q0, q1 = np.array([0.0, 1.0, 0.3]), np.array([1.0, 0.5, 0.3])
    for kind in ("jerk", "trapezoid", "quintic"):
        options = {"kind": kind, "synchronize": "phase", **LIMITS, "velocity": [1.0, 0.1, 1.0]}
        motion = lw.motion.profile(q0, q1, v0=0.1 * (q1 - q0), **options)
        _, state = motion.sampled(num_samples=50)
        np.testing.assert_allclose(state.q - q0, state.q[:, :1] * (q1 - q0), atol=1e-13)
        assert motion.extremes(1).lower[1] >= -0.1 * (1.0 + 1e-12)
        with pytest.raises(ValueError, match=r"v1 of coordinate 1 is .*, but along the straight line"):
            lw.motion.profile(q0, q1, v1=[0.1, 0.1, 0.0], **options)


def test_trapezoidal_profiles_equal_jerk_limited_profiles_with_very_large_jerk():
    rng = np.random.default_rng(6)
    for row in np.stack(random_requests(rng, 60, 2), axis=-1):
        joints = [request(*x) for x in row]
        joints = [x._replace(ends=x.ends._replace(a0=0.0, a1=0.0)) for x in joints]
        sharp = [x._replace(limits=x.limits._replace(up=1e-7, down=1e-7)) for x in joints]
        result, near = trapezoid(joints), jerk_limited(sharp)
        assert result.status == near.status == 0
        assert abs(result.durations[0] - near.durations[0]) < 1e-4
        for x, times, c in zip(joints, result.times, result.coefficients, strict=True):
            arrays = (x.q0, x.q1, x.ends.v0, x.ends.v1, 0.0, 2.0 * c[-1][2])
            limits = (x.limits.V, x.V_down, x.limits.A, x.limits.B, 1.0, 1.0)
            worst, missed = excess(times, c, (*arrays, *limits))
            assert worst < 1e-10 and missed < 1e-10


@pytest.mark.slow(every=5)
def test_minimum_jerk_profiles_are_the_shortest_within_the_limits():
    motion = lw.motion.profile([0.0], [2.0], kind="minimum_jerk", **LIMITS)
    expected = max(15.0 / 8.0 * 2.0, (10.0 / 3.0**0.5 * 2.0 / 2.0) ** 0.5, (60.0 * 2.0 / 8.0) ** (1.0 / 3.0))
    assert abs(motion.duration - expected) < 1e-9
    s = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(
        motion(s * motion.duration).q[:, 0], 2.0 * (10 * s**3 - 15 * s**4 + 6 * s**5), atol=1e-12
    )
    rng = np.random.default_rng(7)
    kernel = profile_kernel(KINDS["quintic"], 1, True, False)
    arrays = random_requests(rng, 200, 1, (1.0, 0.6))
    arrays[2:6] = [0.4 * x for x in arrays[2:6]]
    outputs = kernel(*arrays, np.zeros(1))
    solved = 0
    for k in np.flatnonzero(outputs.status == 0):
        T, values = outputs.durations[k, 0], [x[k, 0] for x in arrays]
        c = outputs.coefficients[k, 0, 0]
        tight = []
        for stretch, room in ((1.0, 1e-9), (0.9999, 0.0)):
            again = kernel_of(values, T * stretch) if stretch < 1.0 else c
            if T > 0.0:
                tight.append(satisfies(again, T * stretch, values[6:], room))
        assert not tight or tight[0]
        solved += len(tight)
    assert solved > 100
    tried = lw.motion.profile([0.0], [1.0], v0=[0.4], kind="quintic", **LIMITS)
    with pytest.raises(ValueError, match="violates the limits"):
        lw.motion.profile([0.0], [1.0], v0=[0.4], kind="quintic", duration=tried.duration * (1.0 - 1e-6), **LIMITS)


def kernel_of(values, T):
    """The quintic between two states, from its six equations."""
    rows = [P.polyder(np.eye(6), order, axis=1) for order in range(3)]
    at = [[P.polyval(t, np.pad(row, (0, 1))) for row in der] for t in (0.0, T) for der in rows]
    q0, q1, v0, v1, a0, a1 = values[:6]
    return np.linalg.solve(np.array(at), [q0, v0, a0, q1, v1, a1])


def satisfies(c, T, limits, room):
    """Return True if a polynomial's derivatives are within limits over [0, T], by NumPy's roots."""
    for order, (up, down) in enumerate(zip(limits[::2], limits[1::2], strict=True), start=1):
        der = P.polyder(c, order)
        roots = [x.real for x in P.polyroots(P.polyder(der)) if abs(x.imag) < 1e-7 and 0.0 < x.real < T]
        values = P.polyval(np.array([0.0, T, *roots]), der)
        if values.max() > up * (1.0 + room) or values.min() < -down * (1.0 + room):
            return False
    return True


def test_profile_function_evaluates_batches_of_motions():
    rng = np.random.default_rng(8)
    fast = lw.motion.ProfileFunction(2, **LIMITS)
    goals = rng.uniform(-1.0, 1.0, (5, 3, 2))
    result = fast(np.zeros(2), goals, v0=[0.1, -0.2])
    assert result.durations.shape == (5, 3, 2) and (result.status == 0).all()
    single = lw.motion.profile([0.0, 0.0], goals[2, 1], v0=[0.1, -0.2], **LIMITS)
    assert single.duration == result.durations[2, 1, 0]
    assert fast(np.zeros(2), [1.0, np.nan]).status == 1.0 and fast(np.zeros(2), [1.0, 1.0], [3.0, 0.0]).status == 1.0
    alone = lw.motion.ProfileFunction(2, synchronize=None, **LIMITS)(np.zeros(2), goals).durations
    assert (alone.max(axis=-1) <= fast(np.zeros(2), goals).durations[..., 0] * (1.0 + 1e-12)).all()


@pytest.mark.parametrize(
    ("options_value", "reason"),
    [
        ({"velocity": None, "acceleration": None}, "needs limits of acceleration; pass acceleration="),
        ({"jerk": None}, 'kind="jerk" needs limits of jerk'),
        ({"jerk": np.inf}, 'needs a limit, got none; kind="trapezoid" has no limit of jerk'),
        ({"v0": 2.0}, r"v of coordinate 0 at the start is 2, outside its limits of velocity, \[-1, 1\]"),
        ({"a1": -2.5}, "a of coordinate 0 at the goal is -2.5, outside"),
        ({"v0": 0.9, "a0": 1.9}, "its velocity after the start reaches 1.12563"),
        ({"v1": 0.9, "a1": -1.9}, "its velocity before the goal reaches 1.12563"),
        ({"q1": np.nan}, "q1: expected finite numbers, got nan"),
        ({"q1": [1.0, 2.0], "v0": [0.0, 0.0, 0.0]}, r"v0: expected a number or an array of shape \(2,\)"),
        ({"q1": [[1.0]]}, "ProfileFunction takes batches"),
        ({"velocity": -1.0}, "velocity of coordinate 0: expected a limit >= 0, which permits rest, got -1"),
        ({"velocity": (0.5, 1.0)}, "expected a lower limit <= 0, which permits rest, got 0.5"),
        ({"acceleration": np.nan}, "got nan"),
        ({"velocity": 0.0}, "coordinate 0 must move from 0 to 1, but one of its limits is 0"),
        ({"velocity": (-1.0, 0.0)}, "must move by 1, but its limit of velocity in this direction is 0"),
        ({"acceleration": (-1.0, 0.0)}, "expected positive limits in both directions"),
        ({"duration": 0.1}, "no profile within the limits takes 0.1 s; the next longer profile takes 1.75"),
        ({"duration": 0.0}, r"duration: expected a finite number > 0 \[s\]"),
        ({"kind": "quintic", "velocity": None, "acceleration": None, "jerk": None}, "needs a duration or limits"),
        ({"q1": [1.0, 0.1], "v1": 0.1, "synchronize": None}, "coordinate 1 reaches its goal"),
    ],
)
def test_infeasible_profiles_state_the_reason(options_value, reason):
    options = {"q0": 0.0, "q1": 1.0, **LIMITS} | options_value
    with pytest.raises(ValueError, match=reason):
        lw.motion.profile(options.pop("q0"), options.pop("q1"), **options)


def test_unknown_names_and_immovable_joints_in_profiles_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'jerk'"):
        lw.motion.profile(0.0, 1.0, kind="jerks", **LIMITS)
    with pytest.raises(UnknownNameError, match="did you mean 'phase'"):
        lw.motion.profile(0.0, 1.0, synchronize="phases", **LIMITS)
    motion = lw.motion.profile([0.0, 0.4], [1.0, 0.4], velocity=[1.0, 0.0], acceleration=2.0, jerk=8.0)
    assert motion.duration == 1.75 and motion(0.7).q[1] == 0.4
    rest_motion = lw.motion.profile([0.5], [0.5], **LIMITS)
    assert rest_motion.duration == 0.0 and rest_motion(0.0).q.tolist() == [0.5]


def test_profiles_with_durations_far_beyond_the_shortest_are_accurate():
    """Rounding of times does not grow into displacements: at rest, and with velocities at both ends."""
    limits = {"velocity": 1.0, "acceleration": 2.0, "jerk": 8.0}
    ends = ({}, {"v0": 0.5}, {"v0": 0.5, "v1": -0.3})
    for state in ends:
        for kind in ("jerk", "trapezoid"):
            for duration in (1e3, 1e5, 1e7):
                kind_limits = (
                    limits if kind == "jerk" else {name: limits[name] for name in ("velocity", "acceleration")}
                )
                motion = profile(0.0, 1.0, kind=kind, duration=duration, **state, **kind_limits)
                begin, end = motion([0.0, duration]).v[:, 0]
                assert motion.duration == duration and abs(motion(duration).q[0] - 1.0) < 1e-8
                assert abs(begin - state.get("v0", 0.0)) < 1e-9 and abs(end - state.get("v1", 0.0)) < 1e-9
                assert motion.satisfies_limits(tolerance=1e-9, **kind_limits)
    # beside a coordinate that takes so long
    motion = profile([0.0, 0.0], [1e5, 1.0], **limits)
    assert (
        np.abs(motion(motion.duration).q - [1e5, 1.0]).max() < 1e-9 * 1e5
        and abs(motion(motion.duration).q[1] - 1.0) < 1e-9
    )


def test_symbols_and_wrong_shapes_in_profiles_are_refused():
    limits = {"velocity": 1.0, "acceleration": 2.0, "jerk": 8.0}
    for function in (
        lambda q1: profile(np.zeros(2), q1, **limits)(0.5).q,
        lambda q1: lw.load("double_pendulum").profile(np.zeros(2), q1, **limits)(0.5).q,
    ):
        with pytest.raises(TypeError, match=r"q1: expected numbers, got symbols.* linkwork\.motion\.ProfileFunction"):
            lw.compile(function, q1=(2,))
    fast = lw.motion.ProfileFunction(2, **limits)
    kernel = lw.compile(lambda q1: fast(np.zeros(2), q1).durations, q1=(2,))
    assert np.array_equal(kernel(np.ones(2)), fast(np.zeros(2), np.ones(2)).durations)
    with pytest.raises(ValueError, match=r"q1: expected an array of shape \(\.\.\., 2\), got shape \(3,\)"):
        fast(np.zeros(2), np.ones(3))


def test_profiles_with_very_short_phases_reach_the_goal():
    """Limits of jerk so high, or durations so long, that a phase has few digits in its end time."""
    fast = {"velocity": 0.7, "acceleration": 5.0}
    slow = {"velocity": 10.0, "acceleration": 0.01}
    for jerk in 10.0 ** np.arange(3, 18, 2):
        for q1, state, limits in (
            (1.1, {}, fast),
            (70.0, {}, fast),
            (1.1, {"v0": 0.3, "v1": -0.2, "duration": 5.0}, fast),
            (1.1, {"v0": 0.3, "v1": 0.2, "a0": 1.0, "a1": -2.0}, fast),
            (1.0, {"v0": 5.0, "v1": 6.0}, slow),
            (-3.0, {"v0": 5.0, "v1": 6.0}, slow),
        ):
            curve = profile(0.0, q1, **state, **limits, jerk=jerk)
            end, v = curve(curve.end_time), curve.extremes(1)
            distance = float(np.abs(curve(np.linspace(0.0, curve.end_time, 200)).v).mean()) * curve.duration
            assert abs(end.q[0] - q1) < 1e-13 * max(distance, 1.0), (jerk, q1, state)
            room = (
                1e-12 * limits["acceleration"] * curve.duration
            )  # of pieces so short that trajectories leave them out
            assert abs(end.v[0] - state.get("v1", 0.0)) < 1e-13 + room
            assert np.abs([*v.lower, *v.upper]).max() < limits["velocity"] * (1.0 + 1e-12) + room
    for acceleration in 10.0 ** np.arange(3, 16, 3):
        curve = profile(0.0, 1.1, kind="trapezoid", velocity=0.7, acceleration=acceleration)
        assert abs(curve(curve.end_time).q[0] - 1.1) < 1e-15


def test_profile_errors_report_a_joint_that_cannot_stop_in_time_without_moving_back():
    for sense in (1.0, -1.0):
        velocity = (0.0, 1.0) if sense > 0.0 else (-1.0, 0.0)
        options = {"v0": sense * 0.09, "a0": sense * -0.29, "velocity": velocity, "acceleration": 1.5, "jerk": 0.5}
        with pytest.raises(ValueError, match=r"must move by -?0.0098, but from .* it needs -?0.0180151 to stop within"):
            profile(0.0, sense * 0.0098, **options)
        assert profile(0.0, sense * 0.01802, **options).duration > 0.0
    with pytest.raises(ValueError, match=r"it needs 0.0833333 to stop .* do not permit it to move back"):
        profile(0.0, 0.01, v0=0.5, velocity=(0.0, 1.0), acceleration=1.5, kind="trapezoid")


def test_profile_that_misses_its_goal_raises_an_error():
    values = ProfileArrays(np.array([1.0]), np.array([[0.0, 1.0]]), np.array([[[0.0, 1.0, 0.0, 0.0]]]), 0)
    states = tuple(np.array([x]) for x in (0.0, 2.0, 1.0, 1.0, 0.0, 0.0))
    limits = {"velocity": 1.0, "acceleration": 1.0, "jerk": 1.0}

    def alone(k, state):
        q0, q1, v0, v1, a0, a1 = state
        return lw.motion.ProfileFunction(1, **limits)([q0], [q1], [v0], [v1], [a0], [a1])

    with pytest.raises(ValueError, match=r"lift misses its goal by 1 in 1 s"):
        with_slow_motions(values, states, alone, ["lift"])


def test_profiles_reach_their_goals_or_are_refused() -> None:
    """Over many decades of limits: where 16 digits do not suffice, an error is raised."""
    profile, rng, result = lw.motion.profile, np.random.default_rng(11), 0
    hard = (1213.525731246898, 0.0016170819577518058, 39961.07316540337, 319693072759.0933)
    drawn = 10.0 ** rng.uniform((-4.0, -3.0, -3.0, -3.0), (4.0, 3.0, 5.0, 15.0), (300, 4))
    for distance, velocity, acceleration, jerk in (hard, *drawn.tolist()):
        try:
            motion = profile(0.0, distance, velocity=velocity, acceleration=acceleration, jerk=jerk)
        except ValueError:
            continue  # "off its goal"
        result += 1
        end = motion(motion.duration)
        assert abs(end.q[0] - distance) < 2e-9 * (1.0 + distance)
    assert result > 295


@pytest.mark.slow(every=5)
def test_minimum_jerk_durations_equal_the_closed_form_of_peak_values() -> None:
    """Peaks of v, a and jerk from rest to rest: 1.875 d/T, 10/√3 d/T² and 60 d/T³; over 18 decades."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        d, names = 10.0 ** rng.uniform(-9.0, 9.0), rng.choice(["velocity", "acceleration", "jerk"], rng.integers(1, 4))
        limits = {name: 10.0 ** rng.uniform(-9.0, 9.0) for name in sorted(set(names.tolist()))}
        powers = {"velocity": (1.875, 1), "acceleration": (10.0 / np.sqrt(3.0), 2), "jerk": (60.0, 3)}
        right = max((powers[name][0] * d / x) ** (1.0 / powers[name][1]) for name, x in limits.items())
        assert lw.motion.profile(0.0, d, kind="minimum_jerk", **limits).duration == pytest.approx(right, rel=1e-12)
    rest_motion = lw.motion.profile(1.0, 1.0, kind="minimum_jerk", acceleration=2.0)
    assert np.array_equal(rest_motion([rest_motion.start_time, rest_motion.end_time]).q, [[1.0], [1.0]])


def test_errors_of_minimum_jerk_profiles_state_the_durations_searched() -> None:
    with pytest.raises(ValueError, match="was found within the limits, by durations 1 % apart"):
        lw.motion.profile(0.0, 0.0, v0=1.0, v1=1.0, a0=0.3, kind="minimum_jerk", velocity=1.0, acceleration=0.3)


@pytest.mark.parametrize("kind", ["trapezoid", "jerk"])
def test_coordinates_of_profiles_that_are_not_synchronized_rest_at_their_goals(kind: str) -> None:
    goals, limits = np.array([1.0, 0.1, 5.0]), {"velocity": 1.0, "acceleration": 1.0}
    limits |= {"jerk": 5.0} if kind == "jerk" else {}
    motion = lw.motion.profile([0.0, 0.4, 5.0], goals, kind=kind, synchronize=None, **limits)
    alone = [lw.motion.profile(a, b, kind=kind, **limits).duration for a, b in ((0.0, 1.0), (0.4, 0.1))]
    assert motion.duration == pytest.approx(alone[0], rel=1e-14) and alone[1] < 0.6 * alone[0]
    t = np.linspace(alone[1] * (1.0 + 1e-12), motion.duration, 5)
    q, v, a = motion(t)
    np.testing.assert_allclose(q[:, 1:], np.broadcast_to(goals[1:], (5, 2)), rtol=0.0, atol=1e-14)
    assert not v[:, 1:].any() and not a[:, 1:].any()
    np.testing.assert_allclose(motion(motion.duration).q, goals, rtol=0.0, atol=1e-14)
