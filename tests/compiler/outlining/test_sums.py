"""Forms that differ in the signs of terms alone are one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.knobs import outlining
from linkwork.compiler.outlined_calls import OUTLINED_CALLS, OutlinedCalls
from linkwork.compiler.passes import optimize
from linkwork.compiler.passes.outlining.step_patterns import OF_CONSTANT, OF_VALUE, Form
from linkwork.compiler.passes.outlining.step_table import ADD, MUL, SUB, unsigned
from linkwork.compiler.program import Program
from linkwork.compiler.trace.trace import trace


def test_terms_stand_in_one_order_whatever_their_signs() -> None:
    forms: list[Form] = [
        (MUL, OF_VALUE, OF_VALUE, ADD, OF_VALUE, 0),
        (MUL, OF_VALUE, OF_VALUE, SUB, OF_VALUE, 0),
        (MUL, OF_VALUE, OF_VALUE, SUB, 0, OF_VALUE),
    ]
    found = [unsigned(form) for form in forms]
    assert len({one.form for one in found}) == 1
    assert [one.signs for one in found] == [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0)]
    assert all(one.order is None for one in found)


def test_operands_go_with_their_terms() -> None:
    one, other = unsigned((SUB, OF_VALUE, OF_CONSTANT)), unsigned((ADD, OF_CONSTANT, OF_VALUE))
    assert one.form == other.form
    assert one.order == (1, 0) and one.signs == (-1.0, 1.0)
    assert other.order is None and other.signs == (1.0, 1.0)


def walked(signs: Sequence[Sequence[float]]) -> Program:
    """Steps that differ in the signs of sums of what other steps leave: no constant can take these."""

    def f(x: Any, y: Any) -> Any:
        states = [x[0], x[1]]
        for a, b, c in signs:
            one, other = states[-2:]
            states.append((one * y[0] if a > 0 else -(one * y[0])) + (other if b > 0 else -other) * y[1])
            states[-1] = y[2] - states[-1] if c > 0 else y[2] + states[-1]
        return states

    program = trace(f, "f", {"x": (2,), "y": (3,)})
    starts = [k for k, i in enumerate(program.instructions) if i.operation is MUL][::2]
    return replace(program, marks=tuple(starts))


@pytest.mark.parametrize("seed", range(4))
def test_signs_are_numbers_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = walked(rng.choice([-1.0, 1.0], size=(24, 3)))
    with outlining():
        after = optimize(program, debug=True)
    (rows,) = (i.value for i in after.instructions if i.operation is OUTLINED_CALLS)
    assert isinstance(rows, OutlinedCalls) and len(rows.bodies) <= 6 < len(rows.calls)
    x, y = rng.normal(size=(9, 2)), rng.uniform(0.2, 0.5, size=(9, 3))
    (expected,), (found,) = program.interpret(x, y), after.interpret(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-14)
