"""Verifier of programs: bodies of loops, branches and calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from expr.control.cases import CASES
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, Instruction, InvalidProgramError, Program, verify
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar.multi_result import MultiResult


def changed(program: Program, change: Any) -> Program:
    """The program with something else in the place of each body."""
    instructions = [
        i._replace(value=i.value.with_bodies(change)) if isinstance(i.value, MultiResult) else i
        for i in program.instructions
    ]
    return program.rebuilt(instructions, program.results)


def test_verifier_of_loop_bodies_accepts_valid_bodies_and_refuses_broken_ones() -> None:
    broken = {
        "is not defined before it": lambda b: b.rebuilt([*b.instructions[1:], b.instructions[0]], b.results),
        "expected a body of": lambda b: replace(b, takes=b.takes + 1),
        "no input element": lambda b: replace(b, takes=0),
        "is not a ": lambda b: b.rebuilt(b.instructions, [len(b.instructions)] * len(b.results)),
        "a constant must be a float": lambda b: b.rebuilt([Instruction(CONSTANT, (), 1), *b.instructions], b.results),
    }
    for name in ("newton", "swing", "chosen", "called"):
        case = CASES[name]
        program = trace(case.function, name, case.shapes)
        verify(program)
        verify(optimize(program, debug=True))
        for text, change in broken.items():
            with pytest.raises(InvalidProgramError, match=rf"{name}: value .*({text}|expected a body)"):
                verify(changed(program, change))
