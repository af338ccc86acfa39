"""Arguments, limits and messages of motions, on both sides of what is accepted."""

from types import SimpleNamespace

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import Status
from linkwork.motion import MotionLimit, Trajectory, arc, line, polyline, pose_spline, profile, spline
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.algorithms.hermite_interpolation import solve_cyclic
from linkwork.motion.cartesian import path_constructors, tracking_outcome
from linkwork.motion.closed_motion import is_closed, refuse_velocities
from linkwork.motion.profiles import arguments
from linkwork.motion.profiles.profile_kinds import ProfileLimits
from linkwork.motion.splines.spline_solvers import _periodic
from linkwork.motion.timing import limits, path_geometry
from linkwork.motion.trajectory import piecewise_evaluation, time_scaling

TWO = lw.load("double_pendulum")
MOTION = TWO.spline([0.5, 1.25, 2.0], [[0.1, 0.2], [0.3, -0.4], [0.7, 0.6]])
PATH = Trajectory(MOTION.sections, TWO, is_timed=False)
X0 = lw.pose((0.1, 0.2, 0.3))
X1 = lw.pose((0.5, -0.1, 0.7), axis=(0.3, 0.4, 0.5), angle=0.8)


def refused(words, function, *positional, error=ValueError, **options):
    with pytest.raises(error, match=words):
        function(*positional, **options)


# -- limits of motions along paths


def test_functions_of_motion_limits_that_are_not_of_second_order_are_refused():
    q, first = np.array([[[0.3, -0.2]]]), np.array([[[0.5, 0.7]]])
    samples = limits.PathSamples(q, first, np.array([[[-0.3, 0.4]]]))

    def terms(function):
        return limits._second_order_terms("f", samples, MotionLimit(function, -1.0, 1.0, "tip"))

    a, b, c = terms(lambda q, v, a: 3.0 * a + 2.0 * v**2 + q)
    assert np.allclose(a, 3.0 * first) and np.allclose(c, q) and np.allclose(b, 3.0 * samples.second + 2.0 * first**2)
    terms(lambda q, v, a: a + 1e-6 * v)  # within tolerance
    refused("f: tip: expected a function that is linear in a and quadratic in v", terms, lambda q, v, a: a + 1e-5 * v)
    refused("f: tip: its function returns a value that is not finite", terms, lambda q, v, a: a + np.inf)
    refused(r"f: tip: expected a result of shape \(..., m\)", terms, lambda q, v, a: a[..., 0])
    refused(
        "MotionLimit: function: expected a function called as", MotionLimit, lambda q: q, -1.0, 1.0, error=TypeError
    )
    refused("MotionLimit: function: expected", MotionLimit, 3.0, -1.0, 1.0, error=TypeError)


def test_limit_sets_that_do_not_fit_a_path_are_refused():
    def read(path=PATH, robot=TWO, speed=None, acceleration=1.0, custom=()):
        return limits.LimitSet.read("f", path, robot, 1.0, acceleration, None, speed, custom)

    assert read(speed={"tip": 0.5}).fastest.tolist() == [0.5]
    refused("no frame named 'tp'", read, speed={"tp": 0.5}, error=lw.errors.UnknownNameError)
    refused(r"f: speed: 'tip': expected a positive speed \[m/s\], got 0.0", read, speed={"tip": 0.0})
    free = spline([0.0, 1.0], [[0.1, 0.2, 0.3], [0.4, 0.5, 0.7]])
    refused("f: robot: expected a robot with nq = 3 and nv = 3, as the path has, got nq = 2 and nv = 2", read, free)
    plain = spline([0.0, 1.0], [[0.1, 0.2], [0.4, 0.5]])
    refused("f: speed: expected a path of a robot, or robot=", read, plain, None, speed={"tip": 0.5})
    refused(r"f: motion_limits: expected MotionLimit\(function", read, custom=[3.0], error=TypeError)
    samples = limits.PathSamples(*(np.array([[x]]) for x in ([0.3, -0.2], [0.5, 0.7], [-0.3, 0.4])))

    def constraints(low, high):
        return read(custom=[MotionLimit(lambda q, v, a: a, low, high, "tip")]).constraints("f", samples)

    assert constraints([0.25, -1.0], [0.25, 1.0]).lower[-2:].tolist() == [0.25, -1.0]
    assert constraints([0.5, -np.inf], [0.75, 2.0]).lower[-1] == -limits._UNLIMITED
    refused(r"f: tip: expected limits of shape \(2,\), got shape \(3,\)", constraints, [0.0] * 3, [1.0] * 3)
    backward = MotionLimit(lambda q, v, a: a, -1.0, 1.0, "tip")
    object.__setattr__(backward, "lower", [0.5, 1.5])
    refused("f: tip: expected lower limits below upper ones", read(custom=[backward]).constraints, "f", samples)


def test_coordinates_with_a_limit_of_zero_must_not_move():
    def check(rates, **sides):
        values = {"velocity": (-np.ones(2), np.ones(2)), "acceleration": None, "jerk": None, **sides}
        limit_set = SimpleNamespace(**values, names=("shoulder", "elbow"))
        limits.LimitSet.check_zero_limits(limit_set, "f", np.array(rates))

    stuck = np.array([-1.0, 0.0]), np.array([1.0, 0.0])
    up_only, down_only = (np.zeros(2), np.ones(2)), (-np.ones(2), np.zeros(2))
    check([[0.5, 5e-13], [-0.5, -5e-13]], velocity=stuck, acceleration=stuck, jerk=stuck)
    check([[0.5, 0.5]], velocity=up_only)
    check([[-0.5, -0.5]], velocity=down_only)
    for rates, sides in (
        ([[0.5, 5e-12]], {"velocity": stuck}),
        ([[0.5, -5e-12]], {"velocity": stuck}),
        ([[0.5, -0.5]], {"velocity": up_only}),
        ([[-0.5, 0.5]], {"velocity": down_only}),
        ([[0.5, 5e-12]], {"acceleration": stuck}),
        ([[0.5, -5e-12]], {"jerk": stuck}),
    ):
        (name,) = sides
        refused(f"f: {name}: 'elbow' moves along the path, and its limit is 0", check, rates, **sides)
    motors = limits._motors
    low, high = np.array([-5.0, 0.0]), np.array([5.0, 0.0])
    assert motors(TWO, None, low, high, "elbow") == ("elbow",)
    assert motors(TWO, None, low, high, ["elbow", "shoulder"]) == ("elbow", "shoulder")
    assert motors(TWO, None, low, high, None) is None
    four_bar = lw.load("fourbar")
    assert motors(four_bar, {"crank_hinge": 3.0}, low, high, None) == ("crank_hinge",)
    assert motors(four_bar, 3.0, np.array([-3.0, 0.0, 0.0]), np.array([3.0, 0.0, 2.0]), None) == (
        "crank_hinge",
        "rocker_hinge",
    )
    low, high = limits._narrowed(np.array([-4.0, 1.0, -1e30]), np.array([2.0, 1.5, 8.0]), 0.25)
    assert low.tolist()[:2] == [-3.0, 1.25] and high.tolist() == [
        1.0,
        1.25,
        6.0,
    ]  # by the greater limit, or to the middle


# -- profiles


def test_invalid_states_and_options_of_profiles_are_refused():
    refused("profile: q0: expected a number or an array .* n >= 1, got an empty array", profile, [], [], velocity=1.0)
    refused(r"profile: q1: expected finite numbers, got nan at 1", profile, [0.0, 0.0], [0.0, np.nan], velocity=1.0)
    words = r"profile: v0: .*shape \(2,\), the longest of q0 and q1, got"
    refused(words, profile, [0.0, 0.0], 1.0, v0=[1.0, 2.0, 3.0], velocity=1.0)
    function = lw.motion.ProfileFunction
    words = 'ProfileFunction: synchronize: expected "time" or None, got "phase"; use profile()'
    refused(
        words.replace("(", r"\(").replace(")", r"\)"), function, 2, synchronize="phase", velocity=1.0, acceleration=1.0
    )


def test_reasons_of_missing_profiles_name_the_coordinate_and_the_limit():
    kind = arguments.read_options("f", "trapezoid", "time", None)[0]
    quintic = arguments.read_options("f", "quintic", "time", None)[0]

    def reason(states, up=1.0, down=1.0, kind=kind, duration=None, names=("slide",)):
        many = len(names)
        arrays = [np.full(many, float(x)) for x in states]
        sides = [np.full(many, float(x)) for x in (up, down, 2.0, 2.0, np.inf, np.inf)]
        return arguments.failure_reason("f", kind, names, arrays, ProfileLimits(*sides), 2, duration)

    at_rest = (0.0, 0.0, 0.0, 0.0)
    assert (
        reason((0.0, 1.0, 1.5, 0.0, 0.0, 0.0))
        == "f: v0: v of slide at the start is 1.5, outside its limits of velocity, [-1, 1]"
    )
    assert "must move by 0.5, but its limit of velocity in this direction is 0" in reason((0.0, 0.5, *at_rest), up=0.0)
    assert "must move by -0.5, but its limit" in reason((0.0, -0.5, *at_rest), down=0.0)
    assert "the quintic profile of 2 s violates the limits; leave out duration" in reason(
        (0, 1, *at_rest), kind=quintic, duration=2.0
    )
    assert "no quintic profile between these states" in reason((0, 1, *at_rest), kind=quintic)
    # one coordinate cannot move back: from 1 m/s at 2 m/s² it stops after 0.25 m
    near = reason((0.0, 0.2, 1.0, 0.0, 0.0, 0.0), down=0.0)
    assert "slide must move by 0.2, but from v = 1 it needs 0.25 to stop within its limits" in near
    backward = reason((0.0, -0.2, -1.0, 0.0, 0.0, 0.0), up=0.0)
    assert "slide must move by -0.2, but from v = -1 it needs -0.25 to stop" in backward
    both = reason((0.0, 0.4, 1.0, 1.0, 0.0, 0.0), down=0.0)
    assert "it needs 0.5 to stop and to reach v = 1 within" in both
    for states, sides in (
        ((0.0, 0.25, 1.0, 0.0, 0.0, 0.0), {"down": 0.0}),
        ((0.0, -0.25, -1.0, 0.0, 0.0, 0.0), {"up": 0.0}),
        ((0.0, 0.2, 1.0, 0.0, 0.0, 0.0), {}),
    ):
        assert "no feasible duration of slide was found" in reason(states, **sides)
    assert "no feasible duration of all coordinates" in reason((0.0, 0.2, *at_rest), names=("a", "b"))


def test_coordinates_that_limits_of_zero_lock_must_rest():
    def locked(states, **change):
        values = {"velocity_up": 1.0, "velocity_down": 1.0, "acceleration_up": 1.0, "acceleration_down": 1.0}
        values |= {"jerk_up": 1.0, "jerk_down": 1.0, **change}
        sides = SimpleNamespace(**{name: np.array([0.5, x]) for name, x in values.items()})
        return arguments.locked_coordinates("f", ("a", "b"), [np.array(x) for x in states], sides).tolist()

    states = [[0.0, 0.3], [0.5, 0.3]] + [[0.25, 0.0]] * 4
    assert locked(states) == [False, False]
    for quantity in ("velocity", "acceleration", "jerk"):
        assert locked(states, **{f"{quantity}_up": 0.0, f"{quantity}_down": 0.0}) == [False, True]
    assert locked(states, velocity_up=0.0) == [False, False]
    for quantity in ("acceleration", "jerk"):
        for side in ("up", "down"):
            refused(
                f"f: {quantity} of b: expected positive limits in both", locked, states, **{f"{quantity}_{side}": 0.0}
            )
    for k, x in ((1, [0.5, 0.300001]), (2, [0.0, 1e-9]), (5, [0.0, -1e-9])):
        moving = [*states[:k], x, *states[k + 1 :]]
        refused("f: b must move from 0.3 to", locked, moving, velocity_up=0.0, velocity_down=0.0)


# -- curves


def test_periodic_curves_need_equal_ends():
    points = np.array([[0.1, 0.2], [0.5, -0.3], [0.1, 0.2 + 5e-10]])
    assert spline([0.0, 1.0, 2.0], points, boundary="periodic").duration == 2.0
    points[-1, 1] = 0.2 + 5e-9
    words = 'spline: boundary: "periodic" requires a last point equal to the first; coordinate 1 differs by 5e-09'
    refused(words, spline, [0.0, 1.0, 2.0], points, boundary="periodic")
    X = np.stack([X0, X1, X0])
    pose_spline(X, boundary="periodic")
    words = 'pose_spline: boundary: "periodic" requires a last pose equal to the first'
    refused(words, pose_spline, X[:2], boundary="periodic")
    single = _periodic(np.array([2.0]), np.array([[0.3, -0.6]]))
    assert np.allclose(single, [[0.3, -0.6]] * 2)  # a constant rate
    assert np.allclose(solve_cyclic([0.5], [2.0], [1.5], [8.0]), [2.0])


def test_cyclic_systems_are_solved_exactly():
    rng = np.random.default_rng(8)
    for n in (2, 3, 5):
        lower, upper, right = rng.normal(size=(3, n))
        diagonal = 4.0 + rng.random(n)
        A = np.diag(diagonal)
        for k in range(n):
            A[k, (k - 1) % n] += lower[k]
            A[k, (k + 1) % n] += upper[k]
        x = solve_cyclic(lower.tolist(), diagonal.tolist(), upper.tolist(), right.tolist())
        assert np.allclose(A @ np.array(x), right)


def test_segments_of_parameters_are_the_last_that_begin_before_them():
    rng = np.random.default_rng(5)
    for starts in (np.sort(rng.random(40)), np.array([0.0, 1e-320, 3e-320]), np.array([0.0, 1.0]), np.array([0.5])):
        s = rng.permutation(np.concatenate([rng.uniform(-0.1, 1.1, 3000), starts, starts]))
        expected = [max(int((starts <= x).sum()) - 1, 0) for x in s]
        for values, result in ((s, expected), (np.sort(s), sorted(expected)), (s[:5], expected[:5])):
            assert piecewise_evaluation.segment_indices(starts, values).tolist() == result


def test_rate_jumps_where_it_changes_by_more_than_a_fraction_of_its_size():
    before = np.array([[3.0, 4.0], [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]])
    change = np.array([3e-7, 5e-7, 5e-13, 5e-12])
    after = before + change[:, None] * [1.0, 0.0]
    assert path_geometry.jumps(before, after).tolist() == [False, True, False, True]
    assert path_geometry.jumps(before, after, size=np.array([1.0, 9.0, 1.0, 1.0])).tolist() == [
        True,
        False,
        False,
        False,
    ]
    roots = path_geometry._roots(np.array([0.125, -0.75, 1.0, 0.0]))  # (u - 1/4) (u - 1/2)
    assert np.allclose(roots, [0.25, 0.5]) and path_geometry._roots(np.array([3.0, 1.0])).tolist() == []


def test_parts_of_retimed_motions_are_the_motion_between_the_times():
    slow = MOTION.retimed([0.5, 1.75, 3.0])
    section = slow.sections[0]
    assert section.clock is not None
    t = np.linspace(1.6, 2.2, 7)
    part = Trajectory([section.part(1.6, 2.2)], TWO)(t)
    assert np.allclose(part.q, slow(t).q) and np.allclose(part.v, slow(t).v)
    (first,) = MOTION.sections
    assert path_geometry._continues(first.part(0.5, 1.0), first.part(1.0, 2.0))
    whole = Trajectory([first.part(0.5, 1.0), first.part(1.0, 2.0)], TWO)
    assert np.allclose(whole(t[:3]).q, MOTION(t[:3]).q)
    assert not path_geometry._continues(first.part(0.5, 1.0), first.part(1.5, 2.0))
    assert not path_geometry._continues(section.part(1.0, 1.5), section.part(1.5, 2.0))
    (second,) = TWO.spline([1.0, 2.0], [[0.1, 0.2], [0.3, -0.4]]).sections
    assert not path_geometry._continues(first.part(0.5, 1.0), second)
    (plain,) = spline([0.5, 1.0, 1.5], [[0.1], [0.3], [0.2]]).sections
    assert not path_geometry._continues(plain.part(0.5, 1.0), first.part(1.0, 2.0))


def test_sections_without_duration_are_left_out_of_retimed_motions():
    def section(start, end):
        return SimpleNamespace(start=start, end=end, timed=lambda clock, first, last: (first, last))

    new, old = np.array([0.0, 2.0, 5.0]), np.array([0.0, 1.0, 3.0])

    def clocked(*ends):
        return time_scaling.clocked([section(*x) for x in ends], None, new, old)

    assert clocked((0.0, 1.0), (1.0, 3.0)) == [(0.0, 2.0), (2.0, 5.0)]
    assert clocked((0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 3.0), (3.0, 3.0)) == [(0.0, 2.0), (2.0, 5.0)]
    assert clocked((3.0, 3.0)) == [(5.0, 5.0)]  # a single state


def test_rates_of_plain_coordinates_are_their_velocities():
    plain = CurveSpace.of(TWO.tree)
    assert plain.q_dot([0.3, 0.4], [1.0, 2.0]) == [1.0, 2.0] and plain.parts == [slice(0, 2)]
    robot = lw.Robot.build(
        "free",
        lw.Link("base"),
        lw.Link("body", mass=1.0),
        lw.Joint.of(lw.joints.Spherical(), name="ball", parent="base", child="body"),
    )
    space = CurveSpace.of(robot.tree)
    q, v = robot.random_configuration(seed=2), np.array([0.3, -0.5, 0.7])
    ahead, behind = (np.asarray(robot.integrate(q, h * v)) for h in (1e-5, -1e-5))
    assert np.allclose(np.array(space.q_dot(q.tolist(), v.tolist()), float), (ahead - behind) / 2e-5, atol=1e-9)
    assert space.parts == [slice(0, 3)]


# -- motions of mechanisms and files


def test_velocities_that_constraints_forbid_and_velocity_constraints_are_refused():
    expected = np.array([[0.5, 2.0]])
    refuse_velocities("f", TWO, "v0", expected, expected + np.array([0.0, 2.5e-6]))
    words = "f: v0: expected velocities that satisfy the constraints, got 2 for 'elbow', which must move at"
    refused(words, refuse_velocities, "f", TWO, "v0", expected, expected + np.array([0.0, 4e-6]))
    assert not is_closed("f", TWO, None) and is_closed("f", lw.load("fourbar"), ["crank_hinge"])
    refused("f: independent: expected None for 'double_pendulum', which has no loops", is_closed, "f", TWO, ["elbow"])
    rolls = SimpleNamespace(holonomic=False, name="wheel", component_names=("x",))
    car = SimpleNamespace(name="car", tree=SimpleNamespace(constraints=(rolls,)))
    refused("f: robot: 'wheel' of 'car' constrains velocities, which no curve through", is_closed, "f", car, None)


def test_motions_of_symbols_and_paths_without_time_are_refused(tmp_path):
    assert lw.motion.time_optimal([]) == []

    def symbolic(q, t):
        moving = TWO.spline([0.0, 1.0], [[0.1, 0.2], q])
        for words, function in (
            (
                "save: .*the trajectory contains symbols; save it with numeric values",
                lambda: moving.save(tmp_path / "a.npz"),
            ),
            ("the trajectory contains symbols; expected numeric values", lambda: moving.save(tmp_path / "a.json")),
        ):
            with pytest.raises(TypeError, match=words):
                function()
        with pytest.raises(ValueError, match='Trajectory: side: expected "right" in a compiled function, got "left"'):
            moving(t, side="left")
        return moving(t).q

    kernel = lw.compile(symbolic, q=(2,), t=())
    assert np.allclose(kernel([0.5, 0.7], 1.0), [0.5, 0.7])
    refused('Trajectory: side: expected "left" or "right", got \'up\'', MOTION, 1.0, side="up")


def test_points_that_define_no_circle_or_line_are_refused():
    refused(
        "arc: axis and angle: expected a nonzero axis", arc, X0, center=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 0.0), angle=1.0
    )
    refused(
        "arc: axis and angle: expected a nonzero axis", arc, X0, center=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0), angle=0.0
    )
    refused("arc: X0: expected a pose off the axis", arc, X0, center=X0[:3, 3], axis=(0.0, 0.0, 0.5), angle=1.0)
    short = arc(X0, center=(0.1, 0.0, 0.3), axis=(0.0, 0.0, 0.5), angle=0.5)
    assert np.isclose(short.length, 0.1) and np.allclose(short(0.0), X0)
    refused("X0, via and X1 are on one line", arc, X0, via=X0[:3, 3] + 0.1, X1=X0[:3, 3] + 0.2)
    refused("polyline: blend: expected a number >= 0", polyline, [X0, X1, X0], blend=-1e-9)
    refused("polyline: expected at least two different poses", polyline, [X0, X0])
    assert np.isclose(
        polyline([X0, X0, X1], orientation="decoupled").length, line(X0, X1, orientation="decoupled").length
    )
    path = line(X0, X1)
    for s in (-1e-3 * path.length, 1.001 * path.length):
        refused(r"CartesianPath: s: expected values from 0 to", path, s)
    refused("CartesianPath: segments: expected segments of positive length", lw.motion.CartesianPath, [])
    screw = path._segments[0]
    assert np.allclose(np.array(path_constructors._at(screw, 1.0).elements()).reshape(4, 4), X1)
    circle = short._segments[0]
    assert np.allclose(np.array(path_constructors._at(circle, 1.0).elements()).reshape(4, 4), short(short.length))


# -- endings of paths that are not followed


def test_endings_of_paths_name_singularities_limits_and_pairs():
    inner = SimpleNamespace(plain=True, lower=np.array([-1.0, -0.5]), upper=np.array([1.0, 0.5]))
    request = SimpleNamespace(
        problem=inner, robot=TWO, lower=inner.lower, upper=inner.upper, path=SimpleNamespace(length=4.0)
    )
    message = tracking_outcome._limit_message
    assert message(request, np.array([1.0, -0.5])) is None
    assert (
        message(request, np.array([0.0, 0.75]))
        == "joint 'elbow' is at its upper limit, 0.5, and would have to move to 0.75"
    )
    assert message(request, np.array([-1.25, 0.0])).startswith("joint 'shoulder' is at its lower limit, -1, and")
    inner.plain = False
    assert message(request, np.array([9.0, 9.0])) is None
    small = tracking_outcome._SINGULAR
    for value, status, words in (
        (0.99 * small, Status.SINGULAR, "at 25 % of the path the robot is near a singularity"),
        (
            small,
            Status.DEVIATION,
            "at 25 % of the path the densest waypoints do not keep the frame within 0.5 m and 2 rad",
        ),
    ):
        request.smallest_singular_value = lambda q, value=value: value
        ending = tracking_outcome.deviation_ending(request, None, 1.0, (0.5, 2.0))
        assert ending[0] is status and ending[1].startswith(words)
    for distance, status, words in (
        (0.0, Status.COLLIDING, "'a' collides with 'b'"),
        (0.02, Status.COLLIDING, "'a' is 0.02 m from 'b'"),
        (0.021, Status.UNDECIDED, "'a' is 0.021 m from 'b'"),
    ):
        ending = tracking_outcome.collision_ending(0.5, ("a", "b"), distance, 0.02)
        assert ending[0] is status and words in ending[1] and "at 50 % of the path" in ending[1]


def test_profiles_of_several_points_and_loads_of_plans_get_a_remedy() -> None:
    arm = lw.load("double_pendulum")
    with pytest.raises(TypeError, match=r"profile: q1: expected a value, got none; .*robot.spline\(times, points\)"):
        arm.profile([[0, 0], [1, 2], [0, 1]], velocity=1.0, acceleration=2.0, kind="trapezoid")
    with pytest.raises(TypeError, match=r"no option named 'payload'; robot=robot.with_payload\("):
        lw.load("arm6").plan([0.0] * 6, [0.1] * 6).timed(torque=True, payload=5.0)
    with pytest.raises(TypeError, match="no option named 'units'; lengths are in m and angles in rad"):
        lw.pose((100.0, 0.0, 0.0), units="mm")
