"""Curves, and couplings of two joints by curves: cams, Geneva wheels, tables; published values and SciPy."""

import copy
import pickle

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicSpline

import linkwork as lw
from linkwork.constraints import Curve, CurveCoupling

PEAKS = {  # of f′ and f″ for a rise by 1 on a length of 1: Norton, Cam Design and Manufacturing Handbook, 2009
    "harmonic": (np.pi / 2, np.pi**2 / 2),
    "cycloidal": (2.0, 2 * np.pi),
    "345": (1.875, 10 / np.sqrt(3)),
    "4567": (2.1875, 7.5132),
}
X = np.linspace(0.0, 1.0, 100_001)
KNOTS, VALUES = np.array([0.0, 0.7, 1.1, 2.0, 2.5]), np.array([0.2, 1.0, 0.3, -0.4, 0.2])


def test_cam_motion_laws_have_the_published_peak_velocities_and_accelerations():
    for motion, (slope, curvature) in PEAKS.items():
        f, first, second = Curve([0.0, 1.0], [0.0, 1.0], motion).derivatives(X)
        np.testing.assert_allclose([f[0], f[-1], first[0], first[-1]], [0, 1, 0, 0], rtol=0, atol=1e-14)
        np.testing.assert_allclose([first.max(), np.abs(second).max()], [slope, curvature], rtol=1e-4)
        if motion != "harmonic":
            np.testing.assert_allclose(second[[0, -1]], 0.0, rtol=0, atol=1e-12)
    cam = Curve(np.radians([0, 90, 120, 240, 360]), [0, 0.02, 0.02, -0.01, 0], ("345", "4567", "cycloidal", "345"))
    assert cam(np.radians([-50, 0, 45, 100, 180, 240, 360, 500])).round(15).tolist() == pytest.approx(
        [0, 0, 0.01, 0.02, 0.005, -0.01, 0, 0], abs=1e-15
    )


def test_a_periodic_curve_that_does_not_repeat_with_the_revolutions_of_its_shaft_is_reported():
    for revolutions in (1 / 3, 0.5, 1.0, 2.0):  # lobes of a disc, and cams whose groove turns several times
        x = np.array([0.0, 0.4, 1.0]) * 2 * np.pi * revolutions
        train(CurveCoupling("wheel", "cam", Curve(x, [0.0, 0.2, 0.0], "345", periodic=True)))
    for degrees in (300.0, 350.0, 450.0):
        x = np.radians([0.0, 90.0, degrees])
        coupling = CurveCoupling("wheel", "cam", Curve(x, [0.0, 0.2, 0.0], "345", periodic=True))
        with pytest.warns(lw.errors.ModelWarning, match=f"period is {degrees:g} degrees: it does not repeat itself"):
            train(coupling)
    train(CurveCoupling("wheel", "valve", Curve([0, 0.3, 1], [0.0, 0.2, 0.0], "345", periodic=True)))  # slides


def test_geneva_wheels_have_the_published_velocities_and_accelerations():
    """f′ and f″ at their peaks and where the pin enters (Bickford, Mechanisms for Intermittent Motion, 1972)."""
    for slots in (3, 4, 5, 6, 8):
        wheel, half, m = Curve.geneva(slots), np.pi / 2 - np.pi / slots, 1.0 / np.sin(np.pi / slots)
        G = (1.0 + m * m) / (4.0 * m)
        steep = np.arccos(np.sqrt(G * G + 2.0) - G)
        peak = m * (m * m - 1.0) * np.sin(steep) / (1.0 + m * m - 2.0 * m * np.cos(steep)) ** 2
        x = np.array([0.0, steep, half - 1e-12])
        results = [-wheel.derivatives(x)[1][0], *wheel.derivatives(x)[2][1:]]
        np.testing.assert_allclose(results, [1.0 / (m - 1.0), peak, np.tan(np.pi / slots)], rtol=1e-9)
        if slots == 4:
            np.testing.assert_allclose(results, [2.414, 5.41, 1.0], rtol=1e-3)
        assert np.abs(wheel.derivatives(np.linspace(-half, half, 1001)[1:-1])[2]).max() <= peak * (1 + 1e-12)
        for curve, size in ((wheel, np.pi - half), (Curve.geneva(slots, internal=True), half)):
            turns = np.arange(4) * 2 * np.pi
            assert np.abs(curve.derivatives(turns + np.pi + 0.9 * size)[1]).max() < 1e-15  # it rests
            np.testing.assert_allclose(np.diff(curve(turns)), curve.y[-1], rtol=0, atol=1e-14)


def test_pin_of_a_geneva_wheel_moves_along_its_slot():
    """A pin on the crank, in the coordinates of the wheel, moves along the slot that it entered."""
    for slots, side in ((5, 1.0), (6, -1.0)):  # the wheel beside the crank, and around it
        half = np.pi / 2 - side * np.pi / slots
        angle = np.linspace(-half, half, 41)
        wheel = Curve.geneva(slots, internal=side < 0)(angle)
        pin = np.exp(1j * angle) - side / np.sin(np.pi / slots)  # from the wheel's centre
        slot = pin * np.exp(-1j * (wheel - Curve.geneva(slots, internal=side < 0)(0.0)))
        np.testing.assert_allclose(slot.imag, 0.0, rtol=0, atol=1e-14)


def test_spline_curves_of_couplings_equal_scipys():
    x = np.linspace(0.0, 2.5, 301)
    natural, periodic = Curve(KNOTS, VALUES), Curve(KNOTS, VALUES, periodic=True)
    steps = [(natural, CubicSpline(KNOTS, VALUES, bc_type="natural"), x)]
    steps.append((periodic, CubicSpline(KNOTS, VALUES, bc_type="periodic"), np.linspace(-3.0, 9.0, 301)))
    slopes, curvatures = [1.0, 0.0, -2.0, 0.5, 1.0], [0.0, 3.0, -1.0, 2.0, 0.0]
    quintic = BPoly.from_derivatives(KNOTS, np.stack([VALUES, slopes, curvatures], axis=-1))
    steps.append((Curve(KNOTS, VALUES, slopes=slopes, curvatures=curvatures), quintic, x))
    for curve, spline, at in steps:
        expected = [spline(at), spline.derivative()(at), spline.derivative(2)(at)]
        np.testing.assert_allclose(curve.derivatives(at), expected, rtol=0, atol=1e-12)
    beyond = natural.derivatives(np.array([-1.0, 4.0]))  # straight on
    ends = natural.derivatives(np.array([0.0, 2.5]))
    np.testing.assert_allclose(beyond, [ends[0] + ends[1] * [-1.0, 1.5], ends[1], [0.0, 0.0]], rtol=0, atol=1e-13)
    ratio = Curve([0.0, 1.0, 3.0, 2 * np.pi], [0.0, 0.7, 1.1, np.pi], periodic=True)  # of a gear: it advances
    np.testing.assert_allclose(ratio(x + 4 * np.pi), ratio(x) + 2 * np.pi, rtol=0, atol=1e-13)
    for end in (0, 1):  # of a period: f″ is continuous
        before, after = (ratio.derivatives(2 * np.pi * end + size) for size in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, rtol=0, atol=1e-7)


@pytest.mark.slow(every=5)
def test_coupling_curves_have_equal_values_on_arrays_and_in_compiled_code():
    """The segment is searched on floats by NumPy and in compiled code by bisection: both agree, at knots as well."""
    rng = np.random.default_rng(0)
    for count in (2, 3, 4, 5, 9, 360):
        for periodic in (False, True):
            curve = Curve(np.cumsum(rng.uniform(0.1, 1.0, count)), rng.normal(size=count), periodic=periodic)
            x = np.concatenate([curve.x, rng.uniform(-3.0, curve.x[-1] + 3.0, 50), [np.nan]])
            compiled = lw.compile(lambda x, curve=curve: [curve(x)], x=())(x)[..., 0]
            np.testing.assert_allclose(compiled, curve(x), rtol=0, atol=1e-11)
            np.testing.assert_allclose(curve(list(curve.x)), curve.y, rtol=0, atol=1e-11)
    together = lw.compile(lambda x: curve(x), x=(2, 3))(x[:6].reshape(2, 3))  # an array of symbols
    np.testing.assert_allclose(together, curve(x[:6]).reshape(2, 3), rtol=0, atol=1e-11)


def train(*constraints, **slider):
    """A camshaft, a valve that slides beside it, and a wheel."""
    bar = lambda name, mass: lw.Link(name, mass=mass, com=(0.02, 0.01, 0), inertia=(0.01, 0.02, 0.025))  # noqa: E731
    turn, slide = lw.joints.Revolute((0, 0, 1)), lw.joints.Prismatic((0, 1, 0))
    robot = lw.Robot.build(
        *("train", bar("shaft", 1.0), lw.Joint.of(turn, name="cam", parent="world", child="shaft")),
        *(bar("rod", 0.5), lw.Joint.of(slide, name="valve", parent="world", child="rod", **slider)),
        *(bar("disc", 2.0), lw.Joint.of(turn, name="wheel", parent="world", child="disc")),
        gravity=(0, 0, 0),
    )
    return robot.with_constraints(*constraints)


LIFT = Curve(np.radians([0, 90, 120, 240, 360]), [0.0, 0.02, 0.02, 0.0, 0.0], "cycloidal", periodic=True)
GENEVA_4 = Curve.geneva(4)


@pytest.mark.slow(every=5)
def test_every_robot_function_supports_couplings_by_curves(tmp_path):
    robot = train(CurveCoupling("valve", "cam", LIFT, unit="m"), CurveCoupling("wheel", "cam", GENEVA_4))
    bare = train()
    assert bare.with_loops_document(robot.loops_document()) == robot == pickle.loads(pickle.dumps(robot))
    assert copy.deepcopy(robot) == robot and robot.constraints[0].row_units == ("m",)
    robot.save(tmp_path / "train.json")
    assert lw.load(tmp_path / "train.json") == robot
    for write, ending in ((robot.to_mjcf, "xml"), (robot.to_sdf, "sdf"), (robot.to_urdf, "urdf")):
        assert "curve_coupling(valve, cam)" in str(write(tmp_path / f"train.{ending}"))  # that it is not written
    angle = np.linspace(0.0, 2 * np.pi, 25) + 0.05
    motion = robot.drive_mechanism({"cam": angle}, velocity={"cam": 3.0}, acceleration={"cam": -2.0})
    for k, curve in ((1, LIFT), (2, GENEVA_4)):
        f, first, second = curve.derivatives(angle)
        expected = [f, 3.0 * first, 9.0 * second - 2.0 * first]
        np.testing.assert_allclose(np.stack([motion.q, motion.v, motion.a])[..., k], expected, rtol=0, atol=1e-11)
    assert robot.mobility(motion.q[3]).mobility == 1
    M = np.array([(i.mass, i.inertia[2, 2] + i.mass * 5e-4) for i in robot.links if i.mass])
    slopes = np.stack([curve.derivatives(angle) for curve in (LIFT, GENEVA_4)])[:, 1]
    inertia = M[0, 1] + M[1, 0] * slopes[0] ** 2 + M[2, 1] * slopes[1] ** 2
    drive = robot.minimal_coordinates("cam")
    np.testing.assert_allclose(drive.mass_matrix(angle[:, None])[:, 0, 0], inertia, rtol=1e-12)
    dynamics_result = robot.constrained_inverse_dynamics(motion.q, motion.v, motion.a, actuators="cam")
    forces = np.stack([M[1, 0] * motion.a[:, 1], M[2, 1] * motion.a[:, 2]])
    np.testing.assert_allclose(dynamics_result.constraint_forces.T, forces, rtol=0, atol=1e-10)
    torque = M[0, 1] * -2.0 + (slopes * forces).sum(axis=0)
    np.testing.assert_allclose(dynamics_result.tau[:, 0], torque, rtol=0, atol=1e-10)
    back = robot.constrained_forward_dynamics(motion.q, motion.v, dynamics_result.tau)
    np.testing.assert_allclose(back.a, motion.a, rtol=0, atol=1e-9)


def test_cam_follower_leaves_its_cam_at_the_published_speed():
    """An eccentric cam, y = e (1 − cos x), a spring k and its preload P: contact until ω² = (2 k e + P)/(m e).

    Source: Uicker, Pennock and Shigley, Theory of Machines and Mechanisms, 2017, on rigid eccentric cams.
    """
    e, m, k, P = 0.01, 0.5, 4000.0, 20.0
    lift = Curve([0.0, np.pi, 2 * np.pi], [0.0, 2 * e, 0.0], "harmonic", periodic=True)
    robot = train(CurveCoupling("valve", "cam", lift, unit="m"), stiffness=k, rest=-P / k)
    angle, jump = np.linspace(0.0, 2 * np.pi, 25), np.sqrt((2 * k * e + P) / (m * e))
    f, first, second = lift.derivatives(angle)
    for speed in (0.8 * jump, jump):
        q = np.stack([angle, f, 0 * angle], axis=-1)
        v = np.stack([speed + 0 * angle, speed * first, 0 * angle], axis=-1)
        a = np.stack([0 * angle, speed**2 * second, 0 * angle], axis=-1)
        dynamics_result = robot.constrained_inverse_dynamics(q, v, a, actuators="cam", passive=True)
        force = m * e * speed**2 * np.cos(angle) + k * e * (1 - np.cos(angle)) + P
        np.testing.assert_allclose(dynamics_result.constraint_forces[:, 0], force, rtol=0, atol=1e-10)
        np.testing.assert_allclose(dynamics_result.tau[:, 0], force * first, rtol=0, atol=1e-10)
        assert abs(force.min() - (1 - (speed / jump) ** 2) * (2 * k * e + P)) < 1e-10


@pytest.mark.slow(every=5)
def test_cam_follower_with_a_gap_constraint_leaves_its_cam_above_the_jump_speed():
    """A light shoe and a gap ≥ 0 are the contact: the rod stays on it below the jump speed, and flies above that."""
    e, m, k, P = 0.01, 0.5, 4000.0, 20.0
    lift = Curve([0.0, np.pi, 2 * np.pi], [0.0, 2 * e, 0.0], "harmonic", periodic=True)
    turn, slide = lw.joints.Revolute((0, 0, 1)), lw.joints.Prismatic((0, 1, 0))
    ball = lambda name, mass, size: lw.Link(name, mass=mass, inertia=(size, size, size))  # noqa: E731
    robot = lw.Robot.build(
        *("cam", ball("disc", 1.0, 100.0), lw.Joint.of(turn, name="cam", parent="world", child="disc")),
        *(ball("shoe", 1e-4, 1e-6), lw.Joint.of(slide, name="follow", parent="world", child="shoe")),
        *(ball("rod", m, 1e-3), lw.Joint.of(slide, name="gap", parent="shoe", child="rod", lower=0.0)),
        gravity=(0, 0, 0),
    ).with_frame("top", "world", (0, 1, 0))
    spring = lw.force_elements.SpringDamper("rod", "top", stiffness=k, rest_length=1.0 + P / k)
    robot = robot.with_force_elements(spring).with_constraints(CurveCoupling("follow", "cam", lift, unit="m"))
    jump = np.sqrt((2 * k * e + P) / (m * e))
    for share in (0.95, 1.3):
        speed = share * jump
        run = robot.simulate(
            np.zeros(3), [speed, 0, 0], duration=np.pi / speed, dt=2e-5, joint_limit_mode="held", passive=True
        )
        gap = run.q[:, 2].max()
        if share < 1:
            assert gap < 1e-9
            continue
        # contact ends where N = 0; then the follower oscillates about its rest at −P/k
        left = np.arccos((k * e + P) / (k * e - m * e * speed**2))
        angle, w = run.q[run.q[:, 0] > left, 0], np.sqrt(k / m)
        phase = w * (angle - left) / speed
        y = (lift(left) + P / k) * np.cos(phase) + lift.derivatives(left)[1] * speed / w * np.sin(phase) - P / k
        np.testing.assert_allclose(run.q[run.q[:, 0] > left, 2], y - lift(angle), rtol=0, atol=0.01 * gap)


def test_invalid_coupling_curves_are_refused():
    for arguments, options, error, message in (
        (([0.0], [1.0]), {}, ValueError, "x: expected at least two increasing numbers"),
        (([0.0, 0.0], [1.0, 2.0]), {}, ValueError, "x: expected at least two increasing numbers"),
        (([0.0, 1.0], [1.0]), {}, ValueError, "y: expected 2 numbers, one for each x, got 1"),
        (([0.0, 1.0], [1.0, np.nan]), {}, ValueError, r"y\[1\]: expected a number, got nan"),
        (([0.0, 1.0], "12"), {}, TypeError, "y: expected numbers"),
        (([0.0, 1.0], [0.0, 1.0], "cycloid"), {}, ValueError, "did you mean 'cycloidal'"),
        (
            ([0.0, 1.0], [0.0, 1.0], ("345", "345")),
            {},
            ValueError,
            "motion: expected one for each of 1 segments, got 2",
        ),
        (([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], ("345", "spline")), {}, ValueError, "for all segments or for none"),
        (([0.0, 1.0], [0.0, 1.0]), {"slopes": [0, 0]}, ValueError, "slopes, curvatures: expected both"),
        (([0.0, 1.0], [0.0, 1.0], "345"), {"slopes": [0, 0], "curvatures": [0, 0]}, ValueError, "motion laws stop"),
        (
            ([0.0, 1.0], [0.0, 1.0]),
            {"slopes": [0, 1], "curvatures": [0, 0], "periodic": True},
            ValueError,
            "slopes: expected the same at both ends",
        ),
        (([0.0, 1.0], [0.0, 1.0], "geneva"), {}, ValueError, "Curve.geneva"),
        (([0.0, 1.0], [0.0, 1.0], "modified_sine"), {}, ValueError, "Curve.sampled"),
        (([0.0, 1.0], [0.0, 1.0], "dwell"), {}, ValueError, "two points of equal height are a dwell"),
        (([0.0, 1.0], [0.0, 1.0], "poly345"), {}, ValueError, "use '345'"),
    ):
        with pytest.raises(error, match=message):
            Curve(*arguments, **options)
    with pytest.raises(ValueError, match="slots: expected an integer >= 3"):
        Curve.geneva(2)
    for coupling, error, message in (
        (lambda: CurveCoupling("valve", "cam", LIFT), ValueError, "unit=.rad. needs one that rotates"),
        (lambda: CurveCoupling("valve", "cam", LIFT), ValueError, "pass unit='m' for this joint"),
        (
            lambda: CurveCoupling("wheel", "cam", Curve([0, 180, 360], [0, 1, 0], "345", periodic=True)),
            ValueError,
            r"the curve's period is 360 rad, as of angles in degrees, .* pass numpy.radians\(x\)",
        ),
        (lambda: CurveCoupling("cam", "cam", LIFT), ValueError, "'cam' cannot be coupled with itself"),
        (lambda: CurveCoupling("wheel", "cam", lambda x: 1.0), ValueError, "the same value for all positions"),
        (lambda: CurveCoupling("wheel", "cam", 3.0), TypeError, "curve: expected a Curve or a function"),
        (lambda: CurveCoupling("wheel", "cam", LIFT, unit="mm"), ValueError, 'unit: expected "rad" or "m"'),
    ):
        with pytest.raises(error, match=message):
            train(coupling())
    by_function = train(CurveCoupling("wheel", "cam", lambda x: 0.5 * np.sin(x)))
    with pytest.raises(
        TypeError, match=r"'curve_coupling\(wheel, cam\)': .* cannot be written to a file; .*Curve.sampled"
    ):
        by_function.loops_document()
    with pytest.raises(pickle.PicklingError, match="cannot be pickled"):
        pickle.dumps(by_function)
    text = train(CurveCoupling("wheel", "cam", GENEVA_4)).loops_document()
    for old, new, code in (('"geneva"', '"genova"', "PARAMETER"), ('"y"', '"yy"', "UNKNOWN_KEY")):
        with pytest.raises(lw.errors.ModelError, match=code) as refused:
            train().with_loops_document(text.replace(old, new))
        assert refused.value.issues[0].code == code


@pytest.mark.slow(every=9)
def test_every_simulation_method_turns_a_cam_and_a_geneva_wheel_as_energy_requires():
    """Without forces, x′ is proportional to the inverse root of the inertia about the camshaft; constraints hold."""
    robot = train(CurveCoupling("valve", "cam", LIFT, unit="m"), CurveCoupling("wheel", "cam", GENEVA_4))
    start, speed = 0.3, 6.0
    rates = [[1.0, curve.derivatives(start)[1]] for curve in (LIFT, GENEVA_4)]
    q = [start, LIFT(start), GENEVA_4(start)]
    v = [speed, speed * rates[0][1], speed * rates[1][1]]
    x = np.linspace(start, 9.0, 50_001)
    inertia = robot.minimal_coordinates("cam").mass_matrix(x[:, None])[:, 0, 0]
    slowness = np.sqrt(inertia / inertia[0]) / speed
    time = np.concatenate([[0.0], np.cumsum(0.5 * (slowness[1:] + slowness[:-1]) * np.diff(x))])
    for method, error in (
        ("dormand_prince", 1e-7),
        ("rk4", 1e-4),
        ("implicit_midpoint", 1e-3),
        ("semi_implicit_euler", 1e-3),
        ("variational", 1e-3),
        ("implicit_euler", 0.2),
    ):
        run = robot.simulate(q, v, duration=1.0, method=method)
        assert np.abs(robot.constraint_error(run.q)).max() < 1e-12, method
        assert np.abs(np.einsum("tij,tj->ti", robot.constraint_jacobian(run.q), run.v)).max() < 1e-12, method
        np.testing.assert_allclose(run.q[:, 0], np.interp(run.t, time, x), rtol=0, atol=error, err_msg=method)
    with pytest.raises(ValueError, match="'mujoco_euler' is for robots without constraints"):
        robot.simulate(q, v, duration=0.1, method="mujoco_euler")


def test_function_tabulated_as_a_curve_has_an_error_below_the_tolerance():
    """Its curve is that of the function to the tolerance, beyond the period too, and is read from a file as it was."""

    def eccentric(x):
        return np.arcsin(0.4 * np.sin(x)) + 0.2 * x

    table = Curve.sampled(eccentric, 0.0, 2 * np.pi, periodic=True)
    x = np.linspace(-7.0, 20.0, 5001)
    assert np.abs(table(x) - eccentric(x)).max() < 1.1e-9
    slope = 0.4 * np.cos(x) / np.sqrt(1.0 - (0.4 * np.sin(x)) ** 2) + 0.2
    assert np.abs(table.derivatives(x)[1] - slope).max() < 1e-6
    by_table = train(CurveCoupling("wheel", "cam", table))
    again = train().with_loops_document(by_table.loops_document())
    assert again.constraints[-1].curve == table
    assert len(Curve.sampled(eccentric, 0.0, 2 * np.pi, tolerance=1e-3).x) < len(table.x)
    for function, message in ((np.abs, "4096 segments have an error of"), (np.sqrt, r"y\[0\]: expected a number")):
        with pytest.raises(ValueError, match=message):
            Curve.sampled(function, -1.0, 1.1, tolerance=1e-12)
