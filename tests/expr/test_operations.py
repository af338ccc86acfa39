"""Table of operations: equal values on all scalars, and right partial derivatives.

The reference is mpmath at 120 digits, for values and, by central differences, for derivatives.
"""

from __future__ import annotations

import itertools
import operator
import pickle
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from helpers.precise import DIGITS, STEP, exactly
from helpers.scalars import EPS, dual_jacobian, every_scalar, symbolic_jacobian
from linkwork.compiler.kernel import Kernel
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar.operations import BY_NAME

NAMES = [name for name, operation in BY_NAME.items() if operation.arity]
DIFFERENTIABLE = [name for name in NAMES if BY_NAME[name].partials is not None and name != "where"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 710.0, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan")]

OPERATORS = {"lt": operator.lt, "le": operator.le}

every_operation = pytest.mark.parametrize("name", NAMES)


def on_truths(name: str, x: Sequence[Any]) -> list[Any]:
    """The arguments; where the operation takes truth values, whether the numbers are negative."""
    return [a < 0.0 if kind == "t" else a for kind, a in zip(BY_NAME[name].kinds, x, strict=True)]


def call(name: str, x: list[Any]) -> Any:
    """The operation on numbers, by Python's operator where it has one."""
    operation = BY_NAME[name]
    return (OPERATORS.get(name) or operation.composition or operation)(*on_truths(name, x))


def samples(name: str, n: int = 40) -> np.ndarray:
    """Random points of the operation's domain; where it compares, some with equal arguments."""
    rng = np.random.default_rng(NAMES.index(name))
    points = np.stack([rng.uniform(low, high, size=n) for low, high in BY_NAME[name].domain], axis=1)
    if name in ("lt", "le", "eq"):
        points[::5, 1] = points[::5, 0]
    return points


def exact(name: str, x: np.ndarray) -> float:
    with mpmath.workdps(DIGITS):
        return float(exactly(name, *on_truths(name, [mpmath.mpf(a) for a in x])))


def exact_partials(name: str, x: np.ndarray) -> list[float]:
    partials = []
    with mpmath.workdps(DIGITS):
        for k in range(len(x)):
            ends = []
            for sign in (1, -1):
                moved = [mpmath.mpf(a) for a in x]
                moved[k] += sign * STEP
                ends.append(exactly(name, *moved))
            partials.append(float((ends[0] - ends[1]) / (2 * STEP)))
    return partials


@every_operation
@every_scalar
def test_operations_have_equal_values_on_all_scalar_types(name: str, run: Any) -> None:
    points = samples(name)
    values = run(lambda x: [call(name, x)], points)[:, 0]
    expected = np.array([exact(name, x) for x in points])
    # the vectorized functions of array libraries are good to four units in the last place
    assert np.all(np.abs(values - expected) <= 4.0 * EPS * np.abs(expected))


@every_operation
def test_python_and_numpy_functions_of_an_operation_agree_also_outside_the_domain(name: str) -> None:
    """Values at and beyond the edges of the domain are included, where Python's math would raise."""
    operation = BY_NAME[name]
    arguments_to_try: list[Any] = [True, False] if "n" not in BY_NAME[name].kinds else SPECIAL
    for arguments in itertools.product(arguments_to_try, repeat=operation.arity):
        if name == "where":
            arguments = (bool(arguments[0] > 0.0), *arguments[1:])
        with np.errstate(all="ignore"):
            expected = operation.value(*(np.array([a]) for a in arguments))[0]
        result = operation.scalar(*arguments)
        assert type(result) is (bool if operation.logical else float)
        if operation.logical:
            assert result == expected, arguments
        elif np.isnan(expected):
            assert np.isnan(result), arguments
        elif np.isinf(expected) or expected == 0:
            assert result == expected and np.signbit(result) == np.signbit(expected), (arguments, result, expected)
        else:
            assert abs(result - expected) <= 4.0 * EPS * abs(expected), (arguments, result, expected)


@pytest.mark.light
@pytest.mark.parametrize(
    "name", [name for name in NAMES if BY_NAME[name].arity == 2 and "t" not in BY_NAME[name].kinds]
)
def test_operations_with_a_constant_equal_numpy_at_special_values(name: str) -> None:
    """The results of the interpreter and of machine code, with the signs of zeros, are those without a constant.

    Constant zeros of sums, products and quotients are folded; the smaller or larger of 0 and -0 is either of them.
    """
    operation = BY_NAME[name]
    values = [x for x in SPECIAL if x or not ((operation.bounded and operation.composition) or operation.selects)]

    def results(x: Any) -> list[Any]:
        pairs = [pair for c in values for pair in ((x, c), (c, x))]
        return [BY_NAME["where"](y, 1.0, 0.0) if operation.logical else y for y in (operation(*p) for p in pairs)]

    x = np.array(values)
    full = [np.full(len(x), c) for c in values]  # NumPy computes powers with one exponent otherwise
    with np.errstate(all="ignore"):
        expected = np.stack([operation.value(*pair) for c in full for pair in ((x, c), (c, x))], axis=1)
        kernel = Kernel(trace(lambda x: np.array(results(x), dtype=object), name, {"x": ()}))
        for actual in (kernel.interpret(x), kernel(x)):
            np.testing.assert_allclose(actual, expected, rtol=4.0 * EPS, atol=0.0)
            is_number = ~np.isnan(actual)
            assert np.array_equal(np.signbit(actual[is_number]), np.signbit(expected[is_number]))


@pytest.mark.parametrize("name", DIFFERENTIABLE)
@pytest.mark.parametrize("kind", ["float", "array", "symbol", "dual"])
def test_partial_derivatives_of_operations_are_exact_on_all_scalar_types(name: str, kind: str) -> None:
    operation = BY_NAME[name]
    points = samples(name, n=12)
    columns = list(points.T)
    for k, x in enumerate(points):
        if kind == "float":
            arguments = [float(a) for a in x]
            partials = operation.partials(*arguments, operation.scalar(*arguments))
        elif kind == "array":
            partials = [
                np.broadcast_to(p, len(points))[k] for p in operation.partials(*columns, operation.value(*columns))
            ]
        else:
            differentiate = symbolic_jacobian if kind == "symbol" else dual_jacobian
            partials = differentiate(lambda x: [call(name, x)], list(x))[0]
        expected = exact_partials(name, x)
        assert len(partials) == operation.arity
        scale = max(1.0, *(abs(e) for e in expected))
        assert np.all(np.abs(np.array(partials, dtype=float) - expected) <= 8.0 * EPS * scale), x


def test_partial_derivatives_of_operations_on_floats_never_raise() -> None:
    """Partial derivatives divide as IEEE 754 does, where Python's operator raises ZeroDivisionError."""
    for name in DIFFERENTIABLE:
        operation = BY_NAME[name]
        for point in itertools.product(SPECIAL, repeat=operation.arity):
            x = on_truths(name, point)
            assert len(operation.partials(*x, operation.scalar(*x))) == operation.arity


def test_partial_derivatives_of_where_select_a_branch() -> None:
    for condition in (True, False):
        assert BY_NAME["where"].partials(condition, 2.0, 3.0, 2.0) == (0.0, float(condition), float(not condition))


@pytest.mark.parametrize("name", ["asin", "acos", "sqrt", "log", "atan", "sinh", "hypot"])
def test_partial_derivatives_of_operations_near_the_ends_of_the_domain_are_accurate(name: str) -> None:
    ends = [1.0 - 1e-6, 1.0 - 1e-12, 1e-12 - 1.0] if name in ("asin", "acos") else [1e-12, 1e-6, 500.0]
    for x in ends:
        point = np.array([x] * BY_NAME[name].arity)
        expected = exact_partials(name, point)
        for differentiate in (symbolic_jacobian, dual_jacobian):
            partials = differentiate(lambda x: [call(name, x)], point)[0]
            assert np.all(np.abs(partials - expected) <= 8.0 * EPS * np.abs(expected)), x


@pytest.mark.parametrize(
    ("name", "point", "k", "sides"),
    [
        ("abs", (0.0,), 0, (-1.0, 1.0)),
        ("fmin", (2.0, 2.0), 0, (0.0, 1.0)),
        ("fmin", (2.0, 2.0), 1, (0.0, 1.0)),
        ("fmax", (2.0, 2.0), 0, (0.0, 1.0)),
        ("fmax", (2.0, 2.0), 1, (0.0, 1.0)),
        ("sign", (0.0,), 0, (0.0, 0.0)),
        ("floor", (1.0,), 0, (0.0, 0.0)),
    ],
)
def test_derivative_of_an_operation_at_a_kink_lies_between_the_one_sided_derivatives(
    name: str, point: tuple[float, ...], k: int, sides: tuple[float, float]
) -> None:
    operation = BY_NAME[name]
    partial = operation.partials(*point, operation.scalar(*point))[k]
    assert sides[0] <= partial <= sides[1]


def test_partial_derivatives_of_fmin_and_fmax_sum_to_one() -> None:
    """fmin(x, x) then has the derivative of x."""
    for name in ("fmin", "fmax"):
        for point in ((1.0, 2.0), (2.0, 1.0), (2.0, 2.0)):
            assert sum(BY_NAME[name].partials(*point, BY_NAME[name].scalar(*point))) == 1.0


def test_partial_derivatives_of_bounded_operations_are_finite() -> None:
    sizes = (0.0, 1e-100, 2.0**-53, 0.25, 0.5, 1.0 - EPS, 1.0, 1.5, 2.0, np.pi / 2, 30.0, 700.0, 710.4, 1e100, np.inf)
    samples = np.array([sign * x for x in sizes for sign in (1.0, -1.0)])
    for operation in BY_NAME.values():
        if not operation.bounded:
            continue
        arguments = [x.ravel() for x in np.meshgrid(*[samples] * operation.arity)]
        with np.errstate(all="ignore"):
            result = operation.value(*arguments)
            assert operation.partials is not None
            for partial in operation.partials(*arguments, result):
                finite = np.broadcast_to(np.isfinite(partial), result.shape) | ~np.isfinite(result)
                assert finite.all(), (operation.name, [x[~finite] for x in arguments])


@every_operation
def test_commutative_operations_have_equal_results_with_exchanged_arguments(name: str) -> None:
    operation = BY_NAME[name]
    if operation.arity != 2:
        assert not operation.commutative
        return
    points = samples(name) if "n" in BY_NAME[name].kinds else samples(name) < 0.0
    with np.errstate(invalid="ignore"):
        direct, exchanged = operation.value(*points.T), operation.value(*points.T[::-1])
    assert bool(np.array_equal(direct, exchanged)) == operation.commutative


@every_operation
def test_logical_operations_return_booleans(name: str) -> None:
    operation = BY_NAME[name]
    points = samples(name) < 0.0 if "n" not in BY_NAME[name].kinds else samples(name)
    columns = [points[:, 0] < 0.0, *points.T[1:]] if name == "where" else list(points.T)
    assert (operation.value(*columns).dtype == bool) == operation.logical
    assert operation.partials is None or not operation.logical


@every_operation
def test_entries_of_the_operation_table_are_complete_and_pickled_by_name(name: str) -> None:
    operation = BY_NAME[name]
    assert operation.name == name
    assert operation.arity == len(operation.domain) == len(operation.kinds)
    assert operation.doc.endswith(".")
    assert operation.lowering.kind in ("instruction", "intrinsic", "vector")
    assert operation.lowering.code
    assert pickle.loads(pickle.dumps(operation)) is operation
    assert name in repr(operation)


def test_input_and_constant_operations_have_no_machine_code() -> None:
    for name in ("input", "constant"):
        assert BY_NAME[name].arity == 0
        assert BY_NAME[name].lowering.kind == "none"
