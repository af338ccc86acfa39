"""Profiles between states, time-optimal timing of paths, and Cartesian paths that joints follow."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork.motion import MotionLimit, ProfileFunction, Trajectory, time_optimal
from recorded_results.case import case
from recorded_results.robots import arm, inside, pusher


def _states(trajectory: Trajectory) -> Any:
    t = np.linspace(trajectory.start_time, trajectory.end_time, 9)[:-1] + 1e-3
    state = trajectory(t, outside="hold")
    return [trajectory.duration, state.q, state.v, state.a]


_LIMITS: dict[str, Any] = {"velocity": (-0.9, 1.2), "acceleration": (-2.1, 3.3), "jerk": (-17.0, 13.0)}


@case(1e-7)
def profiles_of_every_kind_and_synchronization(_: Any) -> Any:
    ends: dict[str, Any] = {
        "v0": [0.2, -0.3, 0.1],
        "v1": [-0.1, 0.25, 0.05],
        "a0": [0.4, -0.2, 0.3],
        "a1": [0.1, 0.3, -0.4],
    }
    q0, q1 = [0.1, -0.7, 0.3], [1.3, 0.2, 0.35]
    result: dict[str, Any] = {}
    for kind in ("jerk", "trapezoid", "minimum_jerk"):
        limits = {k: x for k, x in _LIMITS.items() if kind != "trapezoid" or k != "jerk"}
        for synchronize in ("time", None) if kind != "minimum_jerk" else ("time",):
            end_states = ends if synchronize else {"v0": ends["v0"], "a0": ends["a0"]}
            move = lw.motion.profile(q0, q1, **end_states, kind=kind, synchronize=synchronize, **limits)
            result[f"{kind} {synchronize}"] = _states(move)
        result[f"{kind} phase"] = _states(lw.motion.profile(q0, q1, kind=kind, synchronize="phase", **limits))
        result[f"{kind} longer"] = _states(lw.motion.profile(q0, q1, **ends, kind=kind, duration=4.3, **limits))
        for k, (x0, x1, v0, v1) in enumerate(
            [(0.0, 0.01, 0.8, 0.7), (0.0, -0.4, 0.9, -0.6), (0.3, 4.0, -0.5, 0.2), (0.2, 0.2, 0.6, 0.6)]
        ):
            result[f"{kind} {k}"] = _states(lw.motion.profile(x0, x1, v0=v0, v1=v1, kind=kind, **limits))
    return result


@case(1e-7)
def profiles_of_robots_and_loops(_: Any) -> Any:
    robot, bar = pusher(), lw.load("fourbar")
    a, b = inside(robot, 2, 12, 0.7)
    states = bar.drive_mechanism({"crank_hinge": [0.2, 1.1]}).q
    loop = bar.profile(*states, velocity=1.4, acceleration=6.0, jerk=70.0, independent="crank_hinge")
    compiled = ProfileFunction(2, velocity=1.1, acceleration=(-2.0, 3.0), jerk=14.0)
    arrays = compiled(np.array([0.1, -0.3]), np.array([0.9, 0.4]), np.array([0.2, 0.1]), np.array([0.3, -0.1]))
    return {
        "own limits": _states(robot.profile(a, b)),
        "velocities": _states(robot.profile(a, b, v0=[0.2, -0.1, 0.3], v1=[0.1, 0.3, -0.2], velocity={"turn": 1.1})),
        "trapezoid": _states(robot.profile(a, b, kind="trapezoid", synchronize=None)),
        "quintic": _states(robot.profile(a, b, kind="quintic", duration=6.1)),
        "loop": _states(loop),
        "function": [np.nan_to_num(np.asarray(x, dtype=float)) for x in arrays],
    }


def _winding(robot: lw.Robot) -> Trajectory:
    return robot.spline([0.0, 0.4, 1.1, 1.5], inside(robot, 4, 21, 0.6))


@case(3e-4)
def timing_within_limits_of_every_kind(_: Any) -> Any:
    path = _winding(arm())
    spin = MotionLimit(
        lambda q, v, a: np.stack([v[..., 0] * v[..., 1], a[..., 2] - a[..., 1]], axis=-1),
        [-0.6, -7.0],
        [0.5, 6.0],
        name="spin",
    )
    result: dict[str, Any] = {}
    for name, options in {
        "own": {},
        "all": {
            "torque": True,
            "acceleration": (-3.1, 2.7),
            "jerk": np.inf,
            "start_speed": 0.04,
            "end_speed": 0.03,
            "speed": {"tool": 0.41},
            "velocity": {"turn": 0.9},
            "motion_limits": [spin],
        },
    }.items():
        timed = time_optimal(path, **({"num_points": 120} | options))
        result[name] = [
            timed.duration,
            timed.t[::10],
            timed.s[::10],
            timed.speed[::10],
            timed.acceleration[::10],
            _states(timed.trajectory),
            0.0 <= timed.optimality_gap < 0.1 * timed.duration,
        ]
    axes = timed.plot(acceleration=2.9, speed={"tool": 0.9})
    return {
        **result,
        "figure": [line.get_ydata() for line in np.ravel(axes)[0].get_lines()],
        "legend": [x.get_text() for x in np.ravel(axes)[0].get_legend().get_texts()],
    }


@case(1e-5)
def timing_of_paths_with_corners_and_loops(_: Any) -> Any:
    robot, bar = pusher(), lw.load("fourbar")
    corner = robot.spline([0.0, 0.3, 1.0], inside(robot, 3, 22, 0.6), "linear")
    closed = bar.spline(np.linspace(0.0, 1.0, 9), bar.drive_mechanism({"crank_hinge": np.linspace(0.3, 1.4, 9)}).q)
    loop = time_optimal(closed, torque={"crank_hinge": 5.0}, velocity=3.0, num_points=100)
    return {
        "corner": _states(time_optimal(corner, jerk=np.inf, num_points=100).trajectory),
        "loop": _states(loop.trajectory),
    }


@case(1e-7)
def cartesian_paths_of_every_kind(_: Any) -> Any:
    X0, X1 = lw.pose((0.3, 0.2, 0.5), rpy=(0.1, 0.4, -0.3)), lw.pose((0.5, -0.3, 0.7), rpy=(-0.5, 0.2, 0.9))
    via = lw.pose((0.55, 0.05, 0.5), rpy=(0.2, -0.4, 0.4))
    motion = lw.motion
    paths = {
        "line": motion.line(X0, X1),
        "screw": motion.line(X0, X1, orientation="screw"),
        "arc": motion.arc(X0, via[:3, 3], X1),
        "turn": motion.arc(X0, center=(0.1, 0.3, 0.4), axis=(0.2, -0.3, 0.9), angle=1.7),
        "polyline": motion.polyline([X0, via, X1], blend=0.07),
        "corners": motion.polyline([X0, via, X1]),
        "spline": motion.pose_spline([X0, via, X1]),
        "screws": motion.pose_spline([X0, via, X1], orientation="screw", boundary="clamped"),
    }
    paths["joined"] = paths["line"].append(motion.arc(X1, via[:3, 3], X0)).reversed()
    result = {}
    for name, path in paths.items():
        s = path.length * np.array([0.03, 0.37, 0.61, 0.93])
        result[name] = [path.length, path.knots, path.corners, path(s), path.twist(s), str(path)]
    return {**result, "truncated": str(paths["polyline"].truncated(1))}


@case(1e-5)
def joints_that_follow_cartesian_paths(_: Any) -> Any:
    robot = lw.load("arm6")
    q = np.array([0.3, -1.2, 1.4, -0.9, -1.1, 0.2])
    X = robot.pose(q, "tool")
    scene = lw.Scene().with_sphere("ball", 0.05, X[:3, 3] + [0.05, 0.3, -0.1])
    end = lw.pose((0.04, -0.11, 0.07)) @ X @ lw.pose((0.0, 0.0, 0.0), rpy=(0.2, -0.1, 0.3))
    path = lw.motion.polyline([X, lw.pose((0.1, 0.02, -0.03)) @ X, end], blend=0.02)
    tracked = robot.track_cartesian_path(path, "tool", q_init=q, scene=scene, margin=0.004, max_joint_step=0.15)
    timed = tracked.timed(speed=0.21, velocity=1.3, acceleration=5.0)
    far = robot.track_cartesian_path(lw.motion.line(X, lw.pose((0.9, 0.3, 0.2)) @ X), "tool", q_init=q)
    blocked = robot.track_cartesian_path(
        lw.motion.line(X, lw.pose((0.05, 0.3, -0.1)) @ X), "tool", q_init=q, scene=scene
    )
    return {
        "q": [tracked.q[0], tracked.q[-1]], "end": tracked.s[-1],
        "status": tracked.status, "steps": tracked.reconfigurations,
        "speed": _states(tracked.trajectory(0.3)), "timed": _states(timed.trajectory),
        "far": [far.status, far.fraction, far.message],
        "blocked": [blocked.status, blocked.fraction, blocked.message.partition(":")[0], len(blocked.parts())],
        "text": str(tracked).split(":")[0],
    }  # fmt: skip
