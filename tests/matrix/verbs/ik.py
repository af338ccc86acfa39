"""Inverse kinematics, differential steps and Cartesian paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import linkwork as lw
from linkwork import ik, motion
from matrix.cell import close, holds, verb
from matrix.kinds import Kind


def _moves(kind: Kind) -> bool:
    return kind.dof > 0


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


def _limits_hold(kind: Kind, q: np.ndarray) -> None:
    lower, upper = kind.robot.lower, kind.robot.upper
    assert np.all(q >= np.asarray(lower) - 1e-9)
    assert np.all(q <= np.asarray(upper) + 1e-9)


@verb("inverse_kinematics", needs=_has_joints)
def inverse_kinematics(kind: Kind) -> None:
    """A solution near q reaches the pose of a configuration near q, within limits and constraints."""
    goal = kind.moved(0.05)
    X = kind.robot.pose(goal, kind.frame)
    solution = kind.robot.inverse_kinematics(X, kind.frame, q_init=kind.q)
    assert solution.success, str(solution.status)
    close(kind.robot.pose(solution.q, kind.frame), X, 1e-5, "pose")
    holds(kind, solution.q)
    _limits_hold(kind, solution.q)
    step = np.abs(kind.robot.difference(kind.q, solution.q)).max(initial=0.0)
    assert step < 1.0 + 10.0 * np.abs(kind.robot.difference(kind.q, goal)).max(initial=0.0), f"step of {step:.2g}"


@verb("inverse_kinematics", needs=_has_joints)
def inverse_kinematics_of_a_batch(kind: Kind) -> None:
    """All poses of a batch are reached, and the solutions satisfy the constraints."""
    X = np.stack([kind.robot.pose(kind.moved(0.05, seed), kind.frame) for seed in (2, 3)])
    solution = kind.robot.inverse_kinematics(X, kind.frame, q_init=kind.q)
    assert np.all(solution.success), str(solution.status)
    close(kind.robot.pose(solution.q, kind.frame), X, 1e-5, "poses")
    holds(kind, solution.q)


@verb("inverse_kinematics", needs=_has_joints)
def inverse_kinematics_out_of_reach(kind: Kind) -> None:
    """The status reports a pose that is out of reach, and the result is finite."""
    X = np.array(kind.robot.pose(kind.q, kind.frame), dtype=float)
    X[:3, 3] += 1e4 * max(1.0, kind.size)
    solution = kind.robot.inverse_kinematics(X, kind.frame, q_init=kind.q)
    assert np.isfinite(solution.q).all()
    assert not solution.success or np.abs(kind.robot.pose(solution.q, kind.frame) - X).max() < 1e-4 * kind.size


def _tasks(kind: Kind, goal: np.ndarray) -> dict[str, tuple[ik.Task, object]]:
    robot, frame = kind.robot, kind.frame
    X = np.asarray(robot.pose(goal, frame), dtype=float)
    return {
        "PositionTask": (ik.PositionTask(frame), X[:3, 3]),
        "OrientationTask": (ik.OrientationTask(frame), X[:3, :3]),
        "CenterOfMassTask": (ik.CenterOfMassTask(), robot.center_of_mass(goal) if robot.mass > 0.0 else None),
        "AlignTask": (ik.AlignTask(f"{frame}.z", to="world.x"), None),
        "PostureTask": (ik.PostureTask(), goal),
    }


def _solve_task(name: str, kind: Kind) -> None:
    task, target = _tasks(kind, kind.moved(0.05))[name]
    task = replace(task, name="led")
    problem = kind.robot.ik_problem([ik.Soft(task) if name == "AlignTask" else task])
    solution = problem.solve(kind.q, **({} if target is None else {"led": target}))
    assert solution.success, str(solution.status)
    holds(kind, solution.q)
    _limits_hold(kind, solution.q)


for _task in ("PositionTask", "OrientationTask", "CenterOfMassTask", "AlignTask", "PostureTask"):

    def _check(kind: Kind, name: str = _task) -> None:
        """A task whose target is its value in a nearby configuration is solved within limits and constraints."""
        _solve_task(name, kind)

    verb("ik_problem", f"ik.{_task}", needs=_has_joints, name=f"ik problem of {_task}")(_check)


@verb("velocity_for", "ik.PoseTask", needs=_has_joints)
def velocity_for(kind: Kind) -> None:
    """Velocity steps toward a nearby pose satisfy the velocity constraints and motion limits, and reach the pose."""
    goal = kind.moved(0.03)
    X = kind.robot.pose(goal, kind.frame)
    q, before = kind.q, _distance(kind, kind.q, X)
    for _ in range(60):
        velocity_result = kind.robot.velocity_for(
            ik.PoseTask(kind.frame, name="led"), q, 0.02, time_constant=0.1, led=X
        )
        v = np.asarray(velocity_result.v)
        assert np.isfinite(v).all()
        if q is kind.q and kind.robot.constraints and not kind.timed:
            G = kind.robot.constraint_jacobian(q)
            close(G @ v, np.zeros(len(G)), 1e-6, "constraint rates")
        assert np.all(np.abs(v) <= np.asarray(kind.robot.velocity_limits) + 1e-9), "velocity limit"
        q = kind.robot.integrate(q, 0.02 * v)
        _limits_hold(kind, q)
    after = _distance(kind, q, X)
    assert after < 0.3 * before + 1e-6, f"error {before:.2g} to {after:.2g}"


def _distance(kind: Kind, q: np.ndarray, X: np.ndarray) -> float:
    error = np.asarray(lw.pose_difference(kind.robot.pose(q, kind.frame), X), dtype=float)
    error[3:] /= max(kind.size, 1e-9)
    return float(np.linalg.norm(error))


def _rank(kind: Kind) -> int:
    """Return the number of independent motions of the frame that the constraints allow."""
    J = kind.robot.jacobian(kind.q, kind.frame)
    if kind.robot.constraints:
        G = kind.robot.constraint_jacobian(kind.q, **kind.timed)
        J = J - J @ np.linalg.pinv(G, rcond=1e-9) @ G
    return int(np.linalg.matrix_rank(J, tol=1e-6))


@verb("track_cartesian_path", "motion.TrackedPath", "motion.pose_spline", needs=_moves)
def track_cartesian_path(kind: Kind) -> None:
    """A frame follows its path between two configurations, and all configurations satisfy constraints and limits."""
    middle, end = kind.moved(0.03), kind.moved(0.06)
    poses = [np.asarray(kind.robot.pose(q, kind.frame)) for q in (kind.q, middle, end)]
    if np.abs(poses[-1] - poses[0]).max() < 1e-9:
        return
    tracked = kind.robot.track_cartesian_path(
        motion.pose_spline(poses),
        kind.frame,
        q_init=kind.q,
        position_tolerance=1e-2 * kind.size,
        orientation_tolerance=1e-2,
    )
    if not tracked.success and _rank(kind) < 6:
        return  # the poses between the configurations' poses are out of reach
    assert tracked.success, str(tracked.status)
    holds(kind, tracked.q, 1e-6)
    _limits_hold(kind, tracked.q)
    close(kind.robot.difference(kind.q, tracked.q[0]), np.zeros(kind.robot.nv), 0.05, "start")


@verb("inverse_kinematics_path", needs=lambda kind: kind.robot.nv and all(c.holonomic for c in kind.robot.constraints))
def inverse_kinematics_path(kind: Kind) -> None:
    """The poses of a path of configurations are reached in their order, without jumps of joints."""
    path = [kind.q, kind.moved(0.02), kind.moved(0.04)]
    X = np.stack([kind.robot.pose(q, kind.frame) for q in path])
    path_solution = kind.robot.inverse_kinematics_path(X, kind.frame, q_init=kind.q)
    assert np.all(path_solution.success), str(path_solution.status)
    close(kind.robot.pose(path_solution.q, kind.frame), X, 1e-5, "poses")
    holds(kind, path_solution.q)


@verb("closed_form", needs=_has_joints)
def closed_form(kind: Kind) -> None:
    """All closed-form solutions have the pose, and the configuration that defined the pose is one of them."""
    solver = kind.robot.closed_form(kind.frame)
    assert str(solver)
