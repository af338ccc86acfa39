"""Pairs of options of `simulate`, `inverse_kinematics` and `plan`, each call with an equal one or a property.

Simulations: the recorded joint forces of a run move the robot in the same way, without its controller.  Wrenches are
turned to the world's axes, resistances are removed, and steps are recorded one by one.  Inverse kinematics: targets are
those in the world, locked joints and limits are the robot's.  Plans have the properties that their options ask for.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import linkwork as lw
from limits_and_options.option_pairs import RESISTANCES, Setting, covering

__all__ = ["inverse_kinematics", "plans", "simulations"]

STEPS, STEP = 12, 0.01  # [1], [s]
SETTING = Setting("arm", 0.0, True)
STATES = np.array([[[0.4, 0.2, -0.7], [0.3, -0.5, 0.8]], [[-0.6, 0.1, 0.5], [-0.2, 0.4, 0.1]]])  # q, v of two
NEAR = np.array([-0.1, 0.3, -0.2])
FORCE = np.array([0.3, -0.7, 0.4, 2.0, -1.5, 0.9])  # [N·m, N]


def _law(t: Any, q: Any, v: Any, gain: Any, aim: Any) -> Any:
    return -gain * (q - aim) - 0.4 * v + lw.expr.sin(3.0 * t)


def simulations() -> tuple[list[dict[str, Any]], Callable[[dict[str, Any]], float]]:
    """Return options of simulations with all pairs of their values, and a function that returns the error of one."""
    values = {
        "method": ["semi_implicit_euler", "rk4", "implicit_midpoint", "variational"],
        "passive": [True, False],
        "friction": ["smooth", "stribeck"],
        "controller": [None, "law"],
        "control_every": [1, 3],
        "record_every": [1, 4],
        "wrenches": [None, "constant", "steps"],
        "expressed_in": ["world", "ground"],
        "segments": [None, 2],
        "states": [1, 2],
    }
    return covering(values), lambda options: _simulated(SETTING.robot, dict(options))


def _simulated(robot: lw.Robot, options: dict[str, Any]) -> float:
    q, v = STATES[0] if options.pop("states") == 1 else STATES.swapaxes(0, 1)
    every, steps = options.pop("record_every"), np.linspace(1.0, 0.2, STEPS)[:, None] * FORCE
    wrench = {None: None, "constant": FORCE, "steps": steps}[options.pop("wrenches")]
    arguments = {"wrenches": None if wrench is None else {"hand": wrench}} | options
    if options["controller"]:
        aims = np.linspace(0.0, 0.5, 3 * STEPS).reshape(STEPS, 3)
        arguments |= {"controller": _law, "constants": {"gain": 5.0}, "time_inputs": {"aim": aims}}
    known = {"duration": STEPS * STEP, "dt": STEP}
    run = robot.simulate(q, v, **known, record=("tau",), record_every=every, **arguments)
    all_forces = robot.simulate(q, v, **known, record=("tau",), **arguments).records["tau"]
    if not options["passive"]:
        robot = robot.with_joint_dynamics(**dict.fromkeys(RESISTANCES, np.zeros(robot.nv)))
    if wrench is not None:
        R = robot.pose(STATES[0, 0], options["expressed_in"])[:3, :3]
        wrench = {"hand": np.broadcast_to(wrench, (STEPS, 6)).reshape(-1, 2, 3) @ R.T}
        wrench["hand"] = wrench["hand"].reshape(STEPS, 6)
    again = robot.simulate(
        q, v, **known, method=options["method"], friction=options["friction"], wrenches=wrench,
        controller=lambda t, q, v, u: u, time_inputs={"u": all_forces[..., 1:, :]},
    )  # fmt: skip
    return float(np.abs([run.q - again.q[..., ::every, :], run.v - again.v[..., ::every, :]]).max())


def inverse_kinematics() -> tuple[list[dict[str, Any]], Callable[[dict[str, Any]], float]]:
    """Return options of `inverse_kinematics` with all pairs of their values, and a function for the error of one."""
    values = {
        "target": ["pose", "position"],
        "relative_to": ["world", "ground", "middle"],
        "axes": ["frame", "reference", "ground"],
        "free": [(), (0,), (2,)],  # coordinates with an infinite tolerance
        "position_limits": [None, "pair", "dict", False],
        "locked": [(), ("j1",)],
        "more": [{}, {"nearest_to": NEAR}, {"posture": NEAR}, {"num_solutions": 2}],
        "states": [1, 2],
    }
    rows = covering(values)
    return rows, lambda options: _solved(SETTING.robot, dict(options))


def _solved(robot: lw.Robot, options: dict[str, Any]) -> float:
    """Return the largest violation of what the options ask for; the target is the pose of a known configuration."""
    start = STATES[0, 0] if options["states"] == 1 else STATES[:, 0]
    known = start + np.array([0.0 if options["locked"] else 0.2, -0.1, 0.3])
    frame, base = robot.pose(known, "hand"), robot.pose(known, options["relative_to"])
    target = np.linalg.inv(base) @ frame
    tolerance = np.full(3, 1e-9)
    tolerance[list(options["free"])] = np.inf
    low, high = start - 0.4, start + 0.4
    limits = options["position_limits"]
    if limits == "pair":
        limits = low.min(axis=0) if low.ndim > 1 else low, high.max(axis=0) if high.ndim > 1 else high
    elif limits == "dict":
        limits = {"j1": (low.T[0].min(), high.T[0].max())}
    result = robot.inverse_kinematics(
        target if options["target"] == "pose" else target[..., :3, 3], "hand", q_init=start,
        position_tolerance=tolerance, orientation_tolerance=1e-9 if options["target"] == "pose" else 1e-6,
        relative_to=options["relative_to"], axes=options["axes"], position_limits=limits, locked=options["locked"],
        **options["more"],
    )  # fmt: skip
    solved = np.asarray(result.success)
    q = np.asarray(result.q)[solved]
    if not solved.any() or (solved.ndim <= 1 and not solved.all()):
        return np.inf
    poses = np.broadcast_to(frame, (*solved.shape, 4, 4))[solved]
    base = robot.pose(q, options["relative_to"])
    if options["relative_to"] == "middle":
        poses = base @ np.broadcast_to(target, (*solved.shape, 4, 4))[solved]
    error = robot.pose(q, "hand")[..., :3, 3] - poses[..., :3, 3]
    R = robot.pose(q, {"frame": "hand", "reference": options["relative_to"], "ground": "ground"}[options["axes"]])
    wrong = [np.abs((np.swapaxes(R[..., :3, :3], -1, -2) @ error[..., None])[..., np.isfinite(tolerance), 0])]
    if options["target"] == "pose":
        wrong += [np.abs(robot.pose(q, "hand")[..., :3, :3] - poses[..., :3, :3])]
    if options["locked"]:
        wrong += [np.abs(q[..., 0] - np.broadcast_to(start, (*solved.shape, 3))[solved][..., 0])]
    if isinstance(limits, tuple):
        wrong += [limits[0] - q, q - limits[1]]
    elif limits:
        wrong += [limits["j1"][0] - q[..., 0], q[..., 0] - limits["j1"][1]]
    if "nearest_to" in options["more"]:  # no farther than the known configuration
        far = [np.linalg.norm(x - NEAR, axis=-1) for x in (q, known)]
        wrong += [far[0] - far[1] - 1e-6]
    return float(max(x.max(initial=0.0) for x in wrong))


def plans() -> tuple[list[dict[str, Any]], Callable[[dict[str, Any]], float]]:
    """Return options of `plan` with all pairs of their values, and a function for the largest violation of one."""
    values = {
        "collision_check": ["certified", "sampled"],
        "goal": ["configuration", "pose", "position", "list"],
        "margin": [0.0, {"scene": 0.05}],
        "weights": [None, (1.0, 3.0, 0.5)],
        "position_limits": [None, {"shoulder": (-1.4, 1.3)}],
        "simplify": [True, False],
        "more": [{}, {"method": "optimal", "max_iterations": 20}, {"max_searches": 1}],
        "starts": [1, 2],
        "path_constraints": [(), (lw.ik.AlignTask("tip.x", target=(1.0, 0.0, 0.0)),)],
    }
    return covering(values), lambda options: _planned(_planar_arm(), dict(options))


@functools.cache
def _planar_arm() -> lw.Robot:
    body, hinge = lw.shapes.Box((0.4, 0.06, 0.06)).at((0.25, 0.0, 0.0)), lw.joints.Revolute((0, 0, 1))
    parts: list[Any] = []
    for name, parent, x in (("shoulder", "world", 0.0), ("elbow", "shoulder", 0.5), ("wrist", "elbow", 0.5)):
        limits = {"lower": -2.5, "upper": 2.5}
        parts += [lw.Link(name, body, mass=1.0)]
        parts += [lw.Joint.of(hinge, name=name, parent=parent, child=name, placement=(x, 0.0, 0.0), **limits)]
    return lw.Robot.build("arm", *parts).with_frame("tip", "wrist", (0.5, 0.0, 0.0))


def _planned(robot: lw.Robot, options: dict[str, Any]) -> float:
    """Return the largest violation [rad, m] of what the options ask for, along a finely sampled path."""
    scene = lw.Scene().with_box("box", (0.1, 0.1, 0.4), (1.15, 0.0, 0.0))
    begin, end = np.array([1.2, -1.8, 0.6]), np.array([-1.2, 1.8, -0.6])
    X, starts = robot.pose(end, "tip"), [begin, begin + np.array([0.1, -0.1, 0.0])][: options.pop("starts")]
    goals = {"configuration": end, "pose": X, "position": X[:3, 3], "list": [end, X]}
    kind = options.pop("goal")
    plan = robot.plan(starts, goals[kind], scene, frame=None if kind == "configuration" else "tip", time_limit=60.0,
                      **options.pop("more"), **options)  # fmt: skip
    if not plan.success:
        return np.inf
    path, weights = plan.path, np.array(options["weights"] or (1.0, 1.0, 1.0))
    t = np.linspace(0.0, 1.0, 40)[:, None]
    q = np.concatenate([a + t * (b - a) for a, b in itertools.pairwise(path)])
    length = np.linalg.norm(np.diff(path, axis=0) * weights, axis=1).sum()
    reached = robot.pose(path[-1], "tip")
    wrong = [
        min(np.abs(path[0] - start).max() for start in starts),
        np.abs(reached - X)[:3, 3].max() if kind == "position" else np.abs(reached - X).max(),
        abs(plan.cost - length),
        np.abs(q).max() - 2.5,
        np.abs(path[-1] - end).max() if kind == "configuration" else 0.0,
    ]
    if options["position_limits"]:
        wrong += [-1.4 - q[:, 0].min(), q[:, 0].max() - 1.3]
    if options["path_constraints"]:
        wrong += [np.abs(q.sum(axis=1)).max() - 1e-3]
    clearance = robot.minimum_distance(q, scene, pairs=[(link, "box") for link in ("shoulder", "elbow", "wrist")]).min()
    wrong += [(0.05 if options["margin"] else 0.0) - clearance - 0.05 * (options["collision_check"] == "sampled")]
    return float(max(wrong))
