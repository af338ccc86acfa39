"""Pairs of sine and cosine: one for each argument."""

from __future__ import annotations

from hypothesis import given, settings

from compiler.passes.samples import sample
from compiler.support import programs
from helpers.examples import examples
from linkwork.compiler.passes import pair_sincos
from linkwork.compiler.program import COS_OF, SIN_OF, SINCOS, Program
from linkwork.compiler.trace.trace import trace
from linkwork.expr.scalar import functions as f


@settings(max_examples=examples(60))
@given(programs())
def test_sine_and_cosine_of_one_argument_become_one_sincos_operation(program: Program) -> None:
    paired = pair_sincos(program)
    arguments = [i.args for i in paired.instructions if i.operation is SINCOS]
    assert len(arguments) == len(set(arguments))
    assert len(arguments) == len({i.args for i in program.instructions if i.operation.name in ("sin", "cos")})
    assert not {"sin", "cos"} & set(paired.operations)
    assert sum(i.operation in (SIN_OF, COS_OF) for i in paired.instructions) == sum(
        i.operation.name in ("sin", "cos") for i in program.instructions
    )
    assert pair_sincos(paired) == paired


def test_chain_of_rotations_has_one_sincos_operation_for_each_joint() -> None:
    paired = pair_sincos(sample("chain of rotations"))
    assert paired.operations["sincos"] == 8
    assert paired.operations["sin_of"] == paired.operations["cos_of"] == 8


def test_sine_without_a_cosine_becomes_a_sincos_operation_too() -> None:
    paired = pair_sincos(trace(lambda x: f.sin(f.cos(x)), "nested", {"x": ()}))
    assert paired.operations == {"cos_of": 1, "sin_of": 1, "sincos": 2}
