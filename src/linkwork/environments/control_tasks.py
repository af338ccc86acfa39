"""Control tasks for reinforcement learning: robot, initial states, observations and rewards; five examples."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any

import numpy as np

from linkwork import Joint, Link, Robot, joints, pose, shapes
from linkwork._util.checked_arguments import public
from linkwork._util.validation import finite_number, instance, integer, names, positive, sequence_of
from linkwork.expr import array, cos, fabs, fmax, fmin, lt, or_, sin, tanh, where
from linkwork.kernels import RobotBase
from linkwork.simulation import ContactGround, ContactPair, ContactPoint, ContactScene

__all__ = ["TASKS", "ControlTask"]


Random = np.random.Generator


def _rod(name: str, length: float, mass: float, *frames: str) -> Link:
    """Return a rod along −z from the origin of its frame."""
    capsule = shapes.Capsule(0.03, length).at((0.0, 0.0, -0.5 * length))
    return Link(name, capsule, mass=mass, frames={x: pose((0.0, 0.0, -length)) for x in frames})


def _hinge(name: str, parent: str, child: str, down: float, damping: float = 0.0, **limits: Any) -> Joint:
    """Return a hinge about y, at the distance ``down`` below the parent's origin."""
    axis = joints.Revolute((0.0, 1.0, 0.0))
    result = Joint.of(axis, name=name, parent=parent, child=child, placement=pose((0.0, 0.0, -down)), **limits)
    return result.with_damping(damping) if damping else result


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

    return ControlTask(robot, start, observe, reward, ("hinge",), (2.0,), dt=5e-3, steps_per_action=10, horizon=200)


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


def _two_rods(name: str, first: float, second: float, damping: float, tip: str) -> Robot:
    return Robot.build(
        name,
        Link("post", mass=1.0),
        _hinge("shoulder", "post", "upper", 0.0, damping),
        _rod("upper", first, 1.0),
        _hinge("elbow", "upper", "lower", first, damping),
        _rod("lower", second, 1.0, tip),
    )


@cache
def _acrobot() -> ControlTask:
    """Return the task to swing up two rods with a motor only between them."""
    robot: Any = _two_rods("acrobot", 0.5, 0.5, 0.01, "tip")

    def observe(q: Any, v: Any, goal: Any) -> list[Any]:
        return [*_sin_cos(q[0]), *_sin_cos(q[1]), 0.1 * v[0], 0.1 * v[1]]

    def reward(q: Any, v: Any, action: Any, goal: Any) -> Any:
        return robot.pose(q, "tip")[2, 3]

    def start(rng: Random) -> tuple[Any, Any]:
        return rng.uniform(-0.1, 0.1, 2), rng.uniform(-0.1, 0.1, 2)

    return ControlTask(robot, start, observe, reward, ("elbow",), (4.0,), dt=5e-3, steps_per_action=8, horizon=250)


@cache
def _reacher() -> ControlTask:
    """Return the task to reach and stay at a point with a planar arm of two joints, without gravity."""
    robot: Any = _two_rods("reacher", 0.5, 0.5, 0.1, "tip").with_gravity((0.0, 0.0, 0.0))

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
        angle, radius = rng.uniform(-math.pi, math.pi), rng.uniform(0.2, 0.9)
        return [radius * math.cos(angle), radius * math.sin(angle)]

    motors = ("shoulder", "elbow"), (2.0, 1.0)
    return ControlTask(robot, start, observe, reward, *motors, goal=goal, dt=5e-3, steps_per_action=4, horizon=150)


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


def _no_goal(rng: np.random.Generator) -> np.ndarray:
    return np.zeros(0)


def _never_fails(q: Any, v: Any, goal: Any) -> Any:
    return 0.0


def _task_named(name: str) -> ControlTask:
    return TASKS[name]()


@public
@dataclass(frozen=True)
class ControlTask:
    """Control task of a robot for reinforcement learning: initial states, observations, rewards and failure.

    ``start(rng)`` returns the initial q (nq,) and v (nv,), ``goal(rng)`` values (k,) that are constant in an episode.
    The other functions are traced, so their arguments are symbols. An action (m,), limited to −1 and 1, scales the
    ``efforts`` (m,) [N·m, N] of the ``joints``, each of one degree of freedom. ``observe(q, v, goal)`` returns the
    observation and ``reward(q, v, action, goal)`` the reward of the state after an action. ``failed(q, v, goal)`` is
    nonzero where the episode fails. An action is constant for ``steps_per_action`` steps of ``dt`` [s]; an episode is
    truncated after ``horizon`` actions. ``contacts`` are those of `Robot.simulate`.

    Raises ValueError and UnknownNameError for joints and efforts that do not fit the robot.
    """

    robot: RobotBase
    start: Callable[[np.random.Generator], tuple[Any, Any]]
    observe: Callable[[Any, Any, Any], Any]
    reward: Callable[[Any, Any, Any, Any], Any]
    joints: tuple[str, ...]
    efforts: tuple[float, ...]
    failed: Callable[[Any, Any, Any], Any] = _never_fails
    goal: Callable[[np.random.Generator], Any] = _no_goal
    dt: float = 2e-3
    steps_per_action: int = 10
    horizon: int = 500
    contacts: Any = None

    def __post_init__(self) -> None:
        robot: Any = self.robot
        object.__setattr__(self, "joints", names("ControlTask", "joints", self.joints, description="names of joints"))
        masters = {body.joint_name: body.coupling.joint for body in robot.tree.bodies if body.coupling is not None}
        for name in self.joints:
            if name in masters:
                raise ValueError(f"ControlTask: joints: {name!r} follows joint {masters[name]!r}: name that one")
            if robot.joint(name).nv != 1:
                raise ValueError(
                    f"ControlTask: joints: {name!r} has {robot.joint(name).nv} degrees of freedom, expected 1"
                )
        if len(self.efforts) != len(self.joints):
            raise ValueError(
                f"ControlTask: efforts: expected one for each of {len(self.joints)} joints, got {len(self.efforts)}"
            )
        sequence_of("ControlTask", "efforts", self.efforts, partial(finite_number, symbols=False))
        positive("ControlTask", "dt", self.dt, unit="s", symbols=False)
        for name in ("steps_per_action", "horizon"):
            object.__setattr__(self, name, integer("ControlTask", name, getattr(self, name), least=1))
        parts = self.contacts if isinstance(self.contacts, (tuple, list)) else (self.contacts,)
        for part in () if self.contacts is None else parts or (self.contacts,):
            instance("ControlTask", "contacts", part, ContactGround, ContactScene, ContactPair)

    def __reduce__(self) -> tuple[Any, ...]:
        name = next((name for name, make in TASKS.items() if make() is self), None)
        if name is not None:  # its functions are local
            return _task_named, (name,)
        return ControlTask, tuple([getattr(self, field.name) for field in fields(self)])

    def forces(self, action: Any) -> Any:
        """Return the joint forces τ (nv) for an action (m), which is clipped to −1 and 1."""
        robot: Any = self.robot
        tau: list[Any] = [0.0] * robot.nv
        for name, effort, u in zip(self.joints, self.efforts, [*action], strict=True):
            tau[robot.joint(name).v_slice.start] = effort * fmin(fmax(u, -1.0), 1.0)
        return array(tau)
