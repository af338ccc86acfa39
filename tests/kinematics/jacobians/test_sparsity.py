"""Which elements can be other than zero, and which joints move a frame."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.body import Following
from linkwork.model.coupled_joints import with_couplings
from linkwork.model.random_tree import random_tree
from oracles.scalars import Direct
from oracles.trees import TREES, robot_of, state

FRAMED = ("jacobian", "position_jacobian", "jacobian_derivative", "configuration_jacobian")


def evaluated(tree, asked):
    """Where a function was other than zero at some of several states."""
    name, *frame = asked if isinstance(asked, tuple) else (asked,)
    q, v, a = state(tree, seed=1, size=6)
    arrays = {"jacobian_derivative": (q, v), "inverse_dynamics": (q, v, a)}.get(name, (q,))
    options = frame.pop() if frame and isinstance(frame[-1], dict) else {}
    found = np.any(getattr(Direct(tree), name)(*arrays, *frame, **options) != 0.0, axis=0)
    return np.asarray(found)


@pytest.mark.slow(every=3)
def test_random_states_find_the_same_pattern():
    """Of axes and offsets at random nothing vanishes by itself."""
    for name in ("mixed_0", "mixed_star", "coupled_0", "rerooted", "fixed_chain"):
        tree = TREES[name]
        for function in FRAMED:
            for view in ({}, {"relative_to": "body1"}, {"relative_to": "tool1", "expressed_in": "tool2"}):
                asked = (function, "tool2", view)
                pattern = robot_of(tree).sparsity(asked)
                assert pattern.dtype == bool
                assert np.array_equal(pattern, evaluated(tree, asked)), (name, asked)
        assert np.array_equal(robot_of(tree).sparsity("jacobians"), evaluated(tree, "jacobians")), name


def test_the_mass_matrix_has_the_tree_s_pattern():
    """Joints on different branches do not feel each other.  It is that of what is computed: values agree beside it."""
    robot = lw.load("quadruped", floating_base=True)
    pattern = robot.sparsity("mass_matrix")
    q = robot.random_configuration(seed=0, size=4)
    assert not np.any(robot.mass_matrix(q)[:, ~pattern])
    left, right = robot.joint("front_left_knee").v_slice, robot.joint("front_right_knee").v_slice
    assert pattern[left, left].all() and not pattern[left, right].any()


def test_several_functions_are_told_by_name():
    robot = lw.load("arm6")
    found = robot.sparsity([("jacobian", "tool"), "mass_matrix"])
    assert {name: part.shape for name, part in found.items()} == {"jacobian": (6, 6), "mass_matrix": (6, 6)}
    assert np.array_equal(robot.sparsity(("jacobian", "tool")), found["jacobian"])
    with pytest.raises(KeyError, match="jacobian"):
        robot.sparsity("jacobi")
    with pytest.raises(ValueError, match="sparsity: functions: expected at least one function"):
        robot.sparsity([])


def test_joints_between_frames():
    robot = lw.load("arm6")
    names = tuple(joint.name for joint in robot.joints)
    assert robot.moving_joints("tool") == names
    assert robot.moving_joints("world", relative_to="tool") == names[::-1]
    assert robot.moving_joints("upper_arm", relative_to="shoulder") == names[1:2]
    assert robot.moving_joints("tool", relative_to="wrist_3_link") == ()
    with pytest.raises(KeyError, match="tol"):
        robot.moving_joints("tol")


def test_they_are_those_whose_columns_are_not_zero(drawn):
    for name, tree in drawn(TREES.items()):
        robot = robot_of(tree)
        for B, A in (("tool2", "world"), ("body0", "tool2"), (robot.frames[-1], "tool1")):
            moving = robot.moving_joints(B, relative_to=A)
            columns = robot.sparsity(("jacobian", B, {"relative_to": A})).any(axis=0)
            expected = np.zeros(tree.nv, dtype=bool)
            for joint in moving:
                expected[robot.joint(joint).v_slice] = True
            assert np.array_equal(columns, expected), (name, B, A)


def test_a_follower_moves_what_its_master_does_not_carry():
    tree = random_tree(np.random.default_rng(0), 4, types=[lw.joints.Revolute], shape="star")
    robot = lw.Robot(with_couplings(tree, {"joint3": Following("joint1", -0.5)}))
    assert robot.moving_joints("tool3", relative_to="body0") == ("joint3",)
    columns = robot.sparsity(("jacobian", "tool3", {"relative_to": "body0"})).any(axis=0)
    assert columns.tolist() == [False, True, False]  # its master's
