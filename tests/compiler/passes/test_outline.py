"""Outlining: repeated steps become calls of one body, with the results of the straight-line code."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.knobs import outlining
from compiler.outlining.test_signs import OPERATIONS
from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.outlined_calls import OUTLINED_CALLS, OutlinedCalls
from linkwork.compiler.passes import optimize, outline
from linkwork.compiler.passes.step_table import fewest_instructions
from linkwork.compiler.program import InvalidProgramError, Program, verify
from linkwork.compiler.trace.trace import trace
from linkwork.errors import NotDifferentiableError
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.symbol import Graph


def rows_in(program: Program) -> OutlinedCalls:
    (calls,) = (i.value for i in program.instructions if i.operation is OUTLINED_CALLS)
    assert isinstance(calls, OutlinedCalls)
    return calls


def recursion(x: Any, y: Any) -> Any:
    """Thirty equal steps with constants of their own."""
    rng = np.random.default_rng(2)
    states, state = [], x[0]
    for k in range(30):
        a, b = rng.normal(size=2)
        state = f.sin(state * a + y[k % 5]) - b * x[1]
        states.append(state * y[k % 3] + 2.0)
    return states


@pytest.fixture(scope="module")
def marked() -> Program:
    program = trace(recursion, "recursion", {"x": (2,), "y": (5,)})
    sines = [k for k, i in enumerate(program.instructions) if i.operation.name == "sin"]
    return replace(program, marks=tuple(k + 1 for k in sines))


def test_outlined_functions_have_at_least_the_estimated_count_of_instructions(
    marked: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is computed before the table is written; the steps are alike, so it is far below the program's size."""
    stage = importlib.import_module("linkwork.compiler.passes.outline")
    bounds: list[int] = []
    monkeypatch.setattr(stage, "fewest_instructions", lambda *of: bounds.append(fewest_instructions(*of)) or bounds[-1])
    with outlining():
        table = rows_in(outline(marked))
    assert 0 < bounds[0] <= sum(len(body.instructions) for body in table.bodies) < len(marked.instructions) / 3


# of constants, elementary functions are Python's before and NumPy's after, which may differ in the last digit
EXACT = tuple(operation for operation in OPERATIONS if operation.name not in ("sin", "exp"))


@settings(max_examples=examples(150))
@given(program=programs(EXACT), data=st.data(), seed=st.integers(0, 1000))
def test_results_of_outlined_programs_do_not_depend_on_positions_of_step_marks(
    program: Program, data: st.DataObject, seed: int
) -> None:
    count = len(program.instructions)
    marks = tuple(sorted(data.draw(st.sets(st.integers(0, count), min_size=1, max_size=12))))
    with outlining():
        after = outline(replace(program, marks=marks))
    verify(after)
    arrays = [np.random.default_rng(seed).normal(size=(9, *port.shape)) for port in program.inputs]
    for first, second in zip(program.interpret(*arrays), after.interpret(*arrays), strict=True):
        np.testing.assert_array_equal(first, second)


def test_equal_program_steps_share_an_outlined_function_and_reuse_slots(marked: Program) -> None:
    with outlining():
        rows = rows_in(optimize(marked, debug=True))
    often = sorted(times for _, times in rows.runs)
    assert len(rows.bodies) <= 4 and often[-1] >= 28
    assert rows.results == 30 and rows.slots <= 36
    for row in rows.calls:
        assert not set(row.outputs) & set(row.inputs), "a place is written that is still read"


def test_only_long_programs_with_repeated_steps_are_outlined(marked: Program) -> None:
    assert outline(marked) is marked
    with outlining(least=len(marked.instructions) + 1):
        assert outline(marked) is marked
    with outlining(left=0.01):
        assert outline(marked) is marked
    module = importlib.import_module("linkwork.compiler.passes.outline")
    with outlining(), mock.patch.object(module, "_MIN_OF_SHORT", 10_000):
        assert outline(marked) is marked  # steps are short
    with outlining():
        plain = replace(marked, marks=())
        assert outline(plain) is plain
        assert outline(marked) is not marked
        assert not any(i.operation is OUTLINED_CALLS for i in optimize(marked, without=["outline"]).instructions)


def test_operation_counts_of_outlined_programs_include_every_call(marked: Program) -> None:
    with outlining():
        after = outline(marked)
    assert after.operations["sin"] == marked.operations["sin"] == 30
    assert after.arithmetic == marked.arithmetic


def test_program_verifier_names_the_fault_of_a_wrong_outlined_call(marked: Program) -> None:
    with outlining():
        after = outline(marked)
    rows = rows_in(after)
    first, *later_calls = rows.calls
    wrong = {
        "expected": first._replace(outputs=()),
        "have no value": first._replace(inputs=(3,) * len(first.inputs)),
        "cannot write": first._replace(outputs=(rows.slots,) * len(first.outputs)),
    }
    for message, row in wrong.items():
        with pytest.raises(InvalidProgramError, match=message):
            verify(with_rows(after, replace(rows, calls=(row, *later_calls))))
    with pytest.raises(InvalidProgramError, match="no call writes some of the results"):
        verify(with_rows(after, replace(rows, calls=rows.calls[:-1])))


def with_rows(program: Program, rows: OutlinedCalls) -> Program:
    changed = [i._replace(value=rows) if i.operation is OUTLINED_CALLS else i for i in program.instructions]
    return program.rebuilt(changed, program.results)


def test_outlined_programs_evaluated_on_symbols_equal_straight_line_programs(marked: Program) -> None:
    with outlining():
        after = outline(marked)
    graph = Graph()
    symbols = [*graph.inputs("x", (2,)), *graph.inputs("y", (5,))]
    after.run(symbols)
    assert not any(node.op is OUTLINED_CALLS for node in graph.nodes)
    values = [0.1 * k - 0.3 for k in range(7)]
    np.testing.assert_array_equal(after.run(values), marked.interpret(values[:2], values[2:])[0])
    rows = rows_in(after)
    for derivative in (rows.push_forward, rows.pull_back):
        with pytest.raises(NotDifferentiableError, match="only in optimized programs"):
            derivative([], [], [])
