"""Five example tasks for reinforcement learning, each with a robot, initial states, observations and rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from linkwork import Joint, Link, Robot, joints, pose, shapes
from linkwork.environments.control_task import ControlTask
from linkwork.expr import cos, fabs, lt, or_, sin, tanh, where
from linkwork.simulation import ContactGround, ContactPoint

__all__ = ["TASKS"]


Random = np.random.Generator
_FREE = math.inf  # bound of velocities, and of other observations that nothing limits
_FAR, _LENGTH = 0.9, 1.0  # [m] distance of the reacher's farthest goal, and length of its arm
_ROUNDING = 1e-12  # by which sines and positions may pass their bounds


def _rod(name: str, length: float, mass: float, *frames: str) -> Link:
    """Return a link with the mass of a rod along −z from the origin of its frame."""
    capsule = shapes.Capsule(0.03, length).at((0.0, 0.0, -0.5 * length))
    return Link(name, capsule, mass=mass, frames={x: pose((0.0, 0.0, -length)) for x in frames})


def _hinge(name: str, parent: str, child: str, down: float, damping: float = 0.0, **limits: Any) -> Joint:
    """Return a hinge about y, at the distance ``down`` below the parent's origin."""
    axis = joints.Revolute((0.0, 1.0, 0.0))
    result = Joint.of(axis, name=name, parent=parent, child=child, placement=pose((0.0, 0.0, -down)), **limits)
    return result.with_damping(damping) if damping else result


def _bounds(*sizes: float) -> Any:
    """Return ``observation_bounds`` (lower, upper): −size and size for each element."""
    high = np.array(sizes, float) + _ROUNDING
    return {"observation_bounds": (-high, high)}


def _sin_cos(angle: Any) -> tuple[Any, Any]:
    return sin(angle), cos(angle)


@cache
def _pendulum() -> ControlTask:
    """Return the task to swing up and balance a pendulum whose motor is too weak to lift it directly."""
    robot = Robot.build("pendulum", Link("post", mass=1.0), _hinge("hinge", "post", "rod", 0.0), _rod("rod", 1.0, 1.0))

    def observe(q: Any, v: Any, goal: Any) -> list[Any]:
        return [*_sin_cos(q[0]), 0.2 * v[0]]

    def reward(q: Any, v: Any, action: Any, goal: Any) -> Any:
        return 0.5 - 0.5 * cos(q[0]) - 0.01 * v[0] * v[0] - 0.005 * action[0] * action[0]

    def start(rng: Random) -> tuple[Any, Any]:
        return [rng.uniform(-math.pi, math.pi)], [rng.uniform(-1.0, 1.0)]

    return ControlTask(
        robot,
        start,
        observe,
        reward,
        ("hinge",),
        (2.0,),
        dt=5e-3,
        steps_per_action=10,
        horizon=200,
        **_bounds(1, 1, _FREE),
    )


@cache
def _cart_pole() -> ControlTask:
    """Return the task to balance a pole on a cart."""
    rail, along = joints.Prismatic((1.0, 0.0, 0.0)), Link("cart", shapes.Box((0.3, 0.2, 0.1)), mass=1.0)
    robot = Robot.build(
        "cart_pole",
        Link("track", mass=1.0),
        Joint.of(rail, name="rail", parent="track", child="cart"),
        along,
        _hinge("pivot", "cart", "pole", 0.0),
        _rod("pole", 0.6, 0.1),
    )

    def observe(q: Any, v: Any, goal: Any) -> list[Any]:
        return [q[0], q[1] - math.pi, 0.5 * v[0], 0.2 * v[1]]

    def reward(q: Any, v: Any, action: Any, goal: Any) -> Any:
        return 1.0 - 0.05 * q[0] * q[0]

    def failed(q: Any, v: Any, goal: Any) -> Any:
        return where(or_(lt(2.4, fabs(q[0])), lt(0.25, fabs(q[1] - math.pi))), 1.0, 0.0)

    def start(rng: Random) -> tuple[Any, Any]:
        return np.array([0.0, math.pi]) + rng.uniform(-0.05, 0.05, 2), rng.uniform(-0.05, 0.05, 2)

    return ControlTask(robot, start, observe, reward, ("rail",), (10.0,), failed, dt=5e-3, steps_per_action=4)


def _two_rods(name: str, length: float, damping: float) -> Robot:
    return Robot.build(
        name,
        Link("post", mass=1.0),
        _hinge("shoulder", "post", "upper", 0.0, damping),
        _rod("upper", length, 1.0),
        _hinge("elbow", "upper", "lower", length, damping),
        _rod("lower", length, 1.0, "tip"),
    )


@cache
def _acrobot() -> ControlTask:
    """Return the task to swing up a chain of two rods with a motor only at the joint between them."""
    robot: Any = _two_rods("acrobot", 0.5, 0.01)

    def observe(q: Any, v: Any, goal: Any) -> list[Any]:
        return [*_sin_cos(q[0]), *_sin_cos(q[1]), 0.1 * v[0], 0.1 * v[1]]

    def reward(q: Any, v: Any, action: Any, goal: Any) -> Any:
        return robot.pose(q, "tip")[2, 3]

    def start(rng: Random) -> tuple[Any, Any]:
        return rng.uniform(-0.1, 0.1, 2), rng.uniform(-0.1, 0.1, 2)

    how = {"dt": 5e-3, "steps_per_action": 8, "horizon": 250, **_bounds(1, 1, 1, 1, _FREE, _FREE)}
    return ControlTask(robot, start, observe, reward, ("elbow",), (4.0,), **how)


@cache
def _reacher() -> ControlTask:
    """Return the task to reach and stay at a point with a planar arm of two joints, without gravity."""
    robot: Any = _two_rods("reacher", 0.5 * _LENGTH, 0.1).with_gravity((0.0, 0.0, 0.0))

    def off(q: Any, goal: Any) -> tuple[Any, Any]:
        X = robot.pose(q, "tip")
        return X[0, 3] - goal[0], X[2, 3] - goal[1]

    def observe(q: Any, v: Any, goal: Any) -> list[Any]:
        return [*_sin_cos(q[0]), *_sin_cos(q[1]), 0.2 * v[0], 0.2 * v[1], goal[0], goal[1], *off(q, goal)]

    def reward(q: Any, v: Any, action: Any, goal: Any) -> Any:
        x, z = off(q, goal)
        return 1.0 - tanh(20.0 * (x * x + z * z)) - 0.01 * (action[0] * action[0] + action[1] * action[1])

    def start(rng: Random) -> tuple[Any, Any]:
        return rng.uniform(-math.pi, math.pi, 2), np.zeros(2)

    def goal(rng: Random) -> Any:
        angle, radius = rng.uniform(-math.pi, math.pi), rng.uniform(0.2, _FAR)
        return [radius * math.cos(angle), radius * math.sin(angle)]

    bounds = _bounds(1, 1, 1, 1, _FREE, _FREE, _FAR, _FAR, _LENGTH + _FAR, _LENGTH + _FAR)

    def marker(goal: Any) -> Any:
        return goal[0], 0.0, goal[1]

    how = {"goal": goal, "marker": marker, "dt": 5e-3, "steps_per_action": 4, "horizon": 150, **bounds}
    return ControlTask(robot, start, observe, reward, ("shoulder", "elbow"), (2.0, 1.0), **how)


@cache
def _hopper() -> ControlTask:
    """Return the task to move a planar body fast on one leg, without falling."""
    robot = Robot.build(
        "hopper",
        Link("ground", mass=1.0),
        Joint.of(joints.Prismatic((1.0, 0.0, 0.0)), name="along", parent="ground", child="slider"),
        Link("slider", mass=0.05),
        Joint.of(joints.Prismatic((0.0, 0.0, 1.0)), name="up", parent="slider", child="lift"),
        Link("lift", mass=0.05),
        _hinge("pitch", "lift", "body", 0.0),
        Link("body", shapes.Capsule(0.08, 0.3), mass=4.0),
        _hinge("hip", "body", "thigh", 0.15, 0.2, lower=-1.2, upper=1.2),
        _rod("thigh", 0.35, 1.0),
        _hinge("knee", "thigh", "shank", 0.35, 0.2, lower=-2.2, upper=-0.05),
        _rod("shank", 0.35, 0.7, "foot"),
        _hinge("ankle", "shank", "sole", 0.35, 0.2, lower=-0.8, upper=0.8),
        Link("sole", shapes.Box((0.24, 0.08, 0.04)).at((0.03, 0.0, -0.02)), mass=0.3),
    )
    ends = tuple(ContactPoint("sole", (x, 0.0, -0.04)) for x in (-0.09, 0.15))
    height = 0.89  # [m] of the body's center above the ground, with a straight leg

    def observe(q: Any, v: Any, goal: Any) -> list[Any]:
        return [q[1], *q[2:], *(0.1 * x for x in v)]

    def reward(q: Any, v: Any, action: Any, goal: Any) -> Any:
        return 1.0 + v[0] - 0.01 * sum(u * u for u in action)

    def failed(q: Any, v: Any, goal: Any) -> Any:
        return where(or_(lt(q[1], 0.6), lt(0.5, fabs(q[2]))), 1.0, 0.0)

    def start(rng: Random) -> tuple[Any, Any]:
        q = np.array([0.0, 0.0, 0.0, 0.2, -0.4, 0.2]) + rng.uniform(-0.02, 0.02, 6) * [0, 0, 1, 1, 1, 1]
        q[1] = height - 0.7 * (1.0 - math.cos(0.2)) + 0.02
        return q, np.zeros(6)

    return ControlTask(
        robot,
        start,
        observe,
        reward,
        ("hip", "knee", "ankle"),
        (60.0, 60.0, 30.0),
        failed,
        dt=2e-3,
        steps_per_action=8,
        horizon=1000,
        contacts=ContactGround(ends, friction=1.0),
    )


TASKS: Mapping[str, Callable[[], ControlTask]] = {
    "pendulum": _pendulum,
    "cart_pole": _cart_pole,
    "acrobot": _acrobot,
    "reacher": _reacher,
    "hopper": _hopper,
}
"""Functions that return the example tasks, by name."""


def task_named(name: str) -> ControlTask:
    """Return the example task called ``name`` in `TASKS`; pickles store this name."""
    return TASKS[name]()
