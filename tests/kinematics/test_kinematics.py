"""Kinematics on random trees of every joint type, against homogeneous matrices and their derivatives."""

import numpy as np
import pytest

from helpers.joints import transform_at_zero
from oracles.comparison import assert_close
from oracles.scalars import Direct, with_functions
from oracles.textbook import Textbook
from oracles.trees import every_plain_tree, robot_of, state

FRAME = "tool1"
VIEWS = {
    "in the world's axes": {},
    "in its own axes": {"expressed_in": FRAME},
    "at the world's origin": {"point": "world"},
    "in other axes, elsewhere": {"expressed_in": "ground0", "point": "body2"},
}


def view_of_the_textbook(view: dict[str, str]) -> tuple[str, str, str, str | None]:
    return FRAME, "world", view.get("expressed_in", "world"), view.get("point")


@with_functions
def test_forward_kinematics_is_the_product_of_homogeneous_matrices(tree, f):
    q, _, _ = state(tree)
    book = Textbook(tree, q)
    expected = np.stack([book.frame(body.name).X for body in tree.bodies], axis=1)
    assert_close(f.forward_kinematics(q), expected, 1e-13, core=2)


@with_functions
def test_forward_kinematics_returns_rigid_transforms(tree, f):
    q, _, _ = state(tree)
    X = f.forward_kinematics(q)
    R = X[..., :3, :3]
    assert_close(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), 1e-14, core=2)
    assert np.all(np.linalg.det(R) > 0.0)
    assert np.array_equal(X[..., 3, :], np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*X.shape[:-2], 4)))


@with_functions
def test_twist_of_a_frame_is_the_derivative_of_its_pose(tree, f):
    q, v, _ = state(tree)
    book = Textbook(tree, q, v)
    for label, view in VIEWS.items():
        assert_close(f.twist(q, v, FRAME, **view), book.twist(*view_of_the_textbook(view)), 1e-13, label, core=1)


@pytest.mark.costly
@with_functions
def test_acceleration_of_a_frame_is_the_second_derivative_of_its_pose(tree, f):
    q, v, a = state(tree)
    book = Textbook(tree, q, v, a)
    for label, view in VIEWS.items():
        assert_close(
            f.acceleration(q, v, a, FRAME, **view), book.acceleration(*view_of_the_textbook(view)), 1e-12, label, core=1
        )


@pytest.mark.costly
@with_functions
def test_jacobian_times_velocity_is_the_twist(tree, f):
    q, v, _ = state(tree)
    for label, view in VIEWS.items():
        twist = np.einsum("nij,nj->ni", f.jacobian(q, FRAME, **view), v)
        assert_close(twist, f.twist(q, v, FRAME, **view), 1e-13, label, core=1)


@every_plain_tree
def test_joints_at_the_neutral_configuration_have_identity_transforms(tree):
    """Types without an identity transform are left out."""
    X = Direct(tree).forward_kinematics(robot_of(tree).neutral())
    for i, body in enumerate(tree.bodies):
        parent = X[body.parent] if body.parent >= 0 else np.eye(4)
        poses = body.placement, transform_at_zero(body.joint), body.rotor
        placement, joint, rotor = (np.reshape(np.array(p.elements(), float), (4, 4)) for p in poses)
        assert_close(X[i], parent @ placement @ joint @ rotor, 1e-14)
