"""Poses, rotations and inertias on both sides of each tolerance, and messages of errors at their longest."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import UnderactuatedError, UnknownNameError
from linkwork.kinematics.algorithms.coordinates import gyration_radius
from linkwork.kinematics.poses import warn_of_degrees
from linkwork.spatial import Pose, Symmetric3, Vec3
from linkwork.spatial.arguments import (
    checked_inertia,
    checked_pose,
    is_like_pose,
    is_like_rotation,
    is_rigid,
)
from linkwork.spatial.inertia import Inertia
from linkwork.spatial.rotation import _is_sparse, cos_sin

QUATERNION = np.array([0.5, -0.1, 0.7, 0.3]) / math.sqrt(0.84)
w, x, y, z = QUATERNION
CROSS = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
ROTATION = np.eye(3) + 2.0 * w * CROSS + 2.0 * CROSS @ CROSS
POSE = np.block([[ROTATION, np.array([[0.3], [-0.2], [0.7]])], [np.zeros((1, 3)), np.ones((1, 1))]])


def changed(index: tuple[int, int], by: float) -> np.ndarray:
    X = POSE.copy()
    X[index] += by
    return X


def test_poses_must_be_rigid_right_handed_and_finite() -> None:
    scaled, mirrored = POSE.copy(), POSE.copy()
    scaled[:3, :3] *= 1.0 - 1e-7  # a determinant just below 1
    mirrored[:3, 0] *= -1.0
    for X in (POSE, scaled, np.stack([POSE, scaled]), changed((3, 0), 0.9e-6), changed((3, 3), -0.9e-6)):
        assert is_rigid(X)
    for X in (
        mirrored,
        np.stack([POSE, mirrored]),
        changed((3, 0), 1.1e-6),
        changed((3, 3), 2e-6),
        changed((0, 3), np.inf),
    ):
        assert not is_rigid(X)
    with pytest.raises(
        ValueError, match=r"tool: expected a pose, a matrix of shape .* with a rotation and the last row"
    ):
        checked_pose(mirrored, "tool")


def test_rounded_poses_and_rotations_are_recognized() -> None:
    for value in (Pose.identity(), Pose.of(POSE.tolist()), POSE, POSE.round(2), changed((0, 0), 4e-3)):
        assert is_like_pose(value)
    for value in (np.stack([POSE, POSE]), changed((0, 0), 0.1), ROTATION, np.ones((4, 4)), "pose", None):
        assert not is_like_pose(value)
    for value in (ROTATION, np.stack([ROTATION, ROTATION]), ROTATION + 2e-3, np.zeros((0, 3, 3))):
        assert is_like_rotation(value)
    for value in (POSE, ROTATION + 0.1, np.ones((3, 3)), None):
        assert not is_like_rotation(value)


def test_inertias_must_be_symmetric_up_to_rounding() -> None:
    J = np.array([[3.0, 0.1, -0.2], [0.1, 4.0, 0.3], [-0.2, 0.3, 5.0]])
    for size in (1.0, 1e-6):
        for asymmetry, accepted in ((0.9e-9, True), (2e-9, False)):
            value = size * J
            value[0, 1] += 5.0 * size * asymmetry
            if accepted:
                assert isinstance(checked_inertia(value, "link"), Symmetric3)
            else:
                with pytest.raises(ValueError, match="link: inertia: expected a symmetric matrix"):
                    checked_inertia(value, "link")


def test_angles_of_up_to_four_revolutions_have_exact_cosines() -> None:
    exact = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
    for k in range(-18, 19):
        angle = k * (0.5 * math.pi)
        expected = exact[k % 4] if abs(k) <= 16 else (math.cos(angle), math.sin(angle))
        assert cos_sin(angle) == expected, k
    for angle in (0.3, -2.0, math.nextafter(0.5 * math.pi, 2.0)):
        assert cos_sin(angle) == (math.cos(angle), math.sin(angle))


def test_only_vectors_along_a_coordinate_axis_count_as_sparse() -> None:
    for v, expected in (
        ((0.0, 0.0, 0.4), True),
        ((0.4, 0.0, 0.0), True),
        ((0.4, 0.4, 0.0), False),
        ((1.0, 1.0, 2.0), False),
    ):
        assert _is_sparse(Vec3(*v)) is expected
    assert not _is_sparse((0.0, 0.0, 1.0))


def test_radius_of_gyration_is_equal_for_light_and_heavy_bodies_of_one_shape() -> None:
    for mass in (1e-6, 0.4, 1.0, 7.0):
        body = Inertia(mass, Vec3(0.0, 0.0, 0.0), Symmetric3.diagonal(2.0 * mass, 3.0 * mass, 5.0 * mass))
        assert abs(gyration_radius(body) - math.sqrt(5.0)) < 1e-12
    assert gyration_radius(Inertia(0.0, Vec3(0.0, 0.0, 0.0), Symmetric3.diagonal(1.0, 1.0, 1.0))) == 0.0


def test_angles_above_two_revolutions_are_reported_as_possible_degrees() -> None:
    for angles in ([4.0 * math.pi, -4.0 * math.pi], [], [math.inf], "x"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warn_of_degrees("pose", "rpy", angles)
    for angles, revolutions in (([12.7, 0.0], "2.02"), ([0.1, -18.0], "2.86"), ([90.0], "14.3")):
        with pytest.warns(
            UserWarning, match=rf"pose: rpy: angles are in rad, and .* rad are {revolutions} revolutions"
        ):
            warn_of_degrees("pose", "rpy", angles)


@pytest.mark.parametrize("length", [0.5, 1.5, 1.0 + 3e-5, 1.0 - 3e-5])
@pytest.mark.light
def test_quaternions_of_another_length_are_refused(length: float) -> None:
    assert np.abs(lw.pose(quaternion_wxyz=QUATERNION)[:3, :3] - ROTATION).max() < 1e-12
    with pytest.raises(ValueError, match=r"quaternion_wxyz: expected four numbers \(w, x, y, z\) of length 1, got"):
        lw.pose(quaternion_wxyz=length * QUATERNION)


def test_messages_shorten_long_names_and_long_lists() -> None:
    def said(count: int, motions: tuple[str, ...] = ("a = 1",)) -> str:
        return str(UnderactuatedError(tuple(f"m{k}" for k in range(count)), motions, (), 0.25))

    assert "'m7' cannot" in said(8) and "'m7', ... cannot" in said(9) and "'m8'" not in said(9)
    assert "actuators none cannot induce the motion (a = 1): joint forces of 0.25" in said(0)
    assert "the motion that is required: joint forces" in said(2, ())
    assert "the motions (a = 1); (b = 2): joint" in said(2, ("a = 1", "b = 2"))
    for length, shown in ((197, 199), (198, 200), (199, 200)):
        text: Any = str(UnknownNameError("joint", "x" * length, ("elbow",)))
        assert ("..." in text) is (length > 198) and text.count("x") == min(length, 199), shown
