"""`check_pass` and `check_operation`: passes and operations fulfil the contract, and reports name faults."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from linkwork.compiler.checks import check_operation, check_pass
from linkwork.compiler.passes import ALL
from linkwork.compiler.program import Instruction
from linkwork.errors import ContractError
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME

OPERATIONS = [operation for operation in BY_NAME.values() if operation.arity > 0]


@pytest.mark.parametrize("one_pass", ALL, ids=lambda one_pass: one_pass.__name__)
def test_every_compiler_pass_fulfils_its_contract(one_pass):
    check_pass(one_pass).raise_if_failed()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_scalar_operation_fulfils_its_contract(operation):
    check_operation(operation).raise_if_failed()


def as_subtractions(program):
    add, sub = BY_NAME["add"], BY_NAME["sub"]
    instructions = [Instruction(sub, i.args, i.value) if i.operation is add else i for i in program.instructions]
    return program.rebuilt(instructions, program.results)


def out_of_order(program):
    if len(program.instructions) < 3 or not program.instructions[-1].args:
        return program
    last = program.instructions[-1]
    instructions = [
        *program.instructions[:-1],
        Instruction(last.operation, (len(program.instructions) - 1,) * len(last.args)),
    ]
    return replace(program, instructions=tuple(instructions))


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
    ("one_pass", "requirement", "message"),
    [
        (as_subtractions, "values", "add: z has different values after the pass"),
        (out_of_order, "valid", "InvalidProgramError: .* is not defined before it"),
        (fewer_outputs, "ports", "outputs: expected"),
        (Unsteady(), "deterministic", "gives a different program"),
    ],
)
def test_check_pass_names_the_fault_of_a_broken_compiler_pass(one_pass, requirement, message):
    assert_reported(check_pass(one_pass), requirement, message)


def assert_reported(report, requirement, message):
    failures = {line.name: line.problem for line in report.failures}
    assert re.search(message, failures[requirement])
    with pytest.raises(ContractError, match=message):
        report.raise_if_failed()


ATAN2 = f.atan2.operation


@pytest.mark.parametrize(
    ("change", "requirement", "message"),
    [
        ({"value": lambda y, x: np.arctan2(x, y)}, "scalar", "value on floats"),
        ({"commutative": True}, "commutative", "value of swapped arguments"),
        ({"even": True}, "odd, even", "value of the negated argument"),
        ({"lowering": f.hypot.operation.lowering}, "lowering", "compiled code"),
    ],
)
def test_check_operation_names_the_fault_of_a_broken_operation(change, requirement, message):
    assert_reported(check_operation(replace(ATAN2, name="atan2 with a defect", **change)), requirement, message)


@pytest.mark.slow(every=3)
def test_check_operation_reports_a_small_defect_as_the_only_failure():
    partials = ATAN2.partials
    for requirement, noticed, allowed, change in (
        ("scalar", 3e-12, 3e-13, lambda by: {"scalar": lambda y, x: math.atan2(y, x) * (1.0 + by)}),
        ("composition", 3e-11, 3e-13, lambda by: {"composition": lambda y, x: f.atan2(y, x) + by}),
        ("partials", 1e-5, 1e-7, lambda by: {"partials": lambda *x: [d * (1.0 + by) for d in partials(*x)]}),
    ):
        for by, failures in ((noticed, [requirement]), (allowed, [])):
            report = check_operation(replace(ATAN2, name="atan2 with a defect", **change(by)))
            assert [line.name for line in report.failures] == failures, str(report)


def test_check_operation_tests_antisymmetric_functions_at_zeros_of_both_signs():
    odd_sign = replace(f.sign.operation, name="sign with a defect", odd=True)
    assert_reported(check_operation(odd_sign), "odd, even", "the symmetry fails at 0 or infinity")


def test_each_broken_requirement_of_a_backend_is_the_only_failure_reported():
    """On backends without code: each deviation is named, and its absence is not."""
    program, module = SimpleNamespace(name="f"), import_module("linkwork.compiler.checks.check_backend")

    def trial(reason="too long", emitted=(b"a", b"a"), valid=True, texts=("x", "x")):
        objects = iter([*emitted, *emitted])
        backend = SimpleNamespace(
            refuse=lambda _: reason, emit=lambda _: [next(objects)], is_object=lambda _: valid, batch_entry="batch"
        )
        return SimpleNamespace(backend=backend, refused=[program], texts=lambda: [(program, *texts)])

    for function, broken, text in (
        (module._refuse, trial(reason=None), "f: refuse: expected the reason as a string, got None"),
        (
            module._lower,
            trial(texts=("x", "y")),
            "f: expected the same text each time `lower` gets the same program; got different texts",
        ),
        (
            module._emit,
            trial(emitted=(b"a", b"b")),
            "f: expected the same object code each time `emit` gets the same text; got different object code",
        ),
        (
            module._emit,
            trial(valid=False),
            "f: is_object: expected True for object code that `emit` returned, got False",
        ),
    ):
        assert function(trial()) == []
        with pytest.raises(ValueError, match=text):
            function(broken)
    empty = SimpleNamespace(
        backend=SimpleNamespace(batch_entry="batch", parts=lambda *_: []), real=SimpleNamespace(name="r")
    )
    with pytest.raises(ValueError, match=r"parts\('batch', r\): expected the names of at least one part, got none"):
        next(module._Trial.texts(empty))
