"""Argument reduction of circular functions, in float64: subtraction of the nearest multiple of pi/2.

n is the integer nearest to x / (pi/2), and the rest x - n pi/2 is an unevaluated difference r - c of two doubles: with
pi/2 split into short parts (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980) for |x| <=
2^20, and beyond that from a long table of the bits of 2/pi (M. H. Payne and R. N. Hanek, "Radian reduction for
trigonometric functions", SIGNUM Newsletter 18, 1983). J.-M. Muller et al., Handbook of Floating-Point Arithmetic,
chapter "Evaluating floating-point elementary functions", explains both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from linkwork.compiler.codegen.float_type import DOUBLE, vector
from linkwork.compiler.codegen.llvm_ir import IrFunction, structure
from linkwork.compiler.codegen.simd_values import FloatLanes, IntLanes, LaneBuilder

__all__ = [
    "HALF_PI",
    "TABLE",
    "TABLE_WORDS",
    "TWO_OVER_PI",
    "each_lane",
    "half_pi_parts",
    "reduce",
    "table_declaration",
]

# floor(2^255 pi/2), and floor(2^1216 2/pi): 19 words of 64 bits, as many as the largest double needs.
HALF_PI = 0xC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22
TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73E"
    "E88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B7"
    "4F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BAB",
    16,
)
TABLE = "@lw.two_over_pi"
TABLE_WORDS = 20  # with a zero word first, as a window on the bits may begin before the point

# Adding and subtracting 3/2 2^52 rounds to the nearest integer, and leaves that integer (modulo 2^51, in two's
# complement) in the low bits of the sum.
ROUNDER = 1.5 * 2.0**52

# The common range.  Here |n| < 2^20, so that the product of n and a part of pi/2 of 33 bits is exact in a double.
BOUND = 2.0**20

# Where the parts of pi/2 end, in bits behind the point; the last part is rounded to 53 bits of its own.
#
# With fma: x - n P1 is below 1 and a multiple of 2^-53, hence exact although P1 has 53 bits.  n P2 is below 2^-32 and
# a multiple of 2^-85; r, as rounded, differs from x - n P1 by hardly more, also a multiple of 2^-85, whence the
# differences that yield c are exact.  Without fma: the same argument twice, for n P2 (below 2^-12, a multiple of
# 2^-65) and n P3 (below 2^-45, a multiple of 2^-98), after a product n P1 which is exact because P1 has 33 bits.
# In both, the parts together miss pi/2 by less than 2^-139, n of them by 2^-119; the smallest rest in the common range
# is 2^-60.5 (x = 45.553..., n = 29), so that the relative error of r - c stays below 2^-58.
_ENDS_FMA = (52, 85)
_ENDS_PLAIN = (32, 65, 98)

_PARTS = ("double", "double", "i64")  # r, c and n
_COLD = "noinline cold nounwind"


def table_declaration() -> str:
    """Return the declaration of the bits of 2/pi, a constant of the module."""
    words = [TWO_OVER_PI >> 64 * i & (1 << 64) - 1 for i in reversed(range(TABLE_WORDS))]
    table = ", ".join(f"i64 {word}" for word in words)
    return f"{TABLE} = internal unnamed_addr constant [{TABLE_WORDS} x i64] [{table}]\n"


def reduce(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes, IntLanes]:
    """Return r, c and n with x = n pi/2 + (r - c) and |r| at most about pi/4; n is an integer, correct modulo 4."""
    near = _near(code, x)
    code.needs.append(each_lane(_far(), code.lanes, {"x": "double", "r": "double", "c": "double", "n": "i64"}, _PARTS))
    kinds = [part.type for part in near]
    with code.instead((abs(x) > BOUND).any(), kinds, [part.name for part in near]) as chosen:
        arguments = ", ".join(f"{v.type} {v.name}" for v in (x, *near))
        chosen[:] = code.structure_values(
            kinds, code.let(f"call {structure(kinds)} {code.needs[-1].name}({arguments})")
        )
    r, c, n = chosen
    return FloatLanes(code, r, DOUBLE), FloatLanes(code, c, DOUBLE), IntLanes(code, n, DOUBLE)


def _near(code: LaneBuilder, x: FloatLanes) -> tuple[FloatLanes, FloatLanes, IntLanes]:
    """Return r, c and n with x = n pi/2 + (r - c), in the common range (Cody and Waite); n is correct modulo 4.

    c is subtracted, not added, because then it is +0 for both zeros, so that -0 gives -0.
    """
    shifted = code.fma(x, TWO_OVER_PI / 2**1216, ROUNDER)
    n = shifted - ROUNDER
    parts = half_pi_parts(_ENDS_FMA if code.fused else _ENDS_PLAIN)
    if code.fused:
        remainder = code.fma(-n, parts[0], x)
        r = code.fma(-n, parts[1], remainder)
        c = code.fma(n, parts[1], r - remainder)
    else:
        remainder = x - n * parts[0]
        second, third = n * parts[1], n * parts[2]
        upper = remainder - second
        r = upper - third
        c = ((upper - remainder) + second) + ((r - upper) + third)
    return r, code.fma(n, parts[-1], c), shifted.to_bits()


def half_pi_parts(ends: tuple[int, ...]) -> list[float]:
    """Return pi/2 as a sum of doubles: its bits up to each of `ends`, then the remainder, rounded to a double."""
    parts, left = [], HALF_PI
    for end in ends:
        head = left >> (255 - end) << (255 - end)
        parts.append(head * 2.0**-255)
        left -= head
    return [*parts, left * 2.0**-255]


def each_lane(scalar: IrFunction, lanes: int, arguments: Mapping[str, str], results: Sequence[str]) -> IrFunction:
    """Return an LLVM function of vectors that calls ``scalar``, a function of scalars, for each lane.

    ``arguments`` has the LLVM type of each argument of ``scalar`` by name, and ``results`` the types of its results.
    """
    if lanes == 1:
        return scalar
    kinds = [vector(kind, lanes) for kind in results]
    parameters = ", ".join(f"{vector(kind, lanes)} %{name}" for name, kind in arguments.items())
    f = IrFunction(f"define internal {structure(kinds)} {scalar.name[:-1]}{lanes}({parameters})", _COLD)
    f.needs.append(scalar)
    columns = ["poison"] * len(results)
    for i in range(lanes):
        lane_arguments = ", ".join(
            f"{kind} {f.let(f'extractelement {vector(kind, lanes)} %{name}, i32 {i}')}"
            for name, kind in arguments.items()
        )
        parts = f.structure_values(results, f.let(f"call {structure(results)} {scalar.name}({lane_arguments})"))
        for j, (kind, part) in enumerate(zip(results, parts, strict=True)):
            columns[j] = f.let(f"insertelement {kinds[j]} {columns[j]}, {kind} {part}, i32 {i}")
    f.end = f"ret {structure(kinds)} {f.structure_of(kinds, columns)}"
    return f


@cache
def _far() -> IrFunction:
    """Return a function of x, r, c, n that returns corrected r, c, n for x beyond the common range (Payne and Hanek).

    Let |x| = m 2^e with an integer m < 2^53 and e > -33. The bits of 2/pi worth 2^-j for j < e - 1 contribute multiples
    of 4 to |x| 2/pi; the 192 bits after those, times m, modulo 2^192, are |x| 2/pi modulo 4 with 190 fractional bits,
    too low by less than 2^53 units of the last. No double is closer to a multiple of pi/2 than 2^-61 (Muller et al.,
    who name 6381956970095103 2^797 as the closest), so that at least 2^128 units are left of the fraction, and its
    relative error is below 2^-74. Everything is integer arithmetic up to the exact conversions of 53 bits at the end.
    """
    read = "\n".join(
        f"  %at.{i} = add i64 %first, {i}\n"
        f"  %pointer.{i} = getelementptr inbounds [{TABLE_WORDS} x i64], ptr {TABLE}, i64 0, i64 %at.{i}\n"
        f"  %word.{i} = load i64, ptr %pointer.{i}, align 8\n"
        f"  %wide.{i} = zext i64 %word.{i} to i256\n"
        f"  %placed.{i} = shl i256 %wide.{i}, {64 * (3 - i)}\n"
        f"  %words.{i} = or i256 %placed.{i}, {f'%words.{i - 1}' if i else 0}"
        for i in range(4)
    )
    parameters = "double %x, double %r.near, double %c.near, i64 %n.near"
    f = IrFunction(f"define internal {structure(_PARTS)} @lw.reduce.f64x1({parameters})", _COLD)
    f.declare("declare double @llvm.fabs.f64(double)", "declare i192 @llvm.ctlz.i192(i192, i1 immarg)")
    f.declare(table_declaration())
    f.do(f"""\
  %size = call double @llvm.fabs.f64(double %x)
  %beyond = fcmp ogt double %size, {DOUBLE.literal(BOUND)}
  br i1 %beyond, label %far, label %done
far:
  %x.bits = bitcast double %x to i64
  %size.bits = bitcast double %size to i64
  %field = lshr i64 %size.bits, 52
  %fraction = and i64 %size.bits, {(1 << 52) - 1}
  %m = or i64 %fraction, {1 << 52}
  ; the 192 bits of 2/pi from bit e - 1 on: e = field - 1075, and bit 1 stands at 64 in the table
  %start = sub i64 %field, {1075 + 1 - 63}
  %first = lshr i64 %start, 6
{read}
  %skipped = and i64 %start, 63
  %skipped.wide = zext i64 %skipped to i256
  %aligned = shl i256 %words.3, %skipped.wide
  %window.wide = lshr i256 %aligned, 64
  %window = trunc i256 %window.wide to i192
  ; the nearest quarter turn, and the size of what is left, at most 2^189, with its sign apart
  %m.wide = zext i64 %m to i192
  %turns = mul i192 %m.wide, %window
  %turns.up = add i192 %turns, {1 << 189}
  %quarter.wide = lshr i192 %turns.up, 190
  %quarter = trunc i192 %quarter.wide to i64
  %whole = shl i192 %quarter.wide, 190
  %left = sub i192 %turns, %whole
  %flip = ashr i192 %left, 191
  %rest = xor i192 %left, %flip
  ; shifted up by z bits until it fills the word, its leading 128 bits times pi/2, in units of 2^-(253 + z)
  %z.wide = call i192 @llvm.ctlz.i192(i192 %rest, i1 false)
  %z = trunc i192 %z.wide to i64
  %rest.full = shl i192 %rest, %z.wide
  %rest.leading = lshr i192 %rest.full, 64
  %rest.factor = zext i192 %rest.leading to i256
  %product = mul i256 %rest.factor, {HALF_PI >> 128}
  ; as the sum of two doubles: 53 bits, and the 64 bits after them
  %head.wide = lshr i256 %product, 203
  %head = trunc i256 %head.wide to i64
  %tail.wide = lshr i256 %product, 139
  %tail = trunc i256 %tail.wide to i64
  %head.real = uitofp i64 %head to double
  %tail.real = uitofp i64 %tail to double
  ; their scales 2^-(50 + z) and 2^-(114 + z), with the sign
  %flip.word = trunc i192 %flip to i64
  %minus.bits = xor i64 %x.bits, %flip.word
  %minus = and i64 %minus.bits, {-1 << 63}
  %z.field = shl i64 %z, 52
  %power = sub i64 {1023 - 50 << 52}, %z.field
  %head.scale.bits = or i64 %power, %minus
  %head.scale = bitcast i64 %head.scale.bits to double
  %tail.scale = fmul double %head.scale, {DOUBLE.literal(2.0**-64)}
  %high = fmul double %head.real, %head.scale
  %low = fmul double %tail.real, %tail.scale
  ; r is their rounded sum and c the exact error of that; an infinity makes r a NaN
  %sum = fadd double %high, %low
  %sum.back = fsub double %sum, %high
  %c.far = fsub double %sum.back, %low
  %zero = fsub double %x, %x
  %r.far = fadd double %sum, %zero
  ; n, with the sign of x
  %x.flip = ashr i64 %x.bits, 63
  %quarter.flipped = xor i64 %quarter, %x.flip
  %n.far = sub i64 %quarter.flipped, %x.flip
  br label %done
done:
  %r = phi double [ %r.near, %entry ], [ %r.far, %far ]
  %c = phi double [ %c.near, %entry ], [ %c.far, %far ]
  %n = phi i64 [ %n.near, %entry ], [ %n.far, %far ]""")
    f.end = f"ret {structure(_PARTS)} {f.structure_of(_PARTS, ['%r', '%c', '%n'])}"
    return f
