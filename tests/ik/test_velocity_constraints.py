"""Differential inverse kinematics of robots with constraints: G v + σ = 0 in every step, and tasks of velocities."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkwork as lw
from helpers.linkages import five_bar, linkage
from invariants.changes import turned
from linkwork.model.random_tree import random_pose
from linkwork.spatial import Pose

DT = 0.01
CONSTRAINED = ("differential_drive", "bicycle", "fourbar", "delta", "stewart", "leg")


def skater():
    """A planar base on a blade, with a mast in front of it."""
    text = """<robot name="skater"><link name="ground"/><link name="body"/><link name="mast"/>
    <joint name="base" type="planar"><parent link="ground"/><child link="body"/><axis xyz="0 0 1"/></joint>
    <joint name="fixed" type="fixed"><parent link="body"/><child link="mast"/><origin xyz="0.3 0 0"/></joint></robot>"""
    return lw.Robot.from_urdf_string(text).with_constraints(lw.constraints.KnifeEdge("body"))


def begun(robot):
    holonomic = any(constraint.holonomic for constraint in robot.tree.constraints)
    return robot.assemble().q if holonomic else robot.neutral()


def left_open(robot, q, v):
    """G v + σ, with what the step closes of errors of configurations."""
    holonomic = [c.holonomic for c in robot.tree.constraints for _ in c.component_names]
    closing = np.zeros(len(holonomic))
    closing[holonomic] = robot.constraint_error(q)
    return robot.constraint_jacobian(q) @ v + robot.constraint_drift(q) + closing / DT


@pytest.mark.slow(every=9)
@pytest.mark.parametrize("name", [*CONSTRAINED, "skater"])
@pytest.mark.parametrize("weight", [1.0, None])
def test_differential_ik_velocities_satisfy_the_velocity_constraints(name, weight):
    """Targets in all directions, most of which no permitted velocity approaches."""
    robot = skater() if name == "skater" else lw.load(name)
    frame = "mast" if name == "skater" else max(robot.tree.frames, key=lambda frame: frame.body).name
    q, rng = begun(robot), np.random.default_rng(0)
    problem = lw.ik.DifferentialIK(robot, lw.ik.PoseTask(frame, weight=weight, name="X"), DT, gain=0.1)
    fastest = 0.0
    for _ in range(6):
        X = robot.pose(q, frame) @ lw.pose(0.1 * rng.normal(size=3), rpy=0.5 * rng.normal(size=3))
        for _ in range(8):
            velocity_result = problem.velocity(q, X=X)
            size = 1.0 + np.abs(velocity_result.v).max()
            assert np.abs(left_open(robot, q, velocity_result.v)).max() <= 1e-12 * size
            assert (
                velocity_result.errors.shape[-1] == 6 + len(robot.constraint_drift(q))
                and np.isfinite(velocity_result.after).all()
            )
            fastest = max(fastest, size)
            q = robot.integrate(q, velocity_result.v * DT)
    assert fastest > 1.01
    assert np.abs(robot.constraint_error(q)).max(initial=0.0) <= 1e-4


def test_differential_ik_of_a_skater_turns_because_it_cannot_move_sideways():
    """The origin cannot move sideways; the mast moves sideways by rotation only."""
    robot = skater()
    q = robot.neutral()
    for task in (lw.ik.PositionTask("body", name="place"), lw.ik.PositionTask("body", name="place", weight=1.0)):
        aside = robot.velocity_for(task, q, DT, damping=0.0, place=[0.0, 0.01, 0.0])
        assert np.abs(aside.v).max() <= 1e-6 and abs(np.linalg.norm(aside.after[:3]) - 0.01) <= 1e-8
        assert aside.status == ("tasks_not_met" if task.hard else "solved")
        both = robot.velocity_for(task, q, DT, damping=0.0, place=[0.01, 0.01, 0.0])
        twist = robot.jacobian(q, "body") @ both.v
        assert abs(twist[3] - 1.0) <= 1e-6 and abs(twist[4]) <= 1e-12
    mast = lw.ik.PositionTask("mast", name="place")
    turned = robot.velocity_for(mast, q, DT, place=[0.3, 0.01, 0.0])
    assert turned.success and abs((robot.jacobian(q, "body") @ turned.v)[2] - 1.0 / 0.3) <= 1e-6


def test_differential_ik_moves_joints_prescribed_as_functions_of_time():
    """A prescribed joint follows its function of time."""
    robot = lw.load("arm7").with_constraints(
        lw.constraints.Prescribed("elbow", lambda t: -1.0 + 0.5 * t, name="driven")
    )
    q = np.array([0.2, 0.3, 0.1, -0.9, 0.3, 2.0, 0.4])
    step = lw.ik.DifferentialIK(robot, lw.ik.PositionTask("hand", weight=1.0), DT)
    velocity_result = step.velocity(q, hand=robot.pose(q, "hand")[:3, 3], driven=0.2)
    assert abs(velocity_result.v[3] - 0.5) <= 1e-12 and velocity_result.success
    slow = {"velocity": {"elbow": 0.1}}
    problem = lw.ik.DifferentialIK(robot, lw.ik.PositionTask("hand", weight=1.0), DT, motion_limits=slow)
    velocity_result = problem.velocity(q, hand=robot.pose(q, "hand")[:3, 3], driven=0.2)
    assert (
        velocity_result.v[3] == 0.1 and velocity_result.status == "constraints_not_met" and not velocity_result.success
    )


@pytest.mark.slow(every=5)
def test_differential_ik_of_rolling_robots_follows_a_path():
    robot = skater()
    task = lw.ik.PositionTask("mast", tolerance=(1e-6, 1e-6, np.inf), axes="reference", name="place")
    part = np.linspace(0.0, 1.0, 50)[:, None]
    path = np.array([0.3, 0.0, 0.0]) + part * [0.2, 0.3, 0.0]
    along = robot.ik_problem(task).follow(robot.neutral(), place=path)
    assert along.success.all() and along.reconfigurations == 0
    steps = robot.difference(along.q[:-1], along.q[1:])
    G = robot.constraint_jacobian(robot.integrate(along.q[:-1], 0.5 * steps))
    assert np.abs(np.einsum("tij,tj->ti", G, steps)).max() <= 1e-4 * np.abs(steps).max()
    assert np.abs(robot.pose(along.q, "mast")[:, :2, 3] - path[:, :2]).max() <= 1e-6
    sideways = lw.ik.PositionTask("body", tolerance=(1e-6, 1e-6, np.inf), axes="reference", name="place")
    stuck = robot.ik_problem(sideways).follow(robot.neutral(), place=part * [0.0, 0.3, 0.0])
    assert stuck.success.sum() == 1 and np.abs(robot.pose(stuck.q, "body")[:, 1, 3]).max() <= 1e-6


@pytest.mark.slow(every=5)
def test_velocity_tasks_of_differential_ik_are_met_or_weighted():
    """Velocities of a joint, of a rolling frame, and of the momentum."""
    robot = lw.load("arm7")
    q = robot.random_configuration(seed=1)
    joint = lw.ik.JointVelocityTask("elbow", name="elbow")
    hand = lw.ik.PositionTask("hand", weight=1.0)
    position = robot.pose(q, "hand")[:3, 3] + 0.001
    velocity_result = robot.velocity_for([joint, hand], q, DT, elbow=0.3, hand=position)
    assert abs(velocity_result.v[3] - 0.3) <= 1e-9 and velocity_result.success
    soft = robot.velocity_for(lw.ik.JointVelocityTask("elbow", weight=1e3, name="elbow"), q, DT, elbow=0.3)
    assert np.abs(soft.v - 0.3 * np.eye(7)[3]).max() <= 1e-6
    target = robot.centroidal_momentum_matrix(q) @ np.linspace(-0.2, 0.2, 7)
    moved = robot.velocity_for(lw.ik.MomentumTask(), q, DT, momentum=target)
    assert moved.success and np.abs(robot.centroidal_momentum_matrix(q) @ moved.v - target).max() <= 1e-5
    bare = skater().without_constraints()
    body = lw.ik.PositionTask("body", weight=1.0, name="place")
    for weight in (None, 1e3):
        rolled = lw.ik.ConstraintTask(lw.constraints.KnifeEdge("body"), weight=weight)
        velocity_result = bare.velocity_for([rolled, body], bare.neutral(), DT, place=[0.01, 0.01, 0.0])
        assert abs((bare.jacobian(bare.neutral(), "body") @ velocity_result.v)[4]) <= 1e-5
    with pytest.raises(ValueError, match="velocity task"):
        robot.velocity_for([joint, hand], q, DT, gain={"elbow": 0.5}, elbow=0.3, hand=position)


@pytest.mark.slow(every=5)
def test_floating_base_in_differential_ik_accelerates_within_limits():
    links = '<link name="world"/><link name="body"/><link name="arm"/>'
    text = (
        f'<robot name="r">{links}<joint name="base" type="floating"><parent link="world"/><child link="body"/></joint>'
        '<joint name="j" type="revolute"><parent link="body"/><child link="arm"/><origin xyz="0.3 0 0"/>'
        '<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="3"/></joint></robot>'
    )
    robot = lw.Robot.from_urdf_string(text)
    base = robot.joints[0]
    most = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 0.5])
    step = lw.ik.DifferentialIK(
        robot, lw.ik.PoseTask("arm", weight=1.0, name="X"), DT, motion_limits={"acceleration": {base.name: most}}
    )
    q, v = robot.neutral(), np.zeros(robot.nv)
    X = robot.pose(q, "arm") @ lw.pose((1.0, -2.0, 3.0), rpy=(0.5, 1.0, -1.5))
    for _ in range(60):
        last, v = v, step.step(q, X, v_last=v)
        assert (np.abs(v - last)[base.v_slice] <= most * DT * (1.0 + 1e-12)).all()
        q = robot.integrate(q, v * DT)
    assert np.abs(v[base.v_slice]).max() > 0.25


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("name", ["arm7", "arm6"])
def test_differential_ik_velocities_never_leave_limits_even_by_rounding(name):
    """3000 random states within limits, at them and beyond."""
    robot, rng = lw.load(name), np.random.default_rng(1)
    frame = max(robot.tree.frames, key=lambda frame: frame.body).name
    span = robot.upper - robot.lower
    lower, upper = (
        robot.lower + span * rng.uniform(0, 0.4, robot.nq),
        robot.upper - span * rng.uniform(0, 0.4, robot.nq),
    )
    q = rng.uniform(lower, upper, (3000, robot.nq))
    near = np.power(10.0, rng.uniform(-16, -1, q.shape)) * rng.choice([-1.0, 0.0, 1.0], q.shape)
    kind = rng.integers(0, 4, q.shape)
    q = np.where(kind == 0, upper + near, np.where(kind == 1, lower + near, q))
    X = robot.pose(robot.random_configuration(seed=2, size=3000), frame)
    for tasks in (lw.ik.PoseTask(frame, weight=1.0, name="X"), lw.ik.PoseTask(frame, name="X")):
        for dt in (0.003, 0.01):
            limits = {"position": (lower, upper), "velocity": False}
            velocity_result = robot.velocity_for(tasks, q, dt, motion_limits=limits, X=X)
            after = robot.integrate(q, velocity_result.v * dt)
            assert (after >= lower).all() and (after <= upper).all()
            assert (velocity_result.active != 0).any(axis=0).all()


@pytest.mark.slow(every=9)
def test_support_polygon_task_accepts_frames_in_any_order():
    """Vertices are sorted by their angles."""
    robot = lw.load("quadruped")
    feet = [frame for frame in robot.frames if frame.endswith("shank")]
    assert len(feet) == 4
    q = robot.random_configuration(seed=1, size=20)
    rows = []
    for order in ((0, 1, 3, 2), (0, 1, 2, 3), (3, 0, 2, 1), (2, 1, 0, 3)):
        task = lw.ik.SupportPolygonTask([feet[i] for i in order], relative_to=robot.links[0].name)
        rows.append(np.sort(robot.ik_problem(task).residual_and_jacobian(q)[0], axis=-1))
    for row in rows[1:]:
        assert np.abs(rows[0] - row).max() <= 1e-12
    assert robot.ik_problem(task).solve(robot.neutral()).status == "solved"


def gap(k):
    """The pin's gap in the crank's axes, whose row across the plane is zero, or rounding."""
    apart = k.point("first", "crank") - k.point("second", "crank")
    return [apart[0], apart[1], apart[2]]


def pinned_by_function():
    robot = linkage().with_point("first", "end", (0, 0, 0)).with_point("second", "tip", (0, 0, 0))
    open_one = lw.Robot(replace(robot.tree, constraints=()))
    return open_one.with_constraints(lw.constraints.Holonomic("gap", gap))


LINKAGES = {"linkage": linkage, "gap": pinned_by_function, "five_bar": five_bar}
FEW = [pytest.param(name, marks=pytest.mark.slow(every=5)) for name in ("linkage", "gap", "five_bar", "fourbar")]
MANY = [pytest.param(name, marks=pytest.mark.slow(every=12)) for name in ("leg", "delta", "stewart")]


@pytest.mark.parametrize("name", [*FEW, *MANY])
def test_differential_ik_velocity_does_not_change_if_the_world_is_rotated(name):
    """Rows that are zero in coordinate planes are rounding errors in rotated planes."""
    robot = LINKAGES[name]() if name in LINKAGES else lw.load(name)
    q = robot.assemble(robot.random_configuration(seed=2)).q if name in LINKAGES else begun(robot)
    frame = max(robot.tree.frames, key=lambda frame: frame.body).name
    tasks = [lw.ik.PositionTask(frame, name="p", weight=1.0), lw.ik.PostureTask(name="near", weight=0.1, level=1)]
    results = []
    for X in (Pose.identity(), random_pose(np.random.default_rng(0))):
        tree = turned(robot.tree, X)
        frames = [
            replace(result, placement=Pose.identity()) if result.name == "world" else result for result in tree.frames
        ]
        moved = lw.Robot(replace(tree, frames=tuple(frames)))
        p = moved.pose(q, frame) @ [0.02, -0.01, 0.03, 1.0]
        near = robot.integrate(q, np.full(robot.nv, 0.1))
        results.append(moved.velocity_for(tasks, q, DT, gain=0.1, motion_limits=False, p=p[:3], near=near))
    v, again = (result.v for result in results)
    assert np.abs(v).max() > 1e-3
    assert np.abs(again - v).max() <= 1e-8 * (1.0 + np.abs(v).max())
    assert np.abs(left_open(robot, q, again)).max() <= 1e-9
