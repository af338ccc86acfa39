"""Sample programs on which the checks compare results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.port import Port
from linkwork.compiler.program import CONSTANT, INPUT, Instruction, Program
from linkwork.compiler.trace.trace import trace
from linkwork.expr.control import cond, scan, while_loop
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["operation_program", "programs", "samples"]


def programs() -> Iterator[tuple[Program, tuple[tuple[float, float], ...]]]:
    """Yield programs that have every operation, straight-line code, branches and loops.

    Each comes with an interval for every element of its first input; other inputs are from (−2, 2).
    """
    for operation in BY_NAME.values():
        if operation.arity > 0:
            yield operation_program(operation), operation.domain
    yield trace(lambda x: x, "copy", {"x": (2, 3)}), ()
    yield trace(lambda x: np.array([1.5, x[0]]), "constant", {"x": 1}), ()
    yield trace(lambda A, b, s: (A @ b * s, b @ b), "shapes", {"A": (3, 2), "b": 2, "s": ()}), ()
    yield trace(_long, "long", {"x": 4}), ()
    yield trace(lambda x: cond(f.lt(x[0], 0.0), lambda y: y * 2.0, lambda y: f.sin(y), x), "choice", {"x": 3}), ()
    yield trace(lambda x: scan(lambda s, a: (s + a * s, s), x[0], x)[1], "sum", {"x": 6}), ()
    yield trace(_root, "root", {"x": ()}), ()


def operation_program(operation: Operation) -> Program:
    """Return a program of one operation on elements of x.

    A truth value as argument is the comparison 0 < x; a truth value as result is converted to a number by ``where``.
    """
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
    """Return results of hundreds of operations on x, among them sine and cosine of one angle, and sums of products."""
    a, b, c, d = x
    for k in range(40):
        a, b, c, d = b + 0.1 * f.sin(a), c - 0.1 * f.cos(a), d * 0.9 + a * b * 0.05, f.sqrt(1.0 + a * a) + 0.01 * k
    return np.array([a, b, c, d])


def _root(x: Any) -> Any:
    """Compute √(2 + x²) by Newton's iteration, whose number of iterations depends on the sample."""
    square = 2.0 + x * x
    iteration = while_loop(
        lambda y: f.lt(1e-13 * square, f.fabs(y * y - square)),
        lambda y: 0.5 * (y + square / y),
        square,
        max_iterations=60,
    )
    return iteration.state


def samples(rng: np.random.Generator, port: Port, domains: Any, count: int, real: FloatType = DOUBLE) -> np.ndarray:
    """Return random values (count, *shape) for a port, in the interval of each element."""
    intervals = domains if domains and len(domains) == port.size else ((-2.0, 2.0),) * port.size
    columns = [rng.uniform(max(low, -1e3), min(high, 1e3), count) for low, high in intervals]
    return np.array(columns, real.dtype).reshape(port.size, count).T.reshape(count, *port.shape).copy()
