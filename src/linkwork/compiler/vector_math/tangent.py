"""The tangent, in float64: the quotient of sine and cosine, each as a sum of two numbers.

Infinities and NaN give NaN; `docs/mathematics.md` has the error.
"""

from __future__ import annotations

from .circular import half_square, parts_of_cosine, parts_of_sine
from .double_double import add_fast, divide
from .emitter import Code, Definition, Real, define, function_name
from .reduction import reduce

__all__ = ["tan"]


def tan(lanes: int, fma: bool) -> tuple[Definition, ...]:
    """`T (T %x)`, and what it needs before it."""
    needs: tuple[Definition, ...] = ()

    def body(code: Code, x: Real) -> Real:
        nonlocal needs
        r, c, n, needs = reduce(code, abs(x))
        z, z2, h, h_rest = half_square(code, r, c)
        cosine = add_fast(h, parts_of_cosine(code, z, z2, h_rest))
        sine = add_fast(r, -parts_of_sine(code, r, c, z, z2, h))
        # odd n: tan(r + pi/2) = -cos r / sin r
        odd = (n & 1).nonzero()
        above = tuple(odd.where(a, b) for a, b in zip(cosine, sine, strict=True))
        below = tuple(odd.where(a, b) for a, b in zip(sine, cosine, strict=True))
        quotient, correction = divide(code, (above[0], above[1]), (below[0], below[1]))
        tangent = quotient + correction
        signs = (n << 63) ^ (x.to_bits() & (-1 << 63))
        return (tangent.to_bits() ^ signs).to_real()

    definition = define(function_name("tan", 64, lanes), 64, Code(lanes, fma), body)
    return (*needs, definition)
