"""Kinematics on random trees of every joint type, against homogeneous matrices and their derivatives."""

import numpy as np

from helpers.joints import transform_at_zero
from oracles.comparison import assert_close
from oracles.scalars import Direct, with_functions
from oracles.textbook import Textbook
from oracles.trees import every_plain_tree, every_tree, robot_of, state

FRAME = "tool1"
VIEWS = {
    "in the world's axes": {},
    "in its own axes": {"expressed_in": FRAME},
    "at the world's origin": {"point": "world"},
    "in other axes, elsewhere": {"expressed_in": "ground0", "point": "body2"},
}


def seen(view: dict[str, str]) -> tuple[str, str, str, str | None]:
    return FRAME, "world", view.get("expressed_in", "world"), view.get("point")


@with_functions
def test_forward_kinematics_is_the_product_of_homogeneous_matrices(tree, f):
    q, _, _ = state(tree)
    book = Textbook(tree, q)
    expected = np.stack([book.frame(body.name).X for body in tree.bodies], axis=1)
    assert_close(f.forward_kinematics(q), expected, 1e-13, core=2)


@with_functions
def test_poses_are_rigid_transforms(tree, f):
    q, _, _ = state(tree)
    X = f.forward_kinematics(q)
    R = X[..., :3, :3]
    assert_close(R @ np.swapaxes(R, -1, -2), np.broadcast_to(np.eye(3), R.shape), 1e-14, core=2)
    assert np.all(np.linalg.det(R) > 0.0)
    assert np.array_equal(X[..., 3, :], np.broadcast_to([0.0, 0.0, 0.0, 1.0], (*X.shape[:-2], 4)))


@with_functions
def test_twist_is_the_derivative_of_the_pose(tree, f):
    q, v, _ = state(tree)
    book = Textbook(tree, q, v)
    for what, view in VIEWS.items():
        assert_close(f.twist(q, v, FRAME, **view), book.twist(*seen(view)), 1e-13, what, core=1)


@with_functions
def test_acceleration_is_the_second_derivative_of_the_pose(tree, f):
    q, v, a = state(tree)
    book = Textbook(tree, q, v, a)
    for what, view in VIEWS.items():
        assert_close(f.acceleration(q, v, a, FRAME, **view), book.acceleration(*seen(view)), 1e-12, what, core=1)


@with_functions
def test_jacobian_is_the_derivative_of_the_pose_along_unit_velocities(tree, f):
    q, _, _ = state(tree)
    book = Textbook(tree, q)
    for what, view in VIEWS.items():
        assert_close(f.jacobian(q, FRAME, **view), book.jacobian(*seen(view)), 1e-12, what, core=2)


@with_functions
def test_jacobian_times_velocity_is_the_twist(tree, f):
    q, v, _ = state(tree)
    for what, view in VIEWS.items():
        twist = np.einsum("nij,nj->ni", f.jacobian(q, FRAME, **view), v)
        assert_close(twist, f.twist(q, v, FRAME, **view), 1e-13, what, core=1)


@every_tree
def test_jacobian_against_central_differences(tree):
    f, h = Direct(tree), 1e-6
    (q, *_), found = state(tree), []
    J = f.jacobian(q, FRAME)
    for direction in h * np.eye(tree.nv):
        ahead, behind = (f.pose(f.integrate(q, s * direction), FRAME) for s in (1.0, -1.0))
        rate = (ahead - behind) / (2.0 * h)
        spin = rate[:, :3, :3] @ np.swapaxes(f.pose(q, FRAME)[:, :3, :3], -1, -2)
        found.append(np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0], *rate[:, :3, 3].T], axis=-1))
    expected = np.stack(found, axis=-1) if found else J
    assert_close(J, expected, 1e-8, core=2)


@every_plain_tree
def test_a_full_turn_changes_nothing(tree):
    f = Direct(tree)
    q, _, _ = state(tree)
    bodies = [body for body in tree.bodies for _ in body.joint.q_units]
    units = [unit for body in tree.bodies for unit in body.joint.q_units]
    angles = [unit == "rad" and not hasattr(body.joint, "pitch") for body, unit in zip(bodies, units, strict=True)]
    turned = q + np.where(angles, 2.0 * np.pi, 0.0)
    # 2π and q + 2π are rounded: angles are off by some 1e-15 each
    assert_close(f.forward_kinematics(turned), f.forward_kinematics(q), 1e-12, core=2)
    zero = np.zeros(tree.nv)
    assert_close(f.inverse_dynamics(turned, zero, zero), f.inverse_dynamics(q, zero, zero), 1e-12, core=1)


@every_plain_tree
def test_neutral_is_where_every_joint_is_at_its_zero(tree):
    """The identity, but for types that no configuration gives the identity."""
    X = Direct(tree).forward_kinematics(robot_of(tree).neutral())
    for i, body in enumerate(tree.bodies):
        parent = X[body.parent] if body.parent >= 0 else np.eye(4)
        poses = body.placement, transform_at_zero(body.joint), body.rotor
        placement, joint, rotor = (np.reshape(np.array(p.elements(), float), (4, 4)) for p in poses)
        assert_close(X[i], parent @ placement @ joint @ rotor, 1e-14)
