"""Sparsity patterns of functions, and the joints that move a frame."""

import numpy as np
import pytest

import linkwork as lw
from linkwork.model.body import Following
from linkwork.model.coupled_joints import with_couplings
from linkwork.model.random_tree import random_tree
from oracles.scalars import Direct
from oracles.trees import TREES, robot_of, state

FRAMED = ("jacobian", "position_jacobian", "jacobian_derivative", "configuration_jacobian")


def evaluated(tree, request):
    """Return a mask of the elements of a function that are nonzero in at least one of several states."""
    name, *frame = request if isinstance(request, tuple) else (request,)
    q, v, a = state(tree, seed=1, size=6)
    arrays = {"jacobian_derivative": (q, v), "inverse_dynamics": (q, v, a)}.get(name, (q,))
    options = frame.pop() if frame and isinstance(frame[-1], dict) else {}
    is_nonzero = np.any(getattr(Direct(tree), name)(*arrays, *frame, **options) != 0.0, axis=0)
    return np.asarray(is_nonzero)


@pytest.mark.slow(every=3)
def test_sparsity_patterns_equal_the_nonzero_entries_at_random_states():
    """Random axes and offsets have no accidental zeros."""
    for name in ("mixed_0", "mixed_star", "coupled_0", "rerooted", "fixed_chain"):
        tree = TREES[name]
        for function in FRAMED:
            for view in ({}, {"relative_to": "body1"}, {"relative_to": "tool1", "expressed_in": "tool2"}):
                request = (function, "tool2", view)
                pattern = robot_of(tree).sparsity(request)
                assert pattern.dtype == bool
                assert np.array_equal(pattern, evaluated(tree, request)), (name, request)
        assert np.array_equal(robot_of(tree).sparsity("jacobians"), evaluated(tree, "jacobians")), name


def test_mass_matrix_has_the_sparsity_pattern_of_the_tree():
    """Joints on different branches have zeros; values agree outside of the pattern."""
    robot = lw.load("quadruped", floating_base=True)
    pattern = robot.sparsity("mass_matrix")
    q = robot.random_configuration(seed=0, size=4)
    assert not np.any(robot.mass_matrix(q)[:, ~pattern])
    left, right = robot.joint("front_left_knee").v_slice, robot.joint("front_right_knee").v_slice
    assert pattern[left, left].all() and not pattern[left, right].any()


def test_sparsity_of_several_functions_returns_named_patterns():
    robot = lw.load("arm6")
    patterns = robot.sparsity([("jacobian", "tool"), "mass_matrix"])
    assert {name: part.shape for name, part in patterns.items()} == {"jacobian": (6, 6), "mass_matrix": (6, 6)}
    assert np.array_equal(robot.sparsity(("jacobian", "tool")), patterns["jacobian"])
    with pytest.raises(KeyError, match="jacobian"):
        robot.sparsity("jacobi")
    with pytest.raises(ValueError, match="sparsity: functions: expected at least one function"):
        robot.sparsity([])


def test_joints_between_two_frames_are_listed_in_order():
    robot = lw.load("arm6")
    names = tuple(joint.name for joint in robot.joints)
    assert robot.moving_joints("tool") == names
    assert robot.moving_joints("world", relative_to="tool") == names[::-1]
    assert robot.moving_joints("upper_arm", relative_to="shoulder") == names[1:2]
    assert robot.moving_joints("tool", relative_to="wrist_3_link") == ()
    with pytest.raises(KeyError, match="tol"):
        robot.moving_joints("tol")


def test_joints_that_move_a_frame_are_those_with_nonzero_jacobian_columns(drawn):
    for name, tree in drawn(TREES.items()):
        robot = robot_of(tree)
        for B, A in (("tool2", "world"), ("body0", "tool2"), (robot.frames[-1], "tool1")):
            moving = robot.moving_joints(B, relative_to=A)
            columns = robot.sparsity(("jacobian", B, {"relative_to": A})).any(axis=0)
            expected = np.zeros(tree.nv, dtype=bool)
            for joint in moving:
                expected[robot.joint(joint).v_slice] = True
            assert np.array_equal(columns, expected), (name, B, A)


def test_follower_joint_between_two_frames_has_its_jacobian_column_at_its_master():
    tree = random_tree(np.random.default_rng(0), 4, types=[lw.joints.Revolute], shape="star")
    robot = lw.Robot(with_couplings(tree, {"joint3": Following("joint1", -0.5)}))
    assert robot.moving_joints("tool3", relative_to="body0") == ("joint3",)
    columns = robot.sparsity(("jacobian", "tool3", {"relative_to": "body0"})).any(axis=0)
    assert columns.tolist() == [False, True, False]  # its master's
