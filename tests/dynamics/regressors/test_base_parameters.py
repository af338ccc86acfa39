"""Base parameters: their number and choice, and joint forces from them."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork import joints
from linkwork.dynamics.base_parameters import BaseParameters
from linkwork.model.random_tree import random_tree
from linkwork.model.simplify import _count_inertia, align_joint_frames, regroup_inertias
from linkwork.model.tree import Tree
from oracles.comparison import EPS, assert_close
from oracles.example_robots import EXAMPLES, shipped
from oracles.scalars import Direct
from oracles.trees import every_moving_tree, robot_of, state


def of_tree(tree: Tree, seed: int, samples: int = 20) -> tuple[BaseParameters, np.ndarray]:
    q, v, a = state(tree, seed=seed, size=samples)
    Y = Direct(tree).inverse_dynamics_regressor(q, v, a).reshape(len(q) * tree.nv, -1)
    return BaseParameters.of_regressor(Y, robot_of(tree).parameter_names()), Y


@every_moving_tree
def test_base_parameters_times_reduced_regressor_are_the_joint_forces(tree: Tree) -> None:
    """At other states than those of the analysis; the choice does not depend on these states."""
    (base, _), (second, Y) = of_tree(tree, 5), of_tree(tree, 6)
    assert base.columns.tolist() == second.columns.tolist() and base.unidentifiable == second.unidentifiable
    assert base.gap[0] < 1e-10 and base.gap[1] > 1e-5
    assert base.rank == np.linalg.matrix_rank(Y, tol=1e-9 * np.linalg.norm(Y, 2))
    pi, Y_b = robot_of(tree).inertial_parameters(), base.regressor(Y)
    bound = 10.0 * EPS * base.rank * np.linalg.cond(Y_b / np.linalg.norm(Y_b, axis=0))  # K solves with it
    assert bound < 1e-7
    assert_close(Y_b @ base.values(pi), Y @ pi, bound, core=0)
    assert_close(Y_b @ base.matrix, Y, bound)
    assert_close(Y_b @ base.grouping, Y[:, base.dependent], bound)
    # regrouping leaves no fewer: it does not use that the world does not move, and that springs of gravity are alike
    left = sum(_count_inertia(body.inertia) for body in regroup_inertias(align_joint_frames(tree)).bodies)
    assert base.rank <= left
    if all(isinstance(body.joint, (joints.Spherical, joints.Floating)) for body in tree.bodies):
        assert base.rank == left


def test_counts_of_base_parameters_equal_those_of_gautier_and_khalil() -> None:
    """A hinge identifies seven of its parameters, and a vertical first hinge one."""
    counts = {"panda": 43, "ur5": 36}
    for example in EXAMPLES:
        if example.name in counts:
            robot = example.robot()
            robot = robot.with_locked_joints([joint.name for joint in robot.joints if joint.type_name == "prismatic"])
            assert robot.base_parameters().rank == counts[example.name]
    for n in (1, 3, 5):
        chain = random_tree(np.random.default_rng(n), n, types=[joints.Revolute], shape="chain")
        assert of_tree(chain, 0)[0].rank == 3 + 7 * (n - 1)
    sliding = random_tree(np.random.default_rng(0), 3, types=[joints.Prismatic], shape="chain")
    assert of_tree(sliding, 0)[0].names == ("body0.m", "body1.m", "body2.m")


def test_base_parameters_of_a_planar_arm_equal_the_closed_form() -> None:
    """Two hinges in a vertical plane, the second at the end of a rod of length l: m_2 acts through the first."""
    robot = lw.load("double_pendulum")
    base = robot.base_parameters()
    assert base.names == tuple(f"{rod}_rod.{x}" for rod in ("upper", "lower") for x in ("h_x", "h_z", "J_yy"))
    upper, lower = (body.inertia for body in robot.tree.bodies)
    arm = robot.tree.bodies[1].placement.translation  # from one hinge to the other
    expected = [
        upper.moment.x + lower.mass * arm.x,
        upper.moment.z + lower.mass * arm.z,
        upper.about.yy + lower.mass * (arm.x * arm.x + arm.z * arm.z),
        lower.moment.x,
        lower.moment.z,
        lower.about.yy,
    ]
    assert_close(base.values(robot.inertial_parameters()), expected, 1e-14)
    assert base.expressions()[1:4] == ("upper_rod.h_z - lower_rod.m", "upper_rod.J_yy + lower_rod.m", "lower_rod.h_x")
    assert str(base).splitlines() == [*base.expressions()] and repr(base) == "<BaseParameters: 6 of 20 parameters>"
    assert base.identifiable == ("upper_rod.h_x", "lower_rod.h_x", "lower_rod.h_z", "lower_rod.J_yy")
    assert len(base.unidentifiable) == 13 and "upper_rod.m" in base.unidentifiable
    assert base.grouping.shape == (6, 14)


def test_floating_base_makes_all_its_inertial_parameters_identifiable() -> None:
    robot = shipped("quadruped")
    base = robot.base_parameters()
    assert base.rank == 10 + 7 * 12 and base.unidentifiable == ()
    assert base.columns[:10].tolist() == list(range(10))
    again = robot.base_parameters()
    assert np.array_equal(base.matrix, again.matrix)  # the same for the same seed
    assert_close(robot.base_parameters(seed=3).matrix, base.matrix, 1e-10)


def test_base_parameters_include_damping_friction_and_armature() -> None:
    """Damping and friction of a hinge are identified separately; the first armature only with its moment of inertia."""
    robot = lw.load("double_pendulum")
    base = robot.base_parameters(passive=True)
    first, second = (joint.name for joint in robot.joints)
    identified = {f"{joint}.{x}" for joint in (first, second) for x in ("damping", "friction", "stiffness")}
    assert identified | {f"{second}.armature"} <= {*base.names}
    assert f"upper_rod.J_yy + lower_rod.m + {first}.armature" in base.expressions()
    q, v, a = robot.random_configuration(seed=1, size=5), np.ones(2), np.full(2, 0.3)
    Y = robot.inverse_dynamics_regressor(q, v, a, passive=True)
    tau = robot.inverse_dynamics(q, v, a, passive=True)
    assert_close(base.regressor(Y) @ base.values(robot.inertial_parameters(passive=True)), tau, 1e-12, core=1)


def test_base_parameters_from_few_samples_have_lower_rank_and_bad_counts_are_refused() -> None:
    robot = lw.load("double_pendulum")
    assert robot.base_parameters(samples=1).rank <= 2
    for wrong in (0, -3):
        with pytest.raises(ValueError, match=f"samples: expected an integer >= 1, got {wrong}"):
            robot.base_parameters(samples=wrong)
    fixed = robot.with_locked_joints([joint.name for joint in robot.joints])
    assert fixed.base_parameters().rank == 0
