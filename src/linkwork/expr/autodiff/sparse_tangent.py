"""Sparse tangents: derivatives in many directions, as a sparse row of scalars in a dual number.

``Dual(x, SparseTangent({0: 1.0}))`` and ``Dual(y, SparseTangent({1: 1.0}))`` pass through a function once and return
its derivatives by both.  A direction in which a value is constant has no entry and costs nothing.  The scalars may be
of any type, including other dual numbers for higher derivatives.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, sections 3.1 (vector mode) and 7.1 (sparse).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from linkwork.expr.autodiff.masked_terms import negated, scaled, summed
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["SparseTangent"]


class SparseTangent:
    """Derivatives of one scalar in many directions: a map from direction to derivative.  Immutable.

    Directions in which the derivative is zero at trace time are not stored.  Sparse tangents add up, and are
    multiplied and divided by scalars.  The number 0.0 stands for one without any derivative.
    """

    __slots__ = ("row",)
    __array_ufunc__ = None

    _precedence = 3  # above that of dual numbers, which may be its scalars

    def __init__(self, row: Mapping[Hashable, Any]) -> None:
        self.row = {key: x for key, x in row.items() if not _is_zero(x)}

    def get(self, key: Hashable) -> Any:
        """Return the derivative in a direction, 0.0 if there is none."""
        return self.row.get(key, 0.0)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.row)

    def __bool__(self) -> bool:
        return bool(self.row)

    def each(self, change: Callable[[Any], Any]) -> SparseTangent:
        """Return the tangent with a function applied to each of its nonzero derivatives."""
        return SparseTangent({key: change(x) for key, x in self.row.items()})

    @staticmethod
    def scaled_term(term: Any, factor: Any, by: Callable[[Any, Any], Any]) -> Any:
        """Return `masked_terms.scaled` of a sparse tangent."""
        return by(term, factor)

    def __neg__(self) -> SparseTangent:
        return self.each(negated)

    def __pos__(self) -> SparseTangent:
        return self

    def __add__(self, other: Any) -> Any:
        row = _row(other)
        if row is None:
            return NotImplemented
        total = dict(self.row)
        for key, x in row.items():
            total[key] = summed(total[key], x) if key in total else x
        return SparseTangent(total)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        row = _row(other)
        if row is None:
            return NotImplemented
        total = dict(self.row)
        for key, x in row.items():
            total[key] = summed(total[key], negated(x)) if key in total else negated(x)
        return SparseTangent(total)

    def __rsub__(self, other: Any) -> Any:
        return -self if _is_zero(other) else NotImplemented

    def __mul__(self, k: Any) -> Any:
        if k.__class__ is SparseTangent:
            return NotImplemented
        return _EMPTY if _is_zero(k) else self.each(lambda x: scaled(x, k))

    __rmul__ = __mul__

    def __truediv__(self, k: Any) -> Any:
        if k.__class__ is SparseTangent:
            return NotImplemented
        return self * f.div(1.0, k)

    def _apply(self, operation: Operation, arguments: tuple[Any, ...]) -> SparseTangent:
        """Refuse an operation: rows have sums and multiples only."""
        raise TypeError(f"{operation.name}: expected scalars, got a sparse row of derivatives")

    def __repr__(self) -> str:
        return f"SparseTangent({self.row!r})"


def _is_zero(x: Any) -> bool:
    """Return True if a scalar is known to be zero at trace time."""
    if x.__class__ is float or x.__class__ is int:
        return bool(x == 0)
    return x.__class__ is Symbol and x.op.name == "constant" and x.value == 0.0


def _row(x: Any) -> Mapping[Hashable, Any] | None:
    if x.__class__ is SparseTangent:
        return x.row
    return {} if _is_zero(x) else None


_EMPTY = SparseTangent({})
