"""Checks of passes and operations: all there are keep the contract, and what breaks it is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkwork.compiler.checks import check_operation, check_pass
from linkwork.compiler.passes import ALL
from linkwork.compiler.passes.verifier import InvalidProgramError
from linkwork.compiler.program import Instruction
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME

OPERATIONS = [operation for operation in BY_NAME.values() if operation.arity > 0]


@pytest.mark.parametrize("one_pass", ALL, ids=lambda one_pass: one_pass.__name__)
def test_every_pass_keeps_the_contract(one_pass):
    check_pass(one_pass)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_keeps_the_contract(operation):
    check_operation(operation)


def as_subtractions(program):
    add, sub = BY_NAME["add"], BY_NAME["sub"]
    kept = [Instruction(sub, i.args, i.value) if i.operation is add else i for i in program.instructions]
    return program.rebuilt(kept, program.results)


def out_of_order(program):
    if len(program.instructions) < 3 or not program.instructions[-1].args:
        return program
    last = program.instructions[-1]
    kept = [*program.instructions[:-1], Instruction(last.operation, (len(program.instructions) - 1,) * len(last.args))]
    return replace(program, instructions=tuple(kept))


def fewer_outputs(program):
    return replace(program, outputs=program.outputs[:-1]) if hasattr(program, "outputs") else program


class Unsteady:
    __name__ = "unsteady"
    times = 0

    def __call__(self, program):
        self.times += 1
        value = Instruction(BY_NAME["constant"], (), float(self.times))
        return program.rebuilt([*program.instructions, value], program.results)


@pytest.mark.parametrize(
    ("one_pass", "error", "message"),
    [
        (as_subtractions, AssertionError, "as_subtractions: add: computes something else"),
        (out_of_order, InvalidProgramError, "not defined before it"),
        (fewer_outputs, AssertionError, "other inputs or outputs"),
        (Unsteady(), AssertionError, "another each time"),
    ],
)
def test_broken_passes_are_told(one_pass, error, message):
    with pytest.raises(error, match=message):
        check_pass(one_pass)


ATAN2 = f.atan2.operation


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scalar": lambda y, x: 0.0}, "the value on floats is 0.0"),
        ({"value": lambda y, x: np.arctan2(x, y)}, "value on floats"),
        ({"partials": lambda y, x, r: (0.0, 0.0)}, "derivative by argument 1 is 0.0"),
        ({"commutative": True}, "value of swapped arguments"),
        ({"even": True}, "value of the opposite"),
        ({"composition": lambda y, x: np.arctan(y / x) + 1.0}, "composition"),
        ({"lowering": f.hypot.operation.lowering}, "compiled code"),
    ],
)
def test_broken_operations_are_told(change, message):
    with pytest.raises(AssertionError, match=message):
        check_operation(replace(ATAN2, name="atan2 with a defect", **change))
