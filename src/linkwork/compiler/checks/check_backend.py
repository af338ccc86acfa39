"""The check of a backend: its answers beside the interpreter's and the CPU's."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.compiler.backend import Backend
from linkwork.compiler.backends import default_backend
from linkwork.compiler.checks.sample_programs import programs, samples
from linkwork.compiler.codegen.float_type import DOUBLE, Real
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import Port, Program

__all__ = ["check_backend"]

_SIZES = (1, 2, 3, 17, 64)  # samples: fewer and more than lanes, whole vectors and rests
_SCALE = 1e-300  # of relative differences, where an answer is zero


def check_backend(backend: Backend[Any], *, tolerance: float = 1e-12, real: Real = DOUBLE, seed: int = 0) -> list[str]:
    """Compare a backend's answers with the interpreter's and the CPU's, and its code with itself.

    Every operation, straight-line programs, inputs and outputs of several shapes, choices and loops are evaluated for
    batches of several sizes.  An answer may differ from the interpreter's, and from the CPU's, by ``tolerance``
    relative to the answer, and from itself in a smaller batch not at all.  Where the answers are NaN or infinite the
    backend's are, too.

    Returns the names of the programs that the backend refuses.  Raises AssertionError that names the program and the
    sample for an answer that differs, and for code that is not the same when it is made again.
    """
    reference, rng, refused = default_backend(), np.random.default_rng(seed), []
    for program, domains in programs():
        if backend.refuse(program) is not None:
            refused.append(program.name)
            continue
        _check_code(backend, program, real)
        largest = [samples(rng, port, domains, max(_SIZES), real) for port in program.inputs]
        function = backend.function(program, real)
        whole = function(largest)
        exact = program.interpret(*(x.astype(np.float64) for x in largest))
        for name, expected in (("the interpreter's", exact), ("the CPU's", reference.function(program, real)(largest))):
            for port, got, other in zip(program.outputs, whole, expected, strict=True):
                _compare(backend, program, port, got, np.asarray(other, np.float64), name, tolerance)
        for size in _SIZES:
            part = function([x[:size] for x in largest])
            for port, got, full in zip(program.outputs, part, whole, strict=True):
                assert np.array_equal(got, full[:size], equal_nan=True), (
                    f"{backend!r}: {program.name}: {port.name}: a batch of {size} differs from one of {max(_SIZES)}"
                )
    return refused


def _check_code(backend: Backend[Any], program: Program, real: Real) -> None:
    """The same program gives the same code, and what it gives is an object."""
    parts = backend.parts(backend.batch_entry, real)
    assert parts, f"{backend!r}: no entry {backend.batch_entry!r} of {real.name}"
    passed = optimize(program, without=backend.without_passes)
    texts = [backend.lower(passed, real).texts(parts) for _ in range(2)]
    assert texts[0] == texts[1], f"{backend!r}: {program.name}: its code is another each time"
    objects = backend.emit(texts[0])
    assert objects == backend.emit(texts[0]), f"{backend!r}: {program.name}: its objects are others each time"
    assert all(map(backend.is_object, objects)), f"{backend!r}: {program.name}: its objects are not taken for such"


def _compare(
    backend: Backend[Any], program: Program, port: Port, got: np.ndarray, other: np.ndarray, whose: str, tol: float
) -> None:
    finite = np.isfinite(other)
    same = np.where(finite, np.abs(got - other) <= tol * np.maximum(np.abs(other), _SCALE), got == other)
    same |= np.isnan(got) & np.isnan(other)
    if not same.all():
        place = tuple(map(int, np.argwhere(~same)[0]))
        raise AssertionError(
            f"{backend!r}: {program.name}: {port.name}[{', '.join(map(str, place))}] is {float(got[place])!r}, "
            f"{whose} {float(other[place])!r}"
        )
