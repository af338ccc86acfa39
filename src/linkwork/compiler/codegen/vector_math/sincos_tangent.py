"""The tangent, in float64: the quotient of sine and cosine, each as a sum of two numbers.

Infinities and NaN give NaN; `docs/mathematics.md` has the error.
"""

from __future__ import annotations

from linkwork.compiler.codegen.simd_values import Code, Number
from linkwork.compiler.codegen.vector_math.argument_reduction import reduce
from linkwork.compiler.codegen.vector_math.double_double import add_fast, divide
from linkwork.compiler.codegen.vector_math.sincos import half_square, parts_of_cosine, parts_of_sine

__all__ = ["tan"]


def tan(code: Code, x: Number) -> Number:
    """tan x."""
    r, c, n = reduce(code, abs(x))
    z, z2, h, h_rest = half_square(code, r, c)
    cosine = add_fast(h, parts_of_cosine(code, z, z2, h_rest))
    sine = add_fast(r, -parts_of_sine(code, r, c, z, z2, h))
    # odd n: tan(r + pi/2) = -cos r / sin r
    odd = (n & 1).nonzero()
    above = odd.where(cosine[0], sine[0]), odd.where(cosine[1], sine[1])
    below = odd.where(sine[0], cosine[0]), odd.where(sine[1], cosine[1])
    quotient, correction = divide(code, above, below)
    signs = (n << 63) ^ (x.to_bits() & (-1 << 63))
    return ((quotient + correction).to_bits() ^ signs).to_real()
