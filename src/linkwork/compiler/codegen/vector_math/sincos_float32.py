"""Sine and cosine of one argument together, in float32.

As in float64: Cody and Waite's reduction for |x| <= 2^13 (cf. `argument_reduction`), Payne and Hanek's beyond, minimax
polynomials, and a selection by the quadrant. On targets with fused multiply-add, the common range is float32
throughout. On others, the argument is reduced in float64, the polynomials are float32, and the last additions are
float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE
from linkwork.compiler.codegen.llvm_ir import IrFunction, structure
from linkwork.compiler.codegen.simd_values import FloatLanes, IntLanes, LaneBuilder, LaneMask
from linkwork.compiler.codegen.vector_math.argument_reduction import (
    HALF_PI,
    TABLE,
    TABLE_WORDS,
    each_lane,
    half_pi_parts,
    table_declaration,
)
from linkwork.compiler.codegen.vector_math.sincos import to_quadrant

__all__ = ["BOUND", "COS", "SIN", "reduce32", "sincos32"]

BOUND = 2.0**13

_PARTS = ("double", "i32")  # of the long reduction: x - n pi/2, and n
_ROUNDER = 1.5 * 2.0**23  # rounds to the nearest integer, as in `argument_reduction`
_TWO_OVER_PI = float(np.float32(2 / np.pi))

# Where the parts of pi/2 end, in bits behind the point.
#
# With fma: x - n P1 is a multiple of 2^-24 below 1, hence exact.  n P2 is below 2^-11 and a multiple of 2^-35, so that
# the differences that yield c are exact, as in `argument_reduction`.  The last part, P3, is cut to float32; n P3 is
# below 2^-26.
# Without fma, in float64: n < 2^13, so that n P1 is exact with 40 bits of P1, and so is x - n P1.
_ENDS_FMA = (23, 35)
_ENDS_PLAIN = (39,)

# sin r = r - r^3 (S0 + S1 z + S2 z^2),  cos r = 1 - z/2 + z^2 (C0 + C1 z + C2 z^2),  z = r^2.
#
# Found with the Remez exchange algorithm in 300-bit arithmetic on 0 <= z <= (pi/4)^2 (1 + 2^-9)^2, the error taken
# relative to sin r and cos r.  Each coefficient was rounded to float32, lowest first, and the exchange repeated for
# those after it.  Largest relative error with the rounded coefficients: 2^-27.8 (sine), 2^-32.9 (cosine).
SIN = (0.16666653752326965, -0.008332106284797192, 0.00019507888646330684)
COS = (0.04166664555668831, -0.0013887308305129409, 2.4432110876659863e-05)


def sincos32(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes]:
    """Return the pair sin x, cos x."""
    return _fused(code, x) if code.fused else _plain(code, x)


def _fused(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes]:
    shifted = code.fma(x, _TWO_OVER_PI, _ROUNDER)
    n = shifted - _ROUNDER
    first, second, third = half_pi_parts(_ENDS_FMA)
    remainder = code.fma(-n, first, x)
    r = code.fma(-n, second, remainder)
    c = code.fma(n, second, r - remainder)
    c = code.fma(n, float(np.float32(third)), c)

    def beyond(wide: FloatLanes, mask: LaneMask) -> tuple[FloatLanes, FloatLanes]:
        narrow = wide.narrowed()
        return mask.where(narrow, r), mask.where((narrow.widened() - wide).narrowed(), c)

    (r, c), turns = _reduced(code, x, (r, c), shifted.to_bits(), beyond)
    z = r * r
    half_r = r * -0.5
    # 1 + (-r^2/2 + (r c + r^4 C)): the bracket is below 0.3, so that its rounding is a quarter of a last place
    cosine = code.fma(half_r, r, code.fma(z * z, code.polynomial(z, COS), r * c)) + 1.0
    # r - (r^3 S + c (1 - r^2/2))
    h = code.fma(half_r, r, 1.0)
    sine = r - code.fma(r * z, code.polynomial(z, SIN), c * h)
    return to_quadrant(sine, cosine, turns)


def reduce32(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, IntLanes]:
    """Return x - n pi/2 as a double, and n modulo 4."""
    shifted = code.fma(x, _TWO_OVER_PI, _ROUNDER)
    n = (shifted - _ROUNDER).widened()
    first, second = half_pi_parts(_ENDS_PLAIN)
    near = (x.widened() - n * first) - n * second
    (wide,), turns = _reduced(code, x, (near,), shifted.to_bits(), lambda wide, mask: (mask.where(wide, near),))
    return wide, turns


def _plain(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes]:
    wide, turns = reduce32(code, x)
    r = wide.narrowed()
    z = r * r
    cosine_more = ((z * z) * code.polynomial(z, COS)).widened()
    sine_less = ((r * z) * code.polynomial(z, SIN) + 0.0).widened()  # + 0 so that -0 - (+0) is -0
    cosine = ((1.0 - wide * wide * 0.5) + cosine_more).narrowed()
    sine = (wide - sine_less).narrowed()
    return to_quadrant(sine, cosine, turns)


def _reduced(
    code: LaneBuilder,
    x: FloatLanes,
    near: tuple[FloatLanes, ...],
    turns: IntLanes,
    choose: Callable[[FloatLanes, LaneMask], tuple[FloatLanes, ...]],
) -> tuple[tuple[FloatLanes, ...], IntLanes]:
    """Return the reduced argument and the quarter turns of x, also for lanes beyond the common range.

    In the common range they are ``near`` and ``turns``. Beyond it, the long reduction (`_far`) gives x − n pi/2 and n
    modulo 4; ``choose``, called with x − n pi/2 and the mask of these lanes, returns the values in place of ``near``.
    """
    beyond = abs(x) > BOUND
    code.needs.append(each_lane(_far(), code.lanes, {"x": "float"}, _PARTS))
    kinds = [DOUBLE.vector(code.lanes), turns.type]
    usual: list[FloatLanes | IntLanes] = [*near, turns]
    with code.instead(beyond.any(), [v.type for v in usual], [v.name for v in usual]) as chosen:
        reduced = code.let(f"call {structure(kinds)} {code.needs[-1].name}({x.type} {x.name})")
        wide, new_turns = code.structure_values(kinds, reduced)
        reduced_lanes: list[FloatLanes | IntLanes] = [*choose(FloatLanes(code, wide, DOUBLE), beyond)]
        reduced_lanes.append(beyond.where_int(IntLanes(code, new_turns, SINGLE), turns))
        chosen[:] = [v.name for v in reduced_lanes]
    *names, last = chosen
    return tuple(FloatLanes(code, name, a.real) for name, a in zip(names, near, strict=True)), IntLanes(
        code, last, SINGLE
    )


@cache
def _far() -> IrFunction:
    """Return a function that gives x - n pi/2 as a double, and n modulo 4, for |x| >= 1 (Payne and Hanek).

    Let |x| = m 2^e with an integer m < 2^24. The method is that of float64, but 128 bits of 2/pi are enough: they give
    |x| 2/pi modulo 4 with 126 fractional bits, too low by less than 2^24 units of the last bit. No float32 of 1 or more
    is closer to a multiple of pi/2 than 2^-29.3 (7.729178919452902e28; all were tried), so that at least 2^96 units are
    left, and the relative error is that of float64 at the end.
    """
    read = "\n".join(
        f"  %at.{i} = add i64 %first, {i}\n"
        f"  %pointer.{i} = getelementptr inbounds [{TABLE_WORDS} x i64], ptr {TABLE}, i64 0, i64 %at.{i}\n"
        f"  %word.{i} = load i64, ptr %pointer.{i}, align 8"
        for i in range(3)
    )
    f = IrFunction(f"define internal {structure(_PARTS)} @lw.reduce.f32x1(float %x)", "noinline cold nounwind")
    f.declare("declare i64 @llvm.fshl.i64(i64, i64, i64)", table_declaration())
    f.do(f"""\
  %bits = bitcast float %x to i32
  %size = and i32 %bits, {(1 << 31) - 1}
  %fraction = and i32 %bits, {(1 << 23) - 1}
  %m = or i32 %fraction, {1 << 23}
  ; the 128 bits of 2/pi from bit e - 1 on: e = field - 150, and bit 1 stands at 64 in the table
  %field = lshr i32 %size, 23
  %start.narrow = sub i32 %field, {150 + 1 - 63}
  %low = icmp slt i32 %start.narrow, 0
  %start.some = select i1 %low, i32 0, i32 %start.narrow
  %start = zext i32 %start.some to i64
  %first = lshr i64 %start, 6
{read}
  %skipped = and i64 %start, 63
  %upper = call i64 @llvm.fshl.i64(i64 %word.0, i64 %word.1, i64 %skipped)
  %lower = call i64 @llvm.fshl.i64(i64 %word.1, i64 %word.2, i64 %skipped)
  %upper.wide = zext i64 %upper to i128
  %upper.placed = shl i128 %upper.wide, 64
  %lower.wide = zext i64 %lower to i128
  %window = or i128 %upper.placed, %lower.wide
  ; the nearest quarter turn, and what is left
  %m.wide = zext i32 %m to i128
  %turns = mul i128 %m.wide, %window
  %turns.up = add i128 %turns, {1 << 125}
  %quarter.wide = lshr i128 %turns.up, 126
  %quarter = trunc i128 %quarter.wide to i32
  %whole = shl i128 %quarter.wide, 126
  %left = sub i128 %turns, %whole
  %left.upper.wide = lshr i128 %left, 64
  %left.upper = trunc i128 %left.upper.wide to i64
  %left.lower = trunc i128 %left to i64
  %upper.real = sitofp i64 %left.upper to double
  %lower.real = uitofp i64 %left.lower to double
  %upper.scaled = fmul double %upper.real, {DOUBLE.literal(2.0**-62)}
  %lower.scaled = fmul double %lower.real, {DOUBLE.literal(2.0**-126)}
  %rest = fadd double %upper.scaled, %lower.scaled
  %angle = fmul double %rest, {DOUBLE.literal(HALF_PI * 2.0**-255)}
  ; both with the sign of x; an infinity makes the angle a NaN
  %flip = ashr i32 %bits, 31
  %quarter.flipped = xor i32 %quarter, %flip
  %n = sub i32 %quarter.flipped, %flip
  %minus = icmp ne i32 %flip, 0
  %angle.minus = fneg double %angle
  %angle.signed = select i1 %minus, double %angle.minus, double %angle
  %zero = fsub float %x, %x
  %zero.wide = fpext float %zero to double
  %r = fadd double %angle.signed, %zero.wide""")
    f.end = f"ret {structure(_PARTS)} {f.structure_of(_PARTS, ['%r', '%n'])}"
    return f
