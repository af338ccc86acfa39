"""Splines: on vectors compared with SciPy's, and on the manifold of every joint type."""

from functools import cache

import numpy as np
import pytest
from scipy.interpolate import BSpline, CubicSpline, make_interp_spline

import linkwork as lw
from linkwork import joints
from linkwork.expr.arrays.symbol_array import array
from linkwork.model.random_tree import random_tree
from linkwork.motion import spline
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.splines.interpolation import (
    control_knots,
    interpolation_knots,
    of_control_points,
    through_points,
)
from linkwork.motion.splines.spline import nearer_turns, unlimited_angles

ROTATING = (joints.Floating, joints.UnboundedRevolute)


@cache
def robot_of(types):
    return lw.Robot(random_tree(np.random.default_rng(1), len(types), types=types))


def points(robot, n, scale=0.5, seed=0):
    """Times, and configurations each within a few ``scale`` [rad, m] of the one before."""
    rng = np.random.default_rng(seed)
    q = [robot.random_configuration(seed=seed)]
    for _ in range(n - 1):
        q.append(robot.integrate(q[-1], scale * rng.normal(size=robot.nv)))
    return np.cumsum(rng.uniform(0.3, 1.0, n)), np.array(q)


def plain(n=9, width=3):
    rng = np.random.default_rng(0)
    return np.cumsum(rng.uniform(0.2, 1.0, n)), rng.normal(size=(n, width))


def near(curve, curve_b, least=1e-12):
    """Values and three derivatives of a curve of SciPy's."""
    t = np.linspace(curve.start_time, curve.end_time, 101)[:-1] + 1e-4
    for order, x in enumerate((*curve(t), curve.jerk(t))):
        expected = curve_b(t, order)
        assert np.abs(x - expected).max() <= least * max(np.abs(expected).max(), 1.0), order


@pytest.mark.slow(every=3)
def test_splines_at_many_times_equal_splines_at_single_times_exactly():
    rng = np.random.default_rng(2)
    for kind, n, width in (("cubic", 2, 1), ("cubic", 40, 7), ("bspline", 12, 3), ("quintic", 40, 19)):
        curve = spline(*plain(n, width), kind)
        for moved in (curve, curve.reversed(), curve.retimed(1.37), curve.shifted(2.0)):
            even = np.linspace(moved.start_time, moved.end_time, 5003)
            for t in (even, rng.permutation(even)):
                result, jerk = moved(t), moved.jerk(t)
                for k in (0, 5002, 5001, *rng.integers(0, 5003, 20)):
                    assert all(np.array_equal(x[k], y) for x, y in zip(result, moved(t[k]), strict=True))
                    assert np.array_equal(jerk[k], moved.jerk(t[k]))
    assert spline(*plain(9, 0))(np.linspace(1.0, 2.0, 5000)).q.shape == (5000, 0)


def test_cubic_splines_of_trajectories_equal_scipys():
    for n in (3, 4, 9):
        t, q = plain(n)
        ends = np.random.default_rng(1).normal(size=(2, 3))
        near(spline(t, q), CubicSpline(t, q, bc_type="natural"))
        near(spline(t, q, boundary="clamped"), CubicSpline(t, q, bc_type="clamped"))
        clamped = spline(t, q, boundary="clamped", velocity=ends)
        near(clamped, CubicSpline(t, q, bc_type=((1, ends[0]), (1, ends[1]))))
        launched = spline(t, q, boundary="launched", velocity=ends[0])
        near(launched, CubicSpline(t, q, bc_type=((1, ends[0]), (2, 0.0 * ends[0]))))
        q[-1] = q[0]
        near(spline(t, q, boundary="periodic"), CubicSpline(t, q, bc_type="periodic"))


@pytest.mark.slow(every=5)
def test_b_splines_of_trajectories_equal_scipys():
    t, q = plain()
    for degree in range(1, 8):
        near(spline(t, q, "bspline", degree=degree), make_interp_spline(t, q, k=degree), 1e-10)
        near(spline(t, q, "bspline", degree=degree, control=True), BSpline(control_knots(t, degree), q, degree), 1e-11)


def test_spline_trajectory_through_a_thousand_points_equals_scipys():
    t, q = plain(1001, 7)
    curve = spline(t, q)
    near(curve, CubicSpline(t, q, bc_type="natural"), 1e-10)
    assert np.array_equal(curve(t[17]).v, curve(t).v[17])  # few times, and many, have the same bits


@pytest.mark.slow(every=5)
def test_every_spline_kind_passes_through_its_points_smoothly():
    robot = robot_of(ROTATING)
    t, q = points(robot, 5, 0.3)
    smooth = {"linear": 0, "hermite": 1, "squad": 1, "cubic": 2, "quintic": 2, "bspline": 2}
    for kind, order in smooth.items():  # so many derivatives have no jump
        times, x = t, q
        curve = robot.spline(times, x, kind)
        assert np.abs(robot.difference(curve(times).q, x)).max() < 1e-12, kind
        h = 1e-7
        before, after = curve(times[1:-1] - h), curve(times[1:-1] + h)
        samples = curve(np.linspace(times[0], times[-1], 200))
        slope = max(np.abs(np.diff(samples.a, axis=0)).max() * 200.0, np.abs(samples.a).max())
        jumps = [np.abs(x - y).max() for x, y in zip(before[1:], after[1:], strict=True)]
        assert max(jumps[:order], default=0.0) < 4.0 * h * slope + 1e-9, kind
        assert order == 2 or jumps[order] > 1e-2, kind
    assert np.abs(robot.spline(t, q)(t[[0, -1]]).a).max() < 1e-10
    assert np.abs(robot.spline(t, q, boundary="clamped")(t[[0, -1]]).v).max() < 1e-12
    v = np.linspace(-0.5, 0.5, robot.nv)
    first, last = (robot.spline(t, q, boundary="launched", velocity=v)(t[k]) for k in (0, -1))
    assert np.abs(first.v - v).max() < 1e-12 and np.abs(last.a).max() < 1e-10


@pytest.mark.slow(every=3)
def test_splines_on_every_joint_type_have_consistent_derivatives():
    robot = robot_of(joints.ALL)
    t, q = points(robot, 3, 0.4)
    curve = robot.spline(t, q, boundary="clamped")
    result = curve(t)
    assert np.abs(robot.difference(result.q, q)).max() < 1e-12 and np.abs(result.v[[0, 2]]).max() < 1e-12
    near, h = curve(t[1] + np.array([-1e-8, 1e-8, 2e-3])), 1e-4
    jerk = np.abs(near.a[2] - near.a[1]).max() / 2e-3
    assert np.abs(near.a[1] - near.a[0]).max() < 1e-7 * jerk
    before, at, after = (curve(0.5 * (t[1:] + t[:-1]) + x) for x in (-h, 0.0, h))
    v = (robot.difference(at.q, after.q) - robot.difference(at.q, before.q)) / (2 * h)
    assert np.abs(v - at.v).max() < 1e-6 and np.abs((after.v - before.v) / (2 * h) - at.a).max() < 1e-5


def quaternion_power(a, b, u):
    """Slerp by its formula."""
    c = abs(a @ b)
    b = b if a @ b > 0.0 else -b
    angle = np.arccos(min(c, 1.0))
    return (np.sin((1.0 - u) * angle) * a + np.sin(u * angle) * b) / np.sin(angle)


def sine_hinge(curve, t, order):
    """Return q, v, a of a sine-and-cosine hinge from its angle."""
    angle = curve(t)
    return np.stack([np.sin(angle), np.cos(angle)], axis=1) if not order else curve(t, order)[:, None]


@pytest.mark.slow(every=5)
def test_quaternion_splines_rotate_in_the_shorter_direction():
    robot = robot_of((joints.Spherical,))
    t, q = points(robot, 4, 0.7)
    flipped = q * np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    for kind in ("slerp", "squad", "cubic", "bspline"):
        single, flipped_curve = robot.spline(t, q, kind), robot.spline(t, flipped, kind)
        now = np.linspace(t[0], t[-1], 40)
        assert np.allclose(single(now).q, flipped_curve(now).q, atol=1e-11), (
            kind
        )  # signs of quaternions make no difference
        steps = np.abs(np.diff(flipped_curve(now).q, axis=0)).max()
        assert steps < 0.5, kind  # nor does q jump from one sign to the other
    slerp = robot.spline(t, q, "slerp")
    for u in (0.2, 0.5, 0.9):
        expected = quaternion_power(q[0], q[1], u)
        assert np.allclose(
            slerp(t[0] + u * (t[1] - t[0])).q, expected * np.sign(expected @ q[0]) * np.sign(q[0] @ slerp(t[0]).q)
        )
    even = np.arange(4.0)
    squad = robot.spline(even, q, "squad")
    inner = [q[0]]  # Shoemake's, of equal steps
    for k in (1, 2):
        inner.append(
            robot.integrate(q[k], -0.25 * (robot.difference(q[k], q[k + 1]) + robot.difference(q[k], q[k - 1])))
        )
    u = 0.3
    a, b = quaternion_power(q[1], q[2], u), quaternion_power(inner[1], inner[2], u)
    expected = quaternion_power(a, b, 2.0 * u * (1.0 - u))
    assert abs(abs(expected @ squad(1.0 + u).q) - 1.0) < 1e-12
    turning = lw.Robot(random_tree(np.random.default_rng(0), 1, types=(joints.UnboundedRevolute,)))
    q = np.array([[np.sin(x), np.cos(x)] for x in (3.0, -3.0)])  # 0.283 rad apart the short way
    assert abs(np.abs(turning.spline([0.0, 1.0], q, "linear")(0.5).v[0]) - (2.0 * np.pi - 6.0)) < 1e-12
    angles = np.array([0.0, 2.0, 1.0, 3.5, 2.5, 4.0])  # control points of which are more than half a turn apart
    curve = turning.spline(np.arange(6.0), np.stack([np.sin(angles), np.cos(angles)], axis=1), "bspline", degree=5)
    near(curve, lambda t, k: sine_hinge(make_interp_spline(np.arange(6.0), angles, k=5), t, k), 1e-9)


def test_splines_of_angles_count_turns_or_rotate_in_the_shorter_direction_on_request():
    robot = lw.Robot(random_tree(np.random.default_rng(0), 1, types=(joints.Revolute,)))
    q = np.array([[3.0], [-3.0], [9.0], [-4.0]])
    times = np.arange(4.0)
    counted, short = robot.spline(times, q, "linear"), robot.spline(times, q, "linear", turns="short")
    assert np.allclose(counted(times).q, q)
    result = short(times).q
    assert np.allclose(np.cos(result - q), 1.0) and np.abs(np.diff(result[:, 0])).max() <= np.pi
    compiled = lw.compile(lambda q: robot.spline(times, q, turns="short")(1.5).q, q=(4, 1))
    assert np.allclose(compiled(q), robot.spline(times, q, turns="short")(1.5).q)


@pytest.mark.slow(every=3)
def test_splines_ignore_full_revolutions_only_if_they_change_no_pose():
    """Angles of every joint type; motions then turn by half a revolution at most."""
    types = [joints.Revolute, joints.Universal, joints.Helical]
    chain = lw.Robot(random_tree(np.random.default_rng(4), 12, types=types, shape="chain"))
    names = [joint.name for joint in chain.joints if type(joint.type) is joints.Revolute]
    coupled = chain.with_couplings({names[1]: (names[0], 0.5), names[3]: (names[2], -3.0)})
    for robot in (lw.Robot(random_tree(np.random.default_rng(3), 18)), coupled):
        q, unlimited = robot.random_configuration(seed=0), np.isinf(robot.lower) & np.isinf(robot.upper)
        units = np.array([unit for _, body in robot.tree.stacked() for unit in body.joint.q_units])
        turned = q + 2.0 * np.pi * np.diag(units == "rad")
        moved = robot.forward_kinematics(turned) - robot.forward_kinematics(q)
        expected = np.flatnonzero(unlimited & (units == "rad") & (np.abs(moved).max(axis=(1, 2, 3)) < 1e-11))
        assert np.array_equal(unlimited_angles(robot), expected) and len(expected) > 0
        for turns in (1.0, 3.0, -5.0, -7.0):
            goal = q + turns * np.pi * np.isin(np.arange(robot.nq), expected)
            short = robot.spline([0.0, 1.0], np.stack([q, goal]), "linear", turns="short")([0.0, 1.0]).q
            steps = np.diff(short, axis=0)[0, expected], nearer_turns(robot, q, goal)[expected] - q[expected]
            assert np.abs(np.abs(steps) - np.pi).max() < 1e-11
    screw = lw.Robot(random_tree(np.random.default_rng(0), 4, types=(joints.Revolute, joints.Helical)))
    turning = [joint.type.__class__ is joints.Revolute for joint in screw.joints]
    motion = screw.profile(np.full(4, 3.0), np.full(4, -3.0), velocity=1.0, acceleration=1.0, jerk=1.0)
    assert np.allclose(motion(motion.duration).q - 3.0, np.where(turning, 2.0 * np.pi - 6.0, -6.0))


def test_splines_of_floating_joints_move_along_screws_or_straight_lines():
    robot = robot_of((joints.Floating,))
    t, q = points(robot, 3, 0.8)
    now = np.linspace(t[0], t[1], 9)
    screw = robot.spline(t, q, "screw")(now)
    assert np.abs(np.diff(screw.v, axis=0)[:-1]).max() < 1e-12 and np.abs(screw.a[:-1]).max() < 1e-12
    curve = robot.spline(t, q, "decoupled")
    position = np.flatnonzero([name.endswith((".x", ".y", ".z")) for name in robot.q_names])
    p = curve(now).q[:, position]
    share = ((now - t[0]) / (t[1] - t[0]))[:, None]
    assert np.allclose(p, q[0, position] + share * (q[1, position] - q[0, position]), atol=1e-12)
    assert np.allclose(curve(now).v[:, :3], screw.v[:, :3], atol=1e-12)  # turning is by slerp either way
    apart = robot.spline(t, q, "cubic", boundary="clamped", floating="decoupled")
    expected = CubicSpline(t, q[:, position], bc_type="clamped")
    whole = np.linspace(t[0], t[-1], 21)
    assert np.allclose(apart(whole).q[:, position], expected(whole), atol=1e-10)
    hermite = robot.spline(
        t, q, "quintic", velocity=np.ones((3, 6)), acceleration=np.ones((3, 6)), floating="decoupled"
    )
    assert np.allclose(hermite(t).v, 1.0) and np.allclose(hermite(t).a, 1.0)


def test_positions_of_decoupled_b_splines_are_b_splines_of_positions_for_every_floating_joint_type():
    for joint_type in (joints.Floating, joints.FloatingEuler, joints.FloatingMRP, joints.Planar):
        robot, t = robot_of((joint_type,)), np.array([0.0, 0.7, 1.5, 1.9])
        q = points(robot, 4, 0.2)[1]
        space = CurveSpace.of(robot.tree, apart=True)
        now, position = (
            np.linspace(0.0, 1.9, 9),
            [k for k, unit in enumerate(robot.tree.bodies[0].joint.q_units) if unit == "m"],
        )
        section = of_control_points(space, t, q, 2)
        expected = BSpline(control_knots(t, 2), q[:, position], 2)(now)
        assert np.allclose(np.array(section.on_symbols(now, 0)[0]).T[:, position], expected, atol=1e-12)
        if joint_type is not joints.Planar:
            continue
        through = through_points(space, t, q, 3, "spline")  # solved in a few iterations
        expected = make_interp_spline(t, q[:, position], 3, t=interpolation_knots(t, 3))(now)
        reached = np.array(through.on_symbols(now, 0)[0]).T
        assert np.allclose(reached[:, position], expected, atol=1e-10)
        assert np.abs(robot.difference(np.array(through.on_symbols(t, 0)[0]).T, q)).max() < 1e-10


def test_splines_have_prescribed_velocities_and_accelerations_at_their_points():
    robot, rng = robot_of(ROTATING), np.random.default_rng(2)
    t, q = points(robot, 4)
    v, a = rng.normal(size=(2, 4, robot.nv))
    hermite = robot.spline(t, q, "hermite", velocity=v)
    quintic = robot.spline(t, q, "quintic", velocity=v, acceleration=a)
    assert np.allclose(hermite(t).v, v, atol=1e-11) and np.allclose(quintic(t).v, v, atol=1e-11)
    assert np.allclose(quintic(t).a, a, atol=1e-10)
    loop = robot.spline(t, np.vstack([q[:3], q[:1]]), boundary="periodic")
    first, last = loop(t[0]), loop(t[-1])
    assert np.allclose(first.v, last.v, atol=1e-10) and np.allclose(first.a, last.a, atol=1e-9)


@pytest.mark.slow(every=3)
def test_splines_interpolate_repeated_points_and_two_points():
    robot = robot_of(ROTATING)
    t, q = points(robot, 4)
    q[2] = q[1]
    for kind in ("linear", "hermite", "cubic", "quintic", "squad"):
        curve = robot.spline(t, q, kind)(np.linspace(t[0], t[-1], 13))
        assert all(np.isfinite(x).all() for x in curve), kind
        two = robot.spline(t[:2], q[:2], kind)
        assert np.abs(robot.difference(two(t[:2]).q, q[:2])).max() < 1e-12
    rest_curve = robot.spline(t[:2], q[[1, 1]], "cubic")
    assert np.abs(rest_curve(t[0]).v).max() < 1e-13


@pytest.mark.slow(every=9)
def test_derivatives_of_splines_by_points_and_times_equal_finite_differences():
    """Forward and in reverse, in kernels: by all times on vectors, else by free times."""
    robot = robot_of((joints.Spherical, joints.Revolute))
    cases = [(None, ("cubic", "hermite", "quintic", "linear"), *plain(5, 2))]
    cases += [(robot, ("hermite", "squad", "cubic"), *points(robot, 4))]
    for of, kinds, t, x in cases:
        make, at = spline if of is None else of.spline, float(t[1]) + 0.2
        w = np.random.default_rng(3).normal(size=x.shape[1])

        def weighed(kind, t, x, make=make, at=at, w=w):
            return w @ make(t, x, kind)(at).q

        def both(t, x, dt, dx, kinds=kinds, weighed=weighed):
            by, d = [*t, *x.ravel()], [*dt, *dx.ravel()]
            values = [weighed(kind, t, x) for kind in kinds]
            return [array([y, *lw.expr.tangent([y], by, d), *lw.expr.adjoint([y], by, [1.0])]) for y in values]

        rng, h = np.random.default_rng(4), 1e-6
        dt, dx = rng.normal(size=len(t)), rng.normal(size=x.shape) * (of is None)
        d = np.concatenate([dt, dx.ravel()])
        result = lw.compile(both, t=t.shape, x=x.shape, dt=t.shape, dx=x.shape)(t, x, dt, dx)
        for kind, (value, slope, *gradient) in zip(kinds, result, strict=True):
            assert abs(value - weighed(kind, t, x)) < 1e-12
            after, before = (weighed(kind, t + e * dt, x + e * dx) for e in (h, -h))
            assert abs(slope - (after - before) / (2.0 * h)) < 1e-7, kind
            assert abs(np.array(gradient) @ d - slope) < 1e-11, kind
    t, x = plain(5, 2)
    y = lambda x: spline(t, x, "bspline")(1.7).q  # noqa: E731
    J = lw.compile(lambda x: lw.expr.jacobian([*y(x)], [*x.ravel()]), x=x.shape)(x)
    assert np.abs(np.array(J) @ (e := np.random.default_rng(5).normal(size=10)) - y(e.reshape(5, 2))).max() < 1e-12
    with pytest.raises(ValueError, match="got shape"):
        lw.compile(lambda t: spline(t[:1], x[:1])(1.7).q, t=5)


@pytest.mark.slow(every=9)
def test_derivatives_of_b_splines_by_knot_times_equal_finite_differences():
    """Interpolating points and control points, odd and even degree, on vectors and on a manifold."""
    robot, e = robot_of((joints.Spherical,)), 1e-6
    cases = [(spline, plain(6, 1), degree, control) for degree in (1, 2, 3, 5) for control in (False, True)]
    cases += [(robot.spline, points(robot, 4), 2, control) for control in (False, True)]
    for make, (t, x), degree, control in cases:

        def y(t, make=make, x=x, degree=degree, control=control):
            curve = make(t, x, "bspline", degree=degree, control=control)
            return curve(1.3).q[0] + curve(1.3).v[0]

        value, *slope = lw.compile(lambda t, y=y: array([y(t), *lw.expr.adjoint([y(t)], [*t], [1.0])]), t=len(t))(t)
        assert abs(value - y(t)) < 1e-12
        by_differences = [(y(t + e * row) - y(t - e * row)) / (2.0 * e) for row in np.eye(len(t))]
        assert np.abs(np.array(slope) - by_differences).max() < 1e-7 * max(1.0, np.abs(slope).max()), (degree, control)


@pytest.mark.slow
def test_splines_through_symbols_on_a_manifold_equal_splines_through_arrays():
    """Derivatives by points included; NaN where the iteration of rotations does not converge."""
    robot = robot_of((joints.Spherical,))
    t, x = points(robot, 4, 0.8)
    x[-1] = x[0]  # as periodic ones need
    dx, h = np.random.default_rng(4).normal(size=(4, robot.nv)), 1e-6
    dx[-1] = dx[0]

    def both(s, x, dx):
        moved = [robot.integrate(q, s * w) for q, w in zip(x, dx, strict=True)]
        result = []
        for kind, options in kinds:
            q_of_curve = robot.spline(t, moved, kind, **options)(1.2)
            values = [*q_of_curve.q, *q_of_curve.a]
            result += [array(values), array(lw.expr.tangent(values, [s], [1.0]))]
        return tuple(result)

    kinds = (*(("cubic", {"boundary": b}) for b in ("clamped", "periodic")), ("bspline", {"degree": 2}))
    result = lw.compile(both, s=(), x=x.shape, dx=dx.shape)(0.0, x, dx)
    for (kind, options), value, slope in zip(kinds, result[::2], result[1::2], strict=True):

        def at(s, kind=kind, options=options):
            q_of_curve = robot.spline(t, robot.integrate(x, s * dx), kind, **options)(1.2)
            return np.concatenate([q_of_curve.q, q_of_curve.a])

        assert np.abs(value - at(0.0)).max() < 1e-11
        assert np.abs(slope - (at(h) - at(-h)) / (2.0 * h)).max() < 1e-6, (kind, options)
    t, far = points(robot, 4, 6.0)  # where no start nearby comes to an end, either
    with pytest.raises(ValueError, match="too far apart"):
        robot.spline(t, far, "bspline")
    ended = lw.compile(lambda x: robot.spline(t, x, "bspline")(1.2).q, x=far.shape)(far)
    assert np.isnan(ended[:4]).all()


def test_inverse_dynamics_along_a_spline_balances_the_energy():
    robot = lw.load("arm7")
    rng = np.random.default_rng(0)
    t, q = np.arange(4.0), np.array([robot.random_configuration(rng) for _ in range(4)])
    curve = robot.spline(t, q)
    tau = robot.inverse_dynamics(*curve(np.linspace(0.0, 3.0, 10)))
    assert tau.shape == (10, 7) and np.isfinite(tau).all()
    now, h = 1.3, 1e-5
    power = tau_at = robot.inverse_dynamics(*curve(now)) @ curve(now).v
    energy = lambda s: robot.kinetic_energy(*s[:2]) + robot.potential_energy(s[0])  # noqa: E731
    assert abs((energy(curve(now + h)) - energy(curve(now - h))) / (2.0 * h) - tau_at) < 1e-5 * max(1.0, abs(power))


def test_invalid_splines_are_refused():
    robot, (t, q) = robot_of(ROTATING), points(robot_of(ROTATING), 4)
    wrong = {
        "increasing": lambda: robot.spline([0.0, 1.0, 1.0, 2.0], q),
        "two increasing times": lambda: robot.spline([0.0], q[:1]),
        "shape": lambda: robot.spline(t, q[:3]),
        "got nan": lambda: spline([0.0, 1.0], [[0.0], [np.nan]]),
        "np.newaxis": lambda: spline([0.0, 1.0], [0.0, 1.0]),
        "did you mean": lambda: robot.spline(t, q, "cubik"),
        "is for kind": lambda: robot.spline(t, q, "squad", velocity=q),
        "clamped": lambda: robot.spline(t, q, velocity=np.zeros((2, robot.nv))),
        "last point": lambda: robot.spline(t, q, boundary="periodic"),
        "degree": lambda: robot.spline(t, q, "bspline", degree=4),
        "floating joint": lambda: robot.spline(t, q, "slerp"),
        "sets how floating": lambda: robot.spline(t, q, "screw", floating="decoupled"),
        "for rotations": lambda: spline(t, np.zeros((4, 1)), "squad"),
        "velocity": lambda: robot.spline(t, q, "hermite", velocity=np.zeros(3)),
    }
    for said, call in wrong.items():
        with pytest.raises(ValueError, match=said):
            call()
