"""The check of functions: those of the table keep the contract, and reports name what breaks it."""

from __future__ import annotations

import math
from types import MappingProxyType

import pytest

import linkwork as lw
from linkwork.kernels.check_function import check_function
from linkwork.model.function_spec import FunctionSpec, Output, table
from linkwork.robot_table import ROBOT

ROBOTS = [lw.load("arm7"), lw.load("quadruped", floating_base=True)]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_kinematics", "power", "kinetic_energy"])
def test_functions_keep_the_contract(robot, name):
    check_function(robot, name).raise_if_failed()


def test_functions_of_frames_and_with_options():
    check_function(ROBOTS[0], "pose", "hand").raise_if_failed()
    check_function(ROBOTS[0], "jacobian", "hand", {"expressed_in": "hand"}).raise_if_failed()
    check_function(ROBOTS[0], "passive_force", {"friction": "stribeck"}).raise_if_failed()


def counted(tree, q, v):
    """Counts its calls: the trace has the first number, and floats another."""
    counted.calls += 1.0
    return [x + counted.calls for x in v]


counted.calls = 0.0


def stepped(tree, q, v):
    return [x + (1e-3 if isinstance(x, float) else 0.0) for x in v]


def without_derivative(tree, q, v):
    from linkwork.expr import floor

    return [math.pi * floor(1e5 * x) * 1e-5 for x in v]


@pytest.mark.parametrize(
    ("compute", "requirement", "message"),
    [
        (counted, "compiled", "counted of sample 0, compiled, is off by"),
        (stepped, "compiled", "off by 0.001"),
        (without_derivative, "derivative", "derivative is off by"),
    ],
)
def test_broken_functions_are_reported(compute, requirement, message):
    rows = table([FunctionSpec.of(compute, "q v", Output(("nv",), "rad/s"), "A function with a defect.")])

    class Broken(lw.Robot):
        _functions = MappingProxyType({**ROBOT, **rows})

    report = check_function(Broken(ROBOTS[0].tree), compute.__name__)
    assert message in {line.name: line.problem for line in report.failures}[requirement]
