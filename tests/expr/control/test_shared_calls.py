"""Functions that return structures of objects and share one copy of code."""

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compiler.trace.trace import trace
from linkwork.errors import TraceWarning
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.control.branch_and_call_instructions import Subroutine
from linkwork.expr.control.conditional import SharedStructure
from linkwork.expr.scalar.block import bodies_of


@dataclass(frozen=True)
class Pair:
    name: str
    rows: list[list[Any]]
    by_index: dict[int, Any]


def pair(x: list[Any], scale: Any) -> Pair:
    square = [a * a * scale for a in x]
    return Pair("pair", [[square[0], 0.0], [1.0, square[1]]], {3: x[0] / scale, 1: 2.5})


def total(result: Pair) -> Any:
    return sum((y for row in result.rows for y in row), 0.0) + result.by_index[3] * result.by_index[1]


def test_shared_structure_returns_nested_results_of_a_function_traced_once():
    traced = count()

    def counted(x: list[Any], scale: Any) -> Pair:
        next(traced)
        return pair(x, scale)

    def function(x: Any, y: Any) -> Any:
        shared = SharedStructure(counted)
        first, second = shared(list(x), 2.0), shared(list(y), x[0])
        assert first.name == second.name == "pair" and list(second.by_index) == [3, 1]
        assert [second.rows[0][1], second.rows[1][0], second.by_index[1]] == [0.0, 1.0, 2.5]
        return total(first) - total(second)

    with pytest.warns(TraceWarning, match="traced has advanced"):
        kernel = lw.compile(function, x=(2,), y=(2,))
    assert next(traced) == 1
    with pytest.warns(TraceWarning, match="traced has advanced"):
        program = trace(function, "function", {"x": (2,), "y": (2,)})
    routines = [i.value for i in program.instructions if isinstance(i.value, Subroutine)]
    assert len(routines) == 2 and bodies_of(routines[0]) == bodies_of(routines[1])
    x, y = np.array([1.5, -2.0]), np.array([0.5, 3.0])
    expected = total(pair([*x], 2.0)) - total(pair([*y], x[0]))
    np.testing.assert_allclose(kernel(x, y), expected, rtol=1e-15)


def test_shared_structure_calls_its_function_directly_on_floats_and_dual_numbers():
    shared = SharedStructure(pair)
    assert shared([1.0, 2.0], 3.0) == pair([1.0, 2.0], 3.0)
    moving = seeded([1.0, 2.0], [1.0, 0.0])
    assert parts(shared(moving, 3.0).rows[0][0], moving[0].level) == (3.0, 6.0)
