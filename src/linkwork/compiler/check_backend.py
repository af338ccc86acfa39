"""The check of a backend: its answers beside the interpreter's and the CPU's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linkwork.compiler.backend import Backend
from linkwork.compiler.backends import default_backend
from linkwork.compiler.codegen.float_type import DOUBLE, Real
from linkwork.compiler.passes import optimize
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Port, Program
from linkwork.compiler.trace.trace import trace
from linkwork.expr.control import cond, scan, while_loop
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["check_backend", "programs"]

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
        largest = [_samples(rng, port, domains, max(_SIZES), real) for port in program.inputs]
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


def programs() -> Iterator[tuple[Program, tuple[tuple[float, float], ...]]]:
    """Programs to compare backends by, each with an interval for every element of its first input; (−2, 2) beyond."""
    for operation in BY_NAME.values():
        if operation.arity > 0:
            yield _of_operation(operation), operation.domain
    yield trace(lambda x: x, "copy", {"x": (2, 3)}), ()
    yield trace(lambda x: np.array([1.5, x[0]]), "constant", {"x": 1}), ()
    yield trace(lambda A, b, s: (A @ b * s, b @ b), "shapes", {"A": (3, 2), "b": 2, "s": ()}), ()
    yield trace(_long, "long", {"x": 4}), ()
    yield trace(lambda x: cond(f.lt(x[0], 0.0), lambda y: y * 2.0, lambda y: f.sin(y), x), "choice", {"x": 3}), ()
    yield trace(lambda x: scan(lambda s, a: (s + a * s, s), x[0], x)[1], "sum", {"x": 6}), ()
    yield trace(_root, "root", {"x": ()}), ()


def _of_operation(operation: Operation) -> Program:
    """The operation on elements of x; truth values are made of numbers by 0 < x, and numbers of them by ``where``."""
    instructions = [Instruction(INPUT, (), k) for k in range(operation.arity)]
    args = list(range(operation.arity))
    zero = len(instructions)
    instructions += [Instruction(CONSTANT, (), 0.0), Instruction(CONSTANT, (), 1.0)]
    for k, kind in enumerate(operation.kinds):
        if kind == "t":
            args[k] = len(instructions)
            instructions.append(Instruction(BY_NAME["lt"], (zero, k)))
    instructions.append(Instruction(operation, tuple(args)))
    if operation.logical:
        instructions.append(Instruction(BY_NAME["where"], (len(instructions) - 1, zero + 1, zero)))
    ports = (Port("x", (operation.arity,)),), (Port("z", ()),)
    return Program(operation.name, *ports, tuple(instructions), (len(instructions) - 1,))


def _long(x: Any) -> Any:
    """Some hundreds of operations, with sines and cosines of one argument, and products that are added."""
    a, b, c, d = x
    for k in range(40):
        a, b, c, d = b + 0.1 * f.sin(a), c - 0.1 * f.cos(a), d * 0.9 + a * b * 0.05, f.sqrt(1.0 + a * a) + 0.01 * k
    return np.array([a, b, c, d])


def _root(x: Any) -> Any:
    """Newton's iteration for √(2 + x²), whose number of steps depends on the sample."""
    square = 2.0 + x * x
    going = while_loop(
        lambda y: f.lt(1e-13 * square, f.fabs(y * y - square)), lambda y: 0.5 * (y + square / y), square, at_most=60
    )
    return going.state


def _samples(rng: np.random.Generator, port: Port, domains: Any, count: int, real: Real) -> np.ndarray:
    intervals = domains if domains and len(domains) == port.size else ((-2.0, 2.0),) * port.size
    columns = [rng.uniform(max(low, -1e3), min(high, 1e3), count) for low, high in intervals]
    return np.array(columns, real.dtype).reshape(port.size, count).T.reshape(count, *port.shape).copy()


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
            f"{backend!r}: {program.name}: {port.name}[{', '.join(map(str, place))}] is {got[place]!r}, "
            f"{whose} {other[place]!r}"
        )
