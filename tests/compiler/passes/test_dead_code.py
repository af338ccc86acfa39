"""Dead code: what is left out, and what is not."""

from __future__ import annotations

from hypothesis import given, settings

from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.passes import dead_code
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.expr.scalar.operations import BY_NAME


def test_only_what_results_need_is_kept_in_its_order() -> None:
    instructions = (
        Instruction(INPUT, (), 1),
        Instruction(INPUT, (), 0),
        Instruction(CONSTANT, (), 2.0),
        Instruction(BY_NAME["sin"], (1,)),
        Instruction(BY_NAME["mul"], (0, 2)),
        Instruction(BY_NAME["neg"], (3,)),
    )
    program = Program("some", (Port("x", (2,)),), (Port("z", (2,)),), instructions, (4, 0))
    kept = dead_code(program)
    assert [i.operation.name for i in kept.instructions] == ["input", "constant", "mul"]
    assert kept.instructions[2].args == (0, 1)
    assert kept.results == (2, 0)
    assert kept.instructions[0].value == 1


def test_without_results_nothing_is_needed() -> None:
    program = Program("none", (Port("x", (1,)),), (Port("z", (0,)),), (Instruction(INPUT, (), 0),), ())
    assert dead_code(program).instructions == ()


@settings(max_examples=examples(60))
@given(programs())
def test_every_value_kept_is_used_and_a_second_run_finds_nothing(program: Program) -> None:
    kept = dead_code(program)
    used = {*kept.results, *(a for instruction in kept.instructions for a in instruction.args)}
    assert used == {*range(len(kept.instructions))}
    assert dead_code(kept) == kept
