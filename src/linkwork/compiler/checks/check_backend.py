"""`check_backend`: a backend against the contract of `Backend`.

The references are the interpreter and the CPU's backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.contract_report import ContractReport, Requirement, check_requirements
from linkwork.compiler.backend import Backend
from linkwork.compiler.backends import default_backend
from linkwork.compiler.checks.sample_programs import programs, samples
from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import Program

__all__ = ["check_backend"]

_SIZES = (1, 2, 3, 17, 64)  # samples: fewer and more than lanes, whole vectors and remainders
_TINY = 1e-300  # a value below it counts as that large in relative errors


def check_backend(
    backend: Backend[Any], *, tolerance: float = 1e-12, real: FloatType = DOUBLE, seed: int = 0
) -> ContractReport:
    """Check a backend, for example one that you wrote, against the contract of `linkwork.compiler.backend.Backend`.

    Every operation, straight-line programs, inputs and outputs of several shapes, branches and loops are evaluated for
    batches of several sizes.  Results may differ from the interpreter's results, and from the CPU's, by ``tolerance``
    relative to the result.  They must be NaN or infinite where the expected results are.  The line "refuse" names the
    programs that the backend refuses; the other lines are about programs that it compiles.  The report prints as a
    table; ``check_backend(backend).raise_if_failed()`` is a test.
    """
    trial = _Trial(backend, real, tolerance, np.random.default_rng(seed))
    kind = type(backend)
    return check_requirements(f"backend {kind.__name__}", _requirements(trial), trial, kind, Backend)


class _Trial:
    """A backend, the programs that it compiles, and their inputs and results."""

    def __init__(self, backend: Backend[Any], real: FloatType, tolerance: float, rng: np.random.Generator) -> None:
        self.backend, self.real, self.tolerance = backend, real, tolerance
        cases = [(program, domains) for program, domains in programs() if backend.refuse(program) is None]
        self.programs = [program for program, _ in cases]
        self.refused = [program for program, _ in programs() if backend.refuse(program) is not None]
        self.inputs = [[samples(rng, x, domains, max(_SIZES), real) for x in p.inputs] for p, domains in cases]

    @cached_property
    def functions(self) -> list[Callable[[Sequence[Any]], list[np.ndarray]]]:
        return [self.backend.function(program, self.real) for program in self.programs]

    @cached_property
    def results(self) -> list[list[np.ndarray]]:
        return [function(arrays) for function, arrays in zip(self.functions, self.inputs, strict=True)]

    def errors(self, reference: str, values: Callable[[Program, list[np.ndarray]], Sequence[Any]]) -> list[float]:
        """Return the largest relative error of each output of each program that the backend compiles.

        ``values(program, inputs)`` computes the reference values, and ``reference`` is their name in messages.  Raises
        ValueError that names the first wrong element.
        """
        errors = []
        for program, arrays, results in zip(self.programs, self.inputs, self.results, strict=True):
            for port, result, reference_value in zip(program.outputs, results, values(program, arrays), strict=True):
                expected = np.asarray(reference_value, np.float64)
                with np.errstate(all="ignore"):
                    relative = np.abs(result - expected) / np.maximum(np.abs(expected), _TINY)
                relative[(result == expected) | (np.isnan(result) & np.isnan(expected))] = 0.0
                wrong = ~(np.isfinite(result) == np.isfinite(expected)) | ~(relative <= self.tolerance)
                if wrong.any():
                    index = tuple(map(int, np.argwhere(wrong)[0]))
                    raise ValueError(
                        f"{program.name}: {port.name}[{', '.join(map(str, index))}] is {float(result[index])!r}, "
                        f"{reference} {float(expected[index])!r}"
                    )
                errors.append(float(relative.max(initial=0.0)))
        return errors

    def texts(self) -> Iterator[tuple[Program, list[str], list[str]]]:
        """Yield each program with the texts of its code from two calls of the backend, which must be equal."""
        parts = self.backend.parts(self.backend.batch_entry, self.real)
        if not parts:
            entry, real = self.backend.batch_entry, self.real.name
            raise ValueError(
                f"parts({entry!r}, {real}): expected the names of at least one part, got none; every type "
                f"needs this entry"
            )
        for program in self.programs:
            optimized = optimize(program, without=self.backend.without_passes)
            first, second = (self.backend.lower(optimized, self.real).texts(parts) for _ in range(2))
            yield program, first, second


def _refuse(t: _Trial) -> list[float]:
    for program in t.refused:
        if not isinstance(t.backend.refuse(program), str):
            raise ValueError(
                f"{program.name}: refuse: expected the reason as a string, got {t.backend.refuse(program)!r}"
            )
    return []


def _lower(t: _Trial) -> list[float]:
    for program, first, second in t.texts():
        if first != second:
            raise ValueError(
                f"{program.name}: expected the same text each time `lower` gets the same program; got different texts"
            )
    return []


def _emit(t: _Trial) -> list[float]:
    for program, text, _ in t.texts():
        objects = t.backend.emit(text)
        if objects != t.backend.emit(text):
            raise ValueError(
                f"{program.name}: expected the same object code each time `emit` gets the same text; "
                f"got different object code"
            )
        if not all(map(t.backend.is_object, objects)):
            raise ValueError(
                f"{program.name}: is_object: expected True for object code that `emit` returned, got False"
            )
    return []


def _interpreter(t: _Trial) -> list[float]:
    return t.errors("the interpreter's", lambda program, arrays: program.interpret(*(x.astype(float) for x in arrays)))


def _cpu(t: _Trial) -> list[float]:
    reference = default_backend()
    return t.errors("the CPU's", lambda program, arrays: reference.function(program, t.real)(arrays))


def _batches(t: _Trial) -> list[float]:
    for program, function, arrays, results in zip(t.programs, t.functions, t.inputs, t.results, strict=True):
        for size in _SIZES:
            for port, few, all_samples in zip(
                program.outputs, function([x[:size] for x in arrays]), results, strict=True
            ):
                if not np.array_equal(few, all_samples[:size], equal_nan=True):
                    raise ValueError(
                        f"{program.name}: {port.name}: a batch of {size} samples differs from a batch of {max(_SIZES)}"
                    )
    return []


def _requirements(trial: _Trial) -> tuple[Requirement[_Trial], ...]:
    refused = ", ".join(program.name for program in trial.refused) or "no program"
    return (
        Requirement("refuse", f"a refused program has a reason (refused: {refused})", 0.0, _refuse),
        Requirement("lower", "lowering a program twice gives the same text", 0.0, _lower),
        Requirement("emit", "emitting a text twice gives the same, valid objects", 0.0, _emit),
        Requirement("interpreter", "results equal the interpreter's", trial.tolerance, _interpreter),
        Requirement("cpu", "results equal those of the CPU backend", trial.tolerance, _cpu),
        Requirement("batches", "the result of a sample does not depend on its batch", 0.0, _batches),
    )
