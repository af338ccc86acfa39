"""Good arguments of public callables, by the names of parameters, and instances of public classes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import constraints, control, environments, identify, ik, motion, optimal, shapes, simulation, spatial

__all__ = ["INSTANCES", "REQUIRED", "value_of"]

_NO = object()


@functools.cache
def arm() -> lw.Robot:
    """Two hinges, with a collision shape each, a point and a direction."""
    made = lw.Robot.build(
        "arm",
        lw.Link("base", shapes.Box((0.1, 0.1, 0.1)).at([0.0, 0.0, -0.3])),
        lw.Joint.of(lw.joints.Revolute(spatial.Vec3(0.0, 0.0, 1.0)), name="shoulder", parent="base", child="upper",
                    lower=-2.0, upper=2.0, velocity=3.0, effort=9.0),
        lw.Link("upper", shapes.Capsule(0.05, 0.4).at([0.2, 0.0, 0.0]), density=1000.0),
        lw.Joint.of(lw.joints.Revolute(spatial.Vec3(0.0, 1.0, 0.0)), name="elbow", parent="upper", child="lower",
                    placement=[0.4, 0.0, 0.0], lower=-2.0, upper=2.0, velocity=3.0, effort=9.0),
        lw.Link("lower", shapes.Box((0.3, 0.05, 0.05)).at([0.2, 0.0, 0.0]), density=1000.0,
                frames={"hand": [0.3, 0.0, 0.0]}),
    )  # fmt: skip
    made = made.with_collision_pairs([("base", "lower")])
    return made.with_point("tip", "hand", [0.01, 0.0, 0.0]).with_direction("ray", "hand", [0.0, 0.0, 1.0])


@functools.cache
def mechanism() -> lw.Robot:
    return lw.load("fourbar")


def attached(method: str) -> lw.Robot:
    return arm().with_attached("own", shapes.Sphere(0.01), "hand") if method == "without_attached" else arm()


@functools.cache
def scene() -> lw.Scene:
    return lw.Scene().with_sphere("ball", 0.1, [2.0, 0.0, 0.0])


@functools.cache
def trajectory() -> motion.Trajectory:
    return motion.Trajectory.polynomial([0.0, 1.0], np.array([[[0.0, 1.0], [0.0, 0.5]]]), robot=arm())


@functools.cache
def kernel() -> lw.Kernel:
    return lw.compile(lambda x, y: lw.expr.sin(x[0]) * y + x[1] ** 2, x=2, y=())


@functools.cache
def planned() -> Any:
    return arm().plan([0.0, 0.0], [0.5, 0.5], scene())


@functools.cache
def simulation_of() -> Any:
    return arm().simulate([0.1, 0.1], duration=0.02, step=1e-3)


@functools.cache
def ik_problem() -> Any:
    return arm().ik_problem(ik.PositionTask("hand", target=[0.5, 0.1, 0.0]))


@functools.cache
def problem(solved: bool = False) -> Any:
    made = lw.Problem(arm(), steps=4, duration=1.0)
    made.add("velocity", "squares")
    made.add("configuration", "equality", at=0, target=[0.0, 0.0], name="start")
    made.add("configuration", "equality", at=-1, target=[0.2, 0.2], name="end")
    return made.solve() if solved else made


def _fresh_problem(_: str) -> Any:
    return problem.__wrapped__()


@functools.cache
def regulator() -> Any:
    return control.hold(arm(), [0.1, 0.1])


@functools.cache
def tracker() -> Any:
    return control.track(arm(), trajectory(), step=0.1)


@functools.cache
def followed() -> Any:
    robot, q = lw.load("arm6"), np.full(6, 0.5)
    start = robot.pose(q, "tool")
    end = start @ lw.pose([0.01, 0.0, 0.0])
    return robot.move_along(motion.line(start, end), "tool", start=q)


@functools.cache
def timed() -> Any:
    return motion.time_optimal(trajectory(), velocity=1.0, acceleration=1.0)


@functools.cache
def measured() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (3, 60, 2))
    return q, v, a, np.asarray(arm().inverse_dynamics(q, v, a)) + 1e-3 * rng.normal(size=(60, 2))


_MECHANISM = {
    *(
        "mobility",
        "minimal",
        "loop",
        "closed_configuration",
        "project",
        "assemble",
        "branches",
        "follow",
        "equilibrium",
    ),
    *("integrability", "unique_forces", "delassus_matrix"),
}


def _robot(method: str) -> Any:
    of_loops = any(word in method for word in ("explicit_", "reduced_", "constrain", "loop_", "loops", "assembl"))
    plain = method in ("with_loop", "with_constraints")
    return mechanism() if (of_loops or method in _MECHANISM or "project" in method) and not plain else attached(method)


INSTANCES: dict[type, Callable[[str], Any]] = {
    lw.Robot: _robot,
    lw.Joint: lambda _: arm().joints[1],
    lw.Link: lambda _: lw.Link("part", mass=1.0),
    lw.Kernel: lambda _: kernel(),
    lw.Scene: lambda _: scene(),
    lw.Problem: _fresh_problem,
    lw.Simulator: lambda _: _simulator(),
    motion.Trajectory: lambda _: trajectory(),
    motion.CartesianPath: lambda _: motion.line(np.eye(4), lw.pose([1.0, 0.0, 0.0])),
    motion.FollowedPath: lambda _: followed(),
    motion.ProfileFunction: lambda _: motion.ProfileFunction(2, velocity=1.0, acceleration=1.0, jerk=1.0),
    motion.PlanResult: lambda _: planned(),
    motion.PoseRegion: lambda _: motion.PoseRegion("hand", np.eye(4), [-1.0] * 6, [1.0] * 6),
    motion.Roadmap: lambda _: motion.Roadmap(arm(), scene(), nodes=5),
    motion.TimedPath: lambda _: timed(),
    simulation.Simulation: lambda _: simulation_of(),
    optimal.OptimalResult: lambda _: problem(True),
    control.PD: lambda _: control.PD(arm(), 10.0, 1.0),
    control.HoldingRegulator: lambda _: regulator(),
    control.TrackingRegulator: lambda _: tracker(),
    control.WholeBody: lambda _: control.WholeBody(arm(), ik.PositionTask("hand")),
    control.Controller: lambda _: problem().controller(),
    environments.VectorEnvironment: lambda _: _environment(),
    ik.IKProblem: lambda _: ik_problem(),
    ik.DifferentialIK: lambda _: ik.DifferentialIK(arm(), ik.PositionTask("hand", target=[0.5, 0.1, 0.0]), 0.01),
    ik.IKResult: lambda _: ik_problem().solve(),
    ik.ClosedForm: lambda _: _closed_form(),
    identify.ExcitingTrajectory: lambda _: identify.exciting_trajectory(arm(), period=2.0, harmonics=2),
    identify.BaseParameterFit: lambda _: identify.base_parameters(arm(), *measured()),
    shapes.Box: lambda _: shapes.Box((0.1, 0.2, 0.3)),
    simulation.ContactMaterial: lambda _: simulation.ContactMaterial(),
}


@functools.cache
def _closed_form() -> Any:
    return lw.load("arm7").closed_form("hand")


def _simulator() -> Any:
    made = lw.Simulator(arm(), step=1e-3)
    made.reset([0.1, 0.1])
    return made


def _environment() -> Any:
    made = environments.VectorEnvironment("pendulum", 2)
    made.reset(seed=0)
    return made


def _configuration(subject: str) -> Any:
    method = subject.partition(".")[2] or subject
    if subject.startswith("Joint."):
        return [0.1]
    robot = _robot(method) if subject.startswith("Robot.") else arm()
    return robot.neutral() + (0.1 if robot is arm() else 0.0)


def _velocity(subject: str) -> Any:
    return np.full(np.shape(_configuration(subject)), 0.1)


def value_of(subject: str, parameter: str, default: Any = _NO) -> Any:
    """A good argument of a callable; None, or the default, where none is known."""
    for key in (f"{subject}.{parameter}", parameter):
        if key in _VALUES:
            made = _VALUES[key]
            return made(subject) if callable(made) else made
    return None if default is _NO else default


def _of(value: Any) -> Callable[[str], Any]:
    return lambda _: value


_EYE = np.eye(4)
_VALUES: dict[str, Any] = {
    # configurations and what goes with them
    **dict.fromkeys(("q", "q0", "q1", "start", "guess"), _configuration),
    **dict.fromkeys(("v", "a", "tau", "x", "phi", "q_dot", "f_v", "weights", "force"), _velocity),
    "goal": [0.3, 0.3],
    "twist": np.zeros(6),
    **dict.fromkeys(("wrench", "parent_twist", "parent_acceleration", "motion"), lambda _: np.zeros(6)),
    **dict.fromkeys(("X", "X_a", "X0", "parent_pose", "pose", "target", "X_parent_child", "X_target"), lambda _: _EYE),
    **dict.fromkeys(("X_b", "X1"), lambda _: lw.pose([1.0, 0.0, 0.0])),
    "X_path": lambda _: arm().pose(np.linspace([0.1, 0.1], [0.2, 0.2], 3), "hand"),
    "frame": lambda s: "hand" if not s.startswith(("Robot.constr", "Robot.explicit")) else mechanism().frames[-1],
    "robot": lambda s: "arm7" if s == "load" else arm(),
    "robots.path.name": "arm7",
    **dict.fromkeys(("names.name", "path.name", "loops.name"), "fourbar"),
    "independent": lambda _: ["crank_hinge"],
    "coordinates": lambda _: ["crank_hinge"],
    "drivers": {"crank_hinge": [0.0, 0.01, 0.02]},
    "points": ["tip"],
    "directions": ["ray"],
    "joints": ["shoulder"],
    "link": "upper",
    "joint": lambda s: arm().joints[1] if s == "check_joint" else "elbow",
    "type": lambda _: lw.joints.Revolute(spatial.Vec3(0.0, 0.0, 1.0)),
    "tasks": lambda _: ik.PositionTask("hand"),
    "task": lambda s: "pendulum" if s == "VectorEnvironment" else ik.PositionTask("hand"),
    "constraint": lambda _: constraints.Weld("hand"),
    "*constraints": lambda _: [constraints.Distance("hand", "base", 0.5)],
    "Robot.without_constraints.*names": [],
    "functions": "mass_matrix",
    "names": lambda s: "mass" if "parameters" in s else ["elbow"],
    "values": lambda s: {"upper.mass": 2.0} if "parameters" in s else np.ones((3, 3, 3)),
    "q_index.names": ["elbow"],
    "coefficients": lambda s: (
        [[[0.0, 1.0]], [[0.0, 0.5]]] if "by_coordinate" in s else np.array([[[0.0, 1.0], [0.0, 0.5]]])
    ),
    "times": lambda s: [0.0, 1.0] if "poly" in s else [[0.0, 1.0]] * 2 if "by_coord" in s else [0.0, 0.5, 1.0],
    "spline.q": lambda _: [[0.0, 0.0], [0.1, 0.2], [0.2, 0.1]],
    "Robot.spline.q": lambda _: [[0.0, 0.0], [0.1, 0.2], [0.2, 0.1]],
    "retimed.times": 2.0,
    "Trajectory.retimed.times": 2.0,
    "duration": 0.01,
    "dt": 0.01,
    "t": 0.5,
    "s": 0.5,
    "k": 0,
    "n": 2,
    "speed": 1.0,
    "step": 0.01,
    "state": lambda s: (np.zeros(2), np.zeros(2)) if s == "Controller.step" else 0.0,
    "distance": 0.1,
    "*radius": 0.1,
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
    "PointCloud.points": lambda _: np.eye(3),
    "Scene.with_point_cloud.points": lambda _: np.eye(3),
    "convex_hull.points": lambda _: np.concatenate([np.eye(3), np.zeros((1, 3))]),
    "Scene.with_compound.parts": lambda _: [shapes.Sphere(0.1).at([0.0, 0.0, 0.0])],
    "Compound.parts": lambda _: [shapes.Sphere(0.1).at([0.0, 0.0, 0.0])],
    "Mesh.uri": "part.stl",
    "uri": "part.stl",
    "folders": "/nowhere",
    "Scene.only.names": ["ball"],
    **dict.fromkeys(("Scene.without.name", "Scene.moved.name"), "ball"),
    "Scene.from_dict.document": lambda _: scene().to_dict(),
    "Scene.from_json.text": lambda _: scene().to_json(),
    "name": "own",
    "parent": "base",
    "child": "more",
    "on": "hand",
    "other": lambda s: trajectory().moved(1.0) if s.startswith("Traj") else "base",
    "CartesianPath.then.other": lambda _: motion.line(lw.pose([1.0, 0.0, 0.0]), lw.pose([1.0, 1.0, 0.0])),
    "ContactMaterial.beside.other": lambda _: simulation.ContactMaterial(),
    "axis": [0.0, 0.0, 1.0],
    "vector": [0.0, 0.0, 1.0],
    "gravity": [0.0, 0.0, -9.8],
    "enabled": True,
    "lower": -1.0,
    "upper": 1.0,
    "PoseRegion.lower": [-1.0] * 6,
    "PoseRegion.upper": [1.0] * 6,
    "velocity": 1.0,
    "effort": 1.0,
    "armature": 0.1,
    "dynamics": "none",
    "parts_of": None,
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
    "scan.step": lambda _: lambda s, x: (s, s),
    "fori.step": lambda _: lambda i, s: s,
    "fori.state": 1.0,
    "fori.count": 3,
    "while_loop.step": lambda _: lambda s: s + 1.0,
    "fixed_point.step": lambda _: lambda s: 0.5 * s,
    "fixed_point.start": 1.0,
    "root.start": 1.0,
    "while_loop.condition": lambda _: lambda s: s < 3.0,
    "condition": True,
    "at_most": 5,
    "yes": lambda _: lambda *x: 1.0,
    "no": lambda _: lambda *x: 2.0,
    "call.function": lambda _: lambda *x: 1.0,
    "table": [1.0, 2.0, 3.0],
    "index": 1,
    "value": 2.0,
    "values_": None,
    "array.values": [1.0, 2.0],
    "outputs": [],
    "inputs": [],
    "A": lambda s: np.eye(2) if "lqr" not in s else np.array([[0.0, 1.0], [0.0, 0.0]]),
    "B": [[0.0], [1.0]],
    "lqr.R": [[1.0]],
    "lqr_horizon.R": [[1.0]],
    "Q": lambda _: np.eye(2),
    "R": [[1.0]],
    "lqr_horizon.steps": 5,
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
    "poses_given": lambda _: np.stack([np.eye(4), lw.pose([1.0, 0.0, 0.0]), lw.pose([1.0, 1.0, 0.0])]),
    "poses": lambda _: arm().pose(measured()[0], "hand"),
    "pairs": [("upper", "base")],
    "steps": 4,
    "feature": "torque",
    "kind": "squares",
    "contact": None,
    "trajectory": lambda _: trajectory(),
    "by": "start",
    "cutoff": 2.0,
    "signals.t": lambda _: np.arange(100) * 0.01,
    "low_pass.t": lambda _: np.arange(100) * 0.01,
    "low_pass.x": lambda _: np.sin(np.arange(100) * 0.01),
    "differentiate.t": lambda _: np.arange(100) * 0.01,
    "differentiate.q": lambda _: np.sin(np.arange(200).reshape(100, 2) * 0.01),
    **{f"{f}.{n}": (lambda _, i=i: measured()[i]) for f in ("base_parameters", "inertias", "excitation", "placements")
       for i, n in enumerate(("q", "v", "a", "tau"))},
    "samples": 10,
    "kp": 10.0,
    "ki": 1.0,
    "kd": 1.0,
    "law": lambda _: control.Impedance(arm(), "hand", stiffness=10.0, damping=1.0),
    "force_axes": "x",
    "observe": lambda _: lambda q, v, goal: q,
    "reward": lambda _: lambda q, v, tau, goal: 0.0,
    "ControlTask.start": lambda _: lambda rng: (np.zeros(2), np.zeros(2)),
    "efforts": (1.0,),
    "actions": lambda _: np.zeros((2, 1)),
    "action": [0.0],
    "first": "upper",
    "second": "lower",
    "scene": lambda _: scene(),
    "links": ("lower",),
    "material": lambda _: simulation.ContactMaterial(),
    "position": lambda _: np.zeros(2),
    "problem": lambda _: problem(),
    "start_time": 1.0,
    "end": 0.8,
    "Trajectory.between.start": 0.2,
    "relative": lambda _: (np.eye(4), np.zeros(6), np.zeros(6)),
    "propagate_motion.parent": lambda _: (np.eye(4), np.zeros(6), np.zeros(6)),
    "energy": "total",
    "hold": None,
    "Kernel.jacobian.*by": ["x"],
    **{f"Kernel.{f}.*by": ["x"] for f in ("jvp", "vjp", "jacobian_pattern", "hessian", "hessian_pattern")},
    "Kernel.value_and_gradient.*by": ["x"],
    "*arrays": lambda _: [[1.0, 2.0], 1.0],
    "orientation": "free",
    "compile.**shapes": {"x": 2},
    "compile.function": lambda _: lambda x: x,
    "Robot.follow.**": {},
    "PD.__call__.**given": {"target_q": np.zeros(2)},
    "Robot.velocity_for.**targets": {"hand": [0.5, 0.1, 0.0]},
    "WholeBody.answer.**given": {"hand": np.zeros(3), },
    "PlanResult.timed.**limits": {"acceleration": 1.0},
    "DifferentialIK.velocity.**targets": {"hand": [0.5, 0.1, 0.0]},
    "lt.y": 1.0,
    "y": 1.0,
    **dict.fromkeys(("profile.*", "time_optimal.acceleration"), 1.0),
    "Robot.parameters.names": "gravity",
    "Robot.with_parameters.values": {"gravity": [0.0, 0.0, -9.0]},
    "Robot.joint.name": "elbow",
    "Robot.link.name": "upper",
    "Robot.with_joint.joint": lambda _: arm().joint("elbow"),
    "Robot.with_loop.joint": lambda _: lw.joints.Spherical(),
    "Reversed.joint": lambda _: lw.joints.Revolute(spatial.Vec3(0.0, 0.0, 1.0)),
    "Robot.warm_up.functions": ["mass_matrix"],
    "Robot.from_dh.rows": [{"theta": 0.0, "d": 0.1, "a": 0.1, "alpha": 0.0}],
    "Scene.with_distance_field.field": lambda _: lw.distance_field([shapes.Sphere(0.1).at([0.0, 0.0, 0.0])], 0.05),
    "Problem.check.name": "start",
    "Roadmap.extended.nodes": 3,
    "tree": lambda _: arm().tree,
    "Problem.act.contact": lambda _: problem.__wrapped__().contact("hand"),
    "PD.gains.given": 1.0,
    "adjoint.weights": [],
    "tangent.direction": [],
    "Problem.add.kind": "squares",
    "PathContact.name": "own",
    "Robot.branches.hold": {"crank_hinge": 0.1},
    "Simulator.restore.state": lambda _: _simulator().state,
}  # fmt: skip


def _function(x: Any, *more: Any) -> Any:
    return x


def _guard(t: Any, q: Any, v: Any, *more: Any) -> Any:
    return q[0] - 1.0


def _pair(subject: str, name: str) -> Any:
    if subject in ("signed_distance", "contact_points"):
        return shapes.Sphere(0.1)
    if subject in ("Gear", "Rack", "Screw", "Belt"):
        return {"upper": "shoulder", "base": "elbow"}[name]
    if subject in ("Parallel", "Angle"):
        return "ray"
    if subject in ("Distance", "Ball", "DistanceTask"):
        return {"upper": "hand", "base": "base"}[name]
    return _velocity(subject)


def _path(subject: str) -> Any:
    if subject in ("time_optimal",):
        return trajectory()
    if subject == "Robot.move_along":
        return motion.line(arm().pose([0.1, 0.1], "hand"), arm().pose([0.2, 0.1], "hand"))
    if subject.endswith("from_urdf"):
        return lw.robots.path("double_pendulum")
    return Path("own.npz")


def _text(subject: str) -> Any:
    if "urdf" in subject:
        return lw.robots.path("double_pendulum").read_text(encoding="utf-8")
    if "srdf" in subject:
        return arm().srdf_document()
    return mechanism().loops_document() if "loops" in subject else "{}"


REQUIRED: dict[str, tuple[str, ...]] = {  # options that a call needs one of
    "Prescribed": ("joint", "motion"),
    "ProfileFunction": ("velocity", "acceleration", "jerk"),
    "profile": ("velocity", "acceleration", "jerk"),
    "Robot.profile": ("velocity", "acceleration", "jerk"),
    "time_optimal": ("velocity", "acceleration"),
    "RangeSensor": ("scene",),
    "Robot.branches": ("hold",),
    "Trajectory.sampled": ("n",),
    "arc": ("via", "X1"),
    "lqr_horizon": ("steps",),
    "scan": ("length",),
    "CenterOfMass": ("x",),
    "Trajectory.spliced": ("allow_jump",),
    "Robot.save_loops": ("overwrite",),
}
_VALUES |= {
    "Box.support.directions": [[0.0, 0.0, 1.0]],
    "CenterOfMass.x": 0.1,
    "Composite.joints": lambda _: [
        lw.joints.Revolute(spatial.Vec3(0.0, 0.0, 1.0)),
        lw.joints.Prismatic(spatial.Vec3(0.0, 0.0, 1.0)),
    ],
    **{
        f"{name}.contact": lambda _: optimal.PathContact("own", "hand")
        for name in ("ContactForce", "ContactHeight", "ContactStays", "FrictionCone")
    },
    "SurfaceCone.contact": lambda _: optimal.PathContact("own", "hand", surface=True),
    "Coupling.joints": {"shoulder": 1.0, "elbow": -2.0},
    "Ellipsoid.a": 0.1,
    "Ellipsoid.b": 0.1,
    "Ellipsoid.c": 0.1,
    "ClosedForm.nearest_branch.q": lambda _: np.full(7, 0.1),
    "IKResult.derivative.by": "hand",
    "Robot.from_dh.*parts": [],
    "Robot.with_attached.name": "thing",
    "Trajectory.spliced.allow_jump": True,
    "arc.via": [0.5, 0.5, 0.0],
    "Prescribed.joint": "elbow",
    "Prescribed.motion": lambda _: lambda t: t,
    "acceleration": 1.0,
    "jerk": 1.0,
    "scan.length": 3,
    "overwrite": True,
}
