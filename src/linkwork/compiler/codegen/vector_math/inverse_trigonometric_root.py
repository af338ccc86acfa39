"""The length of a vector of two components, in float64.

The components are scaled by a power of two where their squares could overflow or fade; the sum of the squares is formed
with what it misses, and the root corrected for that and for its own rounding.  Special cases are those of C99, Annex F;
`docs/mathematics.md` has the error.
"""

from __future__ import annotations

import math

from linkwork.compiler.codegen.simd_values import Code, Number
from linkwork.compiler.codegen.vector_math.double_double import add_fast, multiply

__all__ = ["hypot"]


def hypot(code: Code, x: Number, y: Number) -> Number:
    """sqrt(x^2 + y^2); infinity if one of the two is infinite, even if the other is NaN."""
    a, b = abs(x), abs(y)
    swapped = a < b
    a, b = swapped.where(b, a), swapped.where(a, b)
    large, small = a > 2.0**500, a < 2.0**-450
    scale = large.where(2.0**-600, small.where(2.0**700, code.number(1.0)))
    back = large.where(2.0**600, small.where(2.0**-700, code.number(1.0)))
    a2, a2_low = multiply(code, a * scale, a * scale)
    b2, b2_low = multiply(code, b * scale, b * scale)
    square, left = add_fast(a2, b2)
    root = square.sqrt()
    root2, root2_low = multiply(code, root, root)
    missed = ((square - root2) - root2_low) + (left + (a2_low + b2_low))
    length = (root + missed / (root + root)) * back
    length = a.equals(0.0).where(b, length)
    endless = a.equals(math.inf) | b.equals(math.inf)
    return endless.where(math.inf, length)
