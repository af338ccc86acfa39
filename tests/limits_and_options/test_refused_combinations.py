"""Values that are refused only together with others, or deep in a call, where one argument's own limits all hold."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.motion import Trajectory
from linkwork.optimal import TrajectoryProblem
from linkwork.simulation import Event


@cache
def arm() -> lw.Robot:
    return lw.load("arm6")


def posed(x: float, y: float = 0.2) -> np.ndarray:
    return np.asarray(lw.pose((x, y, 0.3), rpy=(0.1, -0.2, 0.3)))


def event(name: str = "hit", jump: Any = None) -> Event:
    return Event(name, lambda t, q, v: q[0] - 0.1, jump=jump)


def limit() -> lw.motion.MotionLimit:
    return lw.motion.MotionLimit(lambda q, v, a: a[..., :2], np.zeros(3), 1.0)


def run(**options: Any) -> Any:
    return arm().simulate(np.zeros(6), np.zeros(6), duration=0.01, **options)


def path() -> Trajectory:
    return arm().spline([0.0, 1.0], [np.zeros(6), np.linspace(0.1, 0.6, 6)])


CASES = {
    # motion
    "lw.motion.CartesianPath([])": "segments: expected segments of positive length",
    "lw.motion.line(posed(0.1), posed(0.4)).append(3)": "append: other: expected a CartesianPath, got 3",
    'lw.motion.pose_spline([posed(0.1), posed(0.4)], boundary="periodical")': r"boundary: got 'periodical'.*'periodic'",
    'lw.motion.spline([0, 1], [[0.1], [0.7]], boundary="launched")': '"launched" requires the initial velocity',
    'lw.motion.time_optimal(path(), motion_limits=["hand"])': r"motion_limits: expected MotionLimit\(.*got 'hand'",
    "lw.motion.time_optimal(path(), motion_limits=[limit()])": (r"expected limits of shape \(2,\), got shape \(3,\)"),
    "lw.motion.Trajectory([])": r"sections: expected sections of curves, got \[\]; use Robot.spline",
    'path()(0.1, side="both")': 'side: expected "left" or "right", got \'both\'',
    "lw.motion.Trajectory.by_coordinate([[0, 1]] * 2, [[[0.1]]] * 2, robot=arm())": "expected 6 coordinates, .* got 2",
    # optimal control
    'problem().add("acceleration", "least_squares", steps="swing")': "steps: unknown phase 'swing'",
    'problem().add("acceleration", "least_squares", steps=slice(7, 7))': r"steps: slice\(7, 7, None\) selects none of",
    # simulation
    "run(events=[3])": "events: expected linkwork.simulation.Event, got 3",
    "run(events=[event()] * 2)": "events: expected distinct names, got 'hit' more than once",
    "run(events=[event(str(k)) for k in range(51)])": "events: expected at most 50, got 51",
    "run(events=event(jump=lambda t, q, v: q))": r"jump: expected \(q, v\), got",
    "run(events=event(jump=lambda t, q, v: (q, v[1:])))": (r"event 'hit': jump: expected v \(6,\), got 5 values"),
    'run(record=["constraint_forces"])': (
        "record: 'constraint_forces': expected constraints, got robot 'arm6' without"
    ),
    'run(record=["loop_joint_wrenches"])': (
        "record: 'loop_joint_wrenches': expected loop joints, got robot 'arm6' without"
    ),
    "run(record=[(1, 2)])": r"record: expected a robot's function, .* got \(1, 2\)",
    'run(joint_limit_mode="hold")': "'hold'.*'held'",
    'lw.simulation.IMU("hand", of="rate")': (
        "IMU: of: expected 'both', 'angular_velocity' or 'specific_force', got 'rate'"
    ),
    'lw.simulation.Encoder(of="angle")': "Encoder: of: expected 'position', 'velocity' or 'force', got 'angle'",
    'lw.simulation.RangeSensor("hand", [(0.0, 0.0, 0.0)], links=["link3"])': "directions: expected non-zero vectors",
    'lw.simulation.RangeSensor("hand", [(0.1, 0.2, 0.3)])': "scene, links: expected a scene or links .* got neither",
    "lw.simulation.ContactGround([])": "ContactGround: points: expected at least one, got none",
    # inverse kinematics
    'arm().inverse_kinematics((0.3, 0.2, 0.4), "hand", orientation_tolerance=0.1)': (
        r"orientation_tolerance: expected a pose \(4, 4\) as X_target, got a position"
    ),
    'arm().ik_problem([lw.ik.PoseTask("hand"), lw.ik.PoseTask("hand")])': (
        "tasks: expected distinct names, got .* twice; set name="
    ),
    "arm().ik_problem([lw.ik.MomentumTask()])": "expected configuration tasks, got velocity task",
    "arm().ik_problem([3])": "tasks: expected a task .* or a constraint, got 3",
    'lw.ik.PoseTask("hand", tolerance=1e-3, position_tolerance=1e-3)': "tolerance: expected tolerance= .* got both",
    'lw.ik.PositionTask("hand", axes="target")': "PositionTask: axes: .* got 'target'; a position has no axes",
    "lw.ik.Within(lw.ik.MomentumTask(), 0.0, 1.0)": "Within: task: expected a configuration task, got velocity task",
    'arm().closed_form("tool").branches(posed(0.3), elbow=0.1)': "elbow: the arm .* has no such angle",
    # control
    "lw.control.finite_horizon_lqr(np.eye(2), np.eye(2), np.eye(2), np.eye(2), num_steps=3, end=np.eye(3))": (
        r"end: expected \(..., 2, 2\), got \(3, 3\)"
    ),
    "lw.control.finite_horizon_lqr(np.ones(2), np.eye(2), np.eye(2), np.eye(2), num_steps=3)": (
        r"A: expected a matrix \(..., rows, columns\), got shape \(2,\)"
    ),
    # robots, constraints and shapes
    "lw.constraints.CenterOfMass()": r"CenterOfMass: x, y, z: expected a coordinate, as in CenterOfMass\(z=0.8\)",
    "lw.constraints.Coupling((1, 2), lambda q: q[0])": r"Coupling: joints: expected names, got \(1, 2\)",
    'lw.constraints.Curve((0.0, 1.0), (0.0, 0.5), motion="cycloid")': "Curve: motion: got 'cycloid'.*'cycloidal'",
    "arm().with_actuators(3)": "with_actuators: actuators: expected actuators, .* got 3",
    "arm().with_force_elements(3)": "with_force_elements: expected force elements, .* got 3",
    "arm().with_constraints(3)": "with_constraints: constraints: expected constraints, .* got 3",
    'arm().with_attached("cup", "hand", 3)': "with_attached: shape: .*'cup': expected a shape of linkwork.shapes",
    'arm().with_joint("elbow")': "with_joint: joint: expected a joint, .* got 'elbow'",
    "lw.Robot.build('r', [], named_configurations=[1])": "named_configurations: expected a dict by name",
    "lw.Scene([3])": r"Scene: obstacles: expected obstacles, as of Scene\(\).with_box\(...\), got 3",
    "lw.Scene().with_distance_field('map', lw.shapes.Sphere(0.1))": (
        "field: .*'map': expected a linkwork.shapes.DistanceField"
    ),
    "lw.Scene().with_shape('a', lw.shapes.Box((0.1, 0.2, 0.3))).with_shape('a', lw.shapes.Sphere(0.1))": (
        "an obstacle 'a' exists already"
    ),
    "lw.shapes.load_mesh('a.stl', '.', scale=(0.1, 0.0, 0.2))": "scale: expected a non-zero number, or three",
    "arm().random_configuration(size=(2, -1))": r"random_configuration: size: expected integers >= 0, got",
    # mechanisms
    "lw.load('fourbar').assemble(hold={'crank_hinge': 0.1}, prefer={'crank_hinge': 0.2})": (
        "prefer: joint 'crank_hinge' is fixed by hold: name it in one of the two"
    ),
    # viewer and environments
    "lw.viewer.side_by_side([])": "contents: expected 1 to 100 objects to show, got 0",
    "lw.viewer.side_by_side([arm(), arm()], titles=['one'])": r"titles: expected 2 titles, got \['one'\]",
    "lw.environments.Randomization(parameters=[1])": "Randomization: parameters: expected a dict of ranges by name",
    "lw.environments.Randomization(parameters={'friction': (0.3, 0.2)})": "expected finite bounds with low <= high",
    "lw.environments.VectorEnvironment('reacher', 2, render_mode='text')": "'text'",
}


def problem() -> TrajectoryProblem:
    return TrajectoryProblem(arm(), num_steps=4, duration=0.4)


@pytest.mark.parametrize("call", CASES)
def test_refused_combinations_name_the_argument_and_the_expected_values(call: str) -> None:
    with pytest.raises((TypeError, ValueError, LookupError), match=re.compile(CASES[call], re.DOTALL)):
        eval(call)
