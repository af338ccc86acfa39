"""Properties of all passes, alone and combined: results are equal to the last bit, and programs stay valid."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.passes.samples import SAMPLES, sample
from compiler.support import all_bits_equal, arrays_for, programs
from helpers.examples import examples
from linkwork.compiler import passes
from linkwork.compiler.passes import ALL, QUICK_ORDERING, optimize
from linkwork.compiler.program import Instruction, InvalidProgramError, Program, verify

Pass = Callable[[Program], Program]
every_pass = pytest.mark.parametrize("one_pass", [*ALL, *QUICK_ORDERING], ids=lambda one_pass: one_pass.__name__)
seeds = st.integers(0, 1000)


def interpreted_alike(before: Program, after: Program, seed: int) -> bool:
    arrays = arrays_for(before, seed, 9)
    return all_bits_equal(before.interpret(*arrays), after.interpret(*arrays))


@every_pass
@settings(max_examples=examples(60))
@given(program=programs(), seed=seeds)
def test_each_compiler_pass_preserves_results_to_the_last_bit(one_pass: Pass, program: Program, seed: int) -> None:
    after = one_pass(program)
    verify(after)
    assert (after.name, after.inputs, after.outputs) == (program.name, program.inputs, program.outputs)
    assert interpreted_alike(program, after, seed)
    assert one_pass(program) == after


@settings(max_examples=examples(60))
@given(program=programs(), order=st.permutations(ALL), seed=seeds)
def test_compiler_passes_in_any_order_preserve_results_to_the_last_bit(
    program: Program, order: list[Pass], seed: int
) -> None:
    after = program
    for one_pass in order:
        after = one_pass(after)
        verify(after)
    assert interpreted_alike(program, after, seed)


@settings(max_examples=examples(100))
@given(program=programs(), without=st.sets(st.sampled_from([p.__name__ for p in ALL])), seed=seeds)
def test_optimize_with_all_compiler_passes_preserves_results_to_the_last_bit(
    program: Program, without: set[str], seed: int
) -> None:
    after = optimize(program, without=sorted(without), debug=True)
    assert interpreted_alike(program, after, seed)


@pytest.mark.parametrize("name", SAMPLES)
def test_compiler_passes_preserve_results_of_sample_programs_and_add_no_operations(name: str) -> None:
    program = sample(name)
    after = optimize(program, debug=True)
    assert interpreted_alike(program, after, 1)
    assert after.arithmetic <= program.arithmetic
    assert optimize(program) == after


@every_pass
def test_compiler_passes_leave_an_empty_program_empty(one_pass: Pass) -> None:
    empty = Program("empty", (), (), (), ())
    assert one_pass(empty) == empty


def test_optimize_leaves_out_the_passes_named_in_without() -> None:
    program = sample("chain of rotations")
    assert "sincos" not in optimize(program, without=["pair_sincos"]).operations
    assert optimize(program, without=[p.__name__ for p in ALL]) == program
    with pytest.raises(ValueError, match=r"unknown passes \['dead', 'nothing'\]"):
        optimize(program, without=["nothing", "dead"])


def test_optimize_in_debug_mode_names_the_pass_that_makes_a_program_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(program: Program) -> Program:
        last = Instruction(program.instructions[-1].operation, (10**6,) * 2)
        return program.rebuilt([*program.instructions[:-1], last], program.results)

    monkeypatch.setattr(passes, "ALL", (breaks,))
    program = sample("matrix product")
    optimize(program)
    with pytest.raises(InvalidProgramError, match="matrix_product"):
        optimize(program, debug=True)


def test_optimize_in_debug_mode_verifies_the_input_program() -> None:
    program = sample("matrix product")
    with pytest.raises(InvalidProgramError, match="the results do not fill the outputs"):
        optimize(program.rebuilt(program.instructions, program.results[:-1]), debug=True)
