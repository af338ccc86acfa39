"""Remainders of division, the cube root, and numbers that replace infinities and NaN, in float64.

Remainders are exact. For a quotient below `bound`, the nearest integer times the divisor is subtracted without a
rounding error. Beyond, integer arithmetic divides 11 bits at a time, lane by lane.

Cube root: |x| = 2^(3 j) y with y between 2^(-3/2) and 2^(3/2); a polynomial of the mantissa, a step of Halley's method,
and a step of Newton's method with the residual as a sum of two numbers, so that cubes have exact roots.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.codegen.llvm_ir import IrFunction, structure
from linkwork.compiler.codegen.simd_values import FloatLanes, LaneBuilder
from linkwork.compiler.codegen.vector_math.argument_reduction import each_lane
from linkwork.compiler.codegen.vector_math.double_double import multiply, split
from linkwork.compiler.codegen.vector_math.exponential_and_logarithm import decomposed

__all__ = ["CBRT", "cbrt", "fmod", "mod", "nan_to_num"]

_ROUNDER_UP = 2.0**52  # adding and subtracting it rounds numbers between 0 and 2^52 to the nearest integer
_ROUNDER = 1.5 * 2.0**52  # the same for numbers of both signs, with the integer in the low bits of the sum
_ONE_BITS = 1023 << 52  # the bits of 1.0

# m^(1/3) = C0 + C1 m + ... for m between sqrt(1/2) and sqrt(2), found with the Remez exchange algorithm for the least
# relative error: 2^-13.7.
CBRT = (0.4925096743630478, 0.739717656579689, -0.29037894534136116, 0.058220861837140744)


def cbrt(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return the cube root of x."""
    size = abs(x)
    usual = (size > 0.0) & (size < math.inf)
    k, m = decomposed(usual.where(size, 1.0))
    shifted = code.fma(k, 1.0 / 3.0, _ROUNDER)
    third = code.fma(shifted - _ROUNDER, code.number(-3.0), k)  # -1, 0 or 1
    down, up = third < 0.0, third > 0.0
    y = m * down.where(0.5, up.where(2.0, code.number(1.0)))
    t = code.polynomial(m, CBRT) * down.where(0.5 ** (1 / 3), up.where(2.0 ** (1 / 3), code.number(1.0)))
    cube = t * t * t
    t = t * (cube + (y + y)) / (cube + cube + y)
    square, square_low = multiply(code, t, t)
    cube, cube_low = multiply(code, square, t)
    missed = (cube - y) + code.fma(square_low, t, cube_low)
    root = (t - missed / (3.0 * square)) * ((shifted.to_bits() << 52) + _ONE_BITS).to_real()
    return code.with_sign(usual.where(root, size), x)


def fmod(code: LaneBuilder, x: FloatLanes, y: FloatLanes) -> FloatLanes:
    """Return x minus a multiple of y, smaller than |y| and with the sign of x."""
    return code.with_sign(_rest(code, abs(x), abs(y)), x)


def mod(code: LaneBuilder, x: FloatLanes, y: FloatLanes) -> FloatLanes:
    """Return x minus a multiple of y, smaller than |y| and with the sign of y."""
    remainder = fmod(code, x, y)
    across = remainder * code.with_sign(code.number(1.0), y) < 0.0
    return remainder.equals(0.0).where(code.with_sign(remainder, y), across.where(remainder + y, remainder))


def _rest(code: LaneBuilder, a: FloatLanes, b: FloatLanes) -> FloatLanes:
    """Return the remainder of a / b for a, b >= 0.

    The integer n nearest to the rounded quotient differs from a / b by less than 3/4, so a - n b is below b and exact.
    Without fma, n has at most 25 bits, and n b is the sum of two exact products of 52 bits.
    """
    bound = 2.0**51 if code.fused else 2.0**25
    quotient = a / b
    n = (quotient + _ROUNDER_UP) - _ROUNDER_UP
    if code.fused:
        near = code.fma(-n, b, a)
        near = (near < 0.0).where(near + b, near)
    else:
        large = a > 2.0**1000  # n b may be above a
        scale, back = large.where(2.0**-30, code.number(1.0)), large.where(2.0**30, code.number(1.0))
        divisor = b * scale
        head, tail = split(divisor)
        near = (a * scale - n * head) - n * tail
        near = (near < 0.0).where(near + divisor, near) * back
    near = (a < b).where(a, near)
    long = (quotient >= bound) & (a < math.inf) & (b > 0.0)
    code.needs.append(
        each_lane(_long_division(bound), code.lanes, dict.fromkeys(("a", "b", "near"), "double"), _RESULT)
    )
    kinds = [near.type]
    with code.instead(long.any(), kinds, [near.name]) as chosen:
        arguments = ", ".join(f"{v.type} {v.name}" for v in (a, b, near))
        chosen[:] = code.structure_values(
            kinds, code.let(f"call {structure(kinds)} {code.needs[-1].name}({arguments})")
        )
    return FloatLanes(code, chosen[0], DOUBLE)


_RESULT = ("double",)


@cache
def _long_division(bound: float) -> IrFunction:
    """Return a function from a, b and a remainder to the remainder of a / b if the quotient is at least ``bound``.

    With a = m 2^e and b = n 2^d, it is (m 2^(e - d) mod n) 2^d; n < 2^53, so 64 bits have space for 11 more.
    """
    f = IrFunction(
        f"define internal {structure(_RESULT)} @lw.rest.f64x1(double %a, double %b, double %near)",
        "noinline cold nounwind",
    )
    f.do(f"""\
  %quotient = fdiv double %a, %b
  %long = fcmp oge double %quotient, {DOUBLE.literal(bound)}
  %finite = fcmp olt double %a, {DOUBLE.literal(math.inf)}
  %divides = fcmp ogt double %b, {DOUBLE.literal(0.0)}
  %defined = and i1 %finite, %divides
  %far = and i1 %long, %defined
  br i1 %far, label %divide, label %done
divide:
{_decoded("a")}
{_decoded("b")}
  %places = sub i64 %a.exponent, %b.exponent
  %first = urem i64 %a.whole, %b.whole
  br label %next
next:
  %rest = phi i64 [ %first, %divide ], [ %following, %step ]
  %left = phi i64 [ %places, %divide ], [ %fewer, %step ]
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %step, label %ready
step:
  %many = icmp sgt i64 %left, 11
  %shift = select i1 %many, i64 11, i64 %left
  %shifted = shl i64 %rest, %shift
  %following = urem i64 %shifted, %b.whole
  %fewer = sub i64 %left, %shift
  br label %next
ready:
  %whole = uitofp i64 %rest to double
  %fraction = fmul double %whole, {DOUBLE.literal(2.0**-52)}
  %scale.bits = shl i64 %b.exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %value = fmul double %fraction, %scale
  br label %done
done:
  %result = phi double [ %near, %entry ], [ %value, %ready ]""")
    f.end = f"ret {structure(_RESULT)} {f.structure_of(_RESULT, ['%result'])}"
    return f


def _decoded(name: str) -> str:
    """Return LLVM instructions that compute the biased exponent and integer significand of the double ``name``.

    They are also correct for subnormal numbers.
    """
    return f"""\
  %{name}.bits = bitcast double %{name} to i64
  %{name}.field = lshr i64 %{name}.bits, 52
  %{name}.fraction = and i64 %{name}.bits, {(1 << 52) - 1}
  %{name}.normal = icmp ne i64 %{name}.field, 0
  %{name}.exponent = select i1 %{name}.normal, i64 %{name}.field, i64 1
  %{name}.leading = select i1 %{name}.normal, i64 {1 << 52}, i64 0
  %{name}.whole = or i64 %{name}.fraction, %{name}.leading"""


def nan_to_num(code: LaneBuilder, x: FloatLanes) -> FloatLanes:
    """Return x if finite; for an infinity the finite number next to it, and 0 for NaN."""
    largest = float(np.finfo(x.real.dtype).max)
    size = abs(x)
    limited = size.equals(math.inf).where(code.number(largest, x.real), size)
    return x.unordered(x).where(code.number(0.0, x.real), code.with_sign(limited, x))
