"""Signs moved into constants: values keep their sizes, and steps that differ in signs become alike."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.passes.outline import signs_moved
from linkwork.compiler.program import Program, verify
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar.operations import BY_NAME

# those that tell zeros of both signs apart are left out
_NAMES = ("add", "sub", "mul", "neg", "sqrt", "fmin", "fmax", "fabs", "where", "lt", "le", "and_", "not_", "sin", "exp")
OPERATIONS = tuple(BY_NAME[name] for name in _NAMES if name in BY_NAME)


def moved(program: Program) -> Program:
    instructions, results, _ = signs_moved(program.instructions, program.results, ())
    return replace(program, instructions=tuple(instructions), results=tuple(results))


def kinds(program: Program) -> list[str]:
    return [i.operation.name for i in program.instructions if i.operation.arity]


@pytest.mark.slow(every=5)
@settings(max_examples=examples(200))
@given(program=programs(OPERATIONS), seed=st.integers(0, 1000))
def test_outlining_pass_that_moves_signs_into_constants_preserves_results(program: Program, seed: int) -> None:
    after = moved(program)
    verify(after)
    arrays = [np.random.default_rng(seed).normal(size=(9, *port.shape)) for port in program.inputs]
    for first, second in zip(program.interpret(*arrays), after.interpret(*arrays), strict=True):
        np.testing.assert_array_equal(first, second)


def test_program_steps_that_differ_only_in_signs_get_equal_forms_for_outlining() -> None:
    def step(c: np.ndarray) -> Program:
        def f(x, y):
            first = c[0] * x[0] - c[1] * x[1] + x[2]
            second = c[2] * y[0] + c[3] * y[1]
            return first * second - y[2] * (c[4] * x[1] - x[2] * first), second - x[0] / c[5]

        return trace(f, "f", {"x": (3,), "y": (3,)})

    rng = np.random.default_rng(3)
    magnitudes = rng.uniform(1.5, 3.0, 6)
    forms, forms_before = set(), set()
    for k in range(64):
        signs = np.array([1.0 if k >> j & 1 else -1.0 for j in range(6)])
        program = step(signs * magnitudes)
        forms_before.add(tuple(kinds(program)))
        forms.add(tuple(kinds(moved(program))))
    assert len(forms_before) > 10 and len(forms) == 1


def test_moving_signs_into_constants_keeps_step_marks_at_their_instructions() -> None:
    program = trace(lambda x: (-2.0 * x[0] + x[1], x[1] - x[0] * 3.0), "f", {"x": (2,)})
    instructions, _, marks = signs_moved(
        program.instructions, program.results, [0, len(program.instructions) - 1, len(program.instructions)]
    )
    assert marks[0] == 0 and marks[2] == len(instructions)
    assert 0 < marks[1] < len(instructions)
