"""Steps between marks, and their forms."""

from __future__ import annotations

import numpy as np

from linkwork.compiler.passes import step_patterns as steps
from linkwork.compiler.passes.step_patterns import steps_of
from linkwork.compiler.program import INPUT, Instruction
from linkwork.expr.scalar.operations import BY_NAME

ADD, MUL, LT, WHERE = (BY_NAME[name] for name in ("add", "mul", "lt", "where"))


def inputs(count: int) -> list[Instruction]:
    return [Instruction(INPUT, (), k) for k in range(count)]


def test_program_steps_with_reordered_operands_get_the_same_form_for_outlining() -> None:
    listing = [
        *inputs(4),
        Instruction(MUL, (0, 1)),  # 4
        Instruction(ADD, (2, 4)),
        Instruction(MUL, (3, 2)),  # 6
        Instruction(ADD, (6, 5)),
        Instruction(ADD, (3, 2)),  # 8
        Instruction(MUL, (8, 5)),
    ]
    first, second, third = steps_of(listing, [4, 6, 8])
    assert first.form == second.form != third.form
    assert first.operands == [0, 1, 2] and second.operands == [3, 2, 5]
    assert first.values == [4, 5] and second.values == [6, 7]


def test_outlined_steps_repeat_comparisons_of_earlier_steps() -> None:
    listing = [
        *inputs(3),
        Instruction(LT, (0, 1)),  # 3
        Instruction(WHERE, (3, 0, 1)),
        Instruction(WHERE, (3, 1, 2)),  # 5
        Instruction(ADD, (4, 5)),
    ]
    first, second = steps_of(listing, [5])
    assert first.values == [3, 4] and second.values == [-1, 5, 6]
    assert second.form[0] is LT and second.operands == [0, 1, 1, 2, 4]


def test_outlining_splits_long_program_steps() -> None:
    count = 2 * steps._MAX_LENGTH + 3
    listing = [*inputs(2), *(Instruction(ADD, (0, 1 + k)) for k in range(count))]
    parts = steps_of(listing, [2])
    assert [v for step in parts for v in step.values] == list(range(2, 2 + count))
    assert len(parts) == 3 and max(len(step.values) for step in parts) <= steps._MAX_LENGTH


def test_consecutive_step_marks_without_instructions_define_no_step() -> None:
    assert steps_of(inputs(3), [0, 1, 3]) == []
    (step,) = steps_of([*inputs(1), Instruction(ADD, (0, 0))], [0, 0, 1, 1, 2])
    assert step.values == [1] and np.array_equal(step.operands, [0, 0])
