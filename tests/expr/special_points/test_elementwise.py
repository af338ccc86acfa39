"""Elementwise functions at special points: values, and forward and reverse derivatives, against mpmath.

A point where a derivative does not exist is a kink; `docs/expressions.md` states the convention there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from compiler.knobs import LEVELS, every_level
from expr.special_points.cases import CASES, EPS, Case, orders_of
from linkwork.compiler.codegen.cpu_backend import CPUBackend
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.trace.trace import trace
from linkwork.expr import adjoint, call, cond, fori_loop, jacobian, linalg, scan, where
from linkwork.expr.arrays.symbol_array import object_array

every_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
Function = Callable[..., Any]


def traced(function: Callable[..., Sequence[Any]], arguments: int, name: str) -> Any:
    """Return the program of a function of one or two numbers."""
    if arguments == 1:
        return trace(lambda x: np.array(function(x), dtype=object), name, {"x": ()})
    return trace(lambda x, y: np.array(function(x, y), dtype=object), name, {"x": (), "y": ()})


def partials(function: Function, scalars: Sequence[Any], reverse: bool) -> list[Any]:
    """Return the value and the partial derivatives of `orders_of`, each as derivative of one of lower order."""
    arguments = len(scalars)
    known = {(0,) * arguments: function(*scalars)}
    for orders in orders_of(arguments):
        k = next(i for i, order in enumerate(orders) if order)
        lower = known[(*orders[:k], orders[k] - 1, *orders[k + 1 :])]
        if reverse:
            known[orders] = adjoint([lower], [scalars[k]], [1.0])[0]
        else:
            known[orders] = jacobian([lower], [scalars[k]])[0][0]
    return list(known.values())


def close(actual: float, exact: float, dtype: type) -> bool:
    """Return True within 1e-9 in float64 and 1e-4 in float32, beyond whose numbers only NaN is wrong."""
    if dtype is np.float32:
        in_range = 1e-30 < abs(exact) < 1e30
        return abs(actual - exact) <= 1e-4 * abs(exact) + 1e-6 if in_range else not math.isnan(actual)
    return actual == exact or abs(actual - exact) <= 1e-9 * abs(exact) + 1e-15


# A function of numbers inside each construct of the language; all have the values and derivatives of the function.
CONTEXTS: dict[str, Callable[[Function], Function]] = {
    "alone": lambda f: f,
    "where": lambda f: lambda *x: where(x[0] == x[0], f(*x), 3.0),
    "cond": lambda f: lambda *x: cond(x[0] == x[0], f, lambda *x: 3.0 * x[0], *x),
    "loop": lambda f: lambda *x: fori_loop(0, 1, lambda k, s: f(*x), 0.0 * x[0]),
    "scan": lambda f: lambda *x: scan(lambda s, _: (f(*x), s), 0.0 * x[0], np.zeros(1))[0],
    "call": lambda f: lambda *x: call(f, *x),
    "solve": lambda f: lambda *x: linalg.solve(np.array([[2.0]]), object_array((1,), [f(*x)]))[0] * 2.0,
}


@every_case
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_derivatives_of_functions_at_special_points_equal_mpmaths(case: Case, dtype: type) -> None:
    """First to third derivatives of functions of one argument, first and second of two, forward and reverse."""
    number = len(orders_of(case.arguments))
    with np.errstate(all="ignore"):
        samples = case.points.astype(dtype).astype(np.float64)
    samples = samples[np.isfinite(samples).all(axis=1)]
    points = [tuple(map(float, p)) for p in samples if case.value(*p) is not None and not case.kinks(*p)]
    program = traced(
        lambda *x: [y for reverse in (False, True) for y in partials(case.function, x, reverse)[1:]],
        case.arguments,
        "derivatives",
    )
    kernel = Kernel(program)
    actual = kernel(*np.transpose(points).astype(dtype)).astype(np.float64)
    wrong = []
    for point, row in zip(points, actual, strict=True):
        for k, orders in enumerate(orders_of(case.arguments)):
            exact = case.derivative(orders, *point)
            for mode, value in (("forward", row[k]), ("reverse", row[number + k])):
                if exact is not None and not close(value, exact, dtype):
                    wrong.append((point, orders, mode, value, exact))
    assert not wrong


@pytest.mark.costly
@every_level
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_of_functions_at_special_points_equal_mpmaths(level: str, dtype: type) -> None:
    """They are right on each instruction set, within 4 units in the last place of the type."""
    eps, tiny = float(np.finfo(dtype).eps), float(np.finfo(dtype).smallest_subnormal)
    for arguments in (1, 2):
        cases = [case for case in CASES if case.arguments == arguments]
        program = traced(lambda *x: [case.function(*x) for case in cases], arguments, "values")  # noqa: B023
        kernel = Kernel(program, backend=CPUBackend(LEVELS[level]))
        with np.errstate(all="ignore"):
            points = cases[0].points.astype(dtype)
        actual = kernel(*points.T)
        wrong = []
        for point, row in zip(points.astype(np.float64), actual.astype(np.float64), strict=True):
            for case, value in zip(cases, row, strict=True):
                exact = case.value(*point) if np.isfinite(point).all() else None
                if exact is None:
                    continue
                with np.errstate(over="ignore"):
                    nearest = float(dtype(exact))
                error = 0.0 if value == nearest else abs(value - exact)
                if not error <= 4.0 * eps * abs(exact) + tiny + case.absolute * eps / EPS:
                    wrong.append((case.name, tuple(point), value, exact))
        assert not wrong


@every_case
@pytest.mark.parametrize("context", [name for name in CONTEXTS if name != "alone"])
def test_derivatives_at_special_points_inside_control_flow_equal_those_outside(case: Case, context: str) -> None:
    """Kinks are included."""
    points = np.transpose(case.points)

    def of(name: str) -> Any:
        function = CONTEXTS[name](case.function)
        modes = (False, True)
        program = traced(lambda *x: [y for r in modes for y in partials(function, x, r)], case.arguments, "context")
        with np.errstate(all="ignore"):
            return Kernel(program).interpret(*points)

    inside, alone = of(context), of("alone")
    finite = np.isfinite(alone)
    assert np.allclose(inside[finite], alone[finite], rtol=1e-12, atol=1e-320)


@every_case
def test_branches_not_taken_do_not_change_derivatives_at_special_points(case: Case) -> None:
    """The value and the derivatives of the other branch may be infinite or NaN."""

    def of(*x: Any) -> list[Any]:
        def chosen(*x: Any) -> Any:
            return where(x[0] == x[0], 2.0 * x[-1], case.function(*x))

        return [y for reverse in (False, True) for y in partials(chosen, x, reverse)[1:]]

    kernel = Kernel(traced(of, case.arguments, "branches"))
    points = case.points if case.arguments == 2 else np.concatenate([case.points, [[math.inf], [-math.inf]]])
    actual = kernel.interpret(*points.T)
    expected = [2.0 * (sum(orders) == 1 == orders[-1]) for orders in orders_of(case.arguments)] * 2
    assert np.array_equal(actual, np.broadcast_to(expected, actual.shape))
