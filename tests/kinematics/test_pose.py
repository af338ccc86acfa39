"""`linkwork.pose`: equal poses from quaternions, axes and angles, rpy angles and matrices."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import linkwork as lw
from linkwork.spatial import Rotation


def test_pose_gives_equal_results_for_all_notations_of_a_rotation() -> None:
    w, x, y, z = np.array([0.5, 0.1, -0.7, 0.3]) / np.linalg.norm([0.5, 0.1, -0.7, 0.3])
    R = np.array(Rotation.from_quaternion(*(float(a) for a in (w, x, y, z))).rows())
    half = math.acos(w)
    roll, pitch, yaw = math.atan2(R[2, 1], R[2, 2]), -math.asin(R[2, 0]), math.atan2(R[1, 0], R[0, 0])
    said = {
        "quaternion_wxyz": {"quaternion_wxyz": (w, x, y, z)},
        "axis": {"axis": 3.0 * np.array([x, y, z]), "angle": 2.0 * half},
        "rpy": {"rpy": (roll, pitch, yaw)},
        "rotation": {"rotation": R},
    }
    for name, arguments in said.items():
        X = lw.pose((1, 2, 3), **arguments)  # type: ignore[arg-type]
        assert X.shape == (4, 4) and X[:3, 3].tolist() == [1.0, 2.0, 3.0] and X[3].tolist() == [0.0, 0.0, 0.0, 1.0]
        assert np.allclose(X[:3, :3], R, rtol=0.0, atol=2e-15), name


def test_pose_normalizes_quaternions_of_slightly_wrong_length_and_rejects_others() -> None:
    unit = np.array([0.5, 0.1, -0.7, 0.3]) / np.linalg.norm([0.5, 0.1, -0.7, 0.3])
    for by in (-3e-6, -3e-7, 3e-7, 3e-6):
        quaternion = (1.0 + by) * unit
        if abs(by) < 1e-6:
            assert np.allclose(lw.pose(quaternion_wxyz=quaternion), lw.pose(quaternion_wxyz=unit), rtol=0.0, atol=1e-15)
        else:
            with pytest.raises(ValueError, match=f"quaternion_wxyz: expected four .* length {1.0 + by:.9g}"):
                lw.pose(quaternion_wxyz=quaternion)


def test_rotations_by_quarter_turns_in_pose_are_exact() -> None:
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    for turns in range(-5, 6):
        R = np.linalg.matrix_power(quarter, turns % 4)
        assert np.array_equal(lw.pose(axis=(0, 0, 2), angle=turns * math.pi / 2)[:3, :3], R)
        assert np.array_equal(lw.pose(rpy=(0, 0, turns * math.pi / 2))[:3, :3], R)
    assert lw.pose(rpy=(0, 0, 1.5708))[0, 0] != 0.0
    with pytest.warns(UserWarning, match="pose: rpy: angles are in rad, and 180 rad are 28.6 revolutions"):
        lw.pose(rpy=[(0.0, 0.0, 0.0), (0.0, 180.0, 0.0)])
    lw.pose(rpy=(0, 0, 4.0 * np.pi))
    for angle in (90, -45.0, np.array([0, 180])):
        with pytest.warns(UserWarning, match="pose: angle: angles are in rad, and .* revolutions; numpy.radians"):
            lw.pose(axis=(0, 0, 1), angle=angle)
    for angle in (12, 90.5, np.linspace(0.0, 40.0, 7)):  # a sampled motion
        lw.pose(axis="z", angle=angle)
    assert np.array_equal(lw.pose(), np.eye(4))


def test_batches_of_poses_equal_single_poses_for_all_notations() -> None:
    rng = np.random.default_rng(0)
    xyz, rpy, axis, angle = (
        rng.normal(size=(5, 3)),
        rng.normal(size=(2, 1, 3)),
        rng.normal(size=(5, 3)),
        rng.normal(size=2),
    )
    quaternions = rng.normal(size=(5, 4))
    quaternions /= np.linalg.norm(quaternions, axis=-1, keepdims=True)
    by_rpy, by_axis = lw.pose(xyz, rpy=rpy), lw.pose(xyz, axis=axis, angle=angle[:, None])
    by_quaternion, by_name = lw.pose(quaternion_wxyz=quaternions), lw.pose((1, 2, 3), axis="y", angle=angle)
    by_matrix = lw.pose(xyz, rotation=by_rpy[..., :3, :3])
    assert by_rpy.shape == by_axis.shape == (2, 5, 4, 4)
    for i in range(2):
        assert np.array_equal(by_name[i], lw.pose((1, 2, 3), axis="y", angle=angle[i]))
        for k in range(5):
            assert np.array_equal(by_rpy[i, k], lw.pose(xyz[k], rpy=rpy[i, 0]))
            assert np.array_equal(by_axis[i, k], lw.pose(xyz[k], axis=axis[k], angle=angle[i]))
            assert np.array_equal(by_quaternion[k], lw.pose(quaternion_wxyz=quaternions[k]))
            np.testing.assert_allclose(by_matrix[i, k], by_rpy[i, k], atol=1e-15)
    np.testing.assert_allclose(
        lw.pose(lw.rpy(by_rpy), rpy=lw.rpy(by_rpy))[..., :3, :3], by_rpy[..., :3, :3], atol=1e-14
    )
    assert lw.pose(np.empty((0, 3)), rpy=(0, 0, 1)).shape == (0, 4, 4)


def test_invalid_poses_are_refused() -> None:
    bad = {
        r"pose: xyz: expected positions \(..., 3\) \[m\], got an array of shape \(5, 2\)": {"xyz": np.ones((5, 2))},
        r"pose: rpy: expected three numbers \[rad\], got an array of shape \(4,\)": {"rpy": np.ones((5, 4))},
        r"pose: expected batches that broadcast together, got .*'xyz': \(5,\), 'rpy': \(4,\)": {
            "xyz": np.ones((5, 3)),
            "rpy": np.ones((4, 3)),
        },
        r"pose: xyz: expected three numbers \[m\], got an array of shape \(2,\)": {"xyz": (1, 2)},
        r"pose: xyz: expected three numbers \[m\], got 'up'": {"xyz": "up"},
        r"pose: rpy: expected three numbers \[rad\], got \(0, 0, nan\)": {"rpy": (0, 0, math.nan)},
        r"pose: expected at most one of .*, got rpy and axis": {
            "rpy": (0, 0, 0),
            "axis": (0, 0, 1),
            "angle": 1,
        },
        r"pose: axis, angle: expected both": {"angle": 1.0},
        r"pose: angle: expected a number \[rad\], got '1'": {"axis": (0, 0, 1), "angle": "1"},
        r"pose: axis: expected three finite numbers, not all zero": {"axis": (0, 0, 0), "angle": 1.0},
        r"pose: quaternion_wxyz: .* of length 1, got \(1, 1, 0, 0\) of length 1.41": {"quaternion_wxyz": (1, 1, 0, 0)},
        r"pose: rotation: expected a rotation matrix .*, got \[\[2.0, 0.0, 0.0\]": {"rotation": 2 * np.eye(3)},
        r"pose: rotation: expected a rotation matrix \(3, 3\).*shape \(4, 4\)": {"rotation": np.eye(4)},
    }
    for message, said in bad.items():
        with pytest.raises(ValueError, match=message):
            lw.pose(**said)  # type: ignore[arg-type]


def test_sampled_yaw_of_many_revolutions_is_no_angle_in_degrees() -> None:
    yaw = np.linspace(0.0, 30.0, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lw.pose((0.1, 0.2, 0.3), rpy=np.stack([0.2 * yaw, 0.1 * yaw, yaw], axis=-1)).shape == (50, 4, 4)
    with pytest.warns(UserWarning, match="pose: rpy: angles are in rad, and 90 rad are 14.3 revolutions"):
        lw.pose((0.1, 0.2, 0.3), rpy=[(10, 20, 90), (5, 45, 30)])
