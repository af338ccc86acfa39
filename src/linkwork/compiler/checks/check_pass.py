"""The check of a compiler pass: what it gives computes the same, and is a valid program."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from linkwork.compiler.checks.sample_programs import programs, samples
from linkwork.compiler.passes import ALL, everywhere
from linkwork.compiler.passes.verifier import verify
from linkwork.compiler.program import Program
from linkwork.expr.scalar.block import InstructionList

__all__ = ["check_pass"]

_SAMPLES = 33


def check_pass(
    one_pass: Callable[[InstructionList], InstructionList], further: Iterable[Program] = (), *, seed: int = 0
) -> None:
    """Run a pass on programs with every operation, straight-line code, choices and loops, and on ``further`` ones.

    Alone, and after each of the passes of `ALL`, it must keep the name, the inputs and the outputs, give a program that
    the verifier takes, the same one each time, and one that computes the same to the last bit.  Raises AssertionError
    that names the program, and `InvalidProgramError` (an AssertionError) for a program that is none.
    """
    rng = np.random.default_rng(seed)
    cases = [*programs(), *((program, ()) for program in further)]
    for program, domains in cases:
        arrays = [samples(rng, port, domains, _SAMPLES) for port in program.inputs]
        for before in (program, *(everywhere(other, program) for other in ALL)):
            after = everywhere(one_pass, before)
            assert (after.name, after.inputs, after.outputs) == (before.name, before.inputs, before.outputs), (
                f"{one_pass.__name__}: {program.name}: other inputs or outputs"
            )
            verify(after)
            assert everywhere(one_pass, before) == after, f"{one_pass.__name__}: {program.name}: another each time"
            expected, got = before.interpret(*arrays), after.interpret(*arrays)
            same = all(np.array_equal(x, y, equal_nan=True) for x, y in zip(expected, got, strict=True))
            assert same, f"{one_pass.__name__}: {program.name}: computes something else"
