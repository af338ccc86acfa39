"""Robots share the kernel of a function only if it has the same program for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.kernels.function_kernels import _content
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.robot.robot_table import ROBOT, robot_owner
from oracles.scalars import names_for


def arm() -> lw.Robot:
    limits = {"lower": -1.0, "upper": 1.5, "velocity": 2.0, "effort": 10.0}
    joints = (
        lw.Joint.of(lw.joints.Revolute((0.0, 0.6, 0.8)), name="j0", parent="base", child="l0", **limits),
        lw.Joint.of(lw.joints.Prismatic((0.6, 0.0, 0.8)), name="j1", parent="l0", child="l1", **limits),
    )
    links = [
        lw.Link(name, mass=mass, com=(0.11, -0.07, 0.05), inertia=np.diag([0.31, 0.23, 0.27]))
        for name, mass in (("base", 1.0), ("l0", 1.3), ("l1", 0.7))
    ]
    return lw.Robot.build("arm", [*links, *joints])


def resisting(robot: lw.Robot) -> lw.Robot:
    joint = robot.joints[1].with_damping(0.3).with_friction(0.1).with_stiffness(5.0).with_armature(0.2)
    return robot.with_joint(joint)


def of_joint(edit: Callable[[lw.Joint], lw.Joint]) -> Callable[[lw.Robot], lw.Robot]:
    return lambda robot: robot.with_joint(edit(robot.joints[1]))


EDITS: dict[str, Callable[[lw.Robot], lw.Robot]] = {
    "damping": of_joint(lambda j: j.with_damping(0.7)),
    "friction": of_joint(lambda j: j.with_friction(0.7)),
    "static friction": of_joint(lambda j: j.with_friction(0.7).with_static_friction(0.9)),
    "friction velocity": of_joint(lambda j: j.with_friction(0.7).with_friction_velocity(0.3)),
    "stiffness": of_joint(lambda j: j.with_stiffness(0.7)),
    "armature": of_joint(lambda j: j.with_armature(0.7)),
    "gear ratio": of_joint(lambda j: j.with_gear_ratio(7.0)),
    "position limits": of_joint(lambda j: j.with_position_limits(-0.3, 0.4)),
    "no position limits": of_joint(lambda j: j.with_position_limits_enabled(False)),
    "velocity limit": of_joint(lambda j: j.with_velocity_limit(0.7)),
    "effort limit": of_joint(lambda j: j.with_effort_limit(0.7)),
    "acceleration limit": of_joint(lambda j: j.with_acceleration_limit(0.7)),
    "jerk limit": of_joint(lambda j: j.with_jerk_limit(0.7)),
    "placement": of_joint(lambda j: j.with_placements(placement=lw.pose((0.1, 0.2, 0.3)))),
    "gravity": lambda r: r.with_gravity((0.1, 0.2, -3.0)),
    "inertia": lambda r: r.with_inertia(r.links[-1].name, mass=3.0, com=(0.0, 0.0, 0.1), inertia=np.eye(3)),
    "actuator": lambda r: r.with_actuators(lw.Actuator("motor", {r.joints[0].name: 1.0})),
    "frame": lambda r: r.with_frame("extra", r.links[-1].name, lw.pose((0.1, 0.2, 0.3))),
}


@pytest.mark.slow(every=5)
def test_robots_share_a_kernel_only_if_their_programs_are_equal(drawn: Any) -> None:
    """Functions with their default options, on robots that differ in one value."""
    plain, compared = arm(), 0
    for robot in (plain, resisting(plain), lw.load("fourbar")):
        edited = {label: robot_owner(edit(robot).tree) for label, edit in EDITS.items()}
        owner = robot_owner(robot.tree)
        for name, row in drawn([*ROBOT.items()]):
            required = any(option.required for option in row.options)
            request: Any = (name, *names_for(robot.tree, row, robot.links[-1].name)) if required else name
            requests = {name: read_request(owner, request)}
            content, program = _content(owner, requests), trace_requests(owner, name, requests)
            for label, edited_robot in edited.items():
                requests = {name: read_request(edited_robot, request)}
                if content is not None and _content(edited_robot, requests) == content:
                    compared += 1
                    assert trace_requests(edited_robot, name, requests).arithmetic == program.arithmetic, (name, label)
    assert compared > 50
