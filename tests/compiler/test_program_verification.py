"""Verifier: programs that break a rule are refused, one for each rule."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.program import (
    CONSTANT,
    COS_OF,
    FMA,
    INPUT,
    SIN_OF,
    SINCOS,
    Instruction,
    InvalidProgramError,
    Port,
    Program,
    verify,
)
from linkwork.expr.scalar.operations import BY_NAME

X = Instruction(INPUT, (), 0)
UNIT = Instruction(CONSTANT, (), 1.0)
LESS = Instruction(BY_NAME["lt"], (0, 1))


def instruction(name: str, *args: int) -> Instruction:
    return Instruction(BY_NAME[name], args)


def program(*instructions: Instruction, results: tuple[int, ...] = (0,)) -> Program:
    return Program("broken", (Port("x", (2,)),), (Port("z", (len(results),)),), instructions, results)


@settings(max_examples=examples(50))
@given(programs())
def test_program_verifier_accepts_valid_programs(valid: Program) -> None:
    before = (valid.instructions, valid.results)
    verify(valid)
    assert (valid.instructions, valid.results) == before


BROKEN = {
    "too few arguments": (program(X, instruction("add", 0)), "expected 2 arguments, got 1"),
    "too many arguments": (program(X, instruction("neg", 0, 0)), "expected 1 arguments, got 2"),
    "an argument of a constant": (program(X, Instruction(CONSTANT, (0,), 1.0)), "expected 0 arguments"),
    "its own argument": (program(X, instruction("neg", 1)), "not defined before it"),
    "an argument after it": (program(X, instruction("neg", 2), UNIT), "not defined before it"),
    "a negative argument": (program(X, instruction("neg", -1)), "not defined before it"),
    "an input beyond the ports": (program(Instruction(INPUT, (), 2)), "no input element 2"),
    "a negative input": (program(Instruction(INPUT, (), -1)), "no input element -1"),
    "an input without a place": (program(Instruction(INPUT, ())), "no input element None"),
    "an integer for a constant": (program(Instruction(CONSTANT, (), 1)), "a constant must be a float"),
    "arithmetic on a truth value": (program(X, UNIT, LESS, instruction("add", 2, 0)), "got .'truth', 'number'."),
    "a number as condition": (program(X, UNIT, instruction("where", 0, 0, 1)), "expected arguments .'truth', 'number'"),
    "a choice of truth values": (program(X, UNIT, LESS, instruction("where", 2, 2, 2)), "got .'truth', 'truth'"),
    "logic on a number": (program(X, UNIT, LESS, instruction("and_", 2, 0)), "expected arguments .'truth', 'truth'."),
    "negation of a number": (program(X, instruction("not_", 0)), "expected arguments .'truth',."),
    "a part of a number": (program(X, Instruction(SIN_OF, (0,))), "expected arguments .'pair',."),
    "a pair as a number": (program(X, Instruction(SINCOS, (0,)), instruction("neg", 1)), "got .'pair',."),
    "a pair fused": (program(X, Instruction(SINCOS, (0,)), Instruction(FMA, (0, 0, 1))), "got .'number', 'number', 'p"),
    "a pair of a truth value": (program(X, UNIT, LESS, Instruction(SINCOS, (2,))), "got .'truth',."),
    "a truth value as result": (program(X, UNIT, LESS, results=(2,)), "result 2 is not a number"),
    "a pair as result": (program(X, Instruction(SINCOS, (0,)), results=(1,)), "result 1 is not a number"),
    "a result that is not there": (program(X, results=(1,)), "result 1 is not a number"),
    "a negative result": (program(X, results=(-1,)), "result -1 is not a number"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_program_verifier_names_each_broken_rule(case: str) -> None:
    broken, message = BROKEN[case]
    with pytest.raises(InvalidProgramError, match=f"^broken: .*{message}"):
        verify(broken)


@pytest.mark.parametrize("results", [(), (0,), (0, 0, 0)])
def test_program_verifier_requires_as_many_results_as_outputs(results: tuple[int, ...]) -> None:
    with pytest.raises(InvalidProgramError, match="do not fill the outputs"):
        verify(Program("broken", (Port("x", (1,)),), (Port("z", (2,)),), (X,), results))


def test_program_verifier_accepts_sincos_pairs_and_their_components() -> None:
    pair = Instruction(SINCOS, (0,))
    valid = program(X, pair, Instruction(SIN_OF, (1,)), Instruction(COS_OF, (1,)), results=(2, 3))
    verify(valid)
    with pytest.raises(InvalidProgramError, match="is not a number"):
        verify(program(X, pair, results=(1,)))
