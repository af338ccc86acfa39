"""Regrouped inertias: the same joint-space dynamics with fewer nonzero parameters, for every joint type."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.joints import Cam
from linkwork import Robot
from linkwork.errors import SingularInertiaError
from linkwork.joints import ALL, Prismatic, Revolute
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.composite_body import without_inertias
from linkwork.model.random_tree import random_inertia, random_tree
from linkwork.model.simplify import _count_inertia, regroup_inertias, shift_origins, simplify_tree
from linkwork.robot.robot_table import ROBOT, robot_owner
from linkwork.spatial import Inertia, Pose, Symmetric3, Vec3
from oracles.comparison import assert_close
from oracles.example_robots import EXAMPLES, SHIPPED
from oracles.same_dynamics import assert_same_dynamics
from oracles.scalars import Direct, arguments_of, listed
from oracles.trees import TREES, every_tree, state

every_robot = pytest.mark.parametrize("example", [*EXAMPLES, *SHIPPED], ids=str)


def inertia_values(inertia):
    return [inertia.mass, *inertia.moment, *inertia.about.elements()]


def zeros(tree):
    return sum(10 - _count_inertia(body.inertia) for body in tree.bodies)


@every_tree
def test_regrouping_inertias_preserves_joint_space_dynamics(tree):
    assert_same_dynamics(tree, regroup_inertias(tree), *state(tree))
    tilted = replace(tree, gravity=Vec3(3.0, -2.0, 5.0))
    assert_same_dynamics(tilted, regroup_inertias(tilted), *state(tree, seed=1))


@every_robot
def test_regrouping_inertias_preserves_the_dynamics_of_example_robots(example):
    tree = example.robot().tree
    assert_same_dynamics(tree, regroup_inertias(tree), *state(tree, size=3))


@pytest.mark.light
@every_tree
def test_regrouping_inertias_changes_only_inertias(tree):
    edited_tree = regroup_inertias(tree)
    bodies = [replace(body, inertia=old.inertia) for body, old in zip(edited_tree.bodies, tree.bodies, strict=True)]
    assert replace(edited_tree, bodies=tuple(bodies), frames=tree.frames) == tree
    assert edited_tree == tree or edited_tree.frames == without_inertias(tree.frames)


@pytest.mark.light
@every_tree
def test_regrouping_inertias_is_idempotent_to_rounding(tree):
    once = regroup_inertias(tree)
    twice = regroup_inertias(once)
    for inertia_once, inertia_twice in zip(once.bodies, twice.bodies, strict=True):
        assert_close(inertia_values(inertia_twice.inertia), inertia_values(inertia_once.inertia), 1e-14)


@every_robot
def test_robots_with_regrouped_inertias_need_fewer_operations(example):
    tree = example.robot().tree
    edited_tree = regroup_inertias(tree)
    assert zeros(edited_tree) > zeros(tree)
    for i, body in enumerate(edited_tree.bodies):
        aligned = isinstance(body.joint, Revolute) and sorted(map(abs, body.joint.axis)) == [0.0, 0.0, 1.0]
        if aligned and body.inertia != tree.bodies[i].inertia:
            k = [abs(x) for x in body.joint.axis].index(1.0)
            assert body.inertia.mass == list(body.inertia.moment)[k] == 0.0
            J = body.inertia.about.elements()
            diagonal = J[0], J[3], J[5]
            assert abs(sum(diagonal) - 2.0 * diagonal[k]) <= 1e-15 * max(map(abs, diagonal))
        if isinstance(body.joint, Prismatic):
            assert body.inertia.about.elements() == (0.0,) * 6


def test_inertia_moved_by_regrouping_does_not_affect_its_joint(drawn):
    """The removed inertia neither resists the joint nor depends on its motion."""
    rng = np.random.default_rng(0)
    for kind in drawn(ALL):
        for _ in range(10):
            joint, inertia = kind.example(rng), random_inertia(rng)
            felt = joint.reduced_inertia(inertia)
            residual = inertia - felt
            free = np.full(joint.nq, np.inf)
            for q in joint.random(rng, -free, free, (3,)).tolist():
                for column in joint.S(q).columns:
                    assert_close((residual @ column).elements(), np.zeros(6), 1e-14)
                assert_close(inertia_values(joint.X(q) @ residual), inertia_values(residual), 1e-14)
            assert_close(inertia_values(joint.reduced_inertia(felt)), inertia_values(felt), 1e-14)


def test_regrouped_inertia_about_a_coordinate_axis_has_exact_zeros():
    """∫z² = 0 without rounding, a zero of every trace; the resistance to the joint is unchanged."""
    rng = np.random.default_rng(1)
    for k in range(3):
        axis = [0.0, 0.0, 0.0]
        axis[k] = float(rng.choice([-1.0, 1.0]))
        for _ in range(100):
            inertia = random_inertia(rng, float(10.0 ** rng.uniform(-6.0, 6.0)))
            felt = Revolute(Vec3.of(axis)).reduced_inertia(inertia)
            J, K = inertia.about.elements(), felt.about.elements()
            across = [(K[0], K[3], K[5])[i] for i in range(3) if i != k]
            assert felt.mass == list(felt.moment)[k] == 0.0
            assert sum(across) == (K[0], K[3], K[5])[k] == (J[0], J[3], J[5])[k]


def test_inertias_at_joints_of_a_users_type_are_not_regrouped():
    tree = random_tree(np.random.default_rng(2), 3, types=[Cam], shape="chain")
    assert regroup_inertias(tree) == tree


def test_joints_moving_no_inertia_are_refused_also_about_skew_axes():
    """A point mass on a hinge's skew axis: rounding is all that resists, and it is measured against the mass."""
    for axis in (Vec3(0.0, 0.0, 1.0), Vec3(0.6, 0.48, 0.64)):
        tree = random_tree(np.random.default_rng(4), 2, types=[Revolute], shape="chain")
        last = replace(tree.bodies[1], joint=Revolute(axis), rotor=Pose.identity())
        point = Inertia.at_center(2.0, axis * 0.3, Symmetric3.zero())
        frames = tuple(replace(frame, inertia=Inertia.zero()) for frame in tree.frames)
        tree = replace(tree, bodies=(tree.bodies[0], replace(last, inertia=point)), frames=frames)
        with pytest.raises(SingularInertiaError, match="joint1"):
            Robot(tree).forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0])
        assert Robot(tree).mass_matrix([0.1, 0.2]).shape == (2, 2)


@pytest.mark.slow(every=9)
def test_kernels_use_regrouped_inertias_in_joint_space_functions_only(drawn):
    """Functions for wrenches and masses use the bodies' own inertias; torques are the same with both."""
    of_bodies = {
        "newton_euler_terms",
        "center_of_mass",
        "inverse_dynamics_regressor",
        "joint_wrenches",
        "potential_energy",
    }
    felt = [name for name, row in ROBOT.items() if row.joint_space]
    assert {"inverse_dynamics", "forward_dynamics", "mass_matrix"} <= {*felt} and not of_bodies & {*felt}
    for tree in (TREES["mixed_0"], TREES["coupled_chain"]):
        light = simplify_tree(tree)
        assert light != tree
        for name in drawn(felt):
            arrays, names = arguments_of(tree, name)
            pairs = zip(
                *(listed(getattr(Direct(tree_), name)(*arrays, *names)) for tree_ in (light, tree)), strict=True
            )
            for pair, expected in pairs:
                assert_close(pair, expected, 1e-10, name, core=expected.ndim - 1)
    tree = SHIPPED[1].robot().tree
    traced = trace_requests(robot_owner(tree), "f", {"f": read_request(robot_owner(tree), "inverse_dynamics")})
    again = trace_requests(
        robot_owner(regroup_inertias(shift_origins(tree))),
        "f",
        {"f": read_request(robot_owner(tree), "inverse_dynamics")},
    )
    assert traced.operations == again.operations
