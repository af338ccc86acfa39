"""Splines, profiles, timing, planning and roadmaps."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import linkwork as lw
from linkwork import motion, planning
from matrix.cell import close, holds, verb
from matrix.kinds import Kind

FAR = lw.Scene().with_sphere("far", 0.1, (90.0, 90.0, 90.0))


def _has_joints(kind: Kind) -> bool:
    return bool(kind.robot.nv)


def _moves(kind: Kind) -> bool:
    return kind.dof > 0


def _check_motion(kind: Kind, result: motion.Trajectory, ends: tuple[np.ndarray, ...]) -> None:
    """The motion has its ends, constraints along it, and velocities that are the rates of its positions."""
    close(kind.robot.difference(ends[0], result(result.start_time).q), np.zeros(kind.robot.nv), 1e-6, "start")
    close(kind.robot.difference(ends[-1], result(result.end_time).q), np.zeros(kind.robot.nv), 1e-6, "end")
    t = np.linspace(result.start_time, result.end_time, 9)[1:-1] + 1e-5
    h = 1e-6 * result.duration
    rate = kind.robot.difference(result(t - h).q, result(t + h).q) / (2 * h)
    close(rate, result(t).v, 1e-4, "velocity")
    holds(kind, result(t).q, 1e-6)


@verb("spline", "motion.spline")
def spline(kind: Kind) -> None:
    """A spline passes through its configurations, and satisfies the constraints between them."""
    points = (kind.q, kind.moved(0.05), kind.moved(0.1))
    _check_motion(kind, kind.robot.spline([0.0, 1.0, 2.0], points), points)


@verb("profile", "motion.profile", needs=_moves)
def profile(kind: Kind) -> None:
    """A profile between two configurations satisfies the constraints and its limits."""
    points = (kind.q, kind.moved(0.1))
    n = kind.robot.nv
    curve = kind.robot.profile(*points, velocity=np.full(n, 1.0), acceleration=np.full(n, 2.0), jerk=np.full(n, 20.0))
    _check_motion(kind, curve, points)
    speeds = np.abs(curve(np.linspace(curve.start_time, curve.end_time, 501)).v)  # extremes may be without a bound
    assert speeds.max() <= 1.0 + 1e-9


def _apart(kind: Kind) -> lw.Robot:
    """Return the robot with shapes that collide with obstacles, and not with each other."""
    return kind.shaped.with_collision_pairs(())


def _path(kind: Kind) -> motion.Trajectory:
    return kind.robot.spline([0.0, 1.0, 2.0], (kind.q, kind.moved(0.05), kind.moved(0.1)))


@verb("motion.time_optimal", needs=_moves)
def time_optimal(kind: Kind) -> None:
    """A time-optimal motion stays within velocity and acceleration limits, and reaches one of them."""
    n = kind.robot.nv
    timed_path = motion.time_optimal(_path(kind), velocity=np.full(n, 1.0), acceleration=np.full(n, 2.0)).trajectory
    states = timed_path(np.linspace(timed_path.start_time, timed_path.end_time, 501))
    v, a = np.abs(states.v).max(), np.abs(states.a).max()
    assert v <= 1.0 + 1e-6
    assert a <= 2.0 + 1e-3
    assert max(v / 1.0, a / 2.0) > 0.9


@verb("motion.time_optimal", needs=_moves)
def time_optimal_with_torques(kind: Kind) -> None:
    """Joint forces of a motion timed with force limits, computed by inverse dynamics, stay within these limits."""
    robot, n = kind.robot, kind.robot.nv
    static_torque = _inverse(kind, kind.q, np.zeros(n), np.zeros(n))
    limit = 3.0 * np.abs(static_torque).max() + 10.0 * max(robot.mass, 1e-12) * kind.size**2
    timed_path = motion.time_optimal(_path(kind), velocity=np.full(n, 50.0), torque=np.full(n, limit)).trajectory
    t = np.linspace(timed_path.start_time, timed_path.end_time, 200)
    worst = max(np.abs(_inverse(kind, *timed_path(x)[:3])).max() for x in t)
    assert worst <= limit * (1.0 + 1e-2), f"force of {worst / limit:.3g} of the limit"
    assert worst >= 0.5 * limit, f"largest force of {worst / limit:.3g} of the limit"


def _inverse(kind: Kind, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    robot = kind.robot
    if robot.constraints:
        return np.asarray(robot.constrained_inverse_dynamics(q, v, a, passive=True, **kind.timed)[0])
    return np.asarray(robot.inverse_dynamics(q, v, a) - robot.passive_force(q, v))


@verb("motion.Trajectory.save", "motion.Trajectory.load", "motion.Trajectory.to_csv", needs=_has_joints)
def files_of_a_motion(kind: Kind) -> None:
    """A motion that is saved and loaded is the same curve."""
    path = _path(kind)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("motion.npz", "motion.csv"):
            path.save(Path(folder) / name)
            again = motion.Trajectory.load(Path(folder) / name, robot=kind.robot)
            t = np.linspace(path.start_time, path.end_time, 30)
            close(kind.robot.difference(path(t).q, again(t).q), np.zeros((30, kind.robot.nv)), 1e-3, name)


@verb("motion.Trajectory.concatenate", "motion.Trajectory.reversed", "motion.Trajectory.retimed")
def joined_and_reversed(kind: Kind) -> None:
    """A motion joined with its reverse ends at its start."""
    path = _path(kind)
    both = path.concatenate(path.reversed(), allow_jump=True)
    close(kind.robot.difference(kind.q, both(both.end_time).q), np.zeros(kind.robot.nv), 1e-9, "end")
    assert abs(both.duration - 2.0 * path.duration) < 1e-9


@verb("plan", "planning.PlanResult.trajectory")
def plan(kind: Kind) -> None:
    """A path from start to goal is found beside a far obstacle, and satisfies constraints and limits."""
    goal = kind.moved(0.1)
    result = _apart(kind).plan(kind.q, goal, FAR, time_limit=20.0, position_limits=kind.box)
    assert result.success, str(result.status)
    close(kind.robot.difference(kind.q, result.path[0]), np.zeros(kind.robot.nv), 1e-9, "start")
    close(kind.robot.difference(goal, result.path[-1]), np.zeros(kind.robot.nv), 1e-6, "goal")
    curve = result.trajectory()
    t = np.linspace(curve.start_time, curve.end_time, 20)
    holds(kind, curve(t).q, 2e-3)


@verb("planning.PlanResult.timed", needs=_moves)
def plan_timed(kind: Kind) -> None:
    """The timed motion of a plan stays within velocity and acceleration limits."""
    n = kind.robot.nv
    plan = _apart(kind).plan(kind.q, kind.moved(0.1), FAR, time_limit=20.0, position_limits=kind.box)
    curve = plan.timed(velocity=np.full(n, 1.0), acceleration=np.full(n, 2.0))
    curve = getattr(curve, "trajectory", curve)
    assert np.abs(curve(np.linspace(curve.start_time, curve.end_time, 501)).v).max() <= 1.0 + 1e-6


@verb("planning.Roadmap")
def roadmap(kind: Kind) -> None:
    """The nodes of a roadmap satisfy the constraints, and the roadmap connects two neighboring configurations."""
    result = planning.Roadmap(_apart(kind), FAR, num_nodes=12, position_limits=kind.box)
    holds(kind, result.nodes, 2e-3)
    answer = result.plan(kind.q, kind.moved(0.05))
    assert answer.success or str(answer.status)
