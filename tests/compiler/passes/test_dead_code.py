"""Dead-code elimination."""

from __future__ import annotations

from hypothesis import given, settings

from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.passes import dead_code
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.expr.scalar.operations import BY_NAME


def test_dead_code_elimination_keeps_needed_instructions_in_order() -> None:
    instructions = (
        Instruction(INPUT, (), 1),
        Instruction(INPUT, (), 0),
        Instruction(CONSTANT, (), 2.0),
        Instruction(BY_NAME["sin"], (1,)),
        Instruction(BY_NAME["mul"], (0, 2)),
        Instruction(BY_NAME["neg"], (3,)),
    )
    program = Program("some", (Port("x", (2,)),), (Port("z", (2,)),), instructions, (4, 0))
    needed = dead_code(program)
    assert [i.operation.name for i in needed.instructions] == ["input", "constant", "mul"]
    assert needed.instructions[2].args == (0, 1)
    assert needed.results == (2, 0)
    assert needed.instructions[0].value == 1


def test_dead_code_elimination_empties_a_program_without_results() -> None:
    program = Program("none", (Port("x", (1,)),), (Port("z", (0,)),), (Instruction(INPUT, (), 0),), ())
    assert dead_code(program).instructions == ()


@settings(max_examples=examples(60))
@given(programs())
def test_dead_code_elimination_is_idempotent_and_keeps_used_values(program: Program) -> None:
    needed = dead_code(program)
    used = {*needed.results, *(a for instruction in needed.instructions for a in instruction.args)}
    assert used == {*range(len(needed.instructions))}
    assert dead_code(needed) == needed
