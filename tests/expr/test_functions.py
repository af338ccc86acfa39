"""Functions over any scalar: accepted and returned types, and refusals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from helpers.precise import Precise, precisely
from linkwork.expr.arrays.numpy_elementwise import ELEMENTWISE, scalar_function
from linkwork.expr.autodiff.dual_numbers import Dual
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_METHOD, BY_NAME
from linkwork.expr.scalar.symbol import Graph, Symbol

SCALARS = [2, True, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2), np.bool_(True)]


@pytest.mark.parametrize("x", SCALARS, ids=lambda x: type(x).__name__)
def test_scalar_functions_of_python_and_numpy_scalars_return_floats(x: Any) -> None:
    assert type(f.sin(x)) is float
    assert f.sin(x) == math.sin(x)
    assert f.atan2(x, 1) == math.atan2(x, 1.0)
    assert f.atan2(1, x) == math.atan2(1.0, x)
    assert f.where(True, x, 7.0) == x
    assert f.fabs(-1.0 * x) == float(x)


@pytest.mark.parametrize("x", SCALARS, ids=lambda x: type(x).__name__)
def test_symbols_can_be_combined_with_every_scalar_type(x: Any) -> None:
    s = Graph().input("s")
    value = float(x)
    assert f.atan2(s, x) is f.atan2(s, value)
    assert f.atan2(x, s) is f.atan2(value, s)
    assert s + x is s + value
    assert x + s is value + s
    assert s * x is s * value
    assert x * s is value * s
    assert s - x is s - value
    assert x - s is value - s
    assert s / x is s / value
    assert x / s is value / s
    assert (s < x) is (s < value)
    assert f.where(s < 0.0, x, s) is f.where(s < 0.0, value, s)


def test_zero_dimensional_arrays_are_treated_as_scalars() -> None:
    s = Graph().input("s")
    assert s * np.array(3.0) is s * 3.0
    assert f.hypot(s, np.array(3)) is f.hypot(s, 3.0)


def test_scalar_functions_of_arrays_equal_numpys() -> None:
    x = np.linspace(-1.0, 1.0, 7)
    assert np.array_equal(f.sin(x), np.sin(x))
    assert np.array_equal(f.atan2(x, 2.0), np.arctan2(x, 2.0))
    assert np.array_equal(f.atan2(2, x), np.arctan2(2.0, x))
    assert np.array_equal(f.where(x < 0.0, 1.0, x), np.where(x < 0.0, 1.0, x))
    assert np.array_equal(f.where(np.bool_(True), x, 0.0), x)
    assert f.sin(np.zeros((2, 0))).shape == (2, 0)
    assert f.hypot(np.zeros((3, 1)), np.zeros(4)).shape == (3, 4)


def test_scalar_functions_of_float32_arrays_return_float32() -> None:
    x = np.linspace(-1.0, 1.0, 7, dtype=np.float32)
    assert f.sin(x).dtype == np.float32
    assert f.hypot(x, 1.0).dtype == np.float32
    assert f.where(x < 0.0, x, 1.0).dtype == np.float32


def test_scalar_functions_map_object_arrays_of_symbols_elementwise() -> None:
    x, y = Graph().inputs("x", (2,))
    result = f.sin(np.array([x, y], dtype=object))
    assert result[0] is f.sin(x)
    assert result[1] is f.sin(y)


@pytest.mark.parametrize("bad", ["a", None, [1.0], object(), 1j])
def test_arguments_of_scalar_functions_that_are_not_scalars_are_refused(bad: Any) -> None:
    s = Graph().input("s")
    with pytest.raises(TypeError, match="sin: x: expected a number"):
        f.sin(bad)
    with pytest.raises(TypeError, match="hypot: y: expected a number"):
        f.hypot(s, bad)
    with pytest.raises(TypeError, match=r"unsupported operand|has no value while a function is traced"):
        s * bad


def test_type_errors_of_scalar_functions_name_the_operation_and_the_type() -> None:
    class Strange:
        pass

    with pytest.raises(TypeError, match=r"atan2: x: expected a number, .*got <.*Strange object"):
        f.atan2(1.0, Strange())
    with pytest.raises(TypeError, match=r"atan2: x: expected a number, .*got <.*Strange object"):
        f.atan2(Graph().input("s"), Strange())


def test_mixed_scalar_arguments_give_results_of_the_type_with_highest_precedence() -> None:
    s = Graph().input("s")
    both = f.hypot(s, Dual(s, 1.0))
    assert isinstance(both, Dual)
    assert both.value is f.hypot(s, s)
    assert isinstance(f.hypot(np.float64(1.0), s), Symbol)
    assert isinstance(f.hypot(Dual(np.ones(3), 1.0), np.arange(3.0)), Dual)


def test_foreign_scalar_classes_take_part_by_defining_two_attributes() -> None:
    """A class that defines ``_apply`` and ``_precedence`` is a scalar."""
    (result,) = precisely(lambda x: [f.exp(f.sin(x[0])) * f.where(x[0] < 0.0, 1.0, x[1])], [0.5, 3.0])
    assert abs(float(result) - 3.0 * math.exp(math.sin(0.5))) < 1e-15
    assert isinstance(f.atan2(Precise(1.0), 2.0), Precise)
    assert isinstance(f.atan2(1.0, Precise(2.0)), Precise)


class Namespace:
    """Array namespace of another library, which records the called function."""

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: (name, arguments)


class ForeignArray:
    def __array_namespace__(self) -> Namespace:
        return Namespace()


def test_scalar_functions_of_foreign_arrays_call_functions_of_their_array_namespace() -> None:
    foreign = ForeignArray()
    for operation in BY_NAME.values():
        if operation.arity == 0 or operation.composition is not None:
            continue
        called, arguments = operation(*(foreign,) * operation.arity)
        assert arguments == (foreign,) * operation.arity
        assert getattr(np, called) in (operation.value, np.absolute, np.power, np.sinc)


@pytest.mark.parametrize("kind", ["SX", "MX", "DM"])
def test_scalar_functions_of_casadi_scalars_equal_those_of_floats(kind: str) -> None:
    casadi = pytest.importorskip("casadi")

    def function(x: Any, y: Any) -> Any:
        return f.where(x < y, f.hypot(x, y), f.copysign(x, y)) + f.fabs(f.not_(f.or_(x < 0.0, f.eq(x, y)))) * f.pow(
            y, 2.5
        )

    expected = [function(a, b) for a, b in ((0.5, 1.5), (2.0, 1.5), (1.5, 1.5))]
    if kind == "DM":
        values = [float(function(casadi.DM(a), casadi.DM(b))) for a, b in ((0.5, 1.5), (2.0, 1.5), (1.5, 1.5))]
    else:
        x, y = getattr(casadi, kind).sym("x"), getattr(casadi, kind).sym("y")
        compiled = casadi.Function("f", [x, y], [function(x, y)])
        values = [float(compiled(a, b)) for a, b in ((0.5, 1.5), (2.0, 1.5), (1.5, 1.5))]
    np.testing.assert_allclose(values, expected, rtol=4e-16)


def test_fmin_and_fmax_ignore_nan() -> None:
    nan = float("nan")
    for function in (f.fmin, f.fmax):
        assert function(nan, 2.0) == function(2.0, nan) == 2.0
        assert np.array_equal(function(np.array([nan, 2.0]), np.array([2.0, nan])), [2.0, 2.0])


def test_hypot_does_not_overflow() -> None:
    assert f.hypot(3e200, 4e200) == pytest.approx(5e200, rel=1e-15)
    assert f.hypot(3e-200, 4e-200) == pytest.approx(5e-200, rel=1e-15, abs=0.0)


FLOATS = (-math.inf, -2.5, -2.0, -1.5, -0.3, -0.0, 0.0, 0.3, 0.5, 1.0, 1.5, 2.5, 7.0, math.inf, math.nan)
NAMES = {*ELEMENTWISE, *BY_METHOD} - {"clip"}
UFUNCS = [name for name in NAMES if isinstance(getattr(np, name, None), np.ufunc)]


@pytest.mark.light
@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_numpy_functions_of_floats_equal_numpy(name: str) -> None:
    ufunc, function = getattr(np, name), scalar_function(name)
    is_of_bits = name.startswith("bitwise") or name == "invert"
    for x in itertools.product((False, True) if is_of_bits else FLOATS, repeat=ufunc.nin):
        with np.errstate(all="ignore"):
            result = float(function(*x))
            expected = float(
                ufunc(*(np.full(2, a) for a in x))[0]
            )  # NumPy's power is a square root for one exponent 0.5
        np.testing.assert_allclose(result, expected, rtol=4e-16, err_msg=f"{name}{x}")
        if name not in ("maximum", "minimum") and not math.isnan(expected):
            assert math.copysign(1.0, result) == math.copysign(1.0, expected), (name, x)
