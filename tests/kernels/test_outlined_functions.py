"""Outlined functions of robots equal the straight-line code, for every joint type and shape of tree."""

from __future__ import annotations

import importlib
from typing import Any
from unittest import mock

import numpy as np
import pytest

import linkwork as lw
from compiler.knobs import num_threads, outlining
from linkwork.compiler.kernel import Kernel, source_and_code
from linkwork.compiler.outlined_calls import OUTLINED_CALLS, OutlinedCalls
from linkwork.compiler.passes import optimize
from linkwork.compiler.prepared_code import make_ready
from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace
from linkwork.joints import ALL, Floating, Revolute, Spherical
from linkwork.kernels.function_request import read_request
from linkwork.kernels.function_trace import trace_requests
from linkwork.model.random_tree import random_tree
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import robot_owner

COUPLED = """<robot name="coupled"><link name="base"/>{}</robot>"""


def traced(tree: Tree, *requests_of: Any) -> Program:
    subject = robot_owner(tree)
    requests = {f"out{k}": read_request(subject, name) for k, name in enumerate(requests_of)}
    return trace_requests(subject, "function", requests)


def outlined(program: Program) -> Kernel:
    with outlining():
        kernel = Kernel(program)
        make_ready(kernel)
        assert rows_in(kernel)
    return kernel


def rows_in(kernel: Kernel) -> OutlinedCalls:
    (calls,) = (i.value for i in kernel.program.instructions if i.operation is OUTLINED_CALLS)
    assert isinstance(calls, OutlinedCalls)
    return calls


def states(tree: Tree, program: Program, count: int) -> list[np.ndarray]:
    rng, robot = np.random.default_rng(7), lw.Robot(tree)
    return [
        np.stack([robot.random_configuration(rng) for _ in range(count)])
        if port.name in ("q", "q0", "q1")
        else rng.normal(size=(count, *port.shape))
        for port in program.inputs
    ]


def check(tree: Tree, *requests_of: Any, rtol: float = 1e-11) -> Kernel:
    """Compare outlined code with the interpreted straight-line code, for one state and a batch."""
    program = traced(tree, *requests_of)
    kernel, arrays = outlined(program), states(tree, program, 21)
    together, expected = kernel(*arrays), program.interpret(*arrays)
    alone = kernel(*(x[5] for x in arrays))
    for got, right, single in zip(
        *(x if isinstance(x, tuple) else (x,) for x in (together, expected, alone)), strict=True
    ):
        scale = np.abs(right).max() + 1.0
        np.testing.assert_allclose(got, right, rtol=0.0, atol=rtol * scale, err_msg=f"{requests_of} of {tree}")
        np.testing.assert_array_equal(single, got[5])
    return kernel


def coupled(joints: int) -> Tree:
    """A chain in which every third joint follows the one before it."""
    text = "".join(
        f'<link name="l{k}"><inertial><origin xyz="0.1 -0.02 0.03"/><mass value="{1 + 0.1 * k}"/><inertia ixx="0.01" '
        f'iyy="0.02" izz="0.015" ixy="0" ixz="0.001" iyz="0"/></inertial></link><joint name="j{k}" type="revolute">'
        f'<parent link="{f"l{k - 1}" if k else "base"}"/><child link="l{k}"/><origin xyz="0.2 0.1 {0.01 * k}"/>'
        f'<axis xyz="0 {k % 2} {1 - k % 2}"/><limit lower="-1" upper="1" effort="1" velocity="1"/>'
        + (f'<mimic joint="j{k - 1}" multiplier="-0.5" offset="0.1"/>' if k % 3 == 2 else "")
        + "</joint>"
        for k in range(joints)
    )
    return lw.Robot.from_urdf_string(COUPLED.format(text), mimic="coupled").tree


@pytest.mark.slow
def test_outlined_functions_of_all_joint_types_equal_straight_line_code() -> None:
    for shape in ("random", "chain", "star"):
        tree = random_tree(np.random.default_rng(3), len(ALL) + 2, shape=shape)  # type: ignore[arg-type]
        for function in ("inverse_dynamics", "forward_dynamics", "forward_kinematics", "integrate"):
            check(tree, function)
        if shape == "random":
            check(tree, "mass_matrix")
        check(tree, "difference", ("jacobian", "body9"), ("acceleration", "tool3"))


@pytest.mark.slow(every=5)
def test_outlined_steps_of_equal_joints_share_few_functions() -> None:
    tree = random_tree(np.random.default_rng(1), 30, types=[Spherical])
    for function, most in (("inverse_dynamics", 12), ("forward_dynamics", 40)):
        kernel = check(tree, function)
        assert len(rows_in(kernel).bodies) <= most
        assert kernel.program.arithmetic >= kernel.arithmetic


def test_outlined_mass_matrices_call_few_functions_for_many_pairs_of_joints() -> None:
    rows = rows_in(check(random_tree(np.random.default_rng(1), 20, types=[Revolute], shape="chain"), "mass_matrix"))
    assert len(rows.calls) > 200 > 4 * len(rows.bodies)


def test_outlined_functions_of_coupled_joints_equal_straight_line_code() -> None:
    tree = coupled(12)
    assert tree.has_couplings
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        check(tree, function)


def test_robot_functions_called_in_user_functions_are_outlined() -> None:
    robot = lw.Robot(random_tree(np.random.default_rng(2), 12, types=[Spherical]))

    def energy_rate(q, v):
        return v @ (robot.mass_matrix(q) @ v) + robot.bias_force(q, v)[0]

    arrays = [robot.random_configuration(np.random.default_rng(0), size=9), np.ones((9, robot.nv))]
    with outlining():
        kernel = lw.compile(energy_rate, q=(robot.nq,), v=(robot.nv,))
        rates = kernel(*arrays)
        assert len(rows_in(kernel).calls) > 2 * len(rows_in(kernel).bodies)
    np.testing.assert_allclose(rates, kernel.interpret(*arrays), rtol=1e-11)


@pytest.mark.slow(every=5)
@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_derivatives_of_outlined_kernels_equal_the_interpreter(function: str) -> None:
    for types, shape in (([Spherical], "random"), ([Revolute], "chain")):
        robot = lw.Robot(random_tree(np.random.default_rng(2), 8, types=types, shape=shape))  # type: ignore[arg-type]
        with outlining():
            kernel = robot.compile(function)
            for derived in (kernel.vjp(), kernel.jvp("q", "v")):
                program = source_and_code(derived)[0].traced
                arrays = states(robot.tree, program, 9)
                actual, expected, alone = derived(*arrays), derived.interpret(*arrays), derived(*(x[4] for x in arrays))
                rows = rows_in(derived)
                assert len(rows.bodies) < 0.9 * len(rows.calls) or shape == "chain"
                for value, reference, single in zip(*map(listed, (actual, expected, alone)), strict=True):
                    np.testing.assert_allclose(value, reference, rtol=0.0, atol=1e-11 * (np.abs(reference).max() + 1.0))
                    np.testing.assert_array_equal(single, value[4])


def listed(result: Any) -> tuple[np.ndarray, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.slow(every=5)
def test_outlined_derivatives_of_inverse_dynamics_share_functions_for_pairs_of_joints() -> None:
    tree = random_tree(np.random.default_rng(1), 24, types=[Revolute], shape="chain")
    rows = rows_in(check(tree, "inverse_dynamics_derivatives"))
    assert len(rows.calls) > 24 * 23 / 2 > 6 * len(rows.bodies)


@pytest.mark.slow(every=5)
def test_straight_line_code_before_a_loop_is_outlined() -> None:
    """Derivatives of forward dynamics of long chains are solved column by column, in a loop."""
    module = importlib.import_module("linkwork.dynamics.algorithms.mass_matrix_inverse")
    tree = random_tree(np.random.default_rng(1), 10, types=[Revolute], shape="chain")
    with mock.patch.multiple(module, _LONG=-1, _PER_VELOCITY=1):
        kernel = check(tree, "forward_dynamics_derivatives", rtol=1e-9)
    names = [i.operation.name for i in kernel.program.instructions if i.operation.arity < 0]
    assert names == ["outlined_calls", "loop"]
    assert len(kernel.program.instructions) < 0.1 * kernel.arithmetic


def test_comparisons_before_a_loop_are_repeated_after_it_in_outlined_code() -> None:
    """Comparisons are no floats: they are computed again from stored values."""
    robot = lw.Robot(random_tree(np.random.default_rng(5), 12, types=[Revolute], shape="chain"))

    def condition_after_loop(q: Any, v: Any, a: Any) -> Any:
        tau = robot.inverse_dynamics(q, v, a)
        total, _ = lw.scan(lambda s, x: (0.5 * s + x, None), tau[0], tau)
        positive = tau[1] > 0.0
        return np.where(np.logical_or(positive, tau[2] > tau[3]), total, -total)

    q, v, a = np.random.default_rng(6).normal(size=(3, 20, robot.nv))
    program = trace(condition_after_loop, "asked", {"q": robot.nq, "v": robot.nv, "a": robot.nv})
    kernel = outlined(program)
    assert np.allclose(kernel(q, v, a), program.interpret(q, v, a)[0], rtol=1e-12, atol=1e-12)


def test_guards_do_not_change_results_of_outlined_functions() -> None:
    tree = random_tree(np.random.default_rng(2), 12, types=[Spherical, Floating])
    program = traced(tree, "inverse_dynamics")
    assert program.guards == 12
    guarded, plain = outlined(program), outlined(without_guards(program))
    arrays = states(tree, program, 9)
    np.testing.assert_array_equal(guarded(*arrays), plain(*arrays))


def without_guards(program: Program) -> Program:
    count = len(program.results) - program.guards
    needed = sorted(program.needed(program.results[:count]))
    number = {k: n for n, k in enumerate(needed)}
    marks = tuple(sum(k < mark for k in needed) for mark in program.marks)
    instructions = [program.instructions[k] for k in needed]
    instructions = [i._replace(args=tuple([number[a] for a in i.args])) for i in instructions]
    results = tuple([number[r] for r in program.results[:count]])
    return Program(program.name, program.inputs, program.outputs, tuple(instructions), results, 0, marks)


@pytest.mark.slow(every=5)
def test_outlined_functions_give_equal_bits_with_several_threads() -> None:
    tree = random_tree(np.random.default_rng(1), 12, types=[Revolute], shape="chain")
    program = traced(tree, "forward_dynamics")
    kernel, arrays = outlined(program), states(tree, program, 4000)
    with num_threads(1):
        alone = kernel(*arrays)
    with num_threads(3):
        np.testing.assert_array_equal(kernel(*arrays), alone)


def test_outlined_functions_in_float32_are_close_to_float64() -> None:
    tree = random_tree(np.random.default_rng(1), 12, types=[Revolute], shape="chain")
    program = traced(tree, "inverse_dynamics")
    kernel, arrays = outlined(program), states(tree, program, 21)
    single_results, expected = kernel(*(x.astype(np.float32) for x in arrays)), kernel(*arrays)
    assert single_results.dtype == np.float32
    np.testing.assert_allclose(single_results, expected, atol=1e-4 * np.abs(expected).max())
    np.testing.assert_array_equal(kernel(*(x[5:6].astype(np.float32) for x in arrays))[0], single_results[5])


@pytest.mark.slow(every=3)
def test_functions_of_large_robots_are_outlined_and_those_of_small_robots_are_not() -> None:
    for bodies, expected in ((20, False), (130, True)):
        program = optimize(traced(random_tree(np.random.default_rng(1), bodies, types=[Spherical]), "inverse_dynamics"))
        assert any(i.operation is OUTLINED_CALLS for i in program.instructions) == expected
