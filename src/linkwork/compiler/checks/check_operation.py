"""The check of a scalar operation: its values, derivatives and code are of one function."""

from __future__ import annotations

import numpy as np

from linkwork.compiler.checks.sample_programs import operation_program, samples
from linkwork.compiler.kernel import Kernel
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.operations import Operation

__all__ = ["check_operation"]

_SAMPLES = 200


def check_operation(operation: Operation, *, tolerance: float = 1e-12, seed: int = 0) -> None:
    """Compare all that a row of the table says of an operation, at random numbers of its domain.

    The value on floats, the value on arrays, the compiled code and, where there is one, the composition agree within
    ``tolerance`` relative to the value; a commutative operation is, and an odd or even one too.  The partial
    derivatives agree with differences, and forward mode with them.  Raises AssertionError that says at which numbers.
    """
    rng, program = np.random.default_rng(seed), operation_program(operation)
    (x,) = (samples(rng, port, operation.domain, _SAMPLES) for port in program.inputs)
    given = [x[:, k] if kind == "n" else x[:, k] > 0.0 for k, kind in enumerate(operation.kinds)]
    with np.errstate(all="ignore"):
        value = np.asarray(operation.value(*given), dtype=float)
    rows = [tuple(row.tolist()) for row in np.transpose(given).astype(object)]
    _agree(operation, rows, "value on floats", [float(operation.scalar(*row)) for row in rows], value, tolerance)
    _agree(operation, rows, "compiled code", Kernel(program)(x), value, tolerance)
    if operation.composition is not None:
        made = np.asarray(operation.composition(*given), dtype=float)
        _agree(operation, rows, "composition", made, value, tolerance)
    if operation.commutative:
        swapped = np.asarray(operation.value(*given[::-1]), dtype=float)
        _agree(operation, rows, "value of swapped arguments", swapped, value, tolerance)
    if operation.odd or operation.even:
        mirrored = np.asarray(operation.value(*(-x).T), dtype=float)
        _agree(operation, rows, "value of the opposite", mirrored, -value if operation.odd else value, tolerance)
    if operation.partials is None or operation.logical:
        return
    for k, kind in enumerate(operation.kinds):
        if kind == "n":
            _check_partial(operation, rows, k)


def _check_partial(operation: Operation, rows: list[tuple[float, ...]], k: int) -> None:
    """The derivative by argument k beside differences, and beside dual numbers."""
    assert operation.partials is not None
    for row in rows:
        step = 1e-6 * max(1.0, abs(row[k]))
        ends = [operation.scalar(*row[:k], row[k] + h, *row[k + 1 :]) for h in (step, -step)]
        middle = operation.scalar(*row)
        slopes = [(ends[0] - middle) / step, (middle - ends[1]) / step]
        if abs(slopes[0] - slopes[1]) > 1e-3 * max(1.0, abs(slopes[0])):
            continue  # a kink or a jump, where there is no derivative
        numeric, partial = 0.5 * (slopes[0] + slopes[1]), float(operation.partials(*row, middle)[k])
        scale = max(1.0, abs(middle), abs(numeric))
        assert abs(partial - numeric) <= 1e-5 * scale, (
            f"{operation.name}{row}: derivative by argument {k + 1} is {partial!r}, differences say {numeric!r}"
        )
        moving = seeded([*row], [float(j == k) for j in range(len(row))])
        dual = operation(*moving)
        forward = float(parts(dual, moving[k].level)[1])
        assert abs(forward - partial) <= 1e-12 * max(1.0, abs(partial)), (
            f"{operation.name}{row}: forward mode gives {forward!r}, the partial derivative is {partial!r}"
        )


def _agree(
    operation: Operation, rows: list[tuple[float, ...]], what: str, got: object, value: np.ndarray, tolerance: float
) -> None:
    result = np.asarray(got, dtype=float)
    with np.errstate(all="ignore"):
        same = np.abs(result - value) <= tolerance * np.maximum(1.0, np.abs(value))
    same |= (result == value) | (np.isnan(result) & np.isnan(value))
    if not same.all():
        k = int(np.argmin(same))
        raise AssertionError(
            f"{operation.name}{rows[k]}: the {what} is {float(result[k])!r}, the value on arrays {float(value[k])!r}"
        )
