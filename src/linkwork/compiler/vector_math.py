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

Rounding to nearest is assumed, as LLVM assumes it; where a thread flushes subnormal numbers, the sine of one is zero.
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
# a multiple of 2^-85; r, as rounded, differs from x - n P1 by hardly more, also a multiple of 2^-85, whence the
# differences that yield c are exact.  Without fma: the same argument twice, for n P2 (below 2^-12, a multiple of
# 2^-65) and n P3 (below 2^-45, a multiple of 2^-98), after a product n P1 which is exact because P1 has 33 bits.
# In both, the parts together miss pi/2 by less than 2^-139, n of them by 2^-119; the smallest rest in the common range
# is 2^-60.5 (x = 45.553..., n = 29), so that the relative error of r - c stays below 2^-58.
_ENDS_FMA = (52, 85)
_ENDS_PLAIN = (32, 65, 98)

# sin r = r - r^3 (S0 + S1 z + ...),  cos r = 1 - z/2 + z^2 (C0 + C1 z + ...),  z = r^2.
#
# Found with the Remez exchange algorithm in 300-bit arithmetic on 0 <= z <= (pi/4)^2 (1 + 2^-19), the error taken
# relative to sin r and cos r.  Each coefficient was rounded to double, lowest first, and the exchange repeated for
# those after it.  Largest relative error with the coefficients as they stand: 2^-57.8 (sine), 2^-63.9 (cosine).
# The digits are those that give the very doubles back.
_SIN, _COS = zip(
    (0.1666666666666663, 0.041666666666666595),
    (-0.00833333333332184, -0.0013888888888873342),
    (0.00019841269829358522, 2.48015872890021e-05),
    (-2.7557313538511096e-06, -2.755731421705157e-07),
    (2.5050734388646776e-08, 2.087570539866113e-09),
    (-1.5895433249017288e-10, -1.1358749419769863e-11),
    strict=True,
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

    `fma` says that the target has an instruction for the fused multiply-add (where it has not, LLVM would call the C
    library); the two variants differ in the last bit here and there.  The error of both is below 0.75 units in the
    last place for every finite argument; infinities and NaN give NaN.
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
    e.lines += [f"  br i1 {beyond}, label %far, label %kernel", "far:"]
    reduce = "@lw.sincos.reduce" if lanes == 1 else f"@lw.sincos.reduce.f64x{lanes}"
    arguments = f"{e.real} %x, {e.real} {near[0]}, {e.real} {near[1]}, {e.int} {near[2]}"
    e.emit("reduced", f"call {e.triple} {reduce}({arguments})")
    far = [e.emit(f"far.{part}", f"extractvalue {e.triple} %reduced, {i}") for i, part in enumerate("rcn")]
    e.lines += ["  br label %kernel", "kernel:"]
    r, c, n = (
        e.emit(part, f"phi {type_} [ {a}, %entry ], [ {b}, %far ]")
        for part, type_, a, b in zip("rcn", (e.real, e.real, e.int), near, far, strict=True)
    )

    sine, cosine = _to_quadrant(e, *_kernel(e, r, c), n)
    only_sine = e.emit("only.sine", f"insertvalue {e.pair} poison, {e.real} {sine}, 0")
    both = e.emit("both", f"insertvalue {e.pair} {only_sine}, {e.real} {cosine}, 1")
    head = f"define internal {e.pair} {name}({e.real} %x) noinline nounwind {{"
    ir = "\n".join([head, "entry:", *e.lines, f"  ret {e.pair} {both}", "}\n"])
    helper = _reduce_lanes(lanes, reduce) if lanes > 1 else ""
    return Definition(name, ir + helper, tuple(dict.fromkeys([*e.declarations, *_reduce_far()])))


class _Emitter:
    """Writes instructions on numbers of `lanes` lanes; a method returns the name of the value it has defined."""

    def __init__(self, lanes: int, fma: bool) -> None:
        self.lanes, self.fused = lanes, fma
        self.real = "double" if lanes == 1 else f"<{lanes} x double>"
        self.int = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.pair = f"{{ {self.real}, {self.real} }}"
        self.triple = f"{{ {self.real}, {self.real}, {self.int} }}"
        self.lines: list[str] = []
        self.declarations: list[str] = []

    def emit(self, name: str, instruction: str) -> str:
        self.lines.append(f"  %{name} = {instruction}")
        return f"%{name}"

    def intrinsic(self, name: str, operands: int) -> str:
        function = f"@llvm.{name}.f64" if self.lanes == 1 else f"@llvm.{name}.v{self.lanes}f64"
        self.declarations.append(f"declare {self.real} {function}({', '.join([self.real] * operands)})")
        return function

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

    def integer(self, name: str, operation: str, a: str, b: int) -> str:
        return self.emit(name, f"{operation} {self.int} {a}, {self.bits(b)}")

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
    return r, e.mul_add("near.c", n, parts[-1], c), e.to_bits("near.n", shifted)


def _half_pi_parts(ends: tuple[int, ...]) -> list[float]:
    """pi/2 as a sum of doubles: part by part the bits up to each of `ends`, and last the nearest double to the rest."""
    parts, left = [], _HALF_PI
    for end in ends:
        head = left >> (255 - end) << (255 - end)
        parts.append(head * 2.0**-255)
        left -= head
    return [*parts, left * 2.0**-255]


def _kernel(e: _Emitter, r: str, c: str) -> tuple[str, str]:
    """Sine and cosine of r - c, for |r| <= pi/4 and c at most half a last place of r or else next to nothing.

    Only the last addition of each rounds visibly.  With h = 1 - r^2/2 as rounded:
    cos = h + (((1 - h) - r^2/2 + r c) + z^2 C): what h misses is exact to twofold precision, without fma by means of
    the leading 26 bits of r, whose square is exact.
    sin = r - (r^3 S + c h): S is close to 1/6, and of its product an eighth of r^3, which is exact, is kept apart.
    """
    z = e.mul("z", r, r)
    z2 = e.mul("z2", z, z)
    one = e.const(1.0)
    if e.fused:
        half_r = e.mul("half.r", r, e.const(-0.5))
        h = e.mul_add("h", half_r, r, one)
        h_error = e.mul_add("h.error", half_r, r, e.sub("h.complement", one, h))
        h_rest = e.mul_add("h.rest", r, c, h_error)
    else:
        head = e.from_bits("head", e.integer("head.bits", "and", e.to_bits("r.bits", r), -1 << 27))
        half_square = e.mul("half.square", e.mul("half.head", head, e.const(0.5)), head)
        h = e.sub("h", one, half_square)
        h_error = e.sub("h.error", e.sub("h.complement", one, h), half_square)
        tail = e.sub("tail", e.sub("r.tail", r, head), c)
        middle = e.add("middle", head, e.mul("half.tail", tail, e.const(0.5)))
        h_rest = e.sub("h.rest", h_error, e.mul("tail.part", tail, middle))

    cos_poly = _polynomial(e, "c", _COS, z, z2)
    cosine = e.add("cos", h, e.mul_add("cos.more", z2, cos_poly, h_rest))

    sin_poly = _polynomial(e, "s", (_SIN[0] - 0.125, *_SIN[1:]), z, z2)
    r3 = e.mul("r3", r, z)
    minor = e.mul_add("sin.minor", r3, sin_poly, e.mul("sin.c", c, h))
    sin_less = e.mul_add("sin.less", r3, e.const(0.125), minor)
    return e.sub("sin", r, sin_less), cosine


def _polynomial(e: _Emitter, name: str, k: tuple[float, ...], z: str, z2: str) -> str:
    """(k0 + k1 z) + z2 ((k2 + k3 z) + z2 (k4 + k5 z)): as many operations as Horner's rule, half the depth."""
    value = ""
    for i in range(len(k) - 2, -1, -2):
        pair = e.mul_add(f"{name}{i}", z, e.const(k[i + 1]), e.const(k[i]))
        value = e.mul_add(f"{name}{i}.sum", z2, value, pair) if value else pair
    return value


def _to_quadrant(e: _Emitter, sine: str, cosine: str, n: str) -> tuple[str, str]:
    """Sine and cosine n quarter turns further on: exchanged if n is odd; minus by the second bit of n and of n + 1."""

    def signed(name: str, value: str, turn: str) -> str:
        sign = e.integer(f"{name}.sign", "and", turn, -1 << 63)
        result = e.emit(f"{name}.xor", f"xor {e.int} {e.to_bits(f'{name}.bits', value)}, {sign}")
        return e.from_bits(f"{name}.x", result)

    odd = e.emit("odd", f"icmp ne {e.int} {e.integer('odd.bit', 'and', n, 1)}, {e.bits(0)}")
    choice = f"select {'i1' if e.lanes == 1 else f'<{e.lanes} x i1>'} {odd}, {e.real}"
    exchanged_sine = e.emit("sin.value", f"{choice} {cosine}, {e.real} {sine}")
    exchanged_cosine = e.emit("cos.value", f"{choice} {sine}, {e.real} {cosine}")
    turn = e.integer("sin.turn", "shl", n, 62)
    turn_more = e.integer("cos.turn", "add", turn, 1 << 62)
    return signed("sin", exchanged_sine, turn), signed("cos", exchanged_cosine, turn_more)


def _reduce_lanes(lanes: int, name: str) -> str:
    """The function of `_reduce_far` for one lane after the other, as a function of vectors."""
    e, one = _Emitter(lanes, False), _Emitter(1, False)
    results, out = ["%r", "%c", "%n"], "poison"
    for i in range(lanes):
        lane = [e.emit(f"{part}{i}", f"extractelement {e.real} %{part}, i32 {i}") for part in "xrc"]
        n = e.emit(f"n{i}", f"extractelement {e.int} %n, i32 {i}")
        arguments = f"double {lane[0]}, double {lane[1]}, double {lane[2]}, i64 {n}"
        reduced = e.emit(f"reduced{i}", f"call {one.triple} @lw.sincos.reduce({arguments})")
        for j, (type_, scalar) in enumerate([(e.real, "double"), (e.real, "double"), (e.int, "i64")]):
            new = e.emit(f"new{j}.{i}", f"extractvalue {one.triple} {reduced}, {j}")
            results[j] = e.emit(f"done{j}.{i}", f"insertelement {type_} {results[j]}, {scalar} {new}, i32 {i}")
    for j, type_ in enumerate([e.real, e.real, e.int]):
        out = e.emit(f"out{j}", f"insertvalue {e.triple} {out}, {type_} {results[j]}, {j}")
    parameters = f"{e.real} %x, {e.real} %r, {e.real} %c, {e.int} %n"
    head = f"define internal {e.triple} {name}({parameters}) noinline cold nounwind {{"
    return "\n".join([head, *e.lines, f"  ret {e.triple} {out}", "}\n"])


def _reduce_far() -> tuple[str, ...]:
    """Payne and Hanek: a function from x, r, c, n to the right r, c, n if x is beyond the common range, and its needs.

    |x| = m 2^e with an integer m < 2^53 and e > -33.  The bits of 2/pi worth 2^-j for j < e - 1 contribute multiples
    of 4 to |x| 2/pi; the 192 bits after those, times m, modulo 2^192, are |x| 2/pi modulo 4 with 190 bits behind the
    point, too low by less than 2^53 units there.  No double is closer to a multiple of pi/2 than 2^-61 (Muller et al.,
    who name 6381956970095103 2^797 as the closest), so that at least 2^128 units are left of the fraction, and its
    relative error is below 2^-74.  Everything is integer arithmetic up to the exact conversions of 53 bits at the end.
    """
    words = [_TWO_OVER_PI >> 64 * i & (1 << 64) - 1 for i in reversed(range(_TABLE_WORDS))]
    table = ", ".join(f"i64 {word}" for word in [0, *words])  # a zero word first, as e - 1 may be negative
    read = "\n".join(
        f"  %at.{i} = add i64 %first, {i}\n"
        f"  %pointer.{i} = getelementptr inbounds [{_TABLE_WORDS + 1} x i64], ptr @lw.two_over_pi, i64 0, i64 %at.{i}\n"
        f"  %word.{i} = load i64, ptr %pointer.{i}, align 8\n"
        f"  %wide.{i} = zext i64 %word.{i} to i256\n"
        f"  %placed.{i} = shl i256 %wide.{i}, {64 * (3 - i)}\n"
        f"  %words.{i} = or i256 %placed.{i}, {f'%words.{i - 1}' if i else 0}"
        for i in range(4)
    )
    triple = _Emitter(1, False).triple
    parameters = "double %x, double %r.near, double %c.near, i64 %n.near"
    function = f"""\
define internal {triple} @lw.sincos.reduce({parameters}) noinline cold nounwind {{
  %size = call double @llvm.fabs.f64(double %x)
  %beyond = fcmp ogt double %size, {_Emitter(1, False).const(_BOUND)}
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
  %product = mul i256 %rest.factor, {_HALF_PI >> 128}
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
  %tail.scale = fmul double %head.scale, {_Emitter(1, False).const(2.0**-64)}
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
  %r = phi double [ %r.near, %0 ], [ %r.far, %far ]
  %c = phi double [ %c.near, %0 ], [ %c.far, %far ]
  %n = phi i64 [ %n.near, %0 ], [ %n.far, %far ]
  %out.r = insertvalue {triple} poison, double %r, 0
  %out.rc = insertvalue {triple} %out.r, double %c, 1
  %out = insertvalue {triple} %out.rc, i64 %n, 2
  ret {triple} %out
}}
"""
    return (
        "declare double @llvm.fabs.f64(double)",
        "declare i192 @llvm.ctlz.i192(i192, i1 immarg)",
        f"@lw.two_over_pi = internal unnamed_addr constant [{_TABLE_WORDS + 1} x i64] [{table}]\n",
        function,
    )


CODES = ("sincos",)


def vector_function(code: str, lanes: int, bits: int, fma: bool) -> tuple[Definition, ...]:
    if bits == 64:
        return (sincos(lanes, fma),)
    half = max(lanes // 2, 1)
    d = sincos(half, fma)
    F = "float" if lanes == 1 else f"<{lanes} x float>"
    D = "double" if half == 1 else f"<{half} x double>"
    H = "float" if half == 1 else f"<{half} x float>"
    L = [f"define internal {{ {F}, {F} }} @lw.sincos.f32x{lanes}({F} %x) noinline nounwind {{"]
    if lanes == 1:
        L += ["%e = fpext float %x to double", f"%p = call {{ {D}, {D} }} {d.name}({D} %e)"]
        for k in (0, 1):
            L += [f"%s{k} = extractvalue {{ {D}, {D} }} %p, {k}", f"%r{k} = fptrunc double %s{k} to float"]
    else:
        for h in (0, 1):
            m = ", ".join(f"i32 {h * half + i}" for i in range(half))
            if half == 1:
                L += [f"%h{h} = extractelement {F} %x, i32 {h}"]
            else:
                L += [f"%h{h} = shufflevector {F} %x, {F} poison, <{half} x i32> <{m}>"]
            L += [f"%e{h} = fpext {H} %h{h} to {D}", f"%p{h} = call {{ {D}, {D} }} {d.name}({D} %e{h})"]
            for k in (0, 1):
                L += [f"%s{k}{h} = extractvalue {{ {D}, {D} }} %p{h}, {k}", f"%t{k}{h} = fptrunc {D} %s{k}{h} to {H}"]
        for k in (0, 1):
            m = ", ".join(f"i32 {i}" for i in range(lanes))
            if half == 1:
                L += [
                    f"%q{k} = insertelement {F} poison, float %t{k}0, i32 0",
                    f"%r{k} = insertelement {F} %q{k}, float %t{k}1, i32 1",
                ]
            else:
                L += [f"%r{k} = shufflevector {H} %t{k}0, {H} %t{k}1, <{lanes} x i32> <{m}>"]
    L += [
        f"%a = insertvalue {{ {F}, {F} }} poison, {F} %r0, 0",
        f"%b = insertvalue {{ {F}, {F} }} %a, {F} %r1, 1",
        f"ret {{ {F}, {F} }} %b",
        "}",
    ]
    return d, Definition(f"@lw.sincos.f32x{lanes}", "\n".join(L) + "\n", ())
