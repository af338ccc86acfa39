"""Sine and cosine of one argument together, as LLVM IR text whose lanes are independent arguments.

The value is the same, bit for bit, for every lane count: every lane goes through the same operations in the same
order, no operation carries a fast-math flag and no library function is called.  What is called are LLVM intrinsics
that have instructions on every 64-bit target (`llvm.fma` only where the caller says that the target fuses).

The three steps, for an argument x:

1.  n = the integer next to x / (pi/2), and the rest  x - n pi/2  as an unevaluated difference  r - c  of two doubles:
    with pi/2 cut into short parts (W. J. Cody and W. Waite, Software Manual for the Elementary Functions, 1980) where
    |x| <= 2^20, and beyond that from a long table of the bits of 2/pi (M. H. Payne and R. N. Hanek, "Radian reduction
    for trigonometric functions", SIGNUM Newsletter 18, 1983).  J.-M. Muller et al., Handbook of Floating-Point
    Arithmetic, chapter "Evaluating floating-point elementary functions", explains both.
2.  Minimax polynomials for sin(r - c) and cos(r - c) on |r| <= pi/4.
3.  n mod 4 decides which of the two is the sine, and the signs.

Rounding to nearest is assumed, as LLVM assumes it, and subnormal numbers must not be flushed to zero for arguments
that are subnormal themselves.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["Definition", "sincos"]

# floor(2^255 pi/2), and floor(2^1216 2/pi): 19 words of 64 bits, as many as the largest double can ask for.
_HALF_PI = 0xC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22
_TWO_OVER_PI = int(
    "A2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E006492EEA09D1921CFE1DEB1CB129A73E"
    "E88235F52EBB4484E99C7026B45F7E413991D639835339F49C845F8BBDF9283B1FF897FFDE05980FEF2F118B5A0A6D1F6D367ECF27CB09B7"
    "4F463F669E5FEA2D7527BAC7EBE5F17B3D0739F78A5292EA6BFB5FB11F8D5D0856033046FC7B6BAB",
    16,
)
_TABLE_WORDS = 19

# Adding and subtracting 3/2 2^52 rounds to the nearest integer, and leaves that integer (modulo 2^51, in two's
# complement) in the low bits of the sum.
_ROUNDER = 1.5 * 2.0**52

# The common range.  Here |n| < 2^20, so that the product of n and a part of pi/2 of 33 bits is exact in a double.
_BOUND = 2.0**20

# Where the parts of pi/2 end, in bits behind the point; the last part is rounded to 53 bits of its own.
#
# With fma: x - n P1 is below 1 and a multiple of 2^-53, hence exact although P1 has 53 bits.  n P2 is below 2^-32 and
# a multiple of 2^-85; so is, to within half a last place of r, what r lacks against x - n P1, whence the differences
# that yield c are exact.  Without fma: the same argument twice, for n P2 (below 2^-13, a multiple of 2^-65) and n P3
# (below 2^-46, a multiple of 2^-98), after a product n P1 which is exact because P1 has 33 bits.
# In both, the parts together miss pi/2 by less than 2^-139, n of them by 2^-119; the smallest rest in the common range
# is 2^-60.5 (x = 45.553..., n = 29), so that the relative error of r - c stays below 2^-58.
_ENDS_FMA = (52, 85)
_ENDS_PLAIN = (32, 65, 98)

# sin r = r - r^3 (S0 + S1 z + ...),  cos r = 1 - z/2 + z^2 (C0 + C1 z + ...),  z = r^2.
#
# Found with the Remez exchange algorithm in 300-bit arithmetic on 0 <= z <= (pi/4)^2 (1 + 2^-19), the error taken
# relative to sin r and cos r.  Each coefficient was rounded to double, lowest first, and the exchange repeated for
# those after it.  Largest relative error with the coefficients as they stand: 2^-57.8 for the sine (where r itself
# contributes no error, near pi/4) and 2^-63.9 for the cosine.
_SIN = tuple(
    map(
        float.fromhex,
        (
            "0x1.5555555555548p-3",
            "-0x1.111111110f730p-7",
            "0x1.a01a019be9215p-13",
            "-0x1.71de35552b247p-19",
            "0x1.ae5e4b83b75e3p-26",
            "-0x1.5d8b5585b5051p-33",
        ),
    )
)
_COS = tuple(
    map(
        float.fromhex,
        (
            "0x1.555555555554bp-5",
            "-0x1.6c16c16c15015p-10",
            "0x1.a01a019c8f25ap-16",
            "-0x1.27e4f7f191decp-22",
            "0x1.1ee9dbcf973a5p-29",
            "-0x1.8fa684f1678f3p-37",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Definition:
    """An LLVM function as text.

    `declarations` are what the text needs in its module and what other definitions may need as well: a module holds
    each of them once.  Equal strings are equal declarations, and different strings never declare the same name, as
    long as all definitions in the module were made with the same choice about fma.
    """

    name: str
    ir: str
    declarations: tuple[str, ...]


def sincos(lanes: int, fma: bool) -> Definition:
    """`{T, T} @lw.sincos.f64x{lanes}(T %x)`, the pair {sin x, cos x}, T being double or a vector of `lanes` doubles.

    `fma` says that the target has a fused multiply-add; the two variants differ in the last bit here and there.
    The error is below 0.8 units in the last place for every finite argument; infinities and NaN give NaN.
    """
    if lanes not in (1, 2, 4, 8):
        raise ValueError(f"sincos has 1, 2, 4 or 8 lanes, not {lanes}")
    e = _Emitter(lanes, fma)
    name = f"@lw.sincos.f64x{lanes}"
    near = _reduce_near(e)

    size = e.emit("size", f"call {e.real} {e.intrinsic('fabs', 1)}({e.real} %x)")
    beyond = e.emit("beyond", f"fcmp ogt {e.real} {size}, {e.const(_BOUND)}")
    if lanes > 1:
        mask = e.emit("beyond.mask", f"bitcast <{lanes} x i1> {beyond} to i{lanes}")
        beyond = e.emit("beyond.any", f"icmp ne i{lanes} {mask}, 0")
    e.lines.append(f"  br i1 {beyond}, label %far, label %kernel\nfar:")
    if lanes == 1:
        helper = ""
        e.emit("reduced", f"call {e.triple} @lw.sincos.reduce(double %x)")
    else:
        helper = _reduce_lanes(e)
        arguments = f"{e.real} %x, {e.real} {near[0]}, {e.real} {near[1]}, {e.int} {near[2]}"
        e.emit("reduced", f"call {e.triple} @lw.sincos.reduce.f64x{lanes}({arguments})")
    far = [e.emit(f"far.{part}", f"extractvalue {e.triple} %reduced, {i}") for i, part in enumerate("rcn")]
    e.lines.append("  br label %kernel\nkernel:")
    types = (e.real, e.real, e.int)
    r, c, n = (
        e.emit(part, f"phi {type_} [ {a}, %entry ], [ {b}, %far ]")
        for part, type_, a, b in zip("rcn", types, near, far, strict=True)
    )

    sine, cosine = _to_quadrant(e, *_kernel(e, r, c), n)
    e.emit("pair", f"insertvalue {e.pair} poison, {e.real} {sine}, 0")
    e.emit("both", f"insertvalue {e.pair} %pair, {e.real} {cosine}, 1")
    body = "\n".join(e.lines)
    ir = f"define internal {e.pair} {name}({e.real} %x) alwaysinline nounwind {{\nentry:\n{body}\n  ret {e.pair} %both\n}}\n"
    declarations = (*e.declarations, "declare double @llvm.fabs.f64(double)", *_reduce_far())
    return Definition(name, ir + helper, tuple(dict.fromkeys(declarations)))


class _Emitter:
    """Writes instructions on numbers of `lanes` lanes; a method returns the name of the value it has defined."""

    def __init__(self, lanes: int, fma: bool) -> None:
        self.lanes, self.fused = lanes, fma
        self.real = "double" if lanes == 1 else f"<{lanes} x double>"
        self.int = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self.pair = f"{{ {self.real}, {self.real} }}"
        self.triple = f"{{ {self.real}, {self.real}, {self.int} }}"
        self.lines: list[str] = []
        self.declarations: list[str] = []

    def emit(self, name: str, instruction: str) -> str:
        self.lines.append(f"  %{name} = {instruction}")
        return f"%{name}"

    def intrinsic(self, name: str, operands: int) -> str:
        self.declarations.append(f"declare {self.real} @llvm.{name}.{self.suffix}({', '.join([self.real] * operands)})")
        return f"@llvm.{name}.{self.suffix}"

    def const(self, value: float) -> str:
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return self._splat(f"double 0x{bits:016X}", f"0x{bits:016X}")

    def bits(self, value: int) -> str:
        return self._splat(f"i64 {value}", f"{value}")

    def _splat(self, typed: str, bare: str) -> str:
        return bare if self.lanes == 1 else f"<{', '.join([typed] * self.lanes)}>"

    def add(self, name: str, a: str, b: str) -> str:
        return self.emit(name, f"fadd {self.real} {a}, {b}")

    def sub(self, name: str, a: str, b: str) -> str:
        return self.emit(name, f"fsub {self.real} {a}, {b}")

    def mul(self, name: str, a: str, b: str) -> str:
        return self.emit(name, f"fmul {self.real} {a}, {b}")

    def mul_add(self, name: str, a: str, b: str, c: str) -> str:
        """a b + c, rounded once if the target fuses and twice otherwise."""
        if not self.fused:
            return self.add(name, self.mul(f"{name}.product", a, b), c)
        function = self.intrinsic("fma", 3)
        return self.emit(name, f"call {self.real} {function}({self.real} {a}, {self.real} {b}, {self.real} {c})")

    def integer(self, name: str, operation: str, a: str, b: int | str) -> str:
        return self.emit(name, f"{operation} {self.int} {a}, {b if isinstance(b, str) else self.bits(b)}")

    def to_bits(self, name: str, a: str) -> str:
        return self.emit(name, f"bitcast {self.real} {a} to {self.int}")

    def from_bits(self, name: str, a: str) -> str:
        return self.emit(name, f"bitcast {self.int} {a} to {self.real}")


def _reduce_near(e: _Emitter) -> tuple[str, str, str]:
    """Cody and Waite: r, c and an integer congruent to n modulo 4, for arguments in the common range.

    c is subtracted, not added, because then it is +0 for both zeros, which is what lets -0 come out as -0.
    """
    shifted = e.mul_add("shifted", "%x", e.const(_TWO_OVER_PI / 2**1216), e.const(_ROUNDER))
    n = e.sub("turns", shifted, e.const(_ROUNDER))
    quadrant = e.to_bits("near.n", shifted)
    parts = [e.const(part) for part in _half_pi_parts(_ENDS_FMA if e.fused else _ENDS_PLAIN)]
    if e.fused:
        minus_n = e.emit("turns.minus", f"fneg {e.real} {n}")
        rest = e.mul_add("rest", minus_n, parts[0], "%x")
        r = e.mul_add("near.r", minus_n, parts[1], rest)
        c = e.mul_add("c.second", n, parts[1], e.sub("lacking", r, rest))
    else:
        rest = e.sub("rest", "%x", e.mul("first", n, parts[0]))
        second, third = e.mul("second", n, parts[1]), e.mul("third", n, parts[2])
        upper = e.sub("upper", rest, second)
        r = e.sub("near.r", upper, third)
        c_second = e.add("c.second", e.sub("lacking", upper, rest), second)
        c_third = e.add("c.third", e.sub("lacking.third", r, upper), third)
        c = e.add("c.both", c_second, c_third)
    return r, e.mul_add("near.c", n, parts[-1], c), quadrant


def _half_pi_parts(ends: tuple[int, ...]) -> list[float]:
    """pi/2 as a sum of doubles: part by part the bits up to each of `ends`, and last the nearest double to the rest."""
    parts, left = [], _HALF_PI
    for end in ends:
        head = left >> (255 - end) << (255 - end)
        parts.append(head * 2.0**-255)
        left -= head
    return [*parts, left * 2.0**-255]


def _kernel(e: _Emitter, r: str, c: str) -> tuple[str, str]:
    """Sine and cosine of r - c, for |r| <= pi/4 and |c| at most half a last place of r (or r next to nothing).

    The large terms, r and 1 - z/2, are added last; their roundings but one are made good:
    sin = r - (r z S + c (1 - z/2)),  cos = h + (((1 - h) - z/2) + c r + z^2 C)  with h = 1 - z/2 as rounded.
    """
    z = e.mul("z", r, r)
    z2 = e.mul("z2", z, z)
    one = e.const(1.0)
    if e.fused:
        half_r = e.mul("half.r", r, e.const(-0.5))
        h = e.mul_add("h", half_r, r, one)
        h_error = e.mul_add("h.error", half_r, r, e.sub("h.complement", one, h))
    else:
        half_z = e.mul("half.z", z, e.const(0.5))
        h = e.sub("h", one, half_z)
        h_error = e.sub("h.error", e.sub("h.complement", one, h), half_z)

    sin_poly = _polynomial(e, "s", _SIN, z, z2)
    sin_less = e.mul_add("sin.less", e.mul("r3", r, z), sin_poly, e.mul("sin.c", c, h))
    sine = e.sub("sin", r, sin_less)

    cos_poly = _polynomial(e, "c", _COS, z, z2)
    cos_more = e.mul_add("cos.more", z2, cos_poly, e.mul_add("cos.c", r, c, h_error))
    cosine = e.add("cos", h, cos_more)
    return sine, cosine


def _polynomial(e: _Emitter, name: str, k: tuple[float, ...], z: str, z2: str) -> str:
    """(k0 + k1 z) + z2 ((k2 + k3 z) + z2 (k4 + k5 z)): as many operations as Horner's rule, half the depth."""
    value = ""
    for i in range(len(k) - 2, -1, -2):
        pair = e.mul_add(f"{name}{i}", z, e.const(k[i + 1]), e.const(k[i]))
        value = e.mul_add(f"{name}{i}.sum", z2, value, pair) if value else pair
    return value


def _to_quadrant(e: _Emitter, sine: str, cosine: str, n: str) -> tuple[str, str]:
    """Sine and cosine n quarter turns further on: exchanged if n is odd; minus by the second bit of n and of n + 1."""
    odd = e.emit("odd", f"icmp ne {e.int} {e.integer('odd.bit', 'and', n, 1)}, {e.bits(0)}")
    choice = f"select {'i1' if e.lanes == 1 else f'<{e.lanes} x i1>'} {odd}, {e.real}"
    sin_bits = e.to_bits("sin.bits", e.emit("sin.value", f"{choice} {cosine}, {e.real} {sine}"))
    cos_bits = e.to_bits("cos.bits", e.emit("cos.value", f"{choice} {sine}, {e.real} {cosine}"))
    sin_turn = e.integer("sin.turn", "shl", n, 62)
    cos_turn = e.integer("cos.turn", "add", sin_turn, 1 << 62)
    sin_sign = e.integer("sin.sign", "and", sin_turn, -(1 << 63))
    cos_sign = e.integer("cos.sign", "and", cos_turn, -(1 << 63))
    return (
        e.from_bits("sin.x", e.integer("sin.signed", "xor", sin_bits, sin_sign)),
        e.from_bits("cos.x", e.integer("cos.signed", "xor", cos_bits, cos_sign)),
    )


def _reduce_lanes(e: _Emitter) -> str:
    """r, c and n again, with the lanes beyond the common range replaced, one after the other."""
    real, int_ = e.real, e.int
    return f"""
define internal {e.triple} @lw.sincos.reduce.f64x{e.lanes}({real} %x, {real} %r, {real} %c, {int_} %n) noinline cold nounwind {{
entry:
  br label %lane
lane:
  %i = phi i32 [ 0, %entry ], [ %i.next, %next ]
  %r.done = phi {real} [ %r, %entry ], [ %r.next, %next ]
  %c.done = phi {real} [ %c, %entry ], [ %c.next, %next ]
  %n.done = phi {int_} [ %n, %entry ], [ %n.next, %next ]
  %xi = extractelement {real} %x, i32 %i
  %size = call double @llvm.fabs.f64(double %xi)
  %beyond = fcmp ogt double %size, {_Emitter(1, e.fused).const(_BOUND)}
  br i1 %beyond, label %reduce, label %next
reduce:
  %reduced = call {{ double, double, i64 }} @lw.sincos.reduce(double %xi)
  %ri = extractvalue {{ double, double, i64 }} %reduced, 0
  %ci = extractvalue {{ double, double, i64 }} %reduced, 1
  %ni = extractvalue {{ double, double, i64 }} %reduced, 2
  %r.new = insertelement {real} %r.done, double %ri, i32 %i
  %c.new = insertelement {real} %c.done, double %ci, i32 %i
  %n.new = insertelement {int_} %n.done, i64 %ni, i32 %i
  br label %next
next:
  %r.next = phi {real} [ %r.done, %lane ], [ %r.new, %reduce ]
  %c.next = phi {real} [ %c.done, %lane ], [ %c.new, %reduce ]
  %n.next = phi {int_} [ %n.done, %lane ], [ %n.new, %reduce ]
  %i.next = add i32 %i, 1
  %more = icmp ult i32 %i.next, {e.lanes}
  br i1 %more, label %lane, label %done
done:
  %out.r = insertvalue {e.triple} poison, {real} %r.next, 0
  %out.rc = insertvalue {e.triple} %out.r, {real} %c.next, 1
  %out = insertvalue {e.triple} %out.rc, {int_} %n.next, 2
  ret {e.triple} %out
}}
"""


def _reduce_far() -> tuple[str, ...]:
    """Payne and Hanek: r, c and n of one argument beyond the common range, the table, and the intrinsics they need.

    |x| = m 2^e with an integer m < 2^53 and e > -33.  The bits of 2/pi worth 2^-j for j < e - 1 contribute multiples
    of 4 to |x| 2/pi; the 192 bits after those, times m, modulo 2^192, are |x| 2/pi modulo 4 with 190 bits behind the
    point, too low by less than 2^53 units there.  No double is closer to a multiple of pi/2 than 2^-61 (Muller et al.,
    who name 6381956970095103 2^797 as the closest), so that at least 2^128 units are left of the fraction, and its
    relative error is below 2^-74.  Everything is integer arithmetic up to the exact conversions of 53 bits at the end.
    """
    words = [_TWO_OVER_PI >> 64 * i & (1 << 64) - 1 for i in reversed(range(_TABLE_WORDS))]
    table = ", ".join(f"i64 {word}" for word in [0, *words])  # a zero word first, as e - 1 may be negative
    high, low = _HALF_PI >> 192, _HALF_PI >> 128 & (1 << 64) - 1
    read = "\n".join(
        f"  %at.{i} = add i64 %word, {i}\n"
        f"  %pointer.{i} = getelementptr inbounds [{_TABLE_WORDS + 1} x i64], ptr @lw.two_over_pi, i64 0, i64 %at.{i}\n"
        f"  %word.{i} = load i64, ptr %pointer.{i}, align 8"
        for i in range(4)
    )
    function = f"""\
define internal {{ double, double, i64 }} @lw.sincos.reduce(double %x) noinline cold nounwind {{
  %bits = bitcast double %x to i64
  %bits.size = and i64 %bits, {(1 << 63) - 1}
  %field = lshr i64 %bits.size, 52
  %fraction = and i64 %bits, {(1 << 52) - 1}
  %m = or i64 %fraction, {1 << 52}
  ; the window of three words f2 f1 f0 that starts at bit e - 1 of 2/pi: e = field - 1075, and bit 1 stands at 64
  %position = sub i64 %field, {1075 + 1 - 63}
  %word = lshr i64 %position, 6
  %shift = and i64 %position, 63
{read}
  %f2 = call i64 @llvm.fshl.i64(i64 %word.0, i64 %word.1, i64 %shift)
  %f1 = call i64 @llvm.fshl.i64(i64 %word.1, i64 %word.2, i64 %shift)
  %f0 = call i64 @llvm.fshl.i64(i64 %word.2, i64 %word.3, i64 %shift)
  ; p2 p1 p0 = m (f2 f1 f0) modulo 2^192
  %m.wide = zext i64 %m to i128
  %f0.wide = zext i64 %f0 to i128
  %f1.wide = zext i64 %f1 to i128
  %m.f0 = mul i128 %m.wide, %f0.wide
  %m.f1 = mul i128 %m.wide, %f1.wide
  %m.f2 = mul i64 %m, %f2
  %p0 = trunc i128 %m.f0 to i64
  %carry.1 = lshr i128 %m.f0, 64
  %sum.1 = add i128 %m.f1, %carry.1
  %p1 = trunc i128 %sum.1 to i64
  %carry.2.wide = lshr i128 %sum.1, 64
  %carry.2 = trunc i128 %carry.2.wide to i64
  %p2 = add i64 %m.f2, %carry.2
  ; the nearest quarter turn, and the size of what is left, between -1/2 and 1/2 (its sign is the sign of left.2)
  %p2.up = add i64 %p2, {1 << 61}
  %quarter = lshr i64 %p2.up, 62
  %whole = shl i64 %quarter, 62
  %left.2 = sub i64 %p2, %whole
  %flip = ashr i64 %left.2, 63
  %size.2 = xor i64 %left.2, %flip
  %size.1 = xor i64 %p1, %flip
  %size.0 = xor i64 %p0, %flip
  ; its leading 128 bits g1 g0, shifted up by z < 64 (the count has an answer for 0, which infinities may need)
  %z = call i64 @llvm.ctlz.i64(i64 %size.2, i1 false)
  %g1 = call i64 @llvm.fshl.i64(i64 %size.2, i64 %size.1, i64 %z)
  %g0 = call i64 @llvm.fshl.i64(i64 %size.1, i64 %size.0, i64 %z)
  ; times pi/2, the leading 128 bits t1 t0 of the product, in units of 2^-(125 + z)
  %g1.wide = zext i64 %g1 to i128
  %g0.wide = zext i64 %g0 to i128
  %t.11 = mul i128 %g1.wide, {high}
  %t.10.all = mul i128 %g1.wide, {low}
  %t.01.all = mul i128 %g0.wide, {high}
  %t.10 = lshr i128 %t.10.all, 64
  %t.01 = lshr i128 %t.01.all, 64
  %t.sum = add i128 %t.11, %t.10
  %t = add i128 %t.sum, %t.01
  ; as the sum of two doubles: 53 bits, and the 64 bits after them
  %t1.wide = lshr i128 %t, 64
  %t1 = trunc i128 %t1.wide to i64
  %head = and i64 %t1, -2048
  %tail.wide = lshr i128 %t, 11
  %tail = trunc i128 %tail.wide to i64
  %head.real = uitofp i64 %head to double
  %tail.real = uitofp i64 %tail to double
  ; their scales 2^-(61 + z) and 2^-(114 + z), with the sign
  %minus.bits = xor i64 %bits, %left.2
  %minus = and i64 %minus.bits, {-(1 << 63)}
  %head.exponent = sub i64 {1023 - 61}, %z
  %tail.exponent = sub i64 {1023 - 114}, %z
  %head.power = shl i64 %head.exponent, 52
  %tail.power = shl i64 %tail.exponent, 52
  %head.scale.bits = or i64 %head.power, %minus
  %tail.scale.bits = or i64 %tail.power, %minus
  %head.scale = bitcast i64 %head.scale.bits to double
  %tail.scale = bitcast i64 %tail.scale.bits to double
  %high = fmul double %head.real, %head.scale
  %low = fmul double %tail.real, %tail.scale
  ; r is their rounded sum and c the exact error of that; an infinity makes r a NaN
  %sum = fadd double %high, %low
  %sum.back = fsub double %sum, %high
  %c = fsub double %sum.back, %low
  %zero = fsub double %x, %x
  %r = fadd double %sum, %zero
  ; n, with the sign of x
  %x.flip = ashr i64 %bits, 63
  %quarter.flipped = xor i64 %quarter, %x.flip
  %n = sub i64 %quarter.flipped, %x.flip
  %out.r = insertvalue {{ double, double, i64 }} poison, double %r, 0
  %out.rc = insertvalue {{ double, double, i64 }} %out.r, double %c, 1
  %out = insertvalue {{ double, double, i64 }} %out.rc, i64 %n, 2
  ret {{ double, double, i64 }} %out
}}
"""
    return (
        "declare i64 @llvm.fshl.i64(i64, i64, i64)",
        "declare i64 @llvm.ctlz.i64(i64, i1 immarg)",
        f"@lw.two_over_pi = internal unnamed_addr constant [{_TABLE_WORDS + 1} x i64] [{table}]\n",
        function,
    )
