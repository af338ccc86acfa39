"""Exact dry friction: accelerations satisfy Coulomb's law joint by joint."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.algorithms.forward_dynamics import forward_dynamics
from linkwork.errors import SingularInertiaError
from linkwork.expr import adjoint, tangent
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.body import Drive
from linkwork.model.random_tree import random_tree
from oracles.comparison import assert_close
from oracles.scalars import Direct, with_few_functions
from oracles.trees import TREES, robot_of, state


def bounds_of(tree):
    kinetic, static = np.zeros((2, tree.nv))
    for body, columns in zip(tree.bodies, tree.v_slices, strict=True):
        ratio = 1.0 if body.coupling is None else abs(body.coupling.ratio)
        kinetic[columns] += ratio * np.array(body.friction)
        static[columns] += ratio * np.array(body.drive.static_friction or body.friction)
    return kinetic, static


def at_rest(tree, size=12, seed=3):
    """Return states in which some joints rest, and forces about as large as the static bounds."""
    rng = np.random.default_rng(seed)
    q, v, _ = state(tree, seed, size)
    v[rng.random(v.shape) < 0.7] = 0.0
    holding_force = Direct(tree).bias_force(q, v, passive=True, friction="coulomb")
    scale = rng.choice([0.3, 1.0, 4.0], size=(len(q), 1))
    return q, v, holding_force + scale * rng.normal(size=v.shape) * (1.0 + bounds_of(tree)[1])


def certify(tree, f, q, v, tau, single=False):
    """Coulomb's law, joint by joint; gives how many stick and how many start."""
    kinetic, static = bounds_of(tree)
    a = f.forward_dynamics(q, v, tau, passive=True, friction="coulomb")
    M = Direct(tree).mass_matrix(q, passive=True)
    felt = np.einsum("...ij,...j->...i", M, a) + Direct(tree).bias_force(q, v, passive=True, friction="coulomb")
    friction = felt - tau
    size = 1e-9 * (1.0 + np.abs(tau) + np.linalg.cond(M)[:, None] * 1e-6)
    rests, sticks = v == 0.0, (v == 0.0) & (a == 0.0)
    assert np.all(np.abs(friction[~rests]) <= size[~rests])  # what moves feels no more
    assert np.all((np.abs(friction) <= static + size)[sticks])
    starts = rests & ~sticks
    assert np.all((np.abs(friction + kinetic * np.sign(a)) <= size)[starts])
    again = f.inverse_dynamics(q, v, a, passive=True, friction="coulomb")
    assert np.all((np.abs(again - tau) <= size)[~sticks])
    assert np.all((np.abs(again - tau) <= static + size)[sticks])
    return np.sum(sticks), np.sum(starts)


@pytest.mark.slow
@with_few_functions
def test_accelerations_with_dry_friction_satisfy_coulombs_law(tree, f):
    if tree.nv == 0:
        return
    sticking, starting = certify(tree, f, *at_rest(tree))
    assert sticking + starting > 0


@pytest.mark.slow(every=9)
def test_joints_stick_and_start_as_coulombs_law_requires():
    counts = np.sum([certify(tree, Direct(tree), *at_rest(tree, 4)) for tree in TREES.values() if tree.nv], axis=0)
    assert np.all(counts > 200)


def with_friction(tree, friction, static=None):
    """The tree with these numbers at every joint."""
    bodies = [
        replace(
            body,
            friction=(friction,) * body.joint.nv,
            drive=replace(body.drive, static_friction=() if static is None else (static,) * body.joint.nv),
        )
        for body in tree.bodies
    ]
    return replace(tree, bodies=tuple(bodies))


@pytest.mark.parametrize("name", ["revolute_chain", "mixed_1", "coupled_chain", "planar_chain"])
def test_coulombs_law_with_equal_static_and_kinetic_friction_has_one_solution(name):
    """All 3ⁿ guesses of sticking and sliding directions that are consistent give one acceleration."""
    tree = with_friction(TREES[name], 1.5)
    f = Direct(tree)
    kinetic, _ = bounds_of(tree)
    q, _, _ = state(tree, 1, 3)
    v = np.zeros((3, tree.nv))
    v[:, 6:] = 1.0  # 3⁶ guesses are enough
    h = f.bias_force(q, v, passive=True, friction="coulomb")
    tau = h + 2.0 * np.random.default_rng(1).normal(size=v.shape)
    a = f.forward_dynamics(q, v, tau, passive=True, friction="coulomb")
    M = f.mass_matrix(q, passive=True)
    resting = min(6, tree.nv)
    for sample in range(3):
        consistent = []
        for guess in itertools.product((-1.0, 0.0, 1.0), repeat=resting):
            direction = np.array([*guess, *np.zeros(tree.nv - resting)])
            free = np.array([*(np.array(guess) != 0.0), *np.ones(tree.nv - resting, bool)])
            b = (tau - h)[sample] - kinetic * direction
            x = np.zeros(tree.nv)
            x[free] = np.linalg.solve(M[sample][np.ix_(free, free)], b[free])
            holding_force = M[sample] @ x - (tau - h)[sample]
            if np.all(np.abs(holding_force[~free]) <= kinetic[~free]) and np.all((x * direction >= 0.0)[:resting]):
                consistent.append(x)
        assert len(consistent) == 1
        assert_close(a[sample], consistent[0], 1e-9)


def test_accelerations_of_joints_at_rest_do_not_depend_on_the_batch():
    tree = TREES["mixed_0"]
    q, v, tau = at_rest(tree)
    robot = robot_of(tree)
    together = robot.forward_dynamics(q, v, tau, passive=True, friction="coulomb")
    for k in range(len(q)):
        assert np.array_equal(robot.forward_dynamics(q[k], v[k], tau[k], passive=True, friction="coulomb"), together[k])


def test_coulombs_law_without_dry_friction_equals_smooth_friction():
    tree = with_friction(TREES["mixed_0"], 0.0)
    q, v, tau = at_rest(tree)
    f = Direct(tree)
    expected = f.forward_dynamics(q, v, tau, passive=True)
    assert np.array_equal(f.forward_dynamics(q, v, tau, passive=True, friction="coulomb"), expected)


def test_derivatives_of_accelerations_under_coulombs_law_follow_from_sticking_and_sliding_joints():
    """∂a/∂τ, by adjoints and tangents: M⁻¹ of the moving joints, and zero where joints stick."""
    tree = TREES["revolute_chain"]
    q, v, tau = at_rest(tree, 8)
    graph = Graph()
    symbols = [graph.inputs(name, (tree.nv,)) for name in ("q", "v", "tau")]
    a = forward_dynamics(tree, *symbols, passive=True, friction="coulomb")
    units = np.eye(tree.nv).tolist()
    rows = [x for unit in units for x in adjoint(a, symbols[2], unit)]
    columns = [x for unit in units for x in tangent(a, symbols[2], unit)]
    values = dict(
        zip(
            [x for symbols_of_input in symbols for x in symbols_of_input],
            np.concatenate([q, v, tau], axis=-1).T,
            strict=True,
        )
    )
    size = (-1, len(q))
    actual, by_adjoints, by_tangents = (
        np.stack([np.broadcast_to(x, len(q)) for x in evaluate(symbols_of_input, values)]).reshape(*size)
        for symbols_of_input in (a, rows, columns)
    )
    M, expected = Direct(tree).mass_matrix(q, passive=True), np.zeros((len(q), tree.nv, tree.nv))
    for k, accelerations in enumerate(actual.T):
        moves = np.flatnonzero((accelerations != 0.0) | (v[k] != 0.0))
        expected[k][np.ix_(moves, moves)] = np.linalg.inv(M[k][np.ix_(moves, moves)])
    assert np.any(expected) and np.any(expected[:, 0, 0] == 0.0)
    by_adjoints, by_tangents = (x.T.reshape(len(q), tree.nv, tree.nv) for x in (by_adjoints, by_tangents))
    assert_close(by_adjoints, expected, 1e-12, core=2)
    assert_close(by_tangents, expected, 1e-12, core=2)


def blocks():
    """A block of 2 kg on the ground, and one of 1 kg on it: M = [[3, 1], [1, 1]]."""
    slide = lw.joints.Prismatic((1, 0, 0))
    said = {"friction": 5.0}, {"friction": 1.0, "static_friction": 2.0}
    return lw.Robot.build(
        "blocks",
        lw.Link("ground"),
        lw.Joint.of(slide, name="lower", parent="ground", child="one", **said[0]),
        lw.Link("one", mass=2.0),
        lw.Joint.of(slide, name="upper", parent="one", child="two", **said[1]),
        lw.Link("two", mass=1.0),
    )


def test_block_on_a_block_sticks_and_starts_as_in_closed_form():
    """A joint within the static bound sticks; it starts with the kinetic friction, and may move the body below."""
    robot = blocks()
    q, zero_velocity = np.zeros(2), np.zeros(2)
    for tau, expected in (
        ([0.0, 1.9], [0.0, 0.0]),
        ([4.0, 0.0], [0.0, 0.0]),
        ([0.0, 2.1], [0.0, 1.1]),  # the upper one starts: 2.1 − 1 on 1 kg; the lower one takes 1.1 and stays
        ([0.0, 7.0], [-0.5, 6.5]),  # both: 3 a + b = 5, a + b = 7 − 1
        ([6.2, 0.0], [0.4, 0.0]),  # together: 3 a = 6.2 − 5
        ([15.0, 0.0], [4.5, -3.5]),  # the lower one is pulled away: 3 a + b = 10, a + b = 1
    ):
        a = robot.forward_dynamics(q, zero_velocity, tau, passive=True, friction="coulomb")
        assert a == pytest.approx(expected, rel=1e-13, abs=0.0)
        again = robot.inverse_dynamics(q, zero_velocity, a, passive=True, friction="coulomb")
        starts = np.array(expected) != 0.0
        assert again[starts] == pytest.approx(np.array(tau)[starts], rel=1e-13)
    moving = robot.forward_dynamics(q, [-1.0, 0.0], [0.0, 0.5], passive=True, friction="coulomb")
    assert moving == pytest.approx([5.0 / 3.0, 0.0], rel=1e-13, abs=0.0)  # it brakes, with the upper one on it
    assert robot.passive_force(q, [3.0, -2.0], friction="coulomb").tolist() == [-5.0, 1.0]


def test_regressor_includes_the_friction_of_joints_that_start_to_move():
    tree = TREES["mixed_0"]
    q, v, _ = at_rest(tree)
    a = np.random.default_rng(0).normal(size=v.shape)
    f = Direct(tree)
    Y = f.inverse_dynamics_regressor(q, v, a, passive=True, friction="coulomb")
    parameters = robot_of(tree).inertial_parameters(passive=True)
    assert_close(Y @ parameters, f.inverse_dynamics(q, v, a, passive=True, friction="coulomb"), 1e-12, core=1)


def test_joint_without_inertia_and_armature_is_refused_with_its_name():
    tree = random_tree(np.random.default_rng(5), 3, types=[lw.joints.Revolute], shape="chain")
    massless = type(tree.bodies[-1].inertia).zero()
    light = [replace(frame, inertia=massless) if frame.body == 2 else frame for frame in tree.frames]
    bodies = [*tree.bodies[:-1], replace(tree.bodies[-1], inertia=massless, drive=Drive())]
    tree = replace(tree, bodies=tuple(bodies), frames=tuple(light))
    q, v, tau = at_rest(TREES["revolute_chain"])
    for f in (lw.Robot(tree), Direct(tree, "floats")):
        with pytest.raises(SingularInertiaError, match="joint2"):
            f.forward_dynamics(q, v, tau, passive=True, friction="coulomb")


def test_accelerations_under_coulombs_law_in_float32_are_close_to_float64():
    tree = TREES["mixed_0"]
    q, v, tau = at_rest(tree, 40)
    robot = robot_of(tree)
    exact = robot.forward_dynamics(q, v, tau, passive=True, friction="coulomb")
    single = [x.astype(np.float32) for x in (q, v, tau)]
    acceleration = robot.forward_dynamics(*single, passive=True, friction="coulomb")
    assert acceleration.dtype == np.float32
    assert_close(acceleration, exact, 1e-3, core=1)
