"""Constant folding: operations on constants are evaluated, except for results that are not finite."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiler.support import OPERATIONS, bits_equal
from linkwork.compiler.passes import fold_constants
from linkwork.compiler.program import CONSTANT, COS_OF, FMA, INPUT, SIN_OF, SINCOS, Instruction, Port, Program
from linkwork.expr.scalar.operations import BY_NAME, Operation

REAL = [o for o in OPERATIONS if not o.logical and o.name != "where"]


def of_constants(operation: Operation, *values: float) -> Program:
    constants = [Instruction(CONSTANT, (), value) for value in values]
    instructions = (*constants, Instruction(operation, tuple(range(len(values)))))
    return Program("constants", (), (Port("z", ()),), instructions, (len(values),))


@pytest.mark.parametrize("operation", [*REAL, FMA], ids=lambda operation: operation.name)
def test_constants_folded_by_the_compiler_equal_the_interpreters_results(operation: Operation) -> None:
    program = of_constants(operation, *(low + 0.3 * (high - low) for low, high in operation.domain))
    folded = fold_constants(program)
    assert folded.instructions[-1].operation is CONSTANT
    assert type(folded.instructions[-1].value) is float
    assert bits_equal(folded.interpret()[0], program.interpret()[0])


@pytest.mark.parametrize(
    ("name", "values"), [("div", (1.0, 0.0)), ("log", (-1.0,)), ("sqrt", (-4.0,)), ("exp", (1e3,))]
)
def test_constant_operations_with_infinite_or_nan_results_are_not_folded(name: str, values: tuple[float, ...]) -> None:
    program = of_constants(BY_NAME[name], *values)
    with np.errstate(all="raise"):
        assert fold_constants(program) == program


def test_constant_folding_of_chains_preserves_the_sign_of_zero() -> None:
    instructions = (
        Instruction(CONSTANT, (), 0.0),
        Instruction(BY_NAME["neg"], (0,)),
        Instruction(BY_NAME["sqrt"], (1,)),
        Instruction(INPUT, (), 0),
        Instruction(BY_NAME["mul"], (2, 3)),
    )
    folded = fold_constants(Program("chain", (Port("x", ()),), (Port("z", ()),), instructions, (4,)))
    assert [i.operation for i in folded.instructions[:3]] == [CONSTANT] * 3
    assert math.copysign(1.0, folded.instructions[2].value) == -1.0
    assert folded.instructions[4] == instructions[4]


def test_constant_folding_skips_comparisons_and_sincos_pairs() -> None:
    instructions = (
        Instruction(CONSTANT, (), 1.0),
        Instruction(BY_NAME["lt"], (0, 0)),
        Instruction(BY_NAME["where"], (1, 0, 0)),
        Instruction(SINCOS, (0,)),
        Instruction(SIN_OF, (3,)),
        Instruction(COS_OF, (3,)),
    )
    program = Program("kinds", (), (Port("z", (3,)),), instructions, (2, 4, 5))
    assert fold_constants(program) == program
