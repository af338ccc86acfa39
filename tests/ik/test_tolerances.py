"""Tolerances above 1e-3 m or rad widen the set of solutions, also for arms that reach no pose exactly."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import linkwork as lw

ARM = lw.load("arm6")
JOINTS = [joint.name for joint in ARM.joints]
WIDE = 0.5  # [rad]


def targets(locked: tuple[str, ...], turned: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Poses that configurations with locked joints have but for rotations, and an initial guess."""
    locked_indices = [JOINTS.index(name) for name in locked]
    q, start = ARM.random_configuration(seed=1, size=len(turned)), np.zeros(6)
    q[:, locked_indices] = start[locked_indices] = 0.3
    X = ARM.pose(q, "tool")
    X[:, :3, :3] = X[:, :3, :3] @ Rotation.from_rotvec(turned).as_matrix()
    return X, start


def errors(q: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation vectors to the targets in the tool's axes, and distances."""
    Y = ARM.pose(q, "tool")
    turns = Rotation.from_matrix(np.swapaxes(Y[:, :3, :3], 1, 2) @ X[:, :3, :3]).as_rotvec()
    return turns, np.linalg.norm(X[:, :3, 3] - Y[:, :3, 3], axis=1)


def balls(n: int, radius: float = WIDE) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(n, 3))
    return x * (radius * np.random.default_rng(1).uniform(size=(n, 1)) / np.linalg.norm(x, axis=1, keepdims=True))


@pytest.mark.parametrize("locked", [("wrist_3",), ("wrist_2", "wrist_3")])
def test_ik_reaches_poses_rotated_by_less_than_the_orientation_tolerance(locked: tuple[str, ...]) -> None:
    locked = tuple(JOINTS[-len(locked) :])
    n = 50
    X, start = targets(locked, balls(n))
    solution = ARM.inverse_kinematics(X, "tool", orientation_tolerance=WIDE, locked=locked, q_init=start)
    turns, away = errors(solution.q, X)
    assert solution.success.all() and away.max() < 1e-6 and np.linalg.norm(turns, axis=1).max() < WIDE
    assert np.array_equal(solution.q[:, 6 - len(locked) :], np.full((n, len(locked)), 0.3))
    box = np.random.default_rng(2).uniform(-1.0, 1.0, (n, 3)) * (WIDE, WIDE, 3.0)
    for tolerance in ((WIDE, WIDE, 3.0), (WIDE, WIDE, np.inf)):
        X, start = targets(locked, balls(n) if tolerance[2] == 3.0 else np.where([1, 1, 0], balls(n), box))
        solution = ARM.inverse_kinematics(X, "tool", orientation_tolerance=tolerance, locked=locked, q_init=start)
        turns, away = errors(solution.q, X)
        assert solution.success.all() and away.max() < 1e-6, tolerance
        assert (np.abs(turns) < tolerance).all() and np.abs(turns).max() > 0.1, tolerance


@pytest.mark.slow(every=5)
def test_every_ik_solver_uses_the_tolerance() -> None:
    """Nearest configurations, postures, paths, several solutions, tasks, and calls in compiled functions."""
    locked = (JOINTS[-1],)
    X, start = targets(locked, balls(10))
    options = {"orientation_tolerance": WIDE, "locked": locked}
    for result in (
        ARM.inverse_kinematics(X, "tool", nearest_to=start, **options),
        ARM.inverse_kinematics(X, "tool", posture=start, **options),
        *(
            ARM.ik_problem(lw.ik.PoseTask("tool", name="X", tolerance=(0.3, 0.3, 0.3, 1e-6, 1e-6, 1e-6)),
                           locked=locked, solver=solver).solve(start, X=X)
            for solver in ("levenberg", "augmented")
        ),
        pickle.loads(pickle.dumps(
            ARM.ik_problem(lw.ik.PoseTask("tool", name="X", orientation_tolerance=WIDE), locked=locked)
        )).solve(start, X=X),
        ARM.ik_problem(lw.ik.PoseTask("tool", name="X"), locked=locked).solve(
            start, X=X, tolerance=[0.3, 0.3, 0.3, 1e-6, 1e-6, 1e-6]
        ),
    ):  # fmt: skip
        turns, away = errors(result.q, X)
        assert result.success.all() and away.max() < 2e-6 and np.linalg.norm(turns, axis=1).max() < 0.55
    exact = ARM.ik_problem(lw.ik.PoseTask("tool", name="X"), locked=locked).solve(start, X=X)
    assert not exact.success.any()  # so the tolerance of another call of the same problem is its own
    path = np.tile(X[0], (30, 1, 1))
    path[:, 0, 3] += np.linspace(0.0, 0.05, 30)
    followed = ARM.inverse_kinematics_path(path, "tool", q_init=start, **options)
    assert followed.success.all() and followed.reconfigurations == 0
    several = ARM.inverse_kinematics(X[0], "tool", q_init=start, num_solutions=3, **options)
    turns, away = errors(several.q, np.tile(X[0], (3, 1, 1)))
    assert several.success.all() and away.max() < 1e-6 and np.linalg.norm(turns, axis=1).max() < WIDE
    kernel = lw.compile(lambda X, q: ARM.inverse_kinematics(X, "tool", q_init=q, **options).q, X=(4, 4), q=(6,))
    turns, away = errors(kernel(X, start), X)
    assert away.max() < 1e-6 and np.linalg.norm(turns, axis=1).max() < WIDE


def test_large_position_tolerance_makes_ik_targets_outside_the_reach_solvable() -> None:
    """An arm that is out of reach by 3 cm has a solution within 5 cm."""
    arm = lw.load("arm7")
    q = arm.random_configuration(seed=2, size=20)
    X = arm.pose(q, "hand")
    direct = arm.inverse_kinematics(X, "hand", position_tolerance=0.05)
    assert direct.success.all() and np.median(direct.orientation_error) < 1e-6
    stretched = arm.pose(np.zeros(7), "hand")
    stretched[2, 3] += 0.03
    assert not arm.inverse_kinematics(stretched, "hand").success
    near = arm.inverse_kinematics(stretched, "hand", position_tolerance=0.05)
    assert near.success and 0.029 < near.position_error < 0.05 and near.orientation_error < 1e-6


@pytest.mark.slow(every=5)
def test_larger_ik_tolerances_give_nearer_configurations_with_derivatives() -> None:
    """Derivatives follow the ends of ranges, as finite differences do."""
    P, near = ARM.pose(ARM.random_configuration(seed=3, size=60), "tool")[:, :3, 3], np.zeros(6)
    exact = ARM.inverse_kinematics(P, "tool", nearest_to=near)
    task = lw.ik.Within(lw.ik.PositionTask("tool", axes="reference", name="p"), -1e-3, 1e-3)
    for wide in (
        ARM.inverse_kinematics(P, "tool", nearest_to=near, position_tolerance=0.02),
        ARM.inverse_kinematics(P, "tool", nearest_to=near, position_tolerance=(0.02, 0.02, 0.02)),
        ARM.ik_problem([task], solver="nearest").solve(nearest_to=near, p=P),
    ):
        farther = np.linalg.norm(wide.q, axis=1) > 1.01 * np.linalg.norm(exact.q, axis=1)
        assert wide.success.all() and farther.mean() < 0.2  # a search of some starts; 0.7 if starts end without a step

    robot, rng, h = lw.load("arm7"), np.random.default_rng(1), 1e-4
    q = 0.5 * (robot.lower + robot.upper) + 0.2 * rng.normal(size=7)
    X, near = robot.pose(q, robot.frames[-1]), q + 0.3 * rng.normal(size=7)
    for options in (
        {"position_tolerance": 0.05, "orientation_tolerance": 0.1},
        {"position_tolerance": [0.05, 1e-6, 1e-6], "axes": "reference"},
    ):

        def solved(near: np.ndarray, turn: np.ndarray, options: dict = options) -> lw.ik.IKResult:
            target = X @ lw.pose(turn[3:], rpy=turn[:3])
            return robot.inverse_kinematics(target, robot.frames[-1], nearest_to=near, **options)

        def by_near(x: np.ndarray) -> np.ndarray:
            return solved(near + x, np.zeros(6)).q

        def by_target(x: np.ndarray) -> np.ndarray:
            return solved(near, x).q

        result = solved(near, np.zeros(6))
        assert np.linalg.norm(result.errors[3:]) > 0.01  # at an end of a range
        for name, move, size in (("nearest_to", by_near, 7), ("X_target", by_target, 6)):
            differences = np.stack([(move(h * e) - move(-h * e)) / (2.0 * h) for e in np.eye(size)], axis=1)
            assert np.abs(result.derivative(name) - differences).max() < 1e-6, (name, options)


@pytest.mark.parametrize(
    ("argument", "expected", "accepted", "refused"),
    [
        ("tolerance", "> 0", [1e-9, np.inf, (1e-6, np.inf, 1e-9)], [0.0, -1e-9, np.nan, (1e-6, 0.0, 1e-6)]),
        ("weight", ">= 0", [0.0, 1e150, (0.0, 1.0, 2.0)], [-1e-9, np.inf, np.nan, (1.0, -1e-9, 1.0)]),
    ],
)
def test_ik_task_tolerances_and_weights_beyond_their_limits_are_refused(argument, expected, accepted, refused) -> None:
    for value in accepted:
        task = lw.ik.PositionTask("tool", **{argument: value})
        assert getattr(task, argument) == value
    for value in refused:
        with pytest.raises(
            ValueError, match=f"PositionTask: .*{argument}: expected a number {expected} or one per error"
        ):
            lw.ik.PositionTask("tool", **{argument: value})
