"""The check of functions: those of the table keep the contract, and reports name what breaks it."""

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

_numbers = itertools.count()
ROBOTS = [lw.load("arm7"), lw.load("quadruped", floating_base=True)]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_kinematics", "power", "kinetic_energy"])
def test_functions_keep_the_contract(robot, name):
    check_function(robot, name).raise_if_failed()


def test_functions_of_frames_and_with_options():
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
    """By 1e5, float32 has steps of 0.008."""

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
def test_broken_functions_are_reported(kind, line, noticed, allowed):
    def check(made):
        def defect(tree, q, v):
            return made.compute(tree, q, v)

        name = defect.__name__ = f"defect_{next(_numbers)}"  # kernels of a robot are found by name
        spec = FunctionSpec.of(defect, "q v", Output(("nv",), "rad/s"), "A function with a defect.")
        made._functions = MappingProxyType({**ROBOT, **table([spec])})
        if kind is OwnMethod:
            setattr(made, name, made.method)
        return check_function(made(ROBOTS[0].tree), name)

    assert_sharp(check, kind, line, noticed, allowed)
