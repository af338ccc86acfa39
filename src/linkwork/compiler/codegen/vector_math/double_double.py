"""Double-double arithmetic: sums and products of float64 with their rounding errors, and functions of such pairs.

T. J. Dekker, "A floating-point technique for extending the available precision", Numerische Mathematik 18, 1971.
"""

from __future__ import annotations

from linkwork.compiler.codegen.simd_values import FloatLanes, LaneBuilder

__all__ = ["Pair", "add_fast", "add_pairs", "divide", "multiply", "multiply_pairs", "remainder", "split", "two_sum"]

Pair = tuple[FloatLanes, FloatLanes]


def add_fast(a: FloatLanes | float, b: FloatLanes) -> Pair:
    """Return the rounded sum a + b and its rounding error, for |a| >= |b| or a = 0; their sum is exactly a + b."""
    total = a + b
    return total, b - (total - a)


def two_sum(a: FloatLanes | float, b: FloatLanes) -> Pair:
    """Return the rounded sum a + b and its rounding error, for all a and b (D. E. Knuth)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)


def split(a: FloatLanes) -> Pair:
    """Return a number's leading 26 bits, and its other 27 bits, as two numbers."""
    head = (a.to_bits() & (-1 << 27)).to_real()
    return head, a - head


def multiply(code: LaneBuilder, a: FloatLanes, b: FloatLanes) -> Pair:
    """Return the product of two numbers as a pair with this sum: exactly, or without fma to 105 bits."""
    product = a * b
    if code.fused:
        return product, code.fma(a, b, -product)
    a_head, a_tail = split(a)
    b_head, b_tail = (a_head, a_tail) if a == b else split(b)
    low = (a_head * b_head - product) + a_head * b_tail
    return product, (low + a_tail * b_head) + a_tail * b_tail


def multiply_pairs(code: LaneBuilder, a: Pair, b: Pair) -> Pair:
    """Return the product of a and b, each a sum of two numbers, as such a pair, to about 100 bits."""
    product, low = multiply(code, a[0], b[0])
    low = code.fma(a[0], b[1], code.fma(a[1], b[0], low))
    return add_fast(product, low)


def add_pairs(a: tuple[FloatLanes | float, FloatLanes | float], b: Pair) -> Pair:
    """Return the sum of two pairs, to about 100 bits without cancellation; the first pair is the larger one or zero."""
    total, low = add_fast(a[0], b[0])
    return add_fast(total, (low + b[1]) + a[1])


def divide(code: LaneBuilder, a: Pair, b: Pair) -> Pair:
    """Return a / b as the nearly rounded quotient and a correction; a and b are sums of two numbers.

    There is a single division.
    """
    inverse = 1.0 / b[0]
    quotient = a[0] * inverse
    return quotient, remainder(code, quotient, a, b) * inverse


def remainder(code: LaneBuilder, quotient: FloatLanes, a: Pair, b: Pair) -> FloatLanes:
    """Return a - quotient b, for a quotient that is nearly a / b."""
    if code.fused:
        left = code.fma(-quotient, b[0], a[0])
    else:
        product, low = multiply(code, quotient, b[0])
        left = (a[0] - product) - low
    return (left + a[1]) - quotient * b[1]
