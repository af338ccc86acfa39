"""Roll, pitch and yaw, and quaternions of poses: the inverse of `linkwork.pose`, SciPy's values, gimbal lock."""

import math

import numpy as np
import pytest

import linkwork as lw

transform = pytest.importorskip("scipy.spatial.transform", reason="compares with SciPy")

RNG = np.random.default_rng(0)
RANDOM = transform.Rotation.random(500, random_state=0)
POSES = np.array([lw.pose(RNG.normal(size=3), rotation=R) for R in RANDOM])
HALF = math.pi / 2


def test_rpy_and_quaternion_of_poses_equal_those_of_scipy():
    assert np.abs(lw.rpy(POSES) - RANDOM.as_euler("xyz")).max() < 1e-13
    expected = RANDOM.as_quat()
    expected *= np.sign(expected[:, 3:])
    assert np.abs(lw.quaternion(POSES, order="xyzw") - expected).max() < 1e-15
    assert np.array_equal(lw.quaternion(POSES), lw.quaternion(POSES, order="xyzw")[:, [3, 0, 1, 2]])
    assert np.array_equal(lw.rpy(POSES[:, :3, :3].reshape(5, 100, 3, 3)), lw.rpy(POSES).reshape(5, 100, 3))
    assert lw.rpy(POSES[0]).shape == (3,) and np.array_equal(lw.quaternion(POSES[0]), lw.quaternion(POSES)[0])


@pytest.mark.light
@pytest.mark.parametrize("distance", [0.0, 1e-16, 1e-15, 1e-14, 1e-12, 1e-9, 1e-7, 1e-4])
def test_roll_pitch_yaw_reproduce_the_pose_at_and_near_gimbal_lock(distance):
    """Roll and yaw together are accurate although each of them is not."""
    for sign in (1.0, -1.0):
        for roll, yaw in RNG.uniform(-math.pi, math.pi, (20, 2)):
            X = lw.pose(rpy=(roll, sign * (HALF - distance), yaw))
            angles = lw.rpy(X)
            assert np.abs(lw.pose(rpy=angles) - X).max() < 2e-14
            if distance < 1e-15:
                assert angles[2] == 0.0 and abs(angles[1]) == HALF
                total = (angles[0] - (roll - sign * yaw) + math.pi) % (2 * math.pi) - math.pi
                assert abs(total) < 1e-13


def test_roll_pitch_yaw_of_quarter_turns_are_exact_without_negative_zeros():
    for angles in np.stack(np.meshgrid(*[(-HALF, 0.0, HALF, math.pi)] * 3), axis=-1).reshape(-1, 3):
        X = lw.pose(rpy=angles)
        result = lw.rpy(X)
        assert np.array_equal(lw.pose(rpy=result), X)
        assert all(str(x) in ("0.0", str(HALF), str(-HALF), str(math.pi)) for x in result.tolist())
        Q = lw.quaternion(X)
        assert Q[0] >= 0.0 and not np.signbit(Q[Q == 0.0]).any()
        assert np.abs(lw.pose(quaternion_wxyz=Q) - X).max() < 1e-15


def test_rpy_and_quaternion_can_be_used_in_compiled_functions():
    robot = lw.load("arm6")
    compiled = lw.compile(
        lambda q: (lw.rpy(robot.pose(q, "tool")), lw.quaternion(robot.pose(q, "tool"), order="xyzw")),
        q=robot.configuration_space,
    )
    q = robot.random_configuration(seed=1, size=4)
    X = robot.pose(q, "tool")
    for result, expected in zip(compiled(q), (lw.rpy(X), lw.quaternion(X, order="xyzw")), strict=True):
        assert np.abs(result - expected).max() < 1e-14


def test_arrays_that_are_not_poses_are_refused_by_rpy_and_quaternion():
    wrong = (
        (np.eye(2), r"X: expected poses of shape \(\.\.\., 4, 4\) or rotations \(\.\.\., 3, 3\), got shape \(2, 2\)"),
        (2.0 * np.eye(3), "X: expected right-handed rotations"),
        (np.diag([1.0, 1.0, -1.0]), "X: expected right-handed rotations"),
        (np.full((4, 4), np.nan), "X: expected"),
    )
    for function in (lw.rpy, lw.quaternion):
        for value, message in wrong:
            with pytest.raises(ValueError, match=f"^{function.__name__}: {message}"):
                function(value)
        assert function(np.zeros((0, 4, 4))).shape[0] == 0
    with pytest.raises(ValueError, match=r"^quaternion: order: expected one of 'wxyz', 'xyzw'"):
        lw.quaternion(np.eye(4), order="xyz")
