"""Good arguments of public callables, by the names of parameters: of one callable, or of all that have the name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from benchmarks.fuzz.callable_objects import (
    arm,
    measured,
    mechanism,
    problem,
    robot_of,
    scene,
    trajectory,
)
from benchmarks.fuzz.required_values import OWN_VALUES
from linkwork import (
    constraints,
    control,
    ik,
    motion,
    shapes,
    simulation,
    spatial,
)

__all__ = ["known_values", "value_of"]

_NO = object()


def known_values() -> Iterable[str]:
    """The names, "parameter" or "callable.parameter", for which a good argument is known."""
    return _VALUES


def value_of(subject: str, parameter: str, default: Any = _NO) -> Any:
    """A good argument of a callable; None, or the default, where none is known."""
    for key in (f"{subject}.{parameter}", parameter):
        if key in _VALUES:
            value = _VALUES[key]
            return value(subject) if callable(value) else value
    return None if default is _NO else default


def _configuration(subject: str) -> Any:
    method = subject.partition(".")[2] or subject
    if subject.startswith("Joint."):
        return [0.1]
    robot = robot_of(method) if subject.startswith("Robot.") else arm()
    return robot.neutral() + (0.1 if robot is arm() else 0.0)


def _velocity(subject: str) -> Any:
    return np.full(np.shape(_configuration(subject)), 0.1)


def _function(x: Any, *more: Any) -> Any:
    return x


def _guard(t: Any, q: Any, v: Any, *more: Any) -> Any:
    return q[0] - 1.0


def _pair(subject: str, name: str) -> Any:
    if subject in ("signed_distance", "contact_points"):
        return shapes.Sphere(0.1)
    if subject in ("Gear", "Rack", "Screw", "Belt", "PolynomialCoupling", "CurveCoupling"):
        return {"upper": "shoulder", "base": "elbow"}[name]
    if subject in ("Parallel", "Angle"):
        return "ray"
    if subject in ("Distance", "Ball", "DistanceTask"):
        return {"upper": "hand", "base": "base"}[name]
    return _velocity(subject)


def _path(subject: str) -> Any:
    if subject in ("time_optimal",):
        return trajectory()
    if subject == "Robot.track_cartesian_path":
        return motion.line(arm().pose([0.1, 0.1], "hand"), arm().pose([0.2, 0.1], "hand"))
    if subject.endswith("from_urdf"):
        return lw.robots.path("double_pendulum")
    return Path("own").with_suffix(_ENDINGS.get(subject, ".npz"))


_ENDINGS = {
    "Robot.save": ".json",
    "Robot.to_mjcf": ".xml",
    "Robot.to_sdf": ".sdf",
    "Robot.to_urdf": ".urdf",
    "Robot.to_srdf": ".srdf",
}


def _text(subject: str) -> Any:
    if "urdf" in subject:
        return lw.robots.path("double_pendulum").read_text(encoding="utf-8")
    if "srdf" in subject:
        return arm().srdf_document()
    return mechanism().loops_document() if "loops" in subject else "{}"


_EYE = np.eye(4)
_VALUES: dict[str, Any] = {
    **dict.fromkeys(("q", "q0", "q1", "start", "q_init"), _configuration),
    **dict.fromkeys(("v", "a", "tau", "x", "phi", "q_dot", "f_v", "weights", "force"), _velocity),
    "goal": [0.3, 0.3],
    **dict.fromkeys(("wrench", "parent_twist", "parent_acceleration", "motion"), lambda _: np.zeros(6)),
    **dict.fromkeys(("X", "X_a", "X0", "parent_pose", "pose", "target", "X_parent_child", "X_target"), lambda _: _EYE),
    **dict.fromkeys(("X_b", "X1"), lambda _: lw.pose([1.0, 0.0, 0.0])),
    "X_path": lambda _: arm().pose(np.linspace([0.1, 0.1], [0.2, 0.2], 3), "hand"),
    "frame": lambda s: "hand" if not s.startswith(("Robot.constr", "Robot.explicit")) else mechanism().frames[-1],
    "robot": lambda s: "arm7" if s == "load" else arm(),
    "independent": lambda _: ["crank_hinge"],
    "coordinates": lambda _: ["crank_hinge"],
    "drivers": {"crank_hinge": [0.0, 0.01, 0.02]},
    "points": ["tip"],
    "directions": ["ray"],
    "joints": ["shoulder"],
    "link": "upper",
    "joint": lambda s: arm().joints[1] if s == "check_joint" else "elbow",
    "check_controller.controller": lambda _: lw.control.GravityCompensation(arm()),
    "type": lambda _: lw.joints.Revolute(spatial.Vec3(0.0, 0.0, 1.0)),
    "tasks": lambda _: ik.PositionTask("hand"),
    "task": lambda s: "pendulum" if "nvironment" in s else ik.PositionTask("hand"),
    "constraint": lambda _: constraints.Weld("hand"),
    "element": lambda _: lw.force_elements.SpringDamper("hand", "base", stiffness=1.0),
    "sensor": lambda _: simulation.Encoder(),
    "*constraints": lambda _: [constraints.Distance("hand", "base", 0.5)],
    "functions": "mass_matrix",
    "names": lambda s: "mass" if "parameters" in s else ["elbow"],
    "values": lambda s: {"upper.mass": 2.0} if "parameters" in s else np.ones((3, 3, 3)),
    "coefficients": lambda s: (
        [[[0.0, 1.0]], [[0.0, 0.5]]] if "by_coordinate" in s else np.array([[[0.0, 1.0], [0.0, 0.5]]])
    ),
    "times": lambda s: [0.0, 1.0] if "poly" in s else [[0.0, 1.0]] * 2 if "by_coord" in s else [0.0, 0.5, 1.0],
    "duration": 0.01,
    "dt": 0.01,
    "t": 0.5,
    "s": 0.5,
    "k": 0,
    "n": 2,
    "speed": 1.0,
    "step": 0.01,
    "state": lambda s: (np.zeros(2), np.zeros(2)) if s == "ModelPredictiveController.step" else 0.0,
    "distance": 0.1,
    **dict.fromkeys(("radius", "length", "mass", "height", "angle", "ratio", "pitch", "spacing", "friction"), 0.1),
    **dict.fromkeys(("radius_a", "radius_b", "sharpness", "stiffness", "damping", "inertia"), 1.0),
    "size": lambda s: (0.1, 0.2, 0.3) if s.startswith(("Box", "Scene")) else 1,
    "radii": (0.1, 0.2, 0.3),
    "vertices": lambda s: (
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        if "Support" in s
        else [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    ),
    "heights": lambda _: np.zeros((3, 3)),
    "field": lambda _: lw.distance_field(shapes.Sphere(0.1), 0.05),
    "parts": lambda _: [shapes.Sphere(0.1).at([0.0, 0.0, 0.0])],
    "*parts": lambda _: [lw.Link("only", mass=1.0)],
    "shape": lambda _: shapes.Sphere(0.1),
    "shapes": lambda _: [shapes.Sphere(0.1)],
    "*shapes": lambda _: [shapes.Sphere(0.1)],
    "around": lambda _: shapes.Box((0.1, 0.2, 0.3)),
    "uri": "part.stl",
    "folders": "/nowhere",
    **dict.fromkeys(("Scene.without.name", "Scene.with_pose.name", "Scene.with_color.name"), "ball"),
    "Scene.with_color.color": (0.5, 0.5, 0.5),
    "name": "own",
    "parent": "base",
    "child": "more",
    "on": "hand",
    "other": lambda s: trajectory().shifted(1.0) if s.startswith("Traj") else arm() if "compare" in s else "base",
    "axis": [0.0, 0.0, 1.0],
    "vector": [0.0, 0.0, 1.0],
    "gravity": [0.0, 0.0, -9.8],
    "enabled": True,
    "lower": -1.0,
    "upper": 1.0,
    "velocity": 1.0,
    "effort": 1.0,
    "armature": 0.1,
    "dynamics": "none",
    "a": lambda s: _pair(s, "upper"),
    "b": lambda s: _pair(s, "base"),
    "point": "tip",
    "line": "ray",
    "normal": "ray",
    "direction": "ray",
    "wheel": "hand",
    "ball": "hand",
    "runner": "hand",
    "function": lambda _: _function,
    "guard": lambda _: _guard,
    "residual": lambda _: lambda x: x - 0.5,
    "pred": True,
    "num_steps": 3,
    "num_samples": 10,
    "max_iterations": 5,
    "true_fun": lambda _: lambda *x: 1.0,
    "false_fun": lambda _: lambda *x: 2.0,
    "table": [1.0, 2.0, 3.0],
    "index": 1,
    "value": 2.0,
    "outputs": [],
    "inputs": [],
    "A": lambda s: np.eye(2) if "lqr" not in s else np.array([[0.0, 1.0], [0.0, 0.0]]),
    "B": [[0.0], [1.0]],
    "Q": lambda _: np.eye(2),
    "R": [[1.0]],
    "H": lambda _: np.eye(2),
    "g": [1.0, 1.0],
    "parameters": lambda _: np.array([1.0, 0, 0, 0, 1.0, 0, 0, 1.0, 0, 1.0]),
    "theta": lambda _: np.zeros(10),
    "P": lambda _: np.eye(4),
    "count": 1,
    "path": lambda s: _path(s),
    "text": lambda s: _text(s),
    "document": "{}",
    "rows": [{"theta": "q", "d": 0.1, "a": 0.1, "alpha": 0.0}],
    "convention": "standard",
    "couplings": {},
    "via": lambda _: lw.pose([0.5, 0.5, 0.0]),
    "poses": lambda _: arm().pose(measured()[0], "hand"),
    "pairs": [("upper", "base")],
    "steps": 4,
    "feature": "torque",
    "kind": "least_squares",
    "contact": None,
    "trajectory": lambda _: trajectory(),
    "sequence.steps": lambda _: {"move": trajectory()},
    "by": "start",
    "cutoff": 2.0,
    "samples": 10,
    "kp": 10.0,
    "ki": 1.0,
    "kd": 1.0,
    "law": lambda _: control.Impedance(arm(), "hand", stiffness=10.0, damping=1.0),
    "force_axes": "x",
    "observe": lambda _: lambda q, v, goal: q,
    "reward": lambda _: lambda q, v, tau, goal: 0.0,
    "efforts": (1.0,),
    "actions": lambda _: np.zeros((2, 1)),
    "action": lambda _: np.zeros(1),
    "first": "upper",
    "second": "lower",
    "scene": lambda _: scene(),
    "links": ("lower",),
    "material": lambda _: simulation.ContactMaterial(),
    "position": lambda _: np.zeros(2),
    "problem": lambda _: problem(),
    "start_time": 1.0,
    "end": 0.8,
    "relative": lambda _: (np.eye(4), np.zeros(6), np.zeros(6)),
    "energy": "total",
    "hold": None,
    "*arrays": lambda _: [[1.0, 2.0], 1.0],
    "orientation": "free",
    "y": 1.0,
    "acceleration": 1.0,
    "jerk": 1.0,
    "overwrite": True,
    **OWN_VALUES,
}
