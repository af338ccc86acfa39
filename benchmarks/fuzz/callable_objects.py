"""Instances of public classes whose methods are called, and the robots and objects that calls are given."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import control, environments, identify, ik, motion, optimal, planning, shapes, simulation, spatial

__all__ = [
    "INSTANCES",
    "arm",
    "followed",
    "ik_problem",
    "kernel",
    "measured",
    "mechanism",
    "planned",
    "problem",
    "robot_of",
    "scene",
    "simulator",
    "trajectory",
]


@functools.cache
def arm() -> lw.Robot:
    """Two hinges, with a collision shape each, a point and a direction."""
    robot = lw.Robot.build(
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
    robot = robot.with_collision_pairs([("base", "lower")])
    return robot.with_point("tip", "hand", [0.01, 0.0, 0.0]).with_direction("ray", "hand", [0.0, 0.0, 1.0])


@functools.cache
def mechanism() -> lw.Robot:
    return lw.load("fourbar")


def attached(method: str) -> lw.Robot:
    return arm().with_attached("own", "hand", shapes.Sphere(0.01)) if method == "without_attached" else arm()


@functools.cache
def scene() -> lw.Scene:
    return lw.Scene().with_sphere("ball", 0.1, [2.0, 0.0, 0.0])


@functools.cache
def scene_file() -> str:
    path = Path(tempfile.mkdtemp()) / "scene.json"
    scene().save(path)
    return str(path)


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
    return arm().simulate([0.1, 0.1], duration=0.02, dt=1e-3)


@functools.cache
def ik_problem() -> Any:
    return arm().ik_problem(ik.PositionTask("hand", target=[0.5, 0.1, 0.0]))


@functools.cache
def problem(solved: bool = False) -> Any:
    optimal_problem = lw.TrajectoryProblem(arm(), num_steps=4, duration=1.0)
    optimal_problem = optimal_problem.add("velocity", "least_squares")
    optimal_problem = optimal_problem.add("configuration", "equality", steps=0, target=[0.0, 0.0], name="start")
    optimal_problem = optimal_problem.add("configuration", "equality", steps=-1, target=[0.2, 0.2], name="end")
    return optimal_problem.solve() if solved else optimal_problem


@functools.cache
def regulator() -> Any:
    return control.lqr_about_state(arm(), [0.1, 0.1])


@functools.cache
def tracker() -> Any:
    return control.lqr_about_trajectory(arm(), trajectory(), dt=0.1)


@functools.cache
def followed() -> Any:
    robot, q = lw.load("arm6"), np.full(6, 0.5)
    start = robot.pose(q, "tool")
    end = start @ lw.pose([0.01, 0.0, 0.0])
    return robot.track_cartesian_path(motion.line(start, end), "tool", q_init=q)


@functools.cache
def timed() -> Any:
    return motion.time_optimal(trajectory(), velocity=1.0, acceleration=1.0)


@functools.cache
def measured() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (3, 60, 2))
    return q, v, a, np.asarray(arm().inverse_dynamics(q, v, a)) + 1e-3 * rng.normal(size=(60, 2))


_MECHANISM = (
    *("mobility", "minimal_coordinates", "closed_configuration", "branches", "drive_mechanism", "equilibrium"),
    *("integrability", "determinate_constraint_forces", "delassus_matrix"),
)


def robot_of(method: str) -> Any:
    of_loops = any(word in method for word in ("explicit_", "reduced_", "constrain", "loop_", "loops", "assembl"))
    plain = method in ("with_loop", "with_constraints")
    return mechanism() if (of_loops or method in _MECHANISM or "project" in method) and not plain else attached(method)


INSTANCES: dict[type, Callable[[str], Any]] = {
    lw.Robot: robot_of,
    lw.Joint: lambda _: arm().joints[1],
    lw.Link: lambda _: lw.Link("part", mass=1.0),
    lw.Kernel: lambda _: kernel(),
    lw.Scene: lambda _: scene(),
    lw.TrajectoryProblem: lambda _: problem(),
    lw.Simulator: lambda _: simulator(),
    motion.Trajectory: lambda _: trajectory(),
    motion.CartesianPath: lambda _: motion.line(np.eye(4), lw.pose([1.0, 0.0, 0.0])),
    motion.TrackedPath: lambda _: followed(),
    motion.ProfileFunction: lambda _: motion.ProfileFunction(2, velocity=1.0, acceleration=1.0, jerk=1.0),
    planning.PlanResult: lambda _: planned(),
    planning.PoseRegion: lambda _: planning.PoseRegion("hand", np.eye(4), [-1.0] * 6, [1.0] * 6),
    planning.Roadmap: lambda _: planning.Roadmap(arm(), scene(), num_nodes=5),
    motion.TimedPath: lambda _: timed(),
    simulation.Simulation: lambda _: simulation_of(),
    optimal.OptimalResult: lambda _: problem(True),
    control.PD: lambda _: control.PD(arm(), 10.0, 1.0),
    control.LQRController: lambda _: regulator(),
    control.StateSpace: lambda _: control.linear_model(arm(), [0.1, 0.1]),
    control.TVLQRController: lambda _: tracker(),
    control.WholeBody: lambda _: control.WholeBody(arm(), ik.PositionTask("hand")),
    control.ModelPredictiveController: lambda _: problem().controller(),
    environments.VectorEnvironment: lambda _: _environment(),
    environments.SingleEnvironment: lambda _: _single_environment(),
    ik.IKProblem: lambda _: ik_problem(),
    ik.DifferentialIK: lambda _: ik.DifferentialIK(arm(), ik.PositionTask("hand", target=[0.5, 0.1, 0.0]), 0.01),
    ik.IKResult: lambda _: ik_problem().solve(),
    ik.ClosedForm: lambda method: _closed_form("arm6", "tool") if method == "nearest_branch" else _closed_form(),
    identify.ExcitingTrajectory: lambda _: identify.exciting_trajectory(arm(), period=2.0, num_harmonics=2),
    identify.BaseParameterFit: lambda _: identify.base_parameters(arm(), *measured(), passive=False),
    shapes.Box: lambda _: shapes.Box((0.1, 0.2, 0.3)),
    simulation.ContactMaterial: lambda _: simulation.ContactMaterial(),
}


@functools.cache
def _closed_form(name: str = "arm7", frame: str = "hand") -> Any:
    return lw.load(name).closed_form(frame)


def simulator() -> Any:
    new_simulator = lw.Simulator(arm(), dt=1e-3)
    new_simulator.reset([0.1, 0.1])
    return new_simulator


def _environment() -> Any:
    environment = _new_environment()
    environment.reset(seed=0)
    return environment


def _single_environment() -> Any:
    environment = _new_single_environment()
    environment.reset(seed=0)
    return environment


@functools.cache
def _new_environment() -> Any:
    return environments.VectorEnvironment("pendulum", 2)


@functools.cache
def _new_single_environment() -> Any:
    return environments.SingleEnvironment("pendulum")
