"""Expressions on both sides of their limits: operators, arrays, loops, tables, factors; without compilation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from linkwork.expr.arrays.pytree import flatten
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.autodiff.custom_derivative import apply_rule
from linkwork.expr.autodiff.dual_numbers import SparseTangent
from linkwork.expr.autodiff.graph_derivative import TransposedTangent, is_zero
from linkwork.expr.control.flat_values import _size, merge_layouts
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.table_access import Put, _row_of
from linkwork.expr.equations.matmul_lists import gram
from linkwork.expr.linalg.array_conversion import _elements
from linkwork.expr.linalg.sparse_factors import SparseFactorization
from linkwork.expr.linalg.vector_rotations import EigenRotation, SingularRotation
from linkwork.expr.optimize.convex_qp import check_arrays
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar import operations
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.interpreter import check_trace, evaluate
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph, Symbol


def values(results: Any, inputs: Sequence[Symbol], at: Sequence[float]) -> list[float]:
    """Return the numbers of results for numbers of the inputs."""
    flat = np.ravel(np.asarray(results, dtype=object)).tolist()
    known = evaluate([x for x in flat if isinstance(x, Symbol)], dict(zip(inputs, at, strict=True)))
    remaining = iter(known)
    return [float(next(remaining)) if isinstance(x, Symbol) else float(x) for x in flat]


def test_operators_on_symbols_refuse_nonnumeric_values(x: Symbol) -> None:
    for wrong in (object(), "2", None):
        for operator in (
            lambda a, b: a + b,
            lambda a, b: a - b,
            lambda a, b: a * b,
            lambda a, b: a / b,
        ):
            for pair in ((x, wrong), (wrong, x)):
                with pytest.raises(
                    TypeError,
                    match=r"unsupported operand type|can't multiply|can only concatenate|a symbol has no value",
                ):
                    operator(*pair)
    row = SparseTangent({"a": 2.0, "b": 0.0})
    assert row.row == {"a": 2.0}
    for wrong in ("2", object()):
        for operator in (lambda a, b: a + b, lambda a, b: a - b):
            with pytest.raises(TypeError, match=r"unsupported operand|can only concatenate"):
                operator(row, wrong)


def test_symbols_of_two_traces_cannot_be_combined(x: Symbol, y: Symbol) -> None:
    z = Graph().input("z")
    check_trace([x], [x, y])
    check_trace([], [x, z])
    with pytest.raises(ValueError, match=r"symbols of two traces cannot be combined: .* belongs to another trace"):
        check_trace([x + y], [y, z])


def test_only_a_constant_zero_is_known_to_be_zero_at_trace_time(graph: Graph) -> None:
    first, second = graph.inputs("q", (2,))
    assert is_zero(0.0) and is_zero(-0.0) and is_zero(graph.constant(0.0))
    assert not any(map(is_zero, (0.5, graph.constant(0.5), first, second, -first, math.nan)))


def test_unknown_operation_and_arguments_of_two_shapes_are_refused() -> None:
    table = operations._TableByName()
    assert table.add is BY_NAME["add"]
    with pytest.raises(AttributeError, match="unknown operation 'ad'"):
        _ = table.ad
    assert f.atan2(np.zeros(2), np.ones(2)).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match=r"atan2: expected arguments whose shapes broadcast, got y \(2,\), x \(3,\)"):
        f.atan2(np.zeros(2), np.zeros(3))


def nested(x: Any, levels: int) -> Any:
    for _ in range(levels):
        x = [x]
    return x


def test_symbols_are_recognized_in_up_to_64_nested_containers(x: Symbol) -> None:
    assert is_traced(x) and is_traced(nested(x, 64)) and not is_traced(nested(x, 65))
    assert is_traced({"a": (1.0, x)}) and not is_traced({"a": (1.0, 2.0)}) and not is_traced(nested(2.0, 3))
    endless: list[Any] = []
    endless.append(endless)
    assert not is_traced(endless)


def test_arrays_with_nonnumeric_elements_are_refused(x: Symbol) -> None:
    elements, _ = flatten(np.array([x, 2.0], dtype=object), "f: x")
    assert elements == [x, 2.0]
    for wrong in ("2", None, {}):
        with pytest.raises(TypeError, match="f: x: expected arrays of numbers, got an array with the element"):
            flatten(np.array([x, wrong], dtype=object), "f: x")


def test_numpy_functions_on_symbols_write_to_out_and_work_at_the_ends_of_ranges(graph: Graph) -> None:
    x, y = graph.inputs("x", (2,))
    out = np.empty(4, dtype=object)
    assert np.concatenate([array([x, y]), array([1.0, x])], out=out) is out
    assert values(out, (x, y), (0.3, 0.7)) == [0.3, 0.7, 1.0, 0.3]
    start, stop = 0.1, 0.7000000000000001
    for count in (0, 1, 2, 3, 5):
        for endpoint in (True, False):
            result = np.linspace(x, y, count, endpoint=endpoint)
            expected = np.linspace(start, stop, count, endpoint=endpoint)
            assert np.shape(result) == expected.shape
            assert np.abs(np.array(values(result, (x, y), (start, stop))) - expected).max(initial=0.0) < 1e-15
            if endpoint and count > 1:
                assert result[-1] is y


def test_layouts_of_dual_numbers_merge_in_both_orders() -> None:
    first, second = (1, "n", "n"), (2, "n", "n")
    assert merge_layouts(first, second) == merge_layouts(second, first) == (2, (1, "n", "c"), "c")
    assert merge_layouts(first, first) == first and merge_layouts("n", "n") == "n"
    assert merge_layouts("n", "c") == merge_layouts("c", "n") == "c"
    assert merge_layouts("n", first) == merge_layouts(first, "n") == (1, "n", "c")
    third = (2, (1, "n", "n"), (1, "n", "n"))
    assert merge_layouts(first, third) == merge_layouts(third, first)
    rows = {"a": "n"}, {"b": "n"}
    assert merge_layouts(*rows) == {"a": "c", "b": "c"} and merge_layouts(rows[0], rows[0]) == rows[0]
    assert [_size(x) for x in ("n", "c", first, (1, "n", {"a": "n", "b": "c"}), {})] == [1, 2, 2, 4, 0]


def test_put_replaces_the_row_at_its_index_and_no_row_for_an_index_out_of_range() -> None:
    put, row, table = Put(3, 2), [7.0, 8.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    for index, line in ((0.0, 0), (0.4, 0), (1.0, 1), (2.9, 2), (3.0, None), (-0.1, None), (-1.0, None)):
        expected = list(table)
        if line is not None:
            expected[2 * line : 2 * line + 2] = row
        assert list(put.evaluate([np.float64(index), *row, *table])) == expected
        batch = put.evaluate([np.array([index, 1.0]), *(np.array([x, -x]) for x in row), *table])
        assert [float(np.broadcast_to(x, 2)[0]) for x in batch] == expected
        assert [float(np.broadcast_to(x, 2)[1]) for x in batch] == [0.0, 1.0, -7.0, -8.0, 4.0, 5.0]
    assert list(put.pull_back([1.0, *row, *table], table, [0.0] * 6)) == [0.0] * 9


def test_rows_of_batches_have_the_shape_of_an_entry() -> None:
    value = np.arange(30.0).reshape(5, 3, 2)
    first = _row_of(value, (2,), batches=True)
    assert [x.tolist() for x in first] == value.reshape(5, 3, 2).transpose(2, 0, 1).tolist()
    assert len(_row_of(value, (3, 2), batches=True)) == 6 and _row_of([1.0, 2.0], (2,), batches=True) == [1.0, 2.0]
    for shape in ((3,), (2, 3)):
        with pytest.raises(ValueError, match=r"put: value: expected an array of shape .*, as the entries of the table"):
            _row_of(value, shape, batches=True)
    with pytest.raises(ValueError, match="put: value: expected a number, as in the table"):
        _row_of([1.0, 2.0], (), batches=True)


def test_loops_store_at_most_four_million_values() -> None:
    graph = Graph()
    x = graph.input("x")
    of = [Region.of([x] * count, [x]) for count in (2, 3)]
    most = 4 * 1024 * 1024
    assert Loop(of[0], 1, 0, 1, most).count == Loop(of[1], 1, 0, 2, most // 2).count == 1 + most
    for region, outputs, steps in ((of[0], 1, most + 1), (of[1], 2, most // 2 + 1)):
        with pytest.raises(ValueError, match=rf"expected at most {most} in all; scan\(\.\.\., segments=k\)"):
            Loop(region, 1, 0, outputs, steps)


def factorization(n: int) -> SparseFactorization:
    """Return the factorization of a full matrix of n rows."""
    counts = [n - 1 - k for k in range(n)]
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    return SparseFactorization(tuple(range(n)), tuple(starts), tuple(i for k in range(n) for i in range(k + 1, n)))


def test_patterns_of_sparse_factors_are_checked() -> None:
    order, starts, rows = (0, 1, 2), (0, 2, 3, 3), (1, 2, 2)
    assert SparseFactorization(order, starts, rows).is_valid and SparseFactorization((0,), (0, 0), ()).is_valid
    assert SparseFactorization((2, 0, 1), (0, 1, 1, 1), (1,)).is_valid
    for wrong in (
        ((), (0,), ()),
        ((0, 1, 1), starts, rows),
        ((1, 2, 3), starts, rows),
        (order, (0, 2, 3), rows),
        (order, (1, 2, 3, 3), rows),
        (order, (0, 2, 3, 4), rows),
        (order, (0, 2, 1, 3), rows),
        (order, (0, 2, 2, 3), (1, 2, 2)),
        (order, starts, (1, 1, 2)),
        (order, starts, (2, 1, 2)),
        (order, starts, (0, 1, 2)),
        (order, starts, (1, 2, 1)),
        (order, starts, (1, 3, 2)),
        (order, (0, 2, 2, 2), (1, 2)),  # elimination of the first column leads to an element of the second
    ):
        assert not SparseFactorization(*wrong).is_valid, wrong
    # The squares of the lengths of the columns are at most 2^24: 16 681 … for 369 rows, and 16 816 … for 370.
    assert sum(k * k for k in range(369)) < 2**24 < sum(k * k for k in range(370))
    assert factorization(369).is_valid and not factorization(370).is_valid


def test_rotations_of_eigenvectors_depend_on_off_diagonal_elements() -> None:
    assert [EigenRotation(3).depends(k) for k in range(9)] == [k not in (0, 4, 8) for k in range(9)]
    beside = [k not in (0, 3) for k in range(4)]
    for adjoint, squares in ((False, 2), (True, 1)):
        rotation = SingularRotation(3, 2, adjoint)
        assert [rotation.depends(k) for k in range(4 * squares + 4)] == [*beside * squares, *[True] * 4]


class Doubled(TransposedTangent):
    """Rule y = 2 x of two numbers, with a derivative of 3."""

    def compute(self, inputs: Any) -> Any:
        return [2.0 * x for x in inputs], []

    def tangent(self, inputs: Any, results: Any, extra: Any, direction: Any) -> Any:
        return [3.0 * x for x in direction]


def test_derivative_rules_have_zero_gradients_if_all_weights_are_zero() -> None:
    rule = Doubled()
    assert list(rule.cotangent([0.1, 0.2], [0.2, 0.4], [], [0.0, 0.0])) == [0.0, 0.0]
    graph = Graph()
    x = graph.inputs("x", (2,))
    weights = rule.cotangent([*x], [2.0 * a for a in x], [], [0.0, 5.0])
    assert values(weights, x, (0.1, 0.2)) == [0.0, 15.0]
    assert values(apply_rule(rule, [*x]), x, (0.1, 0.2)) == [0.2, 0.4]


def test_products_of_a_matrix_and_its_transpose_equal_numpys_in_loops_and_written_out() -> None:
    rng = np.random.default_rng(0)
    for n, m in ((2, 3), (4, 19), (5, 12), (5, 13), (8, 9), (3, 0)):
        A = rng.normal(size=(n, m))
        if m:
            assert np.abs(np.array(gram(A.tolist()), dtype=float) - A @ A.T).max() < 1e-13
    wide = np.arange(3.0, dtype=np.longdouble)
    assert _elements(np.arange(3.0), 1) == [0.0, 1.0, 2.0] and type(_elements(np.arange(3.0), 1)[0]) is float
    assert [float(x) for x in _elements(wide, 1)] == [0.0, 1.0, 2.0]


def test_quadratic_programs_refuse_constraints_that_are_not_a_matrix() -> None:
    H, g = np.diag([2.0, 3.0]), np.array([-1.0, 0.5])
    assert check_arrays({"H": H, "g": g, "A": np.ones((1, 2)), "upper": np.ones(1)})[1:] == (2, 1)
    with pytest.raises(ValueError, match=r"A: expected"):
        check_arrays({"H": H, "g": g, "A": np.ones(2), "upper": np.ones(1)})
