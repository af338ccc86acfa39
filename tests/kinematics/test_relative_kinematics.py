"""Twist, acceleration and Jacobian of any frame relative to any other, in any axes, at any point.

The reference differentiates the pose X_AB(t) itself: see `oracles.textbook`.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from linkwork.joints import ALL
from linkwork.model.random_tree import random_tree
from oracles.comparison import assert_close
from oracles.scalars import Direct
from oracles.textbook import Textbook
from oracles.trees import robot_of, state

# 0 ─ 1 ─ 2 ─ 3     Frames on the world, on one body, on ancestors of each other and on different branches, below the
# │       └── 4     world and below a shared body; further bodies, on body 3, so that every joint type occurs.
# └── 5 ─ 6
PARENTS = (-1, 0, 1, 2, 2, 0, 5)
CHOICES = ("world", "ground0", "body0", "body2", "tool2", "tool4", "tool6")
PAIRS = list(itertools.product(CHOICES, repeat=2))


def tree_of_all_joint_types():
    drawn = random_tree(np.random.default_rng(7), max(len(PARENTS), len(ALL)))
    parents = (*PARENTS, *(3 for _ in range(len(ALL) - len(PARENTS))))
    return replace(drawn, bodies=tuple(replace(b, parent=p) for b, p in zip(drawn.bodies, parents, strict=True)))


TREE = tree_of_all_joint_types()


@pytest.fixture(scope="module")
def sample():
    q, v, a = state(TREE, seed=5, size=2)
    return q, v, a, Textbook(TREE, q, v, a), Direct(TREE)


@pytest.mark.parametrize(("B", "A"), PAIRS, ids=["-to-".join(pair) for pair in PAIRS])
def test_relative_kinematics_equal_the_textbooks_in_every_frame_and_axes(sample, B, A):
    q, v, a, book, f = sample
    assert_close(f.pose(q, B, A), book.pose(B, A), 1e-13, core=2)
    shift = PAIRS.index((B, A))  # over all pairs, every choice of axes meets every choice of point
    for k, E in enumerate(CHOICES):
        for at in (None, CHOICES[(k + shift) % len(CHOICES)]):
            view = {"relative_to": A, "expressed_in": E, "point": at}
            twist = f.twist(q, v, B, **view)
            assert_close(twist, book.twist(B, A, E, at), 1e-12, f"twist {view}", core=1)
            acceleration = f.acceleration(q, v, a, B, **view)
            assert_close(acceleration, book.acceleration(B, A, E, at), 1e-12, f"acceleration {view}", core=1)
            J = f.jacobian(q, B, **view)
            assert_close(np.einsum("nij,nj->ni", J, v), twist, 1e-12, f"jacobian {view}", core=1)


@pytest.mark.slow
@pytest.mark.parametrize(("B", "A"), [("tool6", "tool4"), ("body0", "tool4")])
def test_compiled_relative_kinematics_equal_the_textbooks(sample, B, A):
    q, v, a, book, _ = sample
    robot = robot_of(TREE)
    for E, at in (("world", None), (B, A), ("tool2", "world")):
        view = {"relative_to": A, "expressed_in": E, "point": at}
        assert_close(robot.pose(q, B, relative_to=A), book.pose(B, A), 1e-13, core=2)
        assert_close(robot.twist(q, v, B, **view), book.twist(B, A, E, at), 1e-12, core=1)
        assert_close(robot.acceleration(q, v, a, B, **view), book.acceleration(B, A, E, at), 1e-12, core=1)
        assert_close(robot.jacobian(q, B, **view), book.jacobian(B, A, E, at), 1e-12, core=2)


def test_relative_motion_of_frame_a_in_frame_b_is_opposite_to_that_of_b_in_a(sample):
    """The axes and the point are the same."""
    q, v, _, _, f = sample
    for B, A in PAIRS:
        exchanged = f.twist(q, v, B, relative_to=A, point="tool2", expressed_in="body0")
        back = f.twist(q, v, A, relative_to=B, point="tool2", expressed_in="body0")
        assert_close(exchanged, -back, 1e-13, f"{B}, {A}", core=1)


def test_frame_does_not_move_relative_to_its_own_body(sample):
    q, v, a, _, f = sample
    assert not np.any(f.twist(q, v, "tool6", relative_to="body6"))
    assert not np.any(f.acceleration(q, v, a, "body6", relative_to="body6"))
    assert not np.any(f.jacobian(q, "tool6", relative_to="body6"))
    assert not np.any(f.jacobian(q, "ground0"))
    assert_close(f.acceleration(q, v, a, "tool6", relative_to="body6"), np.zeros((2, 6)), 1e-12, core=1)


def test_jacobian_columns_of_joints_not_between_two_frames_are_zero(sample):
    """Only the joints between two frames move one relative to the other."""
    q, _, _, _, f = sample
    J = f.jacobian(q, "tool6", relative_to="body5")
    outside = np.ones(TREE.nv, dtype=bool)
    outside[TREE.v_slices[6]] = False
    assert not np.any(J[..., outside])
