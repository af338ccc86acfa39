"""Loops, branches, calls and tables: refused arguments and their messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.expr import adjoint, array, call, cond, fori_loop, scan, take, tangent, while_loop
from linkwork.expr.scalar.symbol import Graph

LOCATION = r"\S* \(.*test_control_flow_errors\.py:\d+\)"


def refused(function: Callable[..., Any], kind: type[Exception], match: str, *, floats: bool = True) -> None:
    """Check that symbols and floats are refused with one message."""
    with pytest.raises(kind, match=match):
        lw.compile(function, x=())
    if floats:
        with pytest.raises(kind, match=match):
            function(1.5)


def whiled(condition: Any, step: Any, max_iterations: Any = 5, start: Any = lambda x: x) -> Callable[[Any], Any]:
    return lambda x: while_loop(condition, step, start(x), max_iterations=max_iterations).state


def test_loop_conditions_that_are_not_boolean_are_refused() -> None:
    for condition in (lambda s: s, lambda s: None, lambda s: "yes"):
        refused(
            whiled(condition, lambda s: s),
            TypeError,
            f"while_loop: cond_fun: expected a truth value from {LOCATION}, as comp",
        )
    refused(lambda x: cond(x, lambda: x, lambda: x), TypeError, "cond: pred: expected a truth value, as comparisons")

    def several(x):
        return cond(array([x, x]) > 0.0, lambda: x, lambda: x)

    refused(several, TypeError, "cond: pred: expected a truth value", floats=False)


def test_loop_steps_that_return_another_structure_are_refused() -> None:
    for step, start, difference in (
        (lambda s: (s, s), lambda x: x, r"expected a number, got tuple\(0: a number, 1: a number\)"),
        (lambda s: s < 1.0, lambda x: x, "a number became a truth value"),
        (lambda s: np.array([*s, *s]), lambda x: np.array([x, x]), r"expected an array of shape \(2,\), got .* \(4,\)"),
        (lambda s: {"b": s["a"]}, lambda x: {"a": x}, r"expected dict\(a: a number\), got dict\(b: a number\)"),
        (lambda s: {"a": (s["a"][0],)}, lambda x: {"a": (x, x)}, r"\['a'\]: expected tuple"),
    ):
        returned = f"expected {LOCATION} to return a state of the same structure as its argument: {difference}"
        refused(whiled(lambda s: True, step, start=start), TypeError, f"while_loop: body_fun: {returned}")
        refused(
            lambda x, f=step, a=start: scan(lambda s, u: (f(s), u), a(x), np.ones(3)), TypeError, f"scan: f: {returned}"
        )
        refused(
            lambda x, f=step, a=start: fori_loop(0, 3, lambda k, s: f(s), a(x)),
            TypeError,
            f"fori_loop: body_fun: {returned}",
        )
    refused(
        whiled(lambda s: True, lambda s: None),
        TypeError,
        f"while_loop: body_fun: result of {LOCATION}: expected arrays and numbers, got N",
    )
    refused(whiled(lambda s: True, lambda s: s, start=lambda x: (x, "a")), TypeError, r"init\[1\]: expected arrays and")


def test_loop_body_functions_with_wrong_signatures_are_refused() -> None:
    for body in (int, str, lambda x: x):
        refused(lambda x, f=body: fori_loop(0, 3, f, x), TypeError, r"^fori_loop: body_fun: expected a .*\(k, state\)")
        refused(lambda x, f=body: scan(f, x, length=3), TypeError, r"^scan: f: expected a function of \(carry, x\)")
    for body in (dict, lambda: 0.0):
        refused(whiled(lambda s: True, body), TypeError, "^while_loop: body_fun: expected a function of the state")
        refused(whiled(body, lambda s: s), TypeError, "^while_loop: cond_fun: expected a function of the state")


def test_loop_bounds_that_are_not_integer_constants_are_refused() -> None:
    with pytest.raises(TypeError, match="max_iterations"):
        while_loop(lambda s: True, lambda s: s, 1.0)  # type: ignore[call-arg]
    known = "expected an integer >= 0 that is known at trace time, got"
    for bound in (-1, 2.5, None, "5"):
        refused(
            whiled(lambda s: True, lambda s: s, bound), ValueError, f"while_loop: max_iterations: {known} {bound!r}"
        )
    refused(lambda x: whiled(lambda s: True, lambda s: s, x)(x), ValueError, f"max_iterations: {known}")
    refused(lambda x: fori_loop(0, x, lambda k, s: s, x), ValueError, f"fori_loop: upper: {known}")
    refused(lambda x: scan(lambda s, u: (s, u), x, length=x), ValueError, f"scan: length: {known}")
    for segments in (0, 4):
        refused(
            lambda x, k=segments: scan(lambda s, u: (s, u), x, np.ones(3), segments=k),
            ValueError,
            "from 1 to 3",
        )


def test_loops_that_would_store_too_much_for_derivatives_are_refused() -> None:
    """Long loops are refused only if they store something of every step."""
    many = 10**9
    outputs = lambda x: scan(lambda s, _: (s * s, s), x, length=many)[1]  # noqa: E731
    gradient = lambda x: adjoint([fori_loop(0, many, lambda k, s: s * s, x)], [x], [1.0])[0]  # noqa: E731
    message = r"(?s)1000000000 steps that store 1 number each.* segments=k.*\n    at .*test_control_flow_errors\.py:\d+"
    for function in (outputs, gradient):
        refused(function, ValueError, message, floats=False)
    linear = lambda x: fori_loop(0, many, lambda k, s: 0.5 * s + k, x)  # noqa: E731
    for derivative in (tangent, adjoint):
        lw.compile(lambda x, d=derivative: (linear(x), d([linear(x)], [x], [1.0])[0]), x=())


def test_scan_inputs_of_different_lengths_are_refused() -> None:
    def step(s, u):
        return (s, None)

    prefix = "scan: xs and length: expected equal numbers of steps, got"
    for inputs, length, lengths in (
        ((np.ones(4), np.ones(3)), None, r"4 \(xs\['0'\]\), 3 \(xs\['1'\]\)"),
        (np.ones(4), 5, r"4 \(xs\), 5 \(length\)"),
        (None, None, "neither xs nor a length"),
    ):
        refused(lambda x, i=inputs, n=length: scan(step, x, i, length=n), ValueError, f"{prefix} {lengths}")
    refused(lambda x: scan(step, x, x), ValueError, "xs: expected an array .*, an entry for each step, got a number")
    refused(
        lambda x: scan(lambda s, u: s, x, np.ones(3)), TypeError, rf"expected {LOCATION} to return \(state, output\)"
    )


def test_cond_branches_that_return_different_structures_are_refused() -> None:
    for branch, message in (
        (lambda x: (x, x), "expected a number, got tuple"),
        (lambda x: x > 0.0, "one returns a truth value"),
        (lambda x: None, "expected arrays and numbers, got None"),
    ):
        refused(
            lambda x, f=branch: cond(x > 0.0, lambda: x, lambda: f(x)), TypeError, f"cond: .*{message}", floats=False
        )
    with pytest.raises(TypeError, match=r"cond: .*expected dict\(a: a number, b: a number\), got dict\(b: a number"):
        cond(np.array([True, False]), lambda: {"a": 1.0, "b": 2.0}, lambda: {"b": 4.0, "a": 3.0})


def test_symbols_of_other_traces_are_refused_in_loops() -> None:
    foreign = Graph().input("other")
    for function in (
        whiled(lambda s: s > 0.0, lambda s: s - foreign),
        lambda x: fori_loop(0, 3, lambda k, s: s * foreign, x),
        lambda x: cond(x > 0.0, lambda: x, lambda: foreign),
        lambda x: call(lambda a: a + foreign, x),
    ):
        refused(function, ValueError, "symbols of two traces cannot be combined", floats=False)


def test_symbols_used_outside_of_their_loop_are_refused() -> None:
    def leaving(run: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            leaked: list[Any] = []

            def step(*arguments: Any) -> Any:
                s = arguments[-1]
                leaked.append(2.0 * s)
                return s - 1.0

            return run(step, x) + leaked[0]

        return function

    loops: dict[str, Callable[[Any, Any], Any]] = {
        "the state of while_loop of": lambda step, x: while_loop(lambda s: s > 0.0, step, x, max_iterations=3).state,
        "the state of scan of": lambda step, x: fori_loop(0, 3, step, x),
        "the arguments of": lambda step, x: call(step, x),
    }
    for kind, run in loops.items():
        message = rf"{kind} .*step \(.*\) is used outside of its loop or call, where it has no value: return it"
        refused(leaving(run), ValueError, message, floats=False)
        inside = leaving(run)
        refused(lambda x, f=inside: fori_loop(0, 2, lambda k, s: f(s), x), ValueError, message, floats=False)


def test_python_conditions_indices_and_recursion_on_symbols_are_refused_in_loops() -> None:
    def step(s: Any) -> Any:
        return s - 1.0 if s > 3.0 else s - 2.0

    refused(
        whiled(lambda s: s > 0.0, step),
        TypeError,
        "no truth value while a function is traced: write where",
        floats=False,
    )
    refused(lambda x: [1.0, 2.0][x], TypeError, r"take\(table, index\)", floats=False)

    def again(x: Any) -> Any:
        return call(again, x - 1.0)

    def even(x: Any) -> Any:
        return call(lambda y: call(even, y), x)

    for function in (again, even):
        with pytest.raises(
            RecursionError, match=rf"{function.__name__} \(.*calls itself: compiled code cannot recurse"
        ):
            lw.compile(lambda x, f=function: call(f, x), x=())
    assert float(lw.compile(lambda x: call(abs, x), x=())(-2.0)) == 2.0


def test_invalid_tables_and_arguments_of_take_are_refused() -> None:
    for table, kind, got in (
        (np.zeros(0), ValueError, r"an array of shape \(0,\)"),
        (2.0, ValueError, "a number"),
        ({"a": np.ones(3)}, ValueError, "dict"),
        ("abc", TypeError, "'abc'"),
    ):
        refused(lambda x, t=table: take(t, x), kind, f"take: table: .*, got {got}")
    refused(lambda x: take(np.ones(3), np.array([x, x], dtype=object)), TypeError, "take: index: expected a number")
    refused(lambda x: call(lambda a, b: a, x, "b"), TypeError, r"call: arguments\[1\]: expected arrays and numbers")
