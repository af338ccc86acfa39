"""`check_pass`: a compiler pass against its contract.

The pass is run on programs that have every operation, straight-line code, branches and loops.  It is run alone, and
after each of the passes of `linkwork.compiler.passes.ALL`.  The reference is the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.contract_report import ContractReport, Requirement, check_requirements
from linkwork.compiler.checks.sample_programs import programs, samples
from linkwork.compiler.passes import ALL, everywhere
from linkwork.compiler.program import Program, verify
from linkwork.expr.scalar.block import InstructionList

__all__ = ["REQUIREMENTS", "check_pass"]

_SAMPLES = 33

Pass = Callable[[InstructionList], InstructionList]


def check_pass(one_pass: Pass, further: Iterable[Program] = (), *, seed: int = 0) -> ContractReport:
    """Check a compiler pass, for example one that you wrote, against the contract of passes.

    The pass runs on the check's own programs and on the programs in ``further``.  ``seed`` is the seed of the programs'
    random inputs.  If the pass raises an exception, no requirement holds.  The report prints as a table;
    ``check_pass(one_pass).raise_if_failed()`` is a test.
    """
    trial = _Trial(one_pass, (*further,), np.random.default_rng(seed))
    return check_requirements(f"pass {one_pass.__name__}", REQUIREMENTS, trial, type(one_pass), None)


class _Case(NamedTuple):
    name: str
    before: Program
    after: Program
    arrays: list[np.ndarray]


class _Trial:
    """The test cases of one compiler pass: sample programs, before and after the pass, with random inputs."""

    def __init__(self, one_pass: Pass, further: tuple[Program, ...], rng: np.random.Generator) -> None:
        self.one_pass, self.further, self.rng = one_pass, further, rng

    @cached_property
    def cases(self) -> list[_Case]:
        result = []
        for program, domains in (*programs(), *((program, ()) for program in self.further)):
            arrays = [samples(self.rng, port, domains, _SAMPLES) for port in program.inputs]
            for before in (program, *(everywhere(further_pass, program) for further_pass in ALL)):
                result.append(_Case(program.name, before, everywhere(self.one_pass, before), arrays))
        return result


def _ports(t: _Trial) -> list[float]:
    for name, before, after, _ in t.cases:
        for field in ("name", "inputs", "outputs", "guards"):
            expected, result = (getattr(program, field) for program in (before, after))
            if result != expected:
                raise ValueError(f"{name}: {field}: expected {expected!r}, got {result!r}")
    return []


def _valid(t: _Trial) -> list[float]:
    for case in t.cases:
        verify(case.after)
    return []


def _steady(t: _Trial) -> list[float]:
    for name, before, after, _ in t.cases:
        if everywhere(t.one_pass, before) != after:
            raise ValueError(
                f"{name}: expected the same result for the same program; a second run gives a different program"
            )
    return []


def _values(t: _Trial) -> list[float]:
    for name, before, after, arrays in t.cases:
        for port, expected, result in zip(
            before.outputs, before.interpret(*arrays), after.interpret(*arrays), strict=True
        ):
            if not np.array_equal(result, expected, equal_nan=True):
                raise ValueError(f"{name}: {port.name} has different values after the pass")
    return []


REQUIREMENTS: tuple[Requirement[_Trial], ...] = (
    Requirement("ports", "name, inputs, outputs and guards are unchanged", 0.0, _ports),
    Requirement("valid", "the verifier accepts the result", 0.0, _valid),
    Requirement("deterministic", "the same program gives the same result", 0.0, _steady),
    Requirement("values", "the outputs are bitwise equal", 0.0, _values),
)
