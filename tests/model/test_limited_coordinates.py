"""Coordinates with limits: values and rates, for all joint types, reversed, and in loops."""

import math

import numpy as np
import pytest

import linkwork as lw
from linkwork._util import own_code
from linkwork.joints import ALL, Composite, Fixed, Planar, Prismatic, Revolute, Spherical, Universal
from linkwork.joints.base import generic_rank
from linkwork.joints.base.plain_coordinates import is_plain, moved_alone
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.model.limited_coordinates import (
    _is_limited,
    limited_coordinates,
    limited_values,
    loop_speed_values,
    loop_speeds,
)
from linkwork.model.periodic_coordinates import is_same_pose
from linkwork.model.tree_edits import affine_coordinates


def _types():
    rng = np.random.default_rng(3)
    both = [kind.example(rng) for kind in ALL if kind.__name__ != "Fixed"]
    return [*both, *(joint.reversed() for joint in both), Composite((Planar(), Revolute((1, 0, 0))))]


def _free(joint):
    return [-math.inf] * joint.nq, [math.inf] * joint.nq


@pytest.mark.light
@pytest.mark.parametrize("joint", _types(), ids=lambda joint: joint.type_name())
def test_coordinates_with_one_velocity_index_change_with_that_velocity_only(joint):
    """x(q ⊕ φ) = x + φ_k, whatever the other velocities are, where one is stated; else several change x."""
    rng = np.random.default_rng(0)
    alone = moved_alone(joint)
    for q in joint.random(rng, *_free(joint), (5,)).tolist():
        phi = rng.uniform(-0.5, 0.5, joint.nv).tolist()
        moved = joint.integrate(q, phi)
        J = np.array(joint.q_dot_jacobian(q), dtype=float)
        for n, k in enumerate(alone):
            if k is not None:
                assert moved[n] == q[n] + phi[k]
                assert np.array_equal(J[n], np.eye(joint.nv)[k])
    assert is_plain(joint) == (joint.nq == joint.nv and None not in alone)


def test_reversed_and_composite_joints_of_vector_joints_have_vector_coordinates():
    assert is_plain(Universal().reversed()) and is_plain(Composite((Universal(), Revolute((0, 0, 1)))))
    assert moved_alone(Planar()) == moved_alone(Planar().reversed()) == (None, None, 2)
    assert moved_alone(Composite((Spherical(), Revolute((0, 0, 1))))) == (None, None, None, None, 3)


def _limited(joint, in_loop):
    bounds = {"lower": [-0.99] * joint.nq, "upper": [0.999] * joint.nq, "velocity": [7.0] * joint.nv}
    if not in_loop:
        return lw.Robot.build(
            "one", lw.Link("hand", mass=1.0), lw.Joint.of(joint, name="limited", parent="world", child="hand", **bounds)
        )
    free = lw.Joint.of(lw.joints.Floating(), name="free", parent="world", child="hand")
    robot = lw.Robot.build("one", lw.Link("hand", mass=1.0), free)
    return robot.with_loop("limited", "world", "hand", joint, **bounds)


@pytest.mark.slow(every=3)
@pytest.mark.parametrize("in_loop", [False, True])
def test_jacobian_rows_of_limited_coordinates_are_rates_of_their_values(in_loop, drawn):
    """Along a motion on the constraints, x changes by r·v dt, in the tree and in a loop alike."""
    for joint in drawn(_types()):
        robot, rng = _limited(joint, in_loop), np.random.default_rng(1)
        coordinates = limited_coordinates(robot.tree)
        assert len(coordinates) == joint.nq and all((coordinate.q is None) == in_loop for coordinate in coordinates)
        x = joint.integrate(joint.zero(), rng.uniform(0.1, 0.3, joint.nv).tolist())
        rates = rng.uniform(-1.0, 1.0, joint.nv)

        def at(x, joint=joint, robot=robot):
            tree_joint = robot.tree.bodies[0].joint if in_loop else None
            return np.array(tree_joint.configuration_from_pose(joint.X(list(x))) if in_loop else x, dtype=float)

        h = 1e-5
        ends = [at(joint.integrate(x, (side * h * rates).tolist())) for side in (1.0, -1.0)]
        q, v = at(x), robot.difference(ends[1], ends[0]) / (2.0 * h)
        state = KinematicState(robot.tree, q.tolist())
        values, rows = zip(*(coordinate.rate(state) for coordinate in coordinates), strict=True)
        assert np.allclose(limited_values(robot, coordinates, q), np.array(values, dtype=float), atol=1e-12)
        assert np.allclose(np.array(values, dtype=float), x, atol=1e-9), joint
        slopes = (limited_values(robot, coordinates, ends[0]) - limited_values(robot, coordinates, ends[1])) / (2.0 * h)
        assert np.allclose(np.array(rows, dtype=float) @ v, slopes, atol=1e-7), joint
        speeds = loop_speeds(robot.tree)
        assert len(speeds) == (joint.nv if in_loop else 0)
        if speeds:
            assert np.allclose(loop_speed_values(robot, speeds, q, v), rates, atol=1e-7)
            assert np.allclose(
                [np.dot(np.array(coordinate.row(state), dtype=float), v) for coordinate in speeds], rates, atol=1e-7
            )


def test_limits_of_loop_joints_beyond_half_a_revolution_select_the_nearest_angle():
    """Hinge angles may differ by revolutions: the limits select the angle nearest to their middle."""
    free = lw.Joint.of(Revolute((0, 0, 1)), name="free", parent="world", child="hand")
    robot = lw.Robot.build("one", lw.Link("hand", mass=1.0), free)
    robot = robot.with_loop("limited", "world", "hand", Revolute((0, 0, 1)), lower=3.0, upper=4.0)
    coordinates = limited_coordinates(robot.tree)
    assert np.allclose(
        limited_values(robot, coordinates, np.array([[3.5], [2.0], [-2.9], [0.3]]))[:, 0],
        [
            3.5,
            2.0,
            2.0 * math.pi - 2.9,
            0.3 + 2.0 * math.pi,
        ],
    )
    assert robot.inverse_kinematics(robot.pose([3.5], "hand"), "hand").success
    assert not robot.inverse_kinematics(robot.pose([2.0], "hand"), "hand").success


def test_coordinates_of_unit_vectors_are_limited_by_bounds_within_1_only():
    for lower, upper, expected in (
        (-1.0, 1.0, False),
        (-1.3, 1.2, False),
        (-math.inf, math.inf, False),
        (-0.9, 1.0, True),
        (-1.3, 0.9, True),
    ):
        assert _is_limited(Spherical(), 2, lower, upper) is expected
    assert _is_limited(Revolute("z"), 0, -1.3, math.inf) and not _is_limited(Revolute("z"), 0, -math.inf, math.inf)


def test_poses_of_a_joint_are_the_same_within_the_stated_rounding_only():
    """The tolerance is 1e-12 relative to an element and to 1, here of the offset along the axis."""
    slider = Prismatic("y")
    for at, by, expected in ((0.0, 5e-13, True), (0.0, 1.2e-12, False), (3.0, 3e-12, True), (3.0, 5e-12, False)):
        assert is_same_pose(slider, np.array([at]), np.array([at + by])) is expected


def test_motion_subspaces_are_constant_within_the_stated_rounding(monkeypatch):
    """The tolerance is 1e-9 relative to the largest element, and to 1."""
    monkeypatch.setattr(own_code, "_replaced", {})
    S = np.array([[0.3, -0.2], [0.1, 0.7], [0.4, 0.6], [3.0, 0.2], [0.5, -0.9], [0.8, 0.1]])
    for by, expected in ((2e-9, True), (5e-9, False)):
        changed = S.copy()
        changed[2, 1] += by
        monkeypatch.setattr(generic_rank, "_subspaces", lambda joint, changed=changed: [S, S, changed])
        assert generic_rank._same(Revolute("z")) is expected
    for by, rank in ((1e-12, 1), (1e-8, 2)):  # the second motion is nearly that of the first
        near = np.stack([S[:, 0], 2.0 * S[:, 0] + by * S[:, 1]], axis=1)
        monkeypatch.setattr(generic_rank, "_subspaces", lambda joint, near=near: [near])
        assert generic_rank._rank(Revolute("z")) == rank


class _Bent(Prismatic):
    """A slider whose step along φ is φ + by φ²."""

    by = 0.0

    def integrate(self, q, phi):
        return [q[0] + phi[0] + self.by * phi[0] * phi[0]]

    def difference(self, q, to):
        raise NotImplementedError


def test_coordinates_that_bend_by_more_than_rounding_are_not_straight():
    assert affine_coordinates(Fixed()).shape == (0,)
    assert affine_coordinates(Planar()).tolist() == [False, False, True]
    for by, expected in ((0.0, True), (1e-10, True), (3e-8, False)):  # a quarter of it is the deviation
        kind = type("Bent", (_Bent,), {"by": by})
        assert affine_coordinates(kind("x")).tolist() == [expected]
