"""Sums that differ in the signs of their terms have one form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.knobs import outlining
from linkwork.compiler.outlined_calls import OUTLINED_CALLS, OutlinedCalls
from linkwork.compiler.passes import optimize
from linkwork.compiler.passes.step_patterns import OF_CONSTANT, OF_VALUE, Form
from linkwork.compiler.passes.step_table import ADD, MUL, SUB, unsigned
from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace


def test_outlining_sorts_the_terms_of_sums_equally_for_all_signs() -> None:
    forms: list[Form] = [
        (MUL, OF_VALUE, OF_VALUE, ADD, OF_VALUE, 0),
        (MUL, OF_VALUE, OF_VALUE, SUB, OF_VALUE, 0),
        (MUL, OF_VALUE, OF_VALUE, SUB, 0, OF_VALUE),
    ]
    sums = [unsigned(form) for form in forms]
    assert len({total.form for total in sums}) == 1
    assert [total.signs for total in sums] == [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)]
    assert all(total.order is None for total in sums)


def test_outlining_reorders_the_operands_of_sums_with_their_terms() -> None:
    difference, total = unsigned((SUB, OF_VALUE, OF_CONSTANT)), unsigned((ADD, OF_CONSTANT, OF_VALUE))
    assert difference.form == total.form
    assert difference.order == (1, 0) and difference.signs == (-1.0, 1.0)
    assert total.order is None and total.signs == (1.0, 1.0)


def walked(signs: Sequence[Sequence[float]]) -> Program:
    """Steps that differ in the signs of sums of earlier results, which constants cannot absorb."""

    def f(x: Any, y: Any) -> Any:
        states = [x[0], x[1]]
        for a, b, c in signs:
            first, second = states[-2:]
            states.append((first * y[0] if a > 0 else -(first * y[0])) + (second if b > 0 else -second) * y[1])
            states[-1] = y[2] - states[-1] if c > 0 else y[2] + states[-1]
        return states

    program = trace(f, "f", {"x": (2,), "y": (3,)})
    starts = [k for k, i in enumerate(program.instructions) if i.operation is MUL][::2]
    return replace(program, marks=tuple(starts))


@pytest.mark.parametrize("seed", range(4))
def test_program_steps_with_sums_that_differ_in_signs_share_one_outlined_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = walked(rng.choice([-1.0, 1.0], size=(24, 3)))
    with outlining():
        after = optimize(program, debug=True)
    (rows,) = (i.value for i in after.instructions if i.operation is OUTLINED_CALLS)
    assert isinstance(rows, OutlinedCalls) and len(rows.bodies) <= 6 < len(rows.calls)
    x, y = rng.normal(size=(9, 2)), rng.uniform(0.2, 0.5, size=(9, 3))
    (expected,), (result,) = program.interpret(x, y), after.interpret(x, y)
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-14)
