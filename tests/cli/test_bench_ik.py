"""The command `linkwork bench-ik`: its measurements equal the robot's results."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkwork as lw
from linkwork.cli.commands.bench_ik import middle, pose_errors

SHORT = ("--poses", "30")


def test_bench_ik_prints_measurements_of_an_arm(linkwork):
    ran = linkwork("bench-ik", "arm6", "--frame", "tool", *SHORT)
    assert ran.code == 0, ran.err
    assert "arm6: poses of tool relative to the world" in ran.out
    assert "reached: 100.00 % (30 of 30), within 1e-05 m and rad on each axis, and within limits" in ran.out
    assert ["solved", "30"] in [line.split() for line in ran.out.splitlines()]
    for part in ("one call [µs]", "iterations", "restarts", "a pose in a batch of 30, one thread"):
        assert part in ran.out
    assert "missed" not in ran.out and ran.err.splitlines()[-1] == "poses: 100 % of 30"


def test_bench_ik_prints_valid_json(linkwork):
    data = json.loads(
        linkwork("bench-ik", "arm7", "--frame", "hand", "--relative-to", "shoulder", *SHORT, "--json").out
    )
    assert data["linkwork"] == lw.__version__ and (data["frame"], data["relative_to"]) == ("hand", "shoulder")
    assert data["poses"] == 30 and data["success"] == 1.0 and data["statuses"] == {"solved": 30} and not data["misses"]
    times = data["call_seconds"]
    assert 0.0 < times["p50"] <= times["p90"] <= times["p99"] <= times["max"] and data["batch_seconds_per_pose"] > 0.0
    assert data["iterations"]["p50"] >= 1 and data["restarts"]["p50"] >= 0


def test_bench_ik_solves_all_poses_to_a_tolerance_of_1e_10(linkwork):
    data = json.loads(linkwork("bench-ik", "arm6", "--frame", "tool", *SHORT, "--tolerance", "1e-10", "--json").out)
    assert data["success"] == 1.0 and data["statuses"] == {"solved": 30} and data["tolerance"] == 1e-10


def test_bench_ik_solves_all_poses_of_a_floating_robot(linkwork):
    data = json.loads(linkwork("bench-ik", "arm6", "--frame", "tool", "--floating-base", "--poses", "5", "--json").out)
    assert data["success"] == 1.0


class _Result:
    """A result that claims to be solved."""

    def __init__(self, result, q):
        self.q, self.success, self.status = q, True, "solved"
        self.iterations, self.restarts = result.iterations, result.restarts


@pytest.mark.parametrize(("off", "beyond"), [(1e-3, False), (0.0, True)])
def test_bench_ik_verifies_solutions_reported_as_solved(linkwork, monkeypatch, off, beyond):
    original = lw.Robot.inverse_kinematics

    def lying(robot, X, frame, **options):
        result = original(robot, X, frame, **options)
        q = result.q + off
        if beyond:
            q[..., 0] = robot.upper[0] + 1e-9
        return _Result(result, q)

    monkeypatch.setattr(lw.Robot, "inverse_kinematics", lying)
    ran = linkwork("bench-ik", "arm6", "--frame", "tool", "--poses", "15")
    assert ran.code == 1 and "linkwork: error: 15 results wrongly reported as solved or within limits" in ran.err
    assert "missed (of 15):" in ran.out and "pose 9: solved, off by" in ran.out and "pose 10: " not in ran.out
    data = json.loads(linkwork("bench-ik", "arm6", "--frame", "tool", "--poses", "3", "--json").out)
    assert data["success"] == 0.0 and [miss["pose"] for miss in data["misses"]] == [0, 1, 2]
    assert all(miss["reported_solved"] and miss["within_limits"] != beyond for miss in data["misses"])


def test_bench_ik_refuses_wrong_usage(linkwork):
    for arguments, code, said in (
        (("arm6", "--frame", "tol"), 2, "did you mean 'tool'?"),
        (("arm6", "--frame", "base"), 2, "rigidly fixed"),
        (("arm6", "--frame", "tool", "--relative-to", "nowhere"), 2, "nowhere"),
        (("arm6",), 2, "--frame"),
        (("arm6", "--frame", "tool", "--tolerance", "-1"), 2, "expected a number >= 1e-10"),
        (("arm6", "--frame", "tool", "--tolerance", "1e-18"), 2, "which exceeds rounding, got '1e-18'"),
        (("arm6", "--frame", "tool", "--tolerance", "nan"), 2, "got 'nan'"),
        (("arm6", "--frame", "tool", "--seed", "-1"), 2, "--seed: expected an integer >= 0, got '-1'"),
        (("arm6", "--frame", "tool", "--poses", "0"), 2, "expected an integer >= 1"),
    ):
        ran = linkwork("bench-ik", *arguments)
        assert ran.code == code and said in ran.err and not ran.out, (arguments, ran)


def test_bench_ik_measures_pose_errors_and_starts_at_the_middle_configuration():
    robot = lw.load("quadruped", floating_base=True)
    q = middle(robot)
    bounded = np.isfinite(robot.lower)
    np.testing.assert_array_equal(q[bounded], 0.5 * (robot.lower[bounded] + robot.upper[bounded]))
    np.testing.assert_array_equal(q[~bounded], robot.neutral()[~bounded])
    arm, rng = lw.load("arm7"), np.random.default_rng(0)
    X = arm.pose(arm.random_configuration(rng, size=40), "hand")
    for angle in (0.0, 1e-12, 1e-3, 2.0, np.pi - 1e-6):
        w = rng.normal(size=(40, 3))
        w *= angle / np.linalg.norm(w, axis=1, keepdims=True)
        p = rng.normal(size=(40, 3))
        moved = X @ np.array([_pose(*both) for both in zip(p, w, strict=True)])
        np.testing.assert_allclose(pose_errors(moved, X), np.concatenate([p, w], axis=1), atol=1e-9)
    assert np.abs(pose_errors(X @ np.diag([1.0, -1.0, -1.0, 1.0]), X)).max(axis=1).min() > 3.0


def _pose(p: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return a pose by Rodrigues' formula."""
    angle = float(np.linalg.norm(w))
    K = np.cross(np.eye(3), w)
    X = np.eye(4)
    X[:3, 3] = p
    X[:3, :3] += np.sinc(angle / np.pi) * K + 0.5 * np.sinc(angle / (2 * np.pi)) ** 2 * K @ K
    return X
