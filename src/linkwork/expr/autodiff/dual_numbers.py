"""Dual numbers over any scalar: forward-mode differentiation, a value with its derivative; sparse tangents.

A function over any scalar evaluated with `Dual` numbers returns its directional derivative as well.  The components may
be floats, NumPy batches, symbols or another library's scalars; duals of duals give second derivatives.  A tangent may
be a sparse row of derivatives in many directions, `SparseTangent`; a value that is constant in all directions is not a
dual number.

``Dual(x, SparseTangent({0: 1.0}))`` and ``Dual(y, SparseTangent({1: 1.0}))`` pass through a function once and return
its derivatives with respect to x and y.  A direction in which a value is constant has no entry and costs nothing.  The
scalars may be of any type, including other dual numbers for higher derivatives.

Source: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 3, sections 3.1 (vector mode) and 7.1
(sparse).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import mul
from typing import Any

from linkwork.expr.autodiff.masked_terms import chosen, negated, push_forward, scaled, summed
from linkwork.expr.scalar import functions as f
from linkwork.expr.scalar.multi_result import Forward
from linkwork.expr.scalar.operations import BY_METHOD, Operation, whole_power
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["Dual", "SparseTangent", "is_same", "order_of", "parts", "seeded", "value_of"]

_fresh_levels = itertools.count(1000, 1000)  # levels of duals of duals come in between


class Dual:
    """The dual number ``value + tangent·ε`` with ε² = 0, which carries a derivative through a function.

    Each level of differentiation has its own ε; values with lower levels are constants to it.  A dual number
    constructed from dual numbers has the next level; `seeded` uses a level that no other number has.
    """

    __slots__ = ("level", "tangent", "value")
    __array_ufunc__ = None

    _precedence = 2

    def __init__(self, value: Any, tangent: Any, level: int | None = None) -> None:
        self.value = value
        self.tangent = tangent
        self.level = 1 + max(_level(value), _level(tangent)) if level is None else level

    def _apply(self, operation: Operation, arguments: tuple[Any, ...]) -> Any:
        level = max(_level(a) for a in arguments)
        values, tangents = zip(*(_split(a, level) for a in arguments), strict=True)
        result = operation(*values)
        if operation.partials is None:
            return result
        partials = operation.partials(*values, result)
        if operation.selects:
            return _dual(result, chosen(partials, tangents), level)
        total: Any = 0.0
        for partial, tangent in zip(partials, tangents, strict=True):
            if not (isinstance(tangent, float) and tangent == 0.0):
                total = summed(total, scaled(tangent, partial, bounded=operation.bounded))
        return _dual(result, total, level)

    def _bundled(self, bundle: Forward, arguments: Sequence[Any]) -> list[Any]:
        """Return the results of an instruction with several results, by its `push_forward`, as dual numbers."""
        level = max(_level(a) for a in arguments)
        values, tangents = zip(*(_split(a, level) for a in arguments), strict=True)
        results = bundle(values)
        many = any(t.__class__ is SparseTangent for t in tangents)
        rows = [{} if isinstance(t, float) and t == 0.0 else t.row if many else {0: t} for t in tangents]
        result = push_forward(bundle, values, results, rows)
        return [
            Dual(x, SparseTangent(row) if many else row[0], level) if row else x
            for x, row in zip(results, result, strict=True)
        ]

    def each(self, change: Callable[[Any], Any]) -> Dual:
        """Return the dual number with ``change`` applied to its value and to its tangent."""
        return Dual(change(self.value), change(self.tangent), self.level)

    @staticmethod
    def scaled_term(term: Any, factor: Any, by: Callable[[Any, Any], Any]) -> Any:
        """Return the product or quotient ``by(term, factor)`` as a dual number with masked terms (`masked_terms`)."""
        level = max(_level(term), _level(factor))
        (a, da), (b, db) = _alike(_split(term, level), _split(factor, level))
        value = scaled(a, b, by)
        if by is not mul:
            return _dual(value, scaled(summed(da, negated(scaled(db, value))), b, by), level)
        return _dual(value, summed(scaled(da, b), scaled(db, a)), level)

    def __neg__(self) -> Dual:
        return self.each(negated)

    def __pos__(self) -> Dual:
        return self

    def __abs__(self) -> Any:
        return f.fabs(self)

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, (int, float)) and abs(exponent) <= 64 and exponent == int(exponent):
            return whole_power(self, int(exponent))
        return f.pow(self, exponent)

    def __rpow__(self, base: Any) -> Any:
        return f.pow(base, self)

    def __lt__(self, other: Any) -> Any:
        return f.lt(self, other)

    def __le__(self, other: Any) -> Any:
        return f.le(self, other)

    def __gt__(self, other: Any) -> Any:
        return f.lt(other, self)

    def __ge__(self, other: Any) -> Any:
        return f.le(other, self)

    def __eq__(self, other: Any) -> Any:
        return f.eq(self, other)

    def __ne__(self, other: Any) -> Any:
        return f.not_(self == other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self.value)

    def __getattr__(self, name: str) -> Any:
        # NumPy applies its functions to arrays of objects by calling the elements' methods: np.sin(q) -> q[i].sin()
        operation = BY_METHOD.get(name)
        if operation is None:
            raise AttributeError(f"a dual number has no attribute {name!r}")
        return lambda *operands: operation(self, *operands)

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.tangent!r})"


def seeded(values: Sequence[Any], tangents: Sequence[Any]) -> list[Dual]:
    """Return dual numbers with these values and tangents, whose ε belongs to one new differentiation alone.

    Nested differentiation is therefore correct, whatever variables the inner functions use.
    """
    level = next(_fresh_levels)
    return [Dual(x, tangent, level) for x, tangent in zip(values, tangents, strict=True)]


def parts(x: Any, level: int | None = None) -> tuple[Any, Any]:
    """Return the value and the tangent of a dual number; the tangent of a constant is 0.0.

    ``level`` selects one of several nested differentiations; the default is the number's innermost one.
    """
    return _split(x, max(_level(x), 1) if level is None else level)


def value_of(x: Any) -> Any:
    """Return a number without its derivatives."""
    while isinstance(x, Dual):
        x = x.value
    return x


def order_of(x: Any) -> int:
    """Return the highest order of derivatives in a number; 0 for a number without derivatives."""
    return 1 + order_of(x.value) if isinstance(x, Dual) else 0


def is_same(a: Any, b: Any) -> bool:
    """Return True if two scalars are the same number or node; for dual numbers, componentwise."""
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ is Dual:
        return bool(a.level == b.level) and is_same(a.value, b.value) and is_same(a.tangent, b.tangent)
    if a.__class__ is SparseTangent:
        return a.row.keys() == b.row.keys() and all(is_same(x, b.row[key]) for key, x in a.row.items())
    return isinstance(a, float) and a == b


def _level(x: Any) -> int:
    return x.level if isinstance(x, Dual) else 0


def _split(x: Any, level: int) -> tuple[Any, Any]:
    """Return the value and the tangent of ``x`` at a level of nested differentiation.

    A number of a lower level is a constant, whose tangent is 0.0.
    """
    return (x.value, x.tangent) if _level(x) == level else (x, 0.0)


def _alike(left: tuple[Any, Any], right: tuple[Any, Any]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return two pairs (value, tangent); if one tangent is sparse, a constant's tangent 0.0 becomes sparse too."""
    (a, da), (b, db) = left, right
    if (da.__class__ is SparseTangent) is (db.__class__ is SparseTangent):
        return left, right
    return (a, da if da.__class__ is SparseTangent else _CONSTANT), (
        b,
        db if db.__class__ is SparseTangent else _CONSTANT,
    )


def _dual(value: Any, tangent: Any, level: int) -> Any:
    """Return a dual number, or the value if it is constant in all directions."""
    return value if tangent.__class__ is SparseTangent and not tangent.row else Dual(value, tangent, level)


def _operator(rule: Callable[[Any, Any, Any, Any], tuple[Any, Any]], swap: bool) -> Callable[[Dual, Any], Any]:
    def method(self: Dual, other: Any) -> Any:
        if other.__class__ is SparseTangent:  # of a higher level, with scalars of this one
            return NotImplemented
        first, second = (other, self) if swap else (self, other)
        level = max(_level(first), _level(second))
        (a, da), (b, db) = _alike(_split(first, level), _split(second, level))
        return _dual(*rule(a, da, b, db), level)

    return method


def _quotient(a: Any, da: Any, b: Any, db: Any) -> tuple[Any, Any]:
    ratio = f.div(a, b)
    if da.__class__ is not SparseTangent:
        return ratio, scaled(summed(da, negated(scaled(db, ratio, bounded=True))), b, f.div, bounded=True)
    if not da:
        return ratio, -(db * f.div(ratio, b))
    inverse = f.div(1.0, b)  # shared by all directions
    return ratio, da * inverse - db * (ratio * inverse)


for _name, _rule in {
    "add": lambda a, da, b, db: (summed(a, b), summed(da, db)),
    "sub": lambda a, da, b, db: (a - b, summed(da, negated(db))),
    "mul": lambda a, da, b, db: (a * b, summed(scaled(da, b, bounded=True), scaled(db, a, bounded=True))),
    "truediv": _quotient,
}.items():
    setattr(Dual, f"__{_name}__", _operator(_rule, swap=False))
    setattr(Dual, f"__r{_name}__", _operator(_rule, swap=True))


class SparseTangent:
    """Derivatives of one scalar in many directions: a map from direction to derivative.  Immutable.

    Directions in which the derivative is zero at trace time are not stored.  Sparse tangents add up, and are multiplied
    and divided by scalars.  The number 0.0 represents a tangent without nonzero derivatives.
    """

    __slots__ = ("row",)
    __array_ufunc__ = None

    _precedence = 3  # above that of dual numbers, which may be its scalars

    def __init__(self, row: Mapping[Hashable, Any]) -> None:
        self.row = {key: x for key, x in row.items() if not _is_zero(x)}

    def get(self, key: Hashable) -> Any:
        """Return the derivative in the direction ``key``, 0.0 if there is none."""
        return self.row.get(key, 0.0)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.row)

    def __bool__(self) -> bool:
        return bool(self.row)

    def each(self, change: Callable[[Any], Any]) -> SparseTangent:
        """Return the sparse derivatives with ``change`` applied to each nonzero derivative."""
        return SparseTangent({key: change(x) for key, x in self.row.items()})

    @staticmethod
    def scaled_term(term: Any, factor: Any, by: Callable[[Any, Any], Any]) -> Any:
        """Return the product or quotient ``by(term, factor)`` of a sparse tangent and a scalar."""
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
        """Raise TypeError: sparse tangents have sums and multiples only."""
        raise TypeError(f"{operation.name}: expected scalars, got a sparse row of derivatives")

    def __repr__(self) -> str:
        return f"SparseTangent({self.row!r})"


_CONSTANT = SparseTangent({})


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
