"""integrate, difference and normalize: configurations as points of a manifold."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import jacobian, tangent
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.robot.robot_table import ROBOT
from oracles.comparison import EPS, assert_close
from oracles.scalars import Direct, with_functions
from oracles.trees import TREES, every_moving_tree, every_tree, state


def within_half_a_turn(v, most=3.0):
    """Steps of which no joint can turn further than ``most`` [rad]."""
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return v * np.minimum(1.0, most / np.maximum(length, EPS))


def quaternions(tree, q):
    """Yield the quaternions of a configuration, by the names of coordinates."""
    for body, columns in zip(tree.bodies, tree.q_slices, strict=True):
        names = body.joint.q_names
        if "qw" in names:
            yield q[..., columns][..., [names.index(n) for n in ("qw", "qx", "qy", "qz")]]


@with_functions
def test_difference_of_configurations_inverts_integrate(tree, f):
    q, v, _ = state(tree, size=20)
    v = within_half_a_turn(v)
    for scale in (1.0, 1e-4, 1e-8, 1e-12, 0.0):
        step = scale * v
        assert_close(f.difference(q, f.integrate(q, step)), step, 1e-12 * max(scale, 1e-2), f"{scale}", core=1)


@pytest.mark.costly
@with_functions
def test_integrating_the_difference_of_configurations_reaches_the_target(tree, f):
    q, _, _ = state(tree, size=20)
    p, _, _ = state(tree, seed=1, size=20)
    reached = f.integrate(q, f.difference(q, p))
    assert_close(f.forward_kinematics(reached), f.forward_kinematics(p), 1e-12, core=2)
    same = f.difference(reached, p)
    assert_close(same, np.zeros_like(same), 1e-12, core=1)


@with_functions
def test_integrating_a_zero_velocity_keeps_the_configuration_and_an_opposite_velocity_returns(tree, f):
    q, v, _ = state(tree)
    zero = np.zeros(tree.nv)
    assert_close(f.integrate(q, zero), q, 4 * EPS, core=1)
    assert np.max(np.abs(f.difference(q, q)), initial=0.0) <= 4 * EPS
    moved = f.integrate(q, v)
    assert_close(f.forward_kinematics(f.integrate(moved, -v)), f.forward_kinematics(q), 1e-13, core=2)


@with_functions
def test_integrating_half_a_velocity_twice_equals_integrating_it_once(tree, f):
    q, v, _ = state(tree)
    twice = f.integrate(f.integrate(q, 0.5 * v), 0.5 * v)
    assert_close(f.forward_kinematics(twice), f.forward_kinematics(f.integrate(q, v)), 1e-13, core=2)


@pytest.mark.costly
@with_functions
def test_quaternions_keep_unit_length_when_configurations_are_integrated(tree, f):
    q, v, _ = state(tree, size=50)
    for _ in range(3):
        q = f.integrate(q, v)
    for quaternion in quaternions(tree, q):
        assert np.max(np.abs(np.linalg.norm(quaternion, axis=-1) - 1.0)) <= 1e-15


@with_functions
def test_normalize_restores_unit_quaternions(tree, f):
    q, _, _ = state(tree)
    assert_close(f.normalize(q), q, 2 * EPS, core=1)
    stretched = q.copy()
    for part in tree.q_slices:
        names = tree.bodies[tree.q_slices.index(part)].joint.q_names
        for k, name in enumerate(names):
            if name in ("qw", "qx", "qy", "qz"):
                stretched[:, part.start + k] *= 3.0
    assert_close(f.normalize(stretched), q, 4 * EPS, core=1)


@every_moving_tree
def test_rate_of_integrate_is_the_rate_of_the_configuration(tree):
    """∂/∂t integrate(q, t v) at t = 0 is q̇(q, v), and the pose moves by the twist."""
    graph = Graph()
    q, v = graph.inputs("q", (tree.nq,)), graph.inputs("v", (tree.nv,))
    at, rate, _ = state(tree)
    reached = ROBOT["integrate"].compute(tree, q, v)
    rates = tangent(reached, v, rate[0].tolist())
    rates_of_pose = np.array(evaluate(rates, dict(zip(q, at[0], strict=True)) | dict.fromkeys(v, 0.0)), dtype=float)
    q, v = tree.split_q(at[0].tolist()), tree.split_v(rate[0].tolist())
    expected = [x for i, body in tree.stacked() for x in body.joint.q_dot(q[i], v[i])]
    assert_close(rates_of_pose, expected, 1e-14)


@every_moving_tree
@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-8, 1e-4, 1.0, np.pi - 1e-8], ids=str)
def test_derivatives_of_integrate_and_difference_are_inverse_and_finite(tree, angle):
    """Difference inverts the step, so ∂difference/∂step is 1: at the identity, and up to half a turn."""
    graph = Graph()
    q, v = graph.inputs("q", (tree.nq,)), graph.inputs("v", (tree.nv,))
    rows = jacobian(ROBOT["difference"].compute(tree, q, ROBOT["integrate"].compute(tree, q, v)), v)
    at, step, _ = state(tree, size=1)
    step = step / np.linalg.norm(step) * angle
    values = evaluate([x for row in rows for x in row], dict(zip([*q, *v], [*at[0], *step[0]], strict=True)))
    product = np.array(values, dtype=float).reshape(tree.nv, tree.nv)
    assert_close(product, np.eye(tree.nv), 1e-12)


@every_tree
def test_configuration_differences_at_half_a_turn_are_finite(tree):
    """Turns of π and a little less: both directions are right."""
    f = Direct(tree)
    q, v, _ = state(tree)
    for size in (np.pi - 1e-8, np.pi, np.pi + 1e-8):
        step = v / np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), EPS) * size
        difference = f.difference(q, f.integrate(q, step))
        assert np.all(np.isfinite(difference))
        again = f.forward_kinematics(f.integrate(q, difference))
        assert_close(again, f.forward_kinematics(f.integrate(q, step)), 1e-12, core=2)


def test_quaternion_and_its_negative_give_equal_kinematics_and_dynamics():
    tree = TREES["floating_chain"]
    f, (q, v, a) = Direct(tree), state(tree)
    negated = q.copy()
    for columns in tree.q_slices:
        negated[:, columns.start : columns.start + 4] *= -1.0
    assert_close(f.forward_kinematics(negated), f.forward_kinematics(q), 1e-15, core=2)
    assert_close(f.inverse_dynamics(negated, v, a), f.inverse_dynamics(q, v, a), 1e-15, core=1)
    difference = f.difference(q, negated)
    assert_close(difference, np.zeros_like(difference), 1e-15, core=1)


def test_configuration_differences_of_rotations_are_at_most_half_a_turn():
    """Both quaternions of a rotation give the same difference."""
    tree = TREES["floating_random"]
    f, q, p = Direct(tree), state(tree, size=200)[0], state(tree, seed=1, size=200)[0]
    step, negated = f.difference(q, p), p.copy()
    for columns, rates in zip(tree.q_slices, tree.v_slices, strict=True):
        negated[:, columns.start : columns.start + 4] *= -1.0
        turn = np.linalg.norm(step[:, rates.start : rates.start + 3], axis=-1)
        assert np.max(turn) <= np.pi
        assert np.max(turn) > 3.0
    assert_close(f.difference(q, negated), step, 1e-13, core=1)


@with_functions
def test_velocities_and_rates_of_configurations_convert_into_each_other(tree, f):
    """q̇ is the derivative of moving along v, and v follows from it, with and without coupled joints."""
    q, v, _ = state(tree)
    rate = f.velocity_to_configuration_derivative(q, v)
    h = 1e-5
    moved = (f.integrate(q, h * v) - f.integrate(q, -h * v)) / (2.0 * h)
    assert np.max(np.abs(rate - moved), initial=0.0) <= 1e-7 * max(1.0, np.max(np.abs(rate), initial=0.0))
    assert_close(f.configuration_derivative_to_velocity(q, rate), v, 1e-11, core=1)


def test_configuration_by_joint_keeps_the_base_and_gives_batches():
    robot = lw.load("quadruped", floating_base=True)
    base = robot.random_configuration(seed=1, size=3)
    joints = [joint for joint in robot.joints if joint.nq == 1][:2]
    values = {joints[0].name: 0.3, joints[1].name: np.array([[0.1], [-0.2]]), robot.joints[0].name: base[0, :7]}
    expected = np.tile(base, (2, 1, 1))
    expected[..., :7] = base[0, :7]
    expected[..., joints[0].q_slice] = 0.3
    expected[..., joints[1].q_slice] = np.array([[[0.1]], [[-0.2]]])
    assert np.array_equal(robot.configuration(values, base=base), expected)
    assert np.array_equal(robot.configuration({}), robot.neutral())
    assert np.array_equal(robot.configuration({}, base=base), base)
    for refused, error in (([0.3], "a dict of values by joint"), ({"FL_hpi": 0.3}, "no joint named 'FL_hpi'")):
        with pytest.raises((TypeError, ValueError), match=error):
            robot.configuration(refused)
    with pytest.raises(ValueError, match=r"configuration: base: expected an array of shape \(\.\.\., 19\)"):
        robot.configuration({}, base=[0.0])
    with pytest.raises(TypeError, match=r"robot\.configuration\(\{\"elbow\": 0\.5\}\) sets joints by name"):
        robot.neutral({"elbow": 0.5})
    with pytest.raises(AttributeError, match="use robot\\.configuration"):
        robot.q_from_dict  # noqa: B018


POSED = (
    lw.load("double_pendulum")
    .with_named_configuration("home", {"elbow": 0.7, "shoulder": -0.4})
    .with_named_configuration("bent", {"elbow": -1.2})
)
HOME, BENT = np.array([-0.4, 0.7]), np.array([0.0, -1.2])
TIP = POSED.frames[-1]
BY_NAME = {
    "jacobian": lambda q, p: POSED.jacobian(q, TIP),
    "written": lambda q, p: POSED.pose(q, TIP, out=np.empty((4, 4))),
    "difference": lambda q, p: POSED.difference(q, p),
    "traced": lambda q, p: lw.compile(lambda v: POSED.inverse_dynamics(q, v, v), v=2)(np.ones(2)),
    "null space": lambda q, p: POSED.mass_matrix_null_space(q),
    "mobility": lambda q, p: POSED.mobility(q).q,
    "plan": lambda q, p: POSED.plan(q, p).path,
    "goals": lambda q, p: POSED.plan(q, [p, np.array([1.0, 1.0])]).goal,
    "motion": lambda q, p: POSED.is_motion_free(q, p).free,
    "profile": lambda q, p: POSED.profile(q, p, velocity=1.0, acceleration=2.0, jerk=9.0)(0.5)[0],
    "spline": lambda q, p: POSED.spline([0.0, 1.0, 3.0], [q, p, q])(0.5)[0],
    "simulate": lambda q, p: POSED.simulate(q, duration=0.01).q,
    "inverse kinematics": lambda q, p: POSED.inverse_kinematics(POSED.pose(HOME, TIP), TIP, q_init=q).q,
    "start": lambda q, p: read_start(q),
    "linear model": lambda q, p: lw.control.linear_model(POSED, q).A,
}


def read_start(q):
    problem = lw.TrajectoryProblem(POSED, duration=0.4, num_steps=4).add(
        lw.optimal.AccelerationFeature(), "least_squares"
    )
    return problem.solve(start=q, initial_guess=q).q


@pytest.mark.parametrize("name", BY_NAME)
def test_names_of_configurations_give_the_results_of_their_arrays(name):
    assert np.array_equal(BY_NAME[name]("home", "bent"), BY_NAME[name](HOME, BENT))


def test_lists_of_names_and_dicts_are_batches_of_configurations():
    mixed = ["home", {"elbow": -1.2}, HOME]
    assert np.array_equal(POSED.pose(mixed, TIP), POSED.pose(np.array([HOME, BENT, HOME]), TIP))
    assert np.array_equal(POSED.gravity_force(("bent", "home")), POSED.gravity_force(np.array([BENT, HOME])))
    floating = lw.load("quadruped").with_named_configuration("start", {})
    assert np.array_equal(floating.center_of_mass("start"), floating.center_of_mass(floating.neutral()))


def test_poses_in_place_of_the_coordinates_of_a_floating_base_are_refused_with_the_remedy():
    robot, pose = lw.load("quadruped", floating_base=True), lw.pose((0.1, 0.2, 0.6), rpy=(0.1, 0.2, 0.3))
    with pytest.raises(ValueError, match=r"shape \(4, 4\); robot.joint\('floating_base'\).configuration_of\(pose\)"):
        robot.configuration({"floating_base": pose})
    q = robot.configuration({"floating_base": robot.joint("floating_base").configuration_of(pose)})
    assert np.abs(robot.pose(q, "trunk") - pose).max() < 1e-14
    with pytest.raises(ValueError, match=r"expected 7 numbers, got shape \(6,\)$"):
        robot.configuration({"floating_base": np.zeros(6)})
