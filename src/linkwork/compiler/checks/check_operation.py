"""`check_operation`: a scalar operation against the contract of the table of operations.

The reference is the operation's value on NumPy arrays, at random arguments of its domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork._util.contract_report import ContractReport, Requirement, check_requirements
from linkwork.compiler.checks.sample_programs import operation_program, samples
from linkwork.compiler.kernel import Kernel
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.operations import Operation

__all__ = ["check_operation"]

_SAMPLES = 200
_DIFFERENCES = 1e-5
_ROUNDING = 1e-12
_KINK = 1e-3  # relative difference of one-sided slopes above which the operation has no derivative there


def check_operation(operation: Operation, *, tolerance: float = 1e-12, seed: int = 0) -> ContractReport:
    """Check a scalar operation, for example one that you added, against the contract of the table of operations.

    Values may differ by ``tolerance``, relative to the value and at least to 1.  If an operation does not state a
    property (a composition, symmetries, derivatives), the requirements on that property are reported as holding.  The
    report prints as a table; ``check_operation(operation).raise_if_failed()`` is a test.
    """
    trial = _Trial(operation, np.random.default_rng(seed), tolerance)
    return check_requirements(f"operation {operation.name}", _requirements(tolerance), trial, Operation, None)


class _Trial:
    """The test case of one operation: random arguments of its domain, and its values at these arguments by NumPy."""

    def __init__(self, operation: Operation, rng: np.random.Generator, tolerance: float) -> None:
        self.operation, self.tolerance, self.program = operation, tolerance, operation_program(operation)
        (self.x,) = (samples(rng, port, operation.domain, _SAMPLES) for port in self.program.inputs)
        self.columns = [self.x[:, k] if kind == "n" else self.x[:, k] > 0.0 for k, kind in enumerate(operation.kinds)]
        self.arguments = [tuple(sample.tolist()) for sample in np.transpose(self.columns).astype(object)]
        with np.errstate(all="ignore"):
            self.value = np.asarray(operation.value(*self.columns), dtype=float)

    def errors(self, label: str, result: Any, reference: np.ndarray) -> list[float]:
        """Return, in a list, the largest error of ``result``, relative to ``reference`` (to 1 for references below 1).

        Raises ValueError for an error beyond the tolerance.  The message has ``label`` and the first arguments with
        such an error.
        """
        result = np.asarray(result, dtype=float)
        with np.errstate(all="ignore"):
            errors = np.abs(result - reference) / np.maximum(1.0, np.abs(reference))
        errors[(result == reference) | (np.isnan(result) & np.isnan(reference))] = 0.0
        wrong = ~(errors <= self.tolerance)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(
                f"{self.operation.name}{self.arguments[k]}: the {label} is {float(result[k])!r}, "
                f"the value on arrays {float(reference[k])!r}"
            )
        return [float(errors.max(initial=0.0))]

    def at_partials(self, error: Callable[[int, tuple[float, ...], float, float], float]) -> list[float]:
        """Return the errors of an operation's partial derivatives, for every argument at all sample points.

        ``error`` computes an error from the argument's index, the arguments, the operation's partial derivative, and
        the central difference. Points at kinks and jumps are skipped.
        """
        operation, result = self.operation, []
        if operation.partials is None or operation.logical:
            return []
        for k, kind in enumerate(operation.kinds):
            for x in self.arguments if kind == "n" else ():
                step = 1e-6 * max(1.0, abs(x[k]))
                behind, middle, ahead = (operation.scalar(*x[:k], x[k] + h, *x[k + 1 :]) for h in (-step, 0.0, step))
                below, above = (middle - behind) / step, (ahead - middle) / step
                if abs(above - below) > _KINK * max(1.0, abs(above)):
                    continue  # a kink or a jump, where there is no derivative
                result.append(error(k, x, float(operation.partials(*x, middle)[k]), 0.5 * (below + above)))
        return result


def _floats(t: _Trial) -> list[float]:
    return t.errors("value on floats", [float(t.operation.scalar(*x)) for x in t.arguments], t.value)


def _compiled(t: _Trial) -> list[float]:
    return t.errors("compiled code", Kernel(t.program)(t.x), t.value)


def _composition(t: _Trial) -> list[float]:
    composition = t.operation.composition
    return [] if composition is None else t.errors("composition", composition(*t.columns), t.value)


def _commutative(t: _Trial) -> list[float]:
    if not t.operation.commutative:
        return []
    return t.errors("value of swapped arguments", t.operation.value(*t.columns[::-1]), t.value)


def _parity(t: _Trial) -> list[float]:
    if not (t.operation.odd or t.operation.even):
        return []
    sign = -1.0 if t.operation.odd else 1.0
    special = [np.array([0.0, math.inf])] * t.operation.arity
    with np.errstate(all="ignore"):
        mirrored, negated = sign * t.operation.value(*special), t.operation.value(*(-x for x in special))
    if t.operation.arity == 1 and not np.all(
        np.isnan(mirrored) | ((mirrored == negated) & (np.signbit(mirrored) == np.signbit(negated)))
    ):
        raise ValueError(f"{t.operation.name}: the symmetry fails at 0 or infinity: expected {mirrored}, got {negated}")
    return t.errors("value of the negated argument", t.operation.value(*(-t.x).T), sign * t.value)


def _partials(t: _Trial) -> list[float]:
    def error(k: int, x: tuple[float, ...], partial: float, numeric: float) -> float:
        result = abs(partial - numeric) / max(1.0, float(abs(t.operation.scalar(*x))), abs(numeric))
        if not result <= _DIFFERENCES:
            raise ValueError(
                f"{t.operation.name}{x}: derivative by argument {k + 1} is {partial!r}, differences give {numeric!r}"
            )
        return result

    return t.at_partials(error)


def _forward(t: _Trial) -> list[float]:
    def error(k: int, x: tuple[float, ...], partial: float, numeric: float) -> float:
        moving = seeded([*x], [float(j == k) for j in range(len(x))])
        forward = float(parts(t.operation(*moving), moving[k].level)[1])
        result = abs(forward - partial) / max(1.0, abs(partial))
        if not result <= _ROUNDING:
            raise ValueError(
                f"{t.operation.name}{x}: forward mode gives {forward!r}, partial derivative {k + 1} is {partial!r}"
            )
        return result

    return t.at_partials(error)


def _requirements(tolerance: float) -> tuple[Requirement[_Trial], ...]:
    return (
        Requirement("scalar", "the value on floats equals the value on arrays", tolerance, _floats),
        Requirement("lowering", "compiled code equals the value on arrays", tolerance, _compiled),
        Requirement("composition", "the composition equals the value on arrays", tolerance, _composition),
        Requirement("commutative", "if declared commutative, f(a, b) = f(b, a)", tolerance, _commutative),
        Requirement("odd, even", "if declared odd or even, f(-x) = -f(x) or f(x)", tolerance, _parity),
        Requirement("partials", "the partial derivatives equal finite differences", _DIFFERENCES, _partials),
        Requirement("forward mode", "forward mode gives the partial derivatives", _ROUNDING, _forward),
    )
