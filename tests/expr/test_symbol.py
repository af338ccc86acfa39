"""Symbols of a trace: equal expressions are one node, and redundant operations are not recorded."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.interpreter import evaluate
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph, Symbol

UNARY = [
    f.sin,
    f.cos,
    f.tan,
    f.asin,
    f.acos,
    f.atan,
    f.sqrt,
    f.exp,
    f.log,
    f.sinh,
    f.cosh,
    f.tanh,
    f.fabs,
    f.sign,
    f.floor,
]
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.lt,
    operator.le,
    f.atan2,
    f.hypot,
    f.pow,
    f.copysign,
    f.fmin,
    f.fmax,
    f.eq,
]


# -- equal expressions are one node


@pytest.mark.parametrize("function", UNARY)
def test_repeated_function_of_a_symbol_is_the_same_graph_node(graph: Graph, x: Symbol, function: Any) -> None:
    first = function(x)
    size = len(graph.nodes)
    assert function(x) is first
    assert len(graph.nodes) == size


@pytest.mark.parametrize("function", BINARY)
def test_repeated_binary_operation_of_symbols_is_the_same_graph_node(
    graph: Graph, x: Symbol, y: Symbol, function: Any
) -> None:
    for a, b in ((x, y), (y, x), (x, 3.5), (3.5, x)):
        first = function(a, b)
        size = len(graph.nodes)
        assert function(a, b) is first
        assert len(graph.nodes) == size


@pytest.mark.parametrize("name", [name for name, row in BY_NAME.items() if row.commutative])
def test_commutative_operations_of_symbols_in_either_order_are_the_same_graph_node(
    x: Symbol, y: Symbol, name: str
) -> None:
    a, b = (x < 0.0, y < 0.0) if name in ("and_", "or_") else (x, y)
    operators = {"add": operator.add, "mul": operator.mul}
    function = operators.get(name) or getattr(f, name)
    assert function(a, b) is function(b, a)
    if name not in ("and_", "or_"):
        assert function(x, 2.5) is function(2.5, x)


def test_operations_of_symbols_that_do_not_commute_keep_their_order(x: Symbol, y: Symbol) -> None:
    assert f.atan2(x, y) is not f.atan2(y, x)
    assert (x / y) is not (y / x)
    assert (x < y) is not (y < x)
    assert (x <= y) is not (x < y)


def test_comparison_of_symbols_and_its_mirror_image_are_the_same_graph_node(x: Symbol, y: Symbol) -> None:
    assert (x < y) is (y > x)
    assert (x <= y) is (y >= x)
    assert (x == y) is (y == x)
    assert (x == y) is f.eq(x, y)
    assert (x != y) is f.not_(f.eq(x, y))
    assert operator.lt(0.5, x) is (x > 0.5)


def test_repeated_nested_expressions_are_the_same_graph_node(x: Symbol, y: Symbol) -> None:
    def build() -> Any:
        return f.sin(x * y + 2.0) / f.hypot(y, x) - f.where(x < y, x, y)

    assert build() is build()


def test_equal_constants_are_one_graph_node_and_signed_zeros_are_two(graph: Graph) -> None:
    assert graph.constant(2.5) is graph.constant(2.5)
    assert graph.constant(2) is graph.constant(2.0)
    assert graph.constant(0.0) is not graph.constant(-0.0)
    assert math.copysign(1.0, graph.constant(-0.0).value) == -1.0


def test_inputs_of_equal_names_are_different_graph_nodes(graph: Graph) -> None:
    assert graph.input("x") is not graph.input("x")
    names = [s.value for s in graph.inputs("q", (2, 3))]
    assert names == [f"q[{k}]" for k in range(6)]
    assert graph.inputs("empty", (0,)) == []
    assert len(graph.inputs("scalar", ())) == 1


def test_graph_nodes_come_after_their_arguments(graph: Graph, x: Symbol, y: Symbol) -> None:
    f.sin(x * y) / (f.cos(y) + 2.0) ** 3
    assert [node.index for node in graph.nodes] == list(range(len(graph.nodes)))
    assert all(a.index < node.index for node in graph.nodes for a in node.args)


# -- folding: sums


def test_adding_zero_to_a_symbol_returns_the_symbol(x: Symbol) -> None:
    for zero in (0.0, -0.0, 0, False, np.float64(0.0)):
        assert x + zero is x
        assert zero + x is x
        assert x - zero is x
        assert zero - x is -x


def test_subtracting_an_expression_from_itself_is_zero(x: Symbol, y: Symbol) -> None:
    for expression in (x, f.sin(x), x * y, -x):
        difference = expression - expression
        assert type(difference) is float and difference == 0.0
        assert expression + (-expression) == 0.0
        assert (-expression) + expression == 0.0


def test_adding_an_expression_to_itself_doubles_it(x: Symbol, y: Symbol) -> None:
    """The value is the same to the last bit, and the constant factor combines with others."""
    assert x + x is 2.0 * x
    assert (x + x) + (x + x) is 4.0 * x
    assert (x * y + y * x) * 3.0 is 6.0 * (x * y)
    assert (-x) + (-x) is -(2.0 * x)


def test_opposite_differences_of_symbols_share_a_graph_node(graph: Graph, x: Symbol, y: Symbol) -> None:
    difference = 3.0 * x - y
    opposite = y - 3.0 * x
    assert opposite.op.name == "neg" and opposite.args[0] is difference
    assert -opposite is difference
    assert sum(node.op.name == "sub" for node in graph.nodes) == 1
    assert (y - x).op is (x - y).op is difference.op  # those of inputs have the signs of zeros of IEEE 754


def test_minus_signs_in_sums_of_symbols_become_differences(x: Symbol, y: Symbol) -> None:
    assert x + (-y) is x - y
    assert (-y) + x is x - y
    assert x - (-y) is x + y
    assert (-x - y).op.name == "sub" and (-x - y).args[0] is -x
    p = x * y
    assert (-p) - y is -(p + y)
    assert (-p) + (-y) is -(p + y)
    assert 2.0 - (-x) is x + 2.0
    assert (-x) + 2.0 is 2.0 - x


# -- folding: products and quotients


def test_products_of_symbols_with_zero_one_and_minus_one_are_simplified(x: Symbol) -> None:
    for zero in (0.0, -0.0, 0, False):
        for product in (x * zero, zero * x):
            assert type(product) is float and product == 0.0
    for unit in (1.0, 1, True):
        assert x * unit is x
        assert unit * x is x
        assert x / unit is x
    for minus_one in (-1.0, -1):
        assert x * minus_one is -x
        assert minus_one * x is -x
        assert x / minus_one is -x


def test_two_minus_signs_of_a_symbol_cancel(x: Symbol, y: Symbol) -> None:
    assert -(-x) is x  # noqa: B002
    assert (-x) * (-y) is x * y
    assert (-x) / (-y) is x / y


def test_minus_signs_of_symbols_move_out_of_products_and_quotients(x: Symbol, y: Symbol) -> None:
    assert (-x) * y is -(x * y)
    assert y * (-x) is -(x * y)
    assert (-x) / y is -(x / y)
    assert x / (-y) is -(x / y)
    assert 3.0 / (-x) is -(3.0 / x)
    assert -3.0 / x is -(3.0 / x)
    assert x * -3.0 is -(x * 3.0)
    assert (-x) * 3.0 is -(x * 3.0)
    assert (-x) * -3.0 is x * 3.0


def test_constant_factors_of_a_symbol_are_multiplied_together(x: Symbol) -> None:
    assert 2.0 * x * 3.0 is x * 6.0
    assert 2.0 * (-(3.0 * x)) is -(x * 6.0)
    assert (x * 4.0) * 0.25 is x


@pytest.mark.parametrize(("first", "second"), [(1e-200, 1e-200), (1e200, 1e200), (-1e200, 1e200), (1e-200, -1e-200)])
def test_constant_factors_of_a_symbol_are_not_combined_if_they_overflow_or_underflow(
    x: Symbol, first: float, second: float
) -> None:
    start = 1e150 if first > 0.0 and first < 1.0 else 1e-150
    (value,) = evaluate([x * first * second], {x: start})
    assert value == pytest.approx(start * first * second, rel=1e-15)
    assert value != 0.0 and np.isfinite(value)


def test_division_of_a_symbol_by_a_power_of_two_becomes_a_product(x: Symbol) -> None:
    assert x / 2.0 is x * 0.5
    assert x / 0.125 is x * 8.0
    assert x / -4.0 is -(x * 0.25)
    assert (x / 3.0).op.name == "div"
    assert (x / 0.1).op.name == "div"


@pytest.mark.parametrize("divisor", [3.0, 0.1, 7e-5, 2.0**-1070, 5e-324, 1e308, 2.0**1023])
def test_division_of_a_symbol_is_rounded_as_in_floats(x: Symbol, divisor: float) -> None:
    values = np.array([1.0, 1 / 3, 0.7, 12345.678, 1e-10])
    (quotients,) = evaluate([x / divisor], {x: values})
    with np.errstate(over="ignore"):
        assert np.array_equal(quotients, values / divisor)


def test_division_of_a_symbol_by_zero_gives_infinity_and_nan(x: Symbol) -> None:
    (quotient,) = evaluate([x / 0.0], {x: np.array([1.0, -1.0, 0.0])})
    assert quotient[0] == math.inf and quotient[1] == -math.inf and np.isnan(quotient[2])


def test_zero_divided_by_a_symbol_is_zero(x: Symbol) -> None:
    assert 0.0 / x == 0.0
    assert type(0.0 / x) is float


# -- folding: powers


def test_integer_powers_of_a_symbol_become_products(x: Symbol) -> None:
    assert x**0 == 1.0
    assert x**1 is x
    assert x**2 is x * x
    assert x**3 is x * (x * x)
    assert x**4 is (x * x) * (x * x)
    assert x**-1 is 1.0 / x
    assert x**-2 is 1.0 / (x * x)
    assert x**2.0 is x**2
    assert x**0.5 is f.sqrt(x)


@pytest.mark.parametrize("n", [-64, -7, -3, 0, 1, 2, 3, 5, 7, 10, 33, 64])
def test_integer_powers_of_a_symbol_have_exact_values(x: Symbol, n: int) -> None:
    values = np.array([-1.7, -0.3, 0.9, 1.1, 2.0])
    (powers,) = evaluate([x**n], {x: values})
    np.testing.assert_allclose(np.broadcast_to(powers, 5), values ** float(n), rtol=abs(n) * 4e-16)


@pytest.mark.parametrize("exponent", [0.3, -1.5, 65, 1e3, math.inf, -math.inf])
def test_fractional_powers_of_a_symbol_stay_powers(x: Symbol, exponent: float) -> None:
    power = x**exponent
    assert power.op.name == "pow"
    values = np.array([0.5, 1.0, 1.01])
    (powers,) = evaluate([power], {x: values})
    np.testing.assert_allclose(powers, values**exponent, rtol=1e-14)


def test_powers_with_a_symbolic_exponent_stay_powers(x: Symbol, y: Symbol) -> None:
    assert x**y is f.pow(x, y)
    assert 2.0**y is f.pow(2.0, y)
    assert (x ** float("nan")).op.name == "pow"


# -- folding: functions


@pytest.mark.parametrize("function", [f.sin, f.tan, f.asin, f.atan, f.sinh, f.tanh])
def test_antisymmetric_functions_of_a_negated_symbol_move_the_minus_sign_out(x: Symbol, function: Any) -> None:
    assert function(-x) is -function(x)


@pytest.mark.parametrize("function", [f.cos, f.cosh, f.fabs, abs])
def test_symmetric_functions_of_a_negated_symbol_drop_the_minus_sign(x: Symbol, function: Any) -> None:
    assert function(-x) is function(x)


@pytest.mark.parametrize("function", [f.exp, f.log, f.sqrt, f.acos, f.floor, f.sign])
def test_functions_without_symmetry_preserve_the_minus_sign_of_a_symbol(x: Symbol, function: Any) -> None:
    assert function(-x).args[0] is -x


def test_where_on_symbols_folds_constant_conditions_and_equal_branches(x: Symbol, y: Symbol) -> None:
    assert f.where(True, x, y) is x
    assert f.where(False, x, y) is y
    assert f.where(np.bool_(False), x, 1.0) == 1.0
    assert f.where(x < y, y, y) is y
    assert f.where(x < y, 2.0, 2.0) == 2.0
    assert f.where(x < y, 2.0, 3.0).op.name == "where"


def test_logical_operations_on_symbols_accept_python_booleans(x: Symbol) -> None:
    condition = x < 1.0
    for truth in (True, False, np.bool_(True)):
        values = evaluate([f.and_(condition, truth), f.or_(truth, condition)], {x: np.array([0.0, 2.0])})
        assert np.array_equal(values[0], [bool(truth), False])
        assert np.array_equal(values[1], [True, bool(truth)])


# -- what a symbol is not


def test_truth_value_of_a_symbol_raises_an_error(x: Symbol) -> None:
    for attempt in (lambda: bool(x), lambda: bool(x < 1.0), lambda: x and 1.0, lambda: 1.0 if x > 0.0 else 2.0):
        with pytest.raises(TypeError, match="no truth value while a function is traced"):
            attempt()
    with pytest.raises(TypeError, match="where"):
        max(x, x + 1.0)


def test_converting_a_symbol_to_a_number_raises_an_error(x: Symbol) -> None:
    for convert in (float, math.sin, np.float64):
        with pytest.raises(TypeError, match="no numeric value"):
            convert(x)
    for convert in (int, complex, operator.index):
        with pytest.raises(TypeError, match="while a function is traced"):
            convert(x)


def test_symbol_has_no_attributes_of_arrays_or_graphs(x: Symbol) -> None:
    for name in ("nonsense", "input", "constant", "__array_interface__", "dtype", "ndim"):
        assert not hasattr(x, name)
    with pytest.raises(AttributeError, match="nonsense"):
        x.nonsense  # noqa: B018


def test_symbol_compares_unequal_to_none_and_strings(x: Symbol) -> None:
    assert (x == None) is False  # noqa: E711
    assert (x != "x") is True
    with pytest.raises(TypeError, match="'<' not supported between"):
        x < "x"  # noqa: B015


def test_symbols_are_hashable_and_their_repr_shows_their_name(x: Symbol, y: Symbol) -> None:
    assert {x: 1, y: 2}[x] == 1
    assert repr(x) == "<symbol x>"
    assert repr(x * y) == f"<symbol mul #{(x * y).index}>"
    assert +x is x
    assert repr(Graph()) == "<Graph of 0 nodes>"
