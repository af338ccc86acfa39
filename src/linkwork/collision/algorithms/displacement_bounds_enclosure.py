"""Numbers that are known up to a radius, over any scalar: what a function may give while its arguments move.

A function over any scalar that is given `Enclosure` numbers gives one that holds all its values: |x − center| ≤ radius
for every choice of the arguments within theirs.  What is no sum, product, sine or cosine is refused with a TypeError.

Source: van der Hoeven, Ball arithmetic, 2010.
"""

from __future__ import annotations

from typing import Any

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.expr.scalar.functions import cos, fabs, fmin, sin
from linkwork.expr.scalar.operations import Operation

__all__ = ["Enclosure", "largest"]


class Enclosure:
    """All numbers within a radius of a center, both of any scalar."""

    __slots__ = ("center", "radius")
    __array_ufunc__ = None

    _precedence = 1.5  # above symbols, which may be parts; below dual numbers, whose parts may be balls

    def __init__(self, center: Any, radius: Any) -> None:
        self.center = center
        self.radius = radius

    def _apply(self, operation: Operation, arguments: tuple[Any, ...]) -> Enclosure:
        rule = {"sin": sin, "cos": cos}.get(operation.name)
        if rule is None:
            raise TypeError(f"{operation.name}: nothing bounds it over a range")
        return Enclosure(rule(self.center), fmin(self.radius, 2.0))

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.center, self.radius)

    def __add__(self, other: Any) -> Enclosure:
        b, s = _split(other)
        return Enclosure(self.center + b, self.radius + s)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Enclosure:
        b, s = _split(other)
        return Enclosure(self.center - b, self.radius + s)

    def __rsub__(self, other: Any) -> Enclosure:
        return Enclosure(other - self.center, self.radius)

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Enclosure):
            return 0.0 if is_zero(other) else Enclosure(self.center * other, fabs(other) * self.radius)
        (a, r), (b, s) = _split(self), _split(other)
        return Enclosure(a * b, fabs(a) * s + fabs(b) * r + r * s)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Enclosure):
            raise TypeError("div: nothing bounds it over a range")
        return self * (1.0 / other)

    def __repr__(self) -> str:
        return f"Enclosure({self.center!r}, {self.radius!r})"


def largest(x: Any) -> Any:
    """The largest absolute value."""
    center, radius = _split(x)
    return fabs(center) + radius


def _split(x: Any) -> tuple[Any, Any]:
    return (x.center, x.radius) if isinstance(x, Enclosure) else (x, 0.0)
