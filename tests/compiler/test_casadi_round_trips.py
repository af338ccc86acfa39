"""Conversion to CasADi and back: random expressions, whole robots, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import linkwork as lw
from compiler.support import bits_equal
from helpers.examples import examples
from helpers.expressions import CONSTANTS, KINKED, Recipe, UndecidedError, build, points, recipes, rounding
from linkwork.compiler.casadi.from_casadi import from_casadi
from linkwork.compiler.casadi.to_casadi import to_casadi
from linkwork.compiler.program import Port, Program
from linkwork.compiler.trace.trace import compile
from linkwork.expr import fabs, lt, where
from linkwork.expr.scalar.symbol import Graph, Symbol
from linkwork.robot.robot_table import ROBOT
from oracles.scalars import Direct

ca = pytest.importorskip("casadi")


def allowance(outputs: list[Any], symbols: list[Symbol], x: list[float]) -> np.ndarray:
    """Bound the rounding error of the outputs; points at which rounding decides a branch are left out."""
    try:
        return 4.0 * (rounding(outputs, dict(zip(symbols, x, strict=True))) + 2.0) * 2.0**-52
    except UndecidedError:
        assume(False)
        raise


@given(st.lists(recipes(KINKED), min_size=1, max_size=3), points(3))
@settings(max_examples=examples(60))
def test_random_expressions_are_equal_after_conversion_to_casadi_and_back(steps: list[Recipe], x: list[float]) -> None:
    graph = Graph()
    symbols = graph.inputs("x", (3,))
    outputs = [where(lt(fabs(e), 1e6), e, 0.0) for e in (build(recipe, symbols) for recipe in steps)]
    program = Program.of("f", [(Port("x", (3,)), symbols)], [(Port("y", (len(outputs),)), outputs)])
    allowed = allowance(outputs, symbols, x)
    expected = program.interpret(np.array(x))[0]
    function = to_casadi(program)
    assert np.all(abs(np.array(function(x)).ravel() - expected) <= allowed)
    back = from_casadi(function)
    assert np.all(abs(np.reshape(back(np.array(x)), -1) - expected) <= allowed)


@pytest.mark.slow
@given(recipes(KINKED, most=6), points(2))
@settings(max_examples=60)
def test_random_casadi_expressions_have_equal_values_after_conversion(recipe: Recipe, x: list[float]) -> None:
    symbols = ca.SX.sym("x", 2)
    expression = build(recipe, symbols.elements(), [ca.SX(k) for k in CONSTANTS])
    function = ca.Function("f", [symbols], [expression])
    twins = Graph().inputs("x", (2,))
    allowed = allowance([build(recipe, twins)], twins, x)[0]
    expected = float(function(x))
    assume(np.isfinite(expected))
    assert abs(float(from_casadi(function)(np.array(x))) - expected) <= allowed


def test_arithmetic_has_equal_bits_after_conversion_to_casadi_and_back() -> None:
    def step(x: Any) -> Any:
        y = x[0] * x[1] - x[2] / (1.0 + x[0] * x[0])
        return np.array([y, where(x[1] < x[2], y * y, -y), fabs(y) ** 0.5 - np.floor(y)])

    kernel = compile(step, x=3)
    back = from_casadi(kernel.to_casadi())
    x = np.random.default_rng(0).normal(size=(100, 3))
    assert bits_equal(back.interpret(x), kernel.interpret(x))


# -- robots


def state(robot: Any, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [robot.random_configuration(seed=seed), rng.normal(size=robot.nv), rng.normal(size=robot.nv)]


@pytest.mark.parametrize("name", ["arm7", "quadruped"])
@pytest.mark.parametrize("function_name", ["inverse_dynamics", "forward_dynamics", "mass_matrix", "forward_kinematics"])
def test_robot_functions_are_equal_after_conversion_to_casadi_and_back(name: str, function_name: str) -> None:
    robot = lw.load(name)
    kernel = robot.compile(function_name)
    arguments = state(robot)[: len(kernel.inputs)]
    expected = kernel(*arguments)
    function = kernel.to_casadi()
    assert function.name_in() == [port.name for port in kernel.inputs]
    values = np.array(function(*arguments)).reshape(expected.shape)
    scale = abs(expected).max()
    assert np.allclose(values, expected, rtol=1e-11, atol=1e-12 * scale)
    back = from_casadi(function)
    assert np.allclose(np.reshape(back(*arguments), expected.shape), expected, rtol=1e-11, atol=1e-12 * scale)


def test_kernels_of_several_robot_functions_are_converted_to_casadi() -> None:
    robot = lw.load("arm7")
    kernel = robot.compile(["mass_matrix", "bias_force"])
    q, v, _ = state(robot)
    results = kernel.to_casadi()(q=q, v=v)
    assert np.allclose(np.array(results["mass_matrix"]), kernel(q, v).mass_matrix, rtol=1e-12)
    assert np.allclose(np.array(results["bias_force"]).ravel(), kernel(q, v).bias_force, rtol=1e-12, atol=1e-12)


@pytest.mark.slow(every=3)
def test_casadi_derivatives_of_robot_functions_can_be_compiled_and_are_correct() -> None:
    robot = lw.load("arm7")
    kernel = robot.compile("inverse_dynamics")
    arguments = state(robot)
    derivative = kernel.to_casadi().jacobian()
    by_q, by_v, by_a = (np.array(part) for part in derivative(*arguments, np.zeros(7)))
    assert np.allclose(by_a, robot.mass_matrix(arguments[0]), rtol=1e-12, atol=1e-12)
    h = 1e-6
    for k, by_input in enumerate((by_q, by_v)):
        for column in range(7):
            apart = [np.array(a) for a in arguments]
            apart[k] = arguments[k] + h * np.array([[1.0], [-1.0]]) * np.eye(7)[column]
            plus, minus = kernel(*apart)
            assert np.allclose(by_input[:, column], (plus - minus) / (2 * h), rtol=1e-6, atol=1e-6)
    compiled = from_casadi(derivative)
    batch = [np.stack([a, a + 0.1]) for a in arguments]
    result = compiled(*batch, np.zeros(7))  # CasADi's jacobian takes the outputs too, as a sparse array of nothing
    for part, by_input in zip(result, (by_q, by_v, by_a), strict=True):
        assert np.allclose(part[0], by_input, rtol=1e-11, atol=1e-12)


def test_casadi_matrix_function_that_calls_a_robot_function_can_be_compiled() -> None:
    """Kernels are called on MX, as CasADi's optimal control is written."""
    robot = lw.load("arm7")
    dynamics = robot.compile("forward_dynamics").to_casadi()
    x, u = ca.MX.sym("x", 14), ca.MX.sym("u", 7)
    q, v = x[:7], x[7:]
    step = ca.Function("step", [x, u], [ca.vertcat(q + 0.01 * v, v + 0.01 * dynamics(q, v, u))], ["x", "u"], ["next"])
    kernel = from_casadi(step)
    assert repr(kernel) == "<Kernel step: x(14), u(7) -> next(14)>"
    q0, v0, tau = state(robot)
    expected = np.concatenate([q0 + 0.01 * v0, v0 + 0.01 * robot.forward_dynamics(q0, v0, tau)])
    assert np.allclose(kernel(np.concatenate([q0, v0]), tau), expected, rtol=1e-11, atol=1e-11)


def test_mechanics_algorithms_evaluated_on_casadi_symbols_equal_compiled_functions() -> None:
    """A function that CasADi's operators built equals the robot's own."""
    robot = lw.load("arm7")
    q, v, a = (ca.SX.sym(name, 7) for name in "qva")
    tau = ROBOT["inverse_dynamics"].compute(robot.tree, *(x.elements() for x in (q, v, a)))
    kernel = from_casadi(ca.Function("rnea", [q, v, a], [ca.vertcat(*tau)], ["q", "v", "a"], ["tau"]))
    arguments = state(robot)
    assert np.allclose(kernel(*arguments), robot.inverse_dynamics(*arguments), rtol=1e-12, atol=1e-12)
    assert np.allclose(kernel(*arguments), Direct(robot.tree, "floats").inverse_dynamics(*arguments), rtol=1e-12)


def test_casadi_functions_built_by_pinocchio_can_be_compiled() -> None:
    """Pinocchio's algorithms over CasADi symbols, where it was built with them."""
    pinocchio = pytest.importorskip("pinocchio")
    symbolic = pytest.importorskip("pinocchio.casadi")
    model = pinocchio.buildSampleModelManipulator()
    twin = symbolic.Model(model)
    q, v, a = (ca.SX.sym(name, n) for name, n in (("q", model.nq), ("v", model.nv), ("a", model.nv)))
    tau = symbolic.rnea(twin, twin.createData(), q, v, a)
    kernel = from_casadi(ca.Function("rnea", [q, v, a], [tau], ["q", "v", "a"], ["tau"]))
    rng = np.random.default_rng(0)
    x = [rng.normal(size=n) for n in (model.nq, model.nv, model.nv)]
    assert np.allclose(kernel(*x), pinocchio.rnea(model, model.createData(), *x), rtol=1e-11, atol=1e-11)
