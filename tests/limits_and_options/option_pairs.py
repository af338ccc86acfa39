"""Calls of a robot's functions with pairs of options, each with an equal call that has fewer options.

The equal call edits the robot or the inputs instead: another gravity, joints without resistances in place of
``passive=False``, prescribed motion at another time, wrenches in world axes or as joint forces, results turned to
other axes.  An option that a function ignores, or combines wrongly with another, shows as a difference.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import linkwork as lw
from helpers.linkages import five_bar
from linkwork.model.function_spec import QUANTITIES, FunctionSpec, Option
from linkwork.robot.robot_table import ROBOT

__all__ = ["SETTINGS", "Call", "Setting", "calls", "covering", "difference"]

SETTINGS = ("arm", "loop", "driven loop")

GRAVITY = [1.3, -2.1, 8.7]  # [m/s²] of calls
TIME = 0.7  # [s]
WRENCHES = {"hand": [0.3, -0.7, 0.4, 2.0, -1.5, 0.9], "middle": [-0.2, 0.5, 0.6, -1.1, 0.8, 1.7]}  # [N·m, N]
VECTORS = {
    "point": [[0.2, -0.3, 0.6], [0.5, 0.1, -0.4]],
    "direction": [[0.48, 0.6, 0.64], [-0.36, 0.48, 0.8]],
}  # [m], [1]
FORCES = dict.fromkeys(("forward_dynamics", "constrained_forward_dynamics"), "tau")
RESISTANCES = ("armature", "damping", "friction", "static_friction", "stiffness")


@dataclass(frozen=True)
class Setting:
    """A robot with three frames, "hand", "middle" and "ground", in general position, with a state."""

    name: str  # "arm", "loop" or "driven loop"
    time: float  # prescribed motion begins so much later [s]
    is_resisted: bool
    gravity: tuple[float, ...] = (0.4, 1.1, -9.3)

    @property
    def robot(self) -> lw.Robot:
        """The robot: one object for equal settings, whose functions are compiled once."""
        return self._robot()

    @functools.cache  # noqa: B019 - settings are few
    def _robot(self) -> lw.Robot:
        robot = _arm() if self.name == "arm" else _five_bar(None if self.name == "loop" else self.time)
        rng = np.random.default_rng(7)
        sizes = rng.uniform(0.1, 0.9, (5, robot.nv)) * self.is_resisted
        sizes[3] = sizes[2]  # static friction: laws then are linear in it
        robot = robot.with_joint_dynamics(**dict(zip(RESISTANCES, sizes, strict=True)), friction_velocity=0.7)
        return robot.with_gravity(self.gravity)

    @functools.cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """Values of all quantities; the configuration satisfies the constraints at `TIME`."""
        robot, rng = Setting(self.name, 0.0, True).robot, np.random.default_rng(8)
        result = {name: rng.uniform(0.2, 1.0, self._shape(x.shape)) for name, x in QUANTITIES.items()}
        q = np.linspace(0.4, 1.1, robot.nq)
        if robot.constraints:
            time = TIME if self.name == "driven loop" else None
            q = robot.project_configuration(robot.neutral() + np.array([0.4, 0.9, 0.2, 1.3]), time=time)[0]
            result["v"] = robot.project_velocity(q, result["v"], time=time)
        return result | {"q": q, "q0": q, "q1": q + 0.1, "time": np.array(TIME), "gravity": np.array(GRAVITY)}

    def _shape(self, shape: tuple[int | str, ...]) -> tuple[int, ...]:
        sizes = {"nq": self.robot.nq, "nv": self.robot.nv, "np": 2}
        sizes |= {"nl": 1, "nc": {"arm": 0, "loop": 5, "driven loop": 6}[self.name]}
        return tuple(x if isinstance(x, int) else sizes[x] for x in shape)


def _arm() -> lw.Robot:
    """Three joints in general position, the second one prismatic."""
    robot = lw.Robot.build(
        "arm",
        lw.Link("first", mass=1.3, com=(0.1, 0.2, -0.1), inertia=_symmetric(0.3, 0.4, 0.5)),
        lw.Link("second", mass=0.7, com=(-0.2, 0.1, 0.3), inertia=_symmetric(0.2, 0.3, 0.25)),
        lw.Link("third", mass=0.9, com=(0.3, -0.1, 0.2), inertia=_symmetric(0.15, 0.2, 0.3)),
        lw.Joint.of(lw.joints.Revolute((0.6, 0.0, 0.8)), name="j1", parent="world", child="first",
                    placement=lw.pose((0.1, -0.3, 0.2), rpy=(0.3, -0.4, 0.7))),
        lw.Joint.of(lw.joints.Prismatic((0.36, 0.48, 0.8)), name="j2", parent="first", child="second",
                    placement=lw.pose((0.4, 0.1, -0.2), rpy=(-0.5, 0.2, 0.4))),
        lw.Joint.of(lw.joints.Revolute((0.48, -0.6, 0.64)), name="j3", parent="second", child="third",
                    placement=lw.pose((-0.1, 0.5, 0.3), rpy=(0.8, 0.6, -0.2))),
    )  # fmt: skip
    return _with_frames(robot, "third", "second")


def _five_bar(shift: float | None) -> lw.Robot:
    """A five-bar linkage, with one prescribed angle unless ``shift`` is None."""
    robot = five_bar()
    if shift is not None:
        motion = lambda t: 0.4 + 0.5 * lw.expr.sin(1.3 * (t + shift))  # noqa: E731 - a function of time
        robot = robot.with_constraints(lw.constraints.Prescribed(robot.joints[0].name, motion))
    return _with_frames(robot, robot.bodies[-1], robot.bodies[1])


def _with_frames(robot: lw.Robot, last: str, middle: str) -> lw.Robot:
    robot = robot.with_frame("hand", last, lw.pose((0.3, 0.1, -0.2), rpy=(0.5, -0.3, 0.9)))
    robot = robot.with_frame("middle", middle, lw.pose((-0.1, 0.2, 0.3), rpy=(-0.4, 0.7, 0.2)))
    robot = robot.with_frame("ground", "world", lw.pose((0.2, -0.4, 0.5), rpy=(0.9, 0.3, -0.6)))
    for name, kind in (("point", "with_point"), ("direction", "with_direction")):
        for k, frame in enumerate(("hand", "middle")):
            robot = getattr(robot, kind)(f"{name} {frame}", frame, VECTORS[name][k])
    return robot


def _symmetric(*diagonal: float) -> np.ndarray:
    return np.diag(diagonal) + np.array([[0.0, 0.02, -0.03], [0.02, 0.0, 0.01], [-0.03, 0.01, 0.0]])


def covering(factors: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Return rows, each with a value of every factor, in which all pairs of values of two factors occur.

    Greedy: a row takes from each factor the value with the most pairs that are new.
    """
    names, rows = [*factors], []
    left = {
        ((a, i), (b, j))
        for a, b in itertools.combinations(names, 2)
        for i, _ in enumerate(factors[a])
        for j, _ in enumerate(factors[b])
    }
    while left:
        (a, i), (b, j) = min(left)
        chosen = {a: i, b: j}
        for name in names:
            new = [sum(_pair(names, (name, k), x) in left for x in chosen.items()) for k in range(len(factors[name]))]
            chosen.setdefault(name, int(np.argmax(new)))
        left -= {_pair(names, x, y) for x, y in itertools.combinations(chosen.items(), 2)}
        rows.append({name: factors[name][chosen[name]] for name in names})
    if len(names) < 2:
        return [dict(zip(names, values, strict=True)) for values in itertools.product(*factors.values())]
    return rows


def _pair(names: list[str], x: tuple[str, int], y: tuple[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
    return (x, y) if names.index(x[0]) < names.index(y[0]) else (y, x)


def factors(spec: FunctionSpec, setting: Setting) -> dict[str, list[Any]]:
    """Return the values of each option of a function; the first is the default."""
    result: dict[str, list[Any]] = {option.name: _values(option, setting) for option in spec.options}
    result |= {name: [None, setting.inputs[name]] for name in spec.optional if name not in ("positions", "vectors")}
    if spec.takes_wrenches:
        loads, axes = spec.wrench_arguments
        result |= {loads: [None, WRENCHES, {"hand": WRENCHES["hand"]}], axes: ["world", "ground", "middle"]}
    if setting.name == "driven loop" and "time" in result:
        result["time"] = [setting.inputs["time"], np.array(0.2)]
    if "dt" in result:
        result["dt"] = [np.array(0.02), np.array(0.05)]  # which some integrators need
    if setting.name != "arm" and "friction" in result:  # refused with constraints: a law that sticks, another method
        result["friction"] = ["smooth", "stribeck"]
        result.pop("method", None)
    unused = {"arm": ("time", "constraint_forces", "loop_forces"), "loop": ("time",)}.get(setting.name, ())
    result = {name: values for name, values in result.items() if name not in unused}
    return result


def _values(option: Option, setting: Setting) -> list[Any]:
    joints = [joint.name for joint in setting.robot.joints]
    named = {
        "joints": [joints[1:2]],
        "independent": [joints[1:3] if setting.name == "loop" else joints[2:3]],
        "coordinates": [[joints[2]]],
        "frame": ["hand"],
    }
    named |= {"points": [["hand", "middle"]], "directions": [["hand", "middle"]], "hold": [(), [joints[0]]]}
    named |= {"actuators": [None, joints] if setting.robot.constraints else [None], "subtree": [None, "middle"]}
    if option.name in named:
        return named[option.name]
    if option.choices:
        return [option.default, *(x for x in option.choices if x != option.default)]
    return [option.default, "ground", "middle"]  # a frame


@dataclass(frozen=True)
class Call:
    """Call of a robot's function with options."""

    setting: Setting
    spec: FunctionSpec
    inputs: Mapping[str, np.ndarray]
    options: Mapping[str, Any]

    def __str__(self) -> str:
        shown = {name: value for name, value in self.options.items() if value is not None}
        return f"{self.setting.name}: {self.spec.name}({', '.join(f'{name}={value}' for name, value in shown.items())})"

    def results(self) -> list[np.ndarray]:
        required = [x.name for x in self.spec.options if x.required]
        more = {name: value for name, value in self.options.items() if name not in required}
        positional = [*(self.inputs[name] for name in self.spec.inputs), *(self.options[name] for name in required)]
        result = getattr(self.setting.robot, self.spec.name)(*positional, **more)
        values = result.values() if isinstance(result, Mapping) else result if isinstance(result, tuple) else [result]
        return [np.asarray(x, dtype=float) for x in values]

    def with_fewer_options(self) -> tuple[Call, np.ndarray]:
        """Return an equal call of an edited robot with other inputs, and the rotation that its results then need."""
        spec, robot, options, inputs = self.spec, self.setting.robot, dict(self.options), dict(self.inputs)
        changed: dict[str, Any] = {}
        if options.get("gravity") is not None:
            changed["gravity"] = tuple(options.pop("gravity"))
        if options.get("passive") is False and "regressor" not in spec.name:  # whose width depends on it
            changed["is_resisted"] = False
            options["passive"] = True
        if "time" in options:
            changed["time"] = self.setting.time + options["time"] - 0.05
            options["time"] = np.array(0.05)
        if "points" in options or "directions" in options:
            kind = "point" if "points" in options else "direction"
            options[f"{kind}s"] = [f"{kind} {frame}" for frame in options[f"{kind}s"]]
            del options["positions" if kind == "point" else "vectors"]
        if options.get("method") == "jacobian_sum":
            options["method"] = "newton_euler"
        q, turn = inputs.get("q", inputs.get("q0")), np.eye(3)

        def is_moving(axes: str | None) -> bool:
            """Return True for axes whose motion the derivatives that are computed include."""
            return axes == "middle" and re.search("derivative|hessian|linearize", spec.name) is not None

        if spec.takes_wrenches:
            loads, axes = spec.wrench_arguments
            R = np.eye(3) if is_moving(options[axes]) else robot.pose(q, options.pop(axes))[:3, :3]
            wrenches = {name: np.ravel(np.reshape(w, (2, 3)) @ R.T) for name, w in (options.pop(loads) or {}).items()}
            if spec.name in FORCES:
                force = sum((robot.jacobian(q, name, expressed_in="world").T @ w for name, w in wrenches.items()), 0.0)
                inputs[FORCES[spec.name]] = inputs[FORCES[spec.name]] + force
            else:
                options[loads] = wrenches or None
        if options.get("expressed_in") in ("ground", "middle") and not is_moving(options["expressed_in"]):
            turn = robot.pose(q, options["expressed_in"])[:3, :3].T
            options["expressed_in"] = "world"
        return Call(dataclasses.replace(self.setting, **changed), spec, inputs, options), turn


def calls(name: str) -> Iterator[Call]:
    """Generate calls with all pairs of options of the functions that a robot has."""
    setting = Setting(name, 0.0, True)
    for spec in ROBOT.values():
        values = factors(spec, setting)
        if "points" in values or "directions" in values:
            array = "positions" if "points" in values else "vectors"
            values[array] = [np.array(VECTORS["point" if "points" in values else "direction"])]
        is_refused = spec.constrained is not None and "time" not in spec.optional
        if is_refused and setting.robot.constraints and not (setting.name == "loop" and spec.constrained is not None):
            continue
        if setting.name == "loop" and spec.constrained is None:  # like that of the driven loop
            continue
        for options in covering(values):
            yield Call(setting, spec, setting.inputs, options)


def difference(call: Call) -> float:
    """Return the largest difference between the results of equal calls, relative to their size."""
    equal, turn = call.with_fewer_options()
    result = 0.0
    for output, a, b in zip(
        call.spec.outputs, call.results(), equal.results(), strict=False
    ):  # without those of wrenches
        expected = _turned(b, output.shape, turn)
        result = max(result, float(np.max(np.abs(a - expected), initial=0.0) / (1.0 + np.max(np.abs(b), initial=0.0))))
    return result


def _turned(x: np.ndarray, shape: Sequence[int | str], turn: np.ndarray) -> np.ndarray:
    """Return an array with the vectors, or pairs of vectors, of its first axis of three or six entries turned."""
    if np.array_equal(turn, np.eye(3)):
        return x
    axis = next((k for k, n in enumerate(shape[len(shape) - x.ndim :]) if n in (3, 6)), None)
    if axis is None:
        return x
    moved = np.moveaxis(x, axis, -1)
    parts = moved.reshape(*moved.shape[:-1], moved.shape[-1] // 3, 3) @ turn.T
    return np.moveaxis(parts.reshape(moved.shape), -1, axis)
