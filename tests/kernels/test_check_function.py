"""`check_function`: functions of the table fulfil the contract, and reports name faults."""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from helpers.contracts import assert_sharp
from linkwork.expr import floor
from linkwork.kernels.check_function import check_function
from linkwork.model.function_spec import FunctionSpec, Output, table
from linkwork.robot.robot_table import ROBOT

_counter = itertools.count()
ROBOTS = [lw.load("arm7"), lw.load("quadruped", floating_base=True)]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_kinematics", "power", "kinetic_energy"])
def test_functions_of_robots_fulfil_the_function_contract(robot, name):
    check_function(robot, name).raise_if_failed()


def test_functions_of_frames_and_functions_with_options_fulfil_the_function_contract():
    check_function(ROBOTS[0], "pose", "hand").raise_if_failed()
    check_function(ROBOTS[0], "jacobian", "hand", {"expressed_in": "hand"}).raise_if_failed()
    check_function(ROBOTS[0], "passive_force", {"friction": "stribeck"}).raise_if_failed()


class Broken(lw.Robot):
    """A robot with a function that has a defect of a size."""

    by = 0.0
    _functions: Any


class Traced(Broken):
    """Counts its calls: the trace has the first number, and floats another."""

    calls = 0.0

    @classmethod
    def compute(cls, tree, q, v):
        cls.calls += cls.by
        return [x + cls.calls for x in v]


class Stepped(Broken):
    @classmethod
    def compute(cls, tree, q, v):
        return [x + (cls.by if isinstance(x, float) else 0.0) for x in v]


class Rounded(Broken):
    """A function rounded to multiples of 1e5 ulp of float32, 0.008."""

    @classmethod
    def compute(cls, tree, q, v):
        return [(x + cls.by) - cls.by for x in v]


class WithoutDerivative(Broken):
    @classmethod
    def compute(cls, tree, q, v):
        return [x + floor(1e6 * x) * 1e-6 * cls.by for x in v]


class OwnMethod(Broken):
    @classmethod
    def compute(cls, tree, q, v):
        return [2.0 * x for x in v]

    def method(self, q, v):
        return np.multiply(2.0 + self.by, v)


@pytest.mark.parametrize(
    ("kind", "line", "noticed", "allowed"),
    [
        (Traced, "compiled", 1e-8, 1e-11),
        (Stepped, "compiled", 3e-9, 3e-10),
        (Rounded, "float32", 1e6, 1e4),
        (WithoutDerivative, "derivative", 3e-4, 1e-5),
        (OwnMethod, "method", 1e-15, None),
    ],
)
def test_check_function_names_the_fault_of_a_broken_function(kind, line, noticed, allowed):
    def check(owner):
        def defect(tree, q, v):
            return owner.compute(tree, q, v)

        name = defect.__name__ = f"defect_{next(_counter)}"  # kernels of a robot are found by name
        spec = FunctionSpec.of(defect, "q v", Output(("nv",), "rad/s"), "A function with a defect.")
        owner.functions = MappingProxyType({**ROBOT, **table([spec])})
        if kind is OwnMethod:
            setattr(owner, name, owner.method)
        return check_function(owner(ROBOTS[0].tree), name)

    assert_sharp(check, kind, line, noticed, allowed)
