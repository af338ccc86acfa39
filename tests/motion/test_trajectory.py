"""Trajectories: their values, derived trajectories, files; on every joint type."""

import pickle
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.model.random_tree import random_tree
from linkwork.motion import Trajectory
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.arguments import times_within
from linkwork.motion.trajectory.piecewise_evaluation import segment_indices
from linkwork.motion.trajectory.trajectory_construction import through_states

TIMES = np.array([0.0, 0.7, 1.5, 2.0, 3.1])
INSIDE = np.array([0.3, 0.9, 1.7, 2.6])


FEW_TYPES = (joints.Floating, joints.UnboundedRevolute, joints.Revolute)


@cache
def robot_of(types):
    return lw.Robot(random_tree(np.random.default_rng(1), len(types), types=types))


@cache
def states(types):
    robot, rng = robot_of(types), np.random.default_rng(0)
    q = [robot.random_configuration(seed=0)]
    for _ in TIMES[1:]:
        q.append(robot.integrate(q[-1], 0.8 * rng.normal(size=robot.nv)))
    return np.array(q), rng.normal(size=(len(TIMES), robot.nv)), rng.normal(size=(len(TIMES), robot.nv))


@cache
def through(types):
    """Polynomials of degree five through states, on a robot with these types of joints."""
    robot = robot_of(types)
    return Trajectory([through_states(CurveSpace.of(robot.tree), TIMES, *states(types))], robot)


def apart(curve_a, curve_b, t):
    """Return the largest difference of two trajectories at times."""
    robot = curve_a.robot
    a, b = curve_a(t), curve_b(t)
    gap = robot.difference(a.q, b.q) if robot is not None else b.q - a.q
    return max(np.abs(x).max() for x in (gap, a.v - b.v, a.a - b.a))


def test_trajectories_have_the_prescribed_states_just_before_and_at_knots():
    robot, curve = robot_of(joints.ALL), through(joints.ALL)
    q, v, a = states(joints.ALL)
    for shift, tolerance in ((0.0, 1e-12), (-1e-10, 1e-6)):
        result = curve(np.maximum(TIMES + shift, 0.0))
        assert np.abs(robot.difference(result.q, q)).max() < tolerance
        assert np.abs(result.v - v).max() < tolerance and np.abs(result.a - a).max() < tolerance


@pytest.mark.slow(every=5)
def test_velocity_acceleration_and_jerk_are_derivatives_of_a_trajectorys_configuration():
    robot, curve, h = robot_of(joints.ALL), through(joints.ALL), 1e-3
    result, jerk = curve(INSIDE), curve.jerk(INSIDE)

    def difference(of):  # of fourth order: the error is h⁴ times a fifth derivative
        difference_h, two = of(h), of(2.0 * h)
        return (8.0 * difference_h - two) / (12.0 * h)

    v = difference(
        lambda h: robot.difference(result.q, curve(INSIDE + h).q) - robot.difference(result.q, curve(INSIDE - h).q)
    )
    a = difference(lambda h: curve(INSIDE + h).v - curve(INSIDE - h).v)
    j = difference(lambda h: curve(INSIDE + h).a - curve(INSIDE - h).a)
    for expected, computed in ((v, result.v), (a, result.a), (j, jerk)):
        assert np.abs(expected - computed).max() < 1e-7 * np.abs(computed).max()


def test_evaluating_a_trajectory_at_many_times_equals_single_times_exactly():
    curve = through(FEW_TYPES)
    many, grid = curve(INSIDE), curve(INSIDE.reshape(2, 2))
    for k, t in enumerate(INSIDE):
        for single, all_of_it in zip(curve(t), many, strict=True):
            assert np.array_equal(single, all_of_it[k])
    assert np.array_equal(grid.q, many.q.reshape(2, 2, -1))
    dense = curve(np.repeat(INSIDE, 50))
    assert np.array_equal(dense.a[::50], many.a)


def test_trajectories_can_be_reversed_scaled_cut_and_joined():
    curve = through(FEW_TYPES)
    back = curve.reversed()
    forward, backward = curve(3.1 - INSIDE), back(INSIDE)
    assert np.allclose(backward.q, forward.q, atol=1e-12) and np.allclose(backward.v, -forward.v, atol=1e-12)
    assert np.allclose(backward.a, forward.a, atol=1e-11)
    assert np.allclose(back.jerk(INSIDE), -curve.jerk(3.1 - INSIDE), atol=1e-9)
    assert apart(back.reversed(), curve, INSIDE) < 1e-10
    slow = curve.retimed(2.0)
    assert np.allclose(slow(2.0 * INSIDE).v, 0.5 * curve(INSIDE).v) and np.allclose(slow.knots, 2.0 * curve.knots)
    assert apart(slow.retimed(0.5), curve, INSIDE) < 1e-10
    first, second = curve.slice(0.0, 1.2), curve.slice(1.2, 3.1)
    again = first.concatenate(second)
    assert all(map(np.array_equal, again(INSIDE), curve(INSIDE))) and again.end_time == curve.end_time
    assert apart(again.shifted(5.0).shifted(0.0), curve, INSIDE) < 1e-10
    with pytest.raises(ValueError, match="jumps by"):
        first.concatenate(first)
    assert first.concatenate(first, allow_jump=True).duration == 2.4


def test_retimed_trajectories_pass_through_the_knots_at_the_new_times():
    robot, curve = robot_of(FEW_TYPES), through(FEW_TYPES)
    assert curve.retimed(curve.knots) is curve
    new = np.array([0.0, 1.0, 1.2, 3.0, 4.0])
    retimed = curve.retimed(new)
    assert np.allclose(retimed.knots, new, atol=1e-12)
    assert np.abs(robot.difference(retimed(new).q, states(FEW_TYPES)[0])).max() < 1e-12
    before, after = retimed(new[1:-1] - 1e-9), retimed(new[1:-1] + 1e-9)
    assert np.abs(before.v - after.v).max() < 1e-6  # v has no jump
    third = retimed.retimed([0.0, 0.5, 1.2, 4.0, 5.0])
    assert np.abs(robot.difference(third([0.5, 1.2, 4.0]).q, states(FEW_TYPES)[0][1:-1])).max() < 1e-10
    assert apart(retimed.reversed().reversed(), retimed, np.array([0.2, 1.1, 2.0, 3.9])) < 1e-9


def test_trajectories_can_be_saved_and_loaded(tmp_path):
    robot, curve = robot_of(FEW_TYPES), through(FEW_TYPES)
    whole = curve.concatenate(curve.reversed().retimed([0.0, 1.0, 1.5, 2.5, 5.0]), allow_jump=True)
    whole.save(tmp_path / "it.npz")
    loaded = Trajectory.load(tmp_path / "it.npz", robot=robot)
    assert loaded == whole and hash(loaded) == hash(whole)
    t = np.linspace(0.0, whole.end_time, 50)
    assert all(np.array_equal(x, y) for x, y in zip(loaded(t), whole(t), strict=True))
    assert pickle.loads(pickle.dumps(whole)) == whole
    curve.save(tmp_path / "it.csv")
    assert apart(Trajectory.load(tmp_path / "it.csv", robot=robot), curve, INSIDE) < 1e-9
    with pytest.raises(ValueError, match="robot="):
        Trajectory.load(tmp_path / "it.npz")
    with pytest.raises(ValueError, match=r"q_names|nq"):
        Trajectory.load(tmp_path / "it.npz", robot=lw.load("arm7"))
    (tmp_path / "no.npz").write_bytes(b"no")
    (tmp_path / "no.csv").write_text("t,q:0,v:0,a:0\n0,1,2\n")
    for name in ("no.npz", "no.csv", "it.txt"):
        with pytest.raises(ValueError, match=r"expected|not a file"):
            Trajectory.load(tmp_path / name)


def by_coordinate():
    return Trajectory.by_coordinate(
        [[0.0, 1.0, 2.0], [0.0, 0.5, 1.5, 2.0]],
        [
            [[0.0, 1.0, 1.0], [2.0, 3.0, 0.0]],
            [[0.0, 0.0, 0.0, 1.0], [0.125, 0.75, 1.5, -1.0], [1.375, 0.75, -1.5, 0.0]],
        ],
    )


def test_each_coordinate_of_a_trajectory_may_have_its_own_polynomials():
    curve = by_coordinate()
    assert curve.knots.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    t = np.array([0.25, 0.75, 1.25, 1.75])
    result = curve(t)
    assert np.allclose(result.q[:, 0], np.where(t < 1.0, t + t * t, 2.0 + 3.0 * (t - 1.0)))
    assert np.allclose(
        result.q[:, 1], [t[0] ** 3, *(0.125 + 0.75 * u + 1.5 * u**2 - u**3 for u in t[1:3] - 0.5), 1.46875]
    )
    assert np.allclose(result.v[:, 0], [1.5, 2.5, 3.0, 3.0]) and np.allclose(result.a[:, 1], [1.5, 1.5, -1.5, -3.0])
    singles = [curve(x).q for x in t]
    assert np.array_equal(singles, result.q)
    assert np.array_equal(curve(np.repeat(t, 9)).q[::9], result.q)


def test_extremes_of_trajectories_are_exact_bounds():
    rng = np.random.default_rng(3)
    c = rng.normal(size=(3, 4, 6))
    c[:, 2, 1:] = 0.0  # a coordinate that rests
    curve = Trajectory.polynomial([0.0, 0.5, 2.0, 3.0], c)
    curves = (
        curve,
        by_coordinate(),
        curve.retimed([0.0, 1.0, 1.5, 4.0]).concatenate(curve.reversed(), allow_jump=True),
    )
    for variant in curves:
        t, state = variant.sampled(num_samples=20001)
        for order, values in enumerate((*state, variant.jerk(t))):
            result = variant.extremes(order)
            room = 1e-9 * np.abs(values).max()
            assert (values.min(axis=0) >= result.lower - room).all() and (
                values.max(axis=0) <= result.upper + room
            ).all()
            if order < 2 or variant is curve:  # where there are no jumps that samples miss
                tight = 1e-3 * np.ptp(values, axis=0) + room
                assert (values.min(axis=0) <= result.lower + tight).all()
                assert (values.max(axis=0) >= result.upper - tight).all()


@pytest.mark.slow(every=9)
def test_extremes_of_trajectories_on_manifolds_are_tight_bounds():
    """Samples exceed no bound, and come as near as promised."""
    types = (joints.Floating, joints.UnboundedRevolute, joints.Planar, joints.SphericalEuler)
    robot, rng = robot_of(types), np.random.default_rng(2)
    q = [robot.random_configuration(seed=0)]
    for _ in range(2):
        q.append(robot.integrate(q[-1], 0.7 * rng.normal(size=robot.nv)))
    both = (("squad", "decoupled"), ("squad", "screw"))
    for kind, floating in (("cubic", "decoupled"), ("bspline", "screw"), ("hermite", "screw"), *both):
        options = {"degree": 2} if kind == "bspline" else {}
        curve = robot.spline([0.0, 0.6, 1.5], q, kind, floating=floating, **options).retimed(1.3)
        inside = np.concatenate([np.linspace(a + 1e-9, b - 1e-9, 2001) for a, b in pairwise(curve.knots)])
        for order, x in ((1, curve(inside).v), (2, curve(inside).a)):
            low, high = curve.extremes(order)
            known = np.isfinite(low) & np.isfinite(high)
            assert known.all()
            size = np.abs(x[:, known]).max()
            room = np.stack([x.min(axis=0) - low, high - x.max(axis=0)])[:, known] / size
            assert room.min() > -1e-12 and room.max() < 3e-6, (kind, order)


@pytest.mark.slow(every=9)
def test_squad_splines_through_coincident_or_opposite_rotations_have_bounds():
    robot, rng = robot_of((joints.Floating,)), np.random.default_rng(4)
    times = [0.0, 0.3, 0.3001, 1.0, 2.5]
    for size, turn in ((1e-9, 0.0), (0.3, np.pi - 1e-9)):
        q = [robot.random_configuration(seed=0)]
        for k in range(len(times) - 1):
            step = size * rng.normal(size=robot.nv)
            step[:3] += [0.0, 0.0, turn * (-1.0) ** k]
            q.append(robot.integrate(q[-1], step))
        for curve in (
            robot.spline(times, q, "squad"),
            robot.spline(times, q, "squad").retimed([0.0, 0.7, 0.9, 2.0, 3.0]),
        ):
            inside = np.concatenate(
                [a + (b - a) * np.linspace(1e-7, 1.0 - 1e-7, 1001) for a, b in pairwise(curve.knots)]
            )
            for order, x in ((1, curve(inside).v), (2, curve(inside).a), (3, curve.jerk(inside))):
                with np.errstate(all="raise", under="ignore"):
                    low, high = curve.extremes(order)
                room = 1e-9 * np.abs(x).max() + 1e-13 / np.diff(curve.knots).min() ** order
                assert (x.min(axis=0) >= low - room).all() and (x.max(axis=0) <= high + room).all()
                if order < 3 and turn == 0.0:
                    tight = 1e-5 * np.abs(x).max() + room
                    assert (low >= x.min(axis=0) - tight).all() and (high <= x.max(axis=0) + tight).all()


@pytest.mark.slow(every=3)
def test_squad_splines_with_jumps_have_no_bounds():
    """Geodesics between points and inner points that are half a turn apart make q jump."""
    robot = robot_of((joints.Spherical,))
    q = [robot.neutral()]
    for axis, angle in ((0, 3.0), (1, 3.0), (2, -3.0), (0, 3.0)):
        q.append(robot.integrate(q[-1], angle * np.eye(3)[axis]))
    motion = robot.spline(np.arange(5.0), q, "squad")
    s = np.linspace(0.0, 4.0, 40001)
    leaps = np.abs(robot.difference(motion(s[:-1]).q, motion(s[1:]).q)).max() > 0.1
    assert leaps and np.isinf(np.array(motion.extremes(1))).any()
    joint = through((joints.Revolute, joints.Prismatic))
    plain = joint.robot.spline([0.0, 1.0, 1.5, 4.0], joint.robot.random_configuration(size=4, seed=1), "squad")
    for order, x in enumerate(plain.sampled(num_samples=20001)[1]):
        low, high = plain.extremes(order)
        assert (np.abs([low - x.min(axis=0), high - x.max(axis=0)]) < 1e-3 * np.ptp(x)).all()
        assert (low <= x.min(axis=0) + 1e-12).all() and (high >= x.max(axis=0) - 1e-12).all()


def test_trajectories_report_satisfied_limits_and_margins():
    curve = by_coordinate()  # v is up to 3 and 1.5, a from -3 to 3
    assert curve.satisfies_limits(velocity=[3.0, 1.5]) and not curve.satisfies_limits(velocity=[3.0, 1.49])
    assert np.allclose(curve.limit_margins(lower=-1.0)["lower"], 1.0)
    assert np.allclose(curve.limit_margins(acceleration=4.0)["acceleration"], [2.0, 1.0])
    low, high = curve.extremes(2)
    pair = curve.limit_margins(acceleration=(-3.5, [4.0, 3.25]))["acceleration"]
    assert np.allclose(pair, np.minimum(low + 3.5, [4.0, 3.25] - high))
    robot = lw.load("arm7")
    q = np.stack([robot.lower, robot.upper])
    fast = robot.spline([0.0, 0.1], q)
    assert not fast.satisfies_limits() and fast.satisfies_limits(velocity=np.inf)
    assert fast.retimed(1.001 * np.max(fast.extremes(1).upper / robot.velocity_limits)).satisfies_limits()
    mixed = through(FEW_TYPES)
    assert mixed.satisfies_limits(velocity=np.inf)
    fastest = np.maximum(-mixed.extremes(1).lower, mixed.extremes(1).upper)
    assert mixed.satisfies_limits(velocity=fastest) and not mixed.satisfies_limits(velocity=fastest * (1.0 - 1e-5))
    with pytest.raises(ValueError, match="permits rest"):
        curve.satisfies_limits(jerk=-1.0)


def test_path_length_and_constant_speed_equal_closed_forms():
    angles = np.linspace(0.0, 2.0 * np.pi, 101)
    circle = lw.motion.spline(angles, np.stack([np.cos(angles), np.sin(angles)], axis=1), boundary="periodic")
    assert abs(circle.path_length() - 2.0 * np.pi) < 1e-6
    assert abs(circle.path_length(weights=[4.0, 4.0]) - 2.0 * circle.path_length()) < 1e-9
    robot, rng = lw.load("arm7"), np.random.default_rng(0)
    curve = robot.spline([0.0, 1.0, 3.0], [robot.random_configuration(rng) for _ in range(3)])
    for options in ({}, {"frame": "hand"}):
        even = curve.at_constant_speed(0.5, **options)
        length = curve.path_length(**options)
        assert abs(even.duration - 2.0 * length) < 1e-9 * length
        state = even(np.linspace(0.0, even.end_time, 301))
        v = robot.twist(state.q, state.v, "hand")[:, 3:] if options else state.v
        assert np.abs(np.linalg.norm(v, axis=1) - 0.5).max() < 1e-7
        assert np.allclose(even(even.end_time).q, curve(3.0).q, atol=1e-12)
    p = robot.pose(curve(np.linspace(0.0, 3.0, 20001)).q, "hand")[:, :3, 3]
    chords = np.linalg.norm(np.diff(p, axis=0), axis=1).sum()
    assert 0.0 <= curve.path_length(frame="hand") - chords < 1e-6
    with pytest.raises(ValueError, match="weights"):
        curve.path_length(weights=[1.0])


@pytest.mark.slow(every=5)
def test_at_constant_speed_removes_times_of_rest():
    """Rests at an instant, at the ends or inside, or for a duration; a trajectory without motion is refused."""
    spline = lw.motion.spline
    rest_curve = spline([0.0, 1.0], [[1.0], [1.0]], "linear")
    go = [spline([0.0, 1.0], [[k], [k + 1.0]], "linear") for k in (0.0, 1.0)]
    rests = spline([0.0, 1.0, 2.0, 3.0], [[0.0], [1.0], [1.0], [2.0]], "hermite", velocity=np.zeros((4, 1)))
    cases = [
        (spline([0.0, 1.0], [[0.0, 1.0], [2.0, 3.0]], boundary="clamped"), []),
        (spline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]], boundary="clamped"), [1.0]),
        (spline([0.0, 1.0, 2.5], [[0.0], [1.0], [0.3]]), None),
        (lw.motion.profile([0.0, 0.0], [1.0, 0.2], velocity=1.0, acceleration=2.0, jerk=8.0), []),
        (rests, [1.0]),
        (go[0].concatenate(rest_curve, allow_jump=True).concatenate(go[1], allow_jump=True), [1.0]),
        (rest_curve.concatenate(go[1], allow_jump=True), []),
        (go[0].concatenate(rest_curve, allow_jump=True), []),
    ]
    for path, moments in cases:
        even, length = path.at_constant_speed(2.0), path.path_length()
        assert abs(2.0 * even.duration - length) < 1e-9 * length
        times = np.linspace(even.start_time, even.end_time, 2002)[1:-1]
        if moments is not None:
            times = times[
                [np.abs(2.0 * (x - even.start_time) - np.array([0.0, *moments, length])).min() > 1e-3 for x in times]
            ]
            assert np.abs(np.linalg.norm(even(times).v, axis=1) - 2.0).max() < 1e-5
        ends = (even.start_time, even.end_time), (path.start_time, path.end_time)
        assert np.abs(even([*ends[0]]).q - path([*ends[1]]).q).max() < 1e-9
    with pytest.raises(ValueError, match="at_constant_speed: the trajectory has no length"):
        rest_curve.at_constant_speed()


def test_trajectory_segment_indices_equal_a_search_by_bisection():
    rng = np.random.default_rng(6)
    even, uneven = np.arange(40.0), np.cumsum(rng.uniform(0.01, 1.0, 40))
    for starts in (even, uneven, even**5, even[:1], even[:2], np.append(even, 1e300), 1e9 + 1e-6 * uneven):
        last = starts[min(len(starts) - 1, 39)]
        s = np.concatenate(
            [rng.uniform(starts[0] - 1.0, last + 1.0, 3000), *[np.nextafter(starts, x) for x in (-9e9, 9e300)], starts]
        )
        for x in (s, np.sort(s), np.sort(s)[::-1]):
            assert np.array_equal(
                segment_indices(starts, x), np.maximum(np.searchsorted(starts, x, side="right") - 1, 0)
            )


def test_evaluating_a_trajectory_does_not_depend_on_the_order_of_times():
    rng = np.random.default_rng(5)
    curve = lw.motion.spline(np.cumsum(rng.uniform(0.1, 1.0, 90)), rng.normal(size=(90, 2)))
    few = lw.motion.spline([0.0, 1.0, 1.5, 4.0], rng.normal(size=(4, 2)))
    t = np.linspace(0.0, 4.0, 9000)
    whole, parts = few(t), [few(x) for x in np.array_split(t, 9)]
    drawn = rng.permutation(9000).reshape(3, 3000)
    for x, y, each in zip(whole, few(t[drawn]), zip(*parts, strict=True), strict=True):
        assert np.array_equal(x[drawn], y) and np.array_equal(x, np.concatenate(each))
    for variant in (curve, curve.reversed(), curve.retimed(0.3), curve.slice(10.0, 20.0)):
        t = np.linspace(variant.start_time, variant.end_time, 5000)
        drawn = rng.permutation(5000)
        whole, mixed = variant(t), variant(t[drawn])
        assert all(np.array_equal(x[drawn], y) for x, y in zip(whole, mixed, strict=True))
        for k in (0, 17, 2500, 4999):
            assert all(np.array_equal(x[k], y) for x, y in zip(whole, variant(float(t[k])), strict=True))


def test_trajectories_can_be_evaluated_in_compiled_functions():
    curve = by_coordinate().concatenate(by_coordinate().reversed(), allow_jump=True)
    compiled = lw.compile(lambda t: (*curve(t), curve.jerk(t)), t=())
    t = np.array([0.1, 0.6, 1.9, 2.3, 3.7])
    for compiled_value, value in zip(compiled(t), (*curve(t), curve.jerk(t)), strict=True):
        assert np.allclose(compiled_value, value, atol=1e-13)
    q, v, *_ = compiled(9.0)
    assert np.allclose(q, curve(4.0).q) and not v.any()
    slope = lw.compile(lambda t: lw.expr.tangent([*curve(t).q], [t], [1.0]), t=())
    assert np.allclose(slope(t), curve(t).v)


def test_invalid_arguments_of_trajectories_are_refused():
    curve = by_coordinate()
    for t in (-0.1, 2.1, [0.0, 3.0]):
        with pytest.raises(ValueError, match="outside of"):
            curve(t)
    assert np.array_equal(curve(2.0 + 1e-12).q, curve(2.0).q)
    held_state = curve([-1.0, 3.0], outside="hold")
    assert np.array_equal(held_state.q, curve([0.0, 2.0]).q) and not held_state.v.any() and not held_state.a.any()
    for t in (np.nan, [0.0, np.inf], "now"):
        with pytest.raises(ValueError, match="t: expected a time or an array of times"):
            curve(t)
    assert curve(np.zeros(0)).q.shape == (0, 2)
    for times in ([0.0, 0.0], [1.0, 0.0], [0.0], [0.0, np.nan], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match="times"):
            Trajectory.polynomial(times, np.zeros((1, 2, 3)))
    for c in (np.zeros((2, 2, 3)), np.zeros(3), np.full((1, 2, 3), np.nan)):
        with pytest.raises(ValueError, match="expected"):
            Trajectory.polynomial([0.0, 1.0], c)
    with pytest.raises(ValueError, match="base"):
        Trajectory.polynomial([0.0, 1.0], np.zeros((1, 8, 2)), robot=robot_of(FEW_TYPES))
    for said, wrong in (
        ("times: expected a finite number > 0, got -1.0", lambda: curve.retimed(-1.0)),
        ("expected 5 times, one for each of its knots, got 2", lambda: curve.retimed([0.0, 1.0])),
        ("expected a start before the end, got 1.0 and 0.5", lambda: curve.slice(1.0, 0.5)),
        ("expected either dt .* or num_samples", lambda: curve.sampled()),
        ("num_samples: expected an integer from 2 to 1000000000, got 1", lambda: curve.sampled(num_samples=1)),
        (r"order: expected 0 \(q\), .* got 5", lambda: curve.extremes(5)),
        ("other: expected a trajectory of 2 numbers", lambda: curve.concatenate(through(FEW_TYPES))),
        ('outside: expected "raise" or "hold"', lambda: curve(0.0, outside="go on")),
    ):
        with pytest.raises(ValueError, match=said):
            wrong()
    with pytest.raises(AttributeError, match="'duration' of 'Trajectory' object has no setter"):
        curve.duration = 1.0
    with pytest.raises(ValueError, match="read-only"):
        curve.sections[0].arrays["starts"][0] = 1.0


def test_invalid_option_outside_of_trajectories_is_named():
    motion = lw.motion.spline([0.0, 1.0], [[0.0], [1.0]], "linear")
    for t in (0.5, [0.5], 2.0, []):
        with pytest.raises(ValueError, match='outside: expected "raise" or "hold", got \'foo\''):
            motion(t, outside="foo")


def test_times_in_trajectory_files_must_increase(tmp_path):
    file = tmp_path / "way.csv"
    first, inner, last = "0,0,0,0", "1,1,0,0", "2,2,0,0"
    for lines, line in (
        ([first, inner, inner, inner, last], "line 4: expected times that increase, got t = 1 after 1"),
        ([first, first, last], "line 3"),
        ([first, last, last], "line 4"),
        ([first, last, inner], "line 4"),
    ):
        file.write_text("\n".join(["t,q:0,v:0,a:0", *lines]))
        with pytest.raises(ValueError, match=rf"way\.csv: {line}"):
            Trajectory.load(file)


@pytest.mark.slow(every=9)
def test_coordinates_reach_their_bounds_at_the_times_of_extremes():
    robot = lw.load("arm7")
    rng = np.random.default_rng(7)
    smooth = robot.spline([0.0, 0.7, 1.5, 2.0], rng.uniform(-0.5, 0.5, (4, 7)))
    goal = rng.uniform(0.1, 0.5, 7) * [1, 1, 1, -1, 1, 1, 1]
    bang = robot.profile(np.zeros(7), goal, velocity=1.0, acceleration=4.0, kind="trapezoid")
    for curve in (smooth, bang, smooth.concatenate(bang, allow_jump=True)):
        for order in range(4 if curve is smooth else 3):
            bounds = curve.extremes(order)
            for times, bound in ((bounds.lower_times, bounds.lower), (bounds.upper_times, bounds.upper)):
                sides = ("right", "left")  # a jump has the bound on one side
                values = [[*curve(times, side=side), curve.jerk(times, side=side)][order] for side in sides]
                errors = np.min([np.abs(np.diag(x) - bound) for x in values], axis=0)
                assert errors.max() <= 1e-9 * np.abs(bound).max(), order
    floating = lw.load("quadruped", floating_base=True)
    end = floating.integrate(floating.neutral(), rng.uniform(-0.5, 0.5, floating.nv))
    curve = floating.spline([0.0, 1.0, 2.0], [floating.neutral(), end, floating.neutral()])
    positions, rates = curve.extremes(0), curve.extremes(1)
    assert np.isnan(positions.upper_times[:6]).all()  # q has no bound where it is a rotation
    states = curve(positions.upper_times[6:]).q[:, 7:]
    np.testing.assert_allclose(np.diag(states), positions.upper[6:], rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.diag(curve(rates.upper_times).v), rates.upper, rtol=0, atol=1e-5)


def test_text_of_extremes_has_names_units_and_times_in_the_order_of_the_tuple():
    robot = lw.load("arm7")
    extremes = robot.spline([0.0, 1.0, 2.0], [robot.neutral(), robot.neutral() + 0.3, robot.neutral()]).extremes(2)
    lower, upper = extremes
    assert lower is extremes.lower and upper is extremes.upper
    header, _, *rows = (line.split() for line in repr(extremes).splitlines())
    assert header == ["a", "lower", "at", "t", "upper", "at", "t", "unit"]
    assert [row[0] for row in rows] == list(robot.v_names) and {row[-1] for row in rows} == {"rad/s²"}
    assert [float(row[1]) for row in rows] == pytest.approx(lower, rel=1e-4) and {row[2] for row in rows} == {"1"}
    assert {row[3] for row in rows} == {"0"}
    assert repr(pickle.loads(pickle.dumps(extremes))) == repr(extremes)
    path = lw.motion.Trajectory.polynomial([0.0, 2.0], [[[1.0, 0.5]]])
    assert repr(path.extremes(0)).splitlines()[-1].split() == ["0", "1", "0", "2", "2"]


@pytest.mark.light
@pytest.mark.parametrize(("first", "last"), [(0.3, 1.7), (-2000.0, 2000.0)])
def test_times_outside_by_a_billionth_of_the_duration_count_as_the_ends_and_others_are_refused(first, last):
    room = 1e-9 * (last - first)
    near, far = ([first - x * room, last + x * room] for x in (0.9, 1.1))
    assert times_within("f", near, first, last).tolist() == [first, last]
    for t in far:
        with pytest.raises(ValueError, match=r"f: t = .* is outside of"):
            times_within("f", t, first, last)
