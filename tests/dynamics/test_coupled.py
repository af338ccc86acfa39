"""Coupled joints: functions of the projected free tree, and constraints with multipliers."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkwork as lw
from linkwork import Robot
from linkwork.errors import SingularInertiaError
from linkwork.joints import Fixed, Floating, Prismatic, Revolute
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.kernels.owners import shape_of
from linkwork.model.body import Following
from linkwork.model.coupled_joints import with_couplings
from linkwork.model.function_spec import QUANTITIES
from linkwork.model.random_tree import random_tree
from linkwork.model.simplify import (
    align_axes,
    align_joint_frames,
    regroup_inertias,
    shift_origins,
    simplify_tree,
)
from linkwork.robot.robot_table import ROBOT, robot_owner
from linkwork.spatial import Inertia
from oracles.comparison import assert_close, solving_bound
from oracles.coupling import Constrained, randomly_coupled
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.same_dynamics import assert_same_dynamics
from oracles.scalars import Direct, names_for
from oracles.textbook import Textbook
from oracles.trees import state

BOTH = [Revolute, Prismatic]


def chain_of_three():
    """joint1 follows joint0, joint2 joint1, joint3 joint2; joint4 is free; prismatic joints follow revolute ones."""
    tree = random_tree(np.random.default_rng(7), 5, types=[Revolute], shape="chain")
    slider = random_tree(np.random.default_rng(8), 1, types=[Prismatic]).bodies[0].joint
    bodies = [replace(body, joint=slider) if i == 2 else body for i, body in enumerate(tree.bodies)]
    chain = {f"joint{k + 1}": Following(f"joint{k}", *x) for k, x in enumerate([(-0.5, 0.1), (0.25, -0.2), (3.0, 0.7)])}
    return with_couplings(replace(tree, bodies=tuple(bodies)), chain)


def branching():
    """Fingers on several branches, before and after their master in the tree."""
    tree = random_tree(np.random.default_rng(9), 9, types=BOTH, shape="random")
    followers = {"joint0": (-1.0, 0.0), "joint4": (1.0, 0.5), "joint7": (1.0 / 3.0, 0.0), "joint8": (0.0, 0.3)}
    return with_couplings(tree, {name: Following("joint5", *x) for name, x in followers.items()})


def gripper(name):
    example = next(example for example in (*EXAMPLES, *SHIPPED) if example.name == name)
    return example.load(mimic="coupled")


COUPLED_TREES = {
    "chain_of_three": chain_of_three(),
    "branching": branching(),
    "star": randomly_coupled(random_tree(np.random.default_rng(10), 7, types=BOTH, shape="star"), 4),
    "mixed": randomly_coupled(random_tree(np.random.default_rng(11), 9, types=[*BOTH, Fixed, Floating]), 3),
}
GRIPPERS = ("panda", "pr2", "tiago_pro", "arm7_gripper")
every_made = pytest.mark.parametrize("tree", COUPLED_TREES.values(), ids=COUPLED_TREES)
every_gripper = pytest.mark.parametrize("name", GRIPPERS)
robot_of_gripper = functools.cache(gripper)


def spread(robot, seed=0, size=3):
    """Configurations of order 1, whatever the limits."""
    q = robot.neutral() + np.random.default_rng(seed).uniform(-1.0, 1.0, size=(size, robot.nq))
    return robot.normalize(q)


def check(robot, q, v, a):
    """Compare all functions of dynamics with the free robot's, projected and under constraints."""
    full = Constrained(robot.tree)
    free, G, lift = Robot(full.free), full.G, (full.q(q), full.v(v), full.v(a))
    assert robot.nv == free.nv - sum(body.coupling is not None for body in robot.tree.bodies)
    M, h = robot.mass_matrix(q), robot.bias_force(q, v)
    assert_close(M, G.T @ free.mass_matrix(lift[0]) @ G, 1e-13, "M", core=2)
    assert_close(h, free.bias_force(*lift[:2]) @ G, 1e-13, "h", core=1)
    assert_close(robot.gravity_force(q), free.gravity_force(lift[0]) @ G, 1e-13, "g", core=1)
    tau = robot.inverse_dynamics(q, v, a)
    assert_close(tau, free.inverse_dynamics(*lift) @ G, 1e-13, "ID", core=1)
    bound = solving_bound(M, (tau, h), a)
    assert_close(robot.forward_dynamics(q, v, tau), a, bound, "FD of ID", core=1)
    constrained = full.acceleration_under(q, v, tau)
    accelerations = robot.forward_dynamics(q, v, tau)
    worse = max(bound, solving_bound(free.mass_matrix(lift[0]), (tau, h), a))
    assert_close(full.v(accelerations), constrained, worse, "FD under constraints", core=1)
    energy = 0.5 * np.einsum("...i,...ij,...j", v, M, v)
    assert_close(energy, Textbook(full.free, *lift).kinetic_energy(), 1e-12, "energy", core=0)
    power = np.einsum("...i,...i", tau, v)
    free_power = np.einsum("...i,...i", free.inverse_dynamics(*lift), lift[1])
    assert_close(power, free_power, 1e-12, "power", core=0)


@pytest.mark.slow
@every_made
def test_dynamics_of_coupled_trees_equal_projected_and_constrained_dynamics(tree):
    check(Robot(tree), *state(tree))


@pytest.mark.slow
@every_gripper
def test_dynamics_of_grippers_equal_projected_and_constrained_dynamics(name):
    robot = robot_of_gripper(name)
    rng = np.random.default_rng(1)
    check(robot, spread(robot), *rng.normal(size=(2, 3, robot.nv)))


@pytest.mark.slow
@every_made
def test_kinematics_of_coupled_trees_equal_those_of_the_uncoupled_tree(tree):
    q, v, a = state(tree)
    robot, full = Robot(tree), Constrained(tree)
    free, Q, V, A = Robot(full.free), full.q(q), full.v(v), full.v(a)
    assert_close(robot.forward_kinematics(q), free.forward_kinematics(Q), 1e-14, core=2)
    for frames in ({}, {"relative_to": "tool1", "expressed_in": "body2", "point": "tool3"}):
        J = robot.jacobian(q, "tool4", **frames)
        assert_close(J, free.jacobian(Q, "tool4", **frames) @ full.G, 1e-13, core=2)
        assert_close(np.einsum("nij,nj->ni", J, v), robot.twist(q, v, "tool4", **frames), 1e-13, core=1)
        assert_close(robot.twist(q, v, "tool4", **frames), free.twist(Q, V, "tool4", **frames), 1e-13, core=1)
        free_acceleration = free.acceleration(Q, V, A, "tool4", **frames)
        assert_close(robot.acceleration(q, v, a, "tool4", **frames), free_acceleration, 1e-12, core=1)


@pytest.mark.costly
@every_gripper
def test_jacobians_of_grippers_equal_projected_jacobians_of_the_uncoupled_tree(name):
    robot = robot_of_gripper(name)
    full, q = Constrained(robot.tree), spread(robot)
    frame = next(b.name for b in reversed(robot.tree.bodies) if b.coupling is not None)
    J = Robot(full.free).jacobian(full.q(q), frame)
    assert_close(robot.jacobian(q, frame), J @ full.G, 1e-13, core=2)


@pytest.mark.costly
@every_made
def test_integrate_and_difference_of_coupled_trees_equal_those_of_the_uncoupled_tree(tree):
    q, v, _ = state(tree)
    robot, full = Robot(tree), Constrained(tree)
    free = Robot(full.free)
    moved = robot.integrate(q, v)
    assert_close(full.q(moved), free.integrate(full.q(q), full.v(v)), 1e-13, core=1)
    assert_close(full.v(robot.difference(q, moved)), free.difference(full.q(q), full.q(moved)), 1e-12, core=1)
    assert_close(robot.normalize(q), q, 1e-14, core=1)
    neutral = robot.neutral()
    assert all(not neutral[tree.q_slices[i]].any() for i, b in tree.stacked() if b.joint.nq == b.joint.nv)


@pytest.mark.costly
@pytest.mark.parametrize("kind", ["floats", "batch", "casadi"])
def test_dynamics_of_coupled_trees_can_be_evaluated_on_other_scalars(kind):
    if kind == "casadi":
        pytest.importorskip("casadi")
    tree = COUPLED_TREES["branching"]
    q, v, a = state(tree, size=2)
    tau = Direct(tree, kind).inverse_dynamics(q, v, a)
    assert_close(tau, Textbook(tree, q, v, a).inverse_dynamics(), 1e-13, core=1)
    M = Direct(tree, kind).mass_matrix(q)
    bound = solving_bound(M, (tau, Direct(tree).bias_force(q, v)), a)
    assert_close(Direct(tree, kind).forward_dynamics(q, v, tau), a, bound, core=1)


@pytest.mark.parametrize(
    "change",
    [align_joint_frames, align_axes, shift_origins, regroup_inertias, simplify_tree],
    ids=lambda f: f.__name__,
)
@every_made
def test_edited_coupled_trees_have_the_same_dynamics(tree, change):
    changed = change(tree)
    assert [b.coupling for b in changed.bodies] == [b.coupling for b in tree.bodies]
    assert_same_dynamics(tree, changed, *state(tree))


@pytest.mark.costly
@every_gripper
def test_simplified_grippers_have_the_same_dynamics(name):
    robot = robot_of_gripper(name)
    rng = np.random.default_rng(2)
    assert_same_dynamics(robot.tree, simplify_tree(robot.tree), spread(robot), *rng.normal(size=(2, 3, robot.nv)))


def test_coupled_chain_conserves_energy():
    """Free motion by the Runge–Kutta method: the error is of fourth order."""
    tree = COUPLED_TREES["chain_of_three"]
    robot = Robot(tree)
    zero = np.zeros(robot.nv)

    def energy(q, v):
        full = Constrained(tree)
        book = Textbook(full.free, full.q(q), full.v(v))
        return book.kinetic_energy() + book.potential_energy()

    def rate(x):
        return np.concatenate([x[robot.nq :], robot.forward_dynamics(x[: robot.nq], x[robot.nq :], zero)])

    def drift(steps):
        x, h = np.concatenate([robot.neutral() + 0.3, zero + 0.5]), 0.5 / steps
        before = energy(x[: robot.nq], x[robot.nq :])
        for _ in range(steps):
            k1 = rate(x)
            k2 = rate(x + 0.5 * h * k1)
            k3 = rate(x + 0.5 * h * k2)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + rate(x + h * k3))
        return abs(energy(x[: robot.nq], x[robot.nq :]) - before)

    coarse, fine = drift(100), drift(200)
    assert fine < 1e-6
    assert fine < coarse / 10.0


def test_joint_couplings_add_few_operations():
    """Two coupled fingers need no more operations than free ones; long chains of couplings grow linearly."""

    def count(coupled_pairs):
        return trace_requests(
            robot_owner(coupled_pairs), "f", {"f": read_request(robot_owner(coupled_pairs), "forward_dynamics")}
        ).arithmetic

    tree = random_tree(np.random.default_rng(3), 8, types=[Revolute], shape="star")
    assert count(with_couplings(tree, {"joint7": Following("joint6")})) < 1.05 * count(tree)

    def of_pairs(n):
        tree = random_tree(np.random.default_rng(3), n, types=[Revolute], shape="chain")
        return count(with_couplings(tree, {f"joint{i}": Following(f"joint{i - 1}", 0.5) for i in range(1, n, 2)}))

    assert of_pairs(40) < 2.2 * of_pairs(20)


def test_massless_followers_are_accepted_and_massless_coupled_pairs_are_refused_with_their_names():
    tree = random_tree(np.random.default_rng(4), 3, types=[Revolute], shape="star")
    light = [replace(b, inertia=Inertia.zero()) if i else b for i, b in enumerate(tree.bodies)]
    frames = [replace(f, inertia=Inertia.zero()) if f.body else f for f in tree.frames]
    tree = replace(tree, bodies=tuple(light), frames=tuple(frames))
    fine = with_couplings(tree, {"joint1": Following("joint0"), "joint2": Following("joint0", -1.0)})
    q, v, a = state(fine)
    tau, M = Textbook(fine, q, v, a).inverse_dynamics(), Textbook(fine, q, v, a).mass_matrix()
    bound = solving_bound(M, (tau, Robot(fine).bias_force(q, v)), a)
    assert_close(Robot(fine).forward_dynamics(q, v, tau), a, bound, core=1)
    massless_pair = with_couplings(tree, {"joint2": Following("joint1", -2.0)})
    q, v, tau = state(massless_pair)
    for f in (Robot(massless_pair), Direct(massless_pair), Direct(massless_pair, "floats")):
        with pytest.raises(SingularInertiaError, match="joint1"):
            f.forward_dynamics(q, v, tau)


@pytest.mark.slow(every=5)
def test_every_robot_function_accepts_coupled_joints(drawn):
    robot = Robot(COUPLED_TREES["branching"])
    q = robot.random_configuration(seed=0, size=2)
    values = {"nq": q, "nv": np.ones((2, robot.nv))}
    for row in drawn(ROBOT.values()):
        frames = names_for(robot.tree, row, "tool2")
        results = getattr(robot, row.name)(*(values[QUANTITIES[name].shape[0]] for name in row.inputs), *frames)
        for output, part in zip(row.outputs, results if isinstance(results, tuple) else (results,), strict=True):
            assert part.shape == (
                2,
                *shape_of(robot_owner(robot.tree), output.shape, {"np": None, "ni": None, "nk": None}),
            )
            assert np.all(np.isfinite(part)), row.name


@pytest.mark.slow(every=3)
@settings(max_examples=25, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), bodies=st.integers(3, 8), shape=st.sampled_from(["random", "chain", "star"]))
def test_dynamics_of_random_coupled_trees_equal_the_textbooks(seed, bodies, shape):
    rng = np.random.default_rng(seed)
    tree = randomly_coupled(random_tree(rng, bodies, types=BOTH, shape=shape), bodies // 2, seed)
    q, v, a = rng.normal(size=(3, tree.nv))
    f, book = Direct(tree, "floats"), Textbook(tree, q, v, a)
    tau, M = book.inverse_dynamics(), book.mass_matrix()
    assert_close(f.inverse_dynamics(q, v, a), tau, 1e-13)
    assert_close(f.mass_matrix(q), M, 1e-13)
    assert_close(f.forward_dynamics(q, v, tau), a, solving_bound(M, (tau, f.bias_force(q, v)), a))


def test_joint_object_reports_its_coupling():
    robot = lw.load("arm7_gripper", mimic="coupled")
    follower, master = robot.joint("right_finger_slide"), robot.joint("left_finger_slide")
    assert follower.coupling.joint == master.name and master.coupling is None
    assert (follower.q_slice, follower.v_slice) == (master.q_slice, master.v_slice)
    assert follower != lw.load("arm7_gripper").joint("right_finger_slide")
