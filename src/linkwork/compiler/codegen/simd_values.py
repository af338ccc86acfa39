"""Numbers of several lanes in LLVM IR, written with Python's operators.

`Code` is a function on them; `Number`, `Int` and `Mask` are values in it.  No instruction carries a fast-math flag, and
what is called are intrinsics that are instructions on every 64-bit target (`llvm.fma` only if the target fuses), so
that every lane goes through the same operations, whatever the lane count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, Real, splat, vector
from linkwork.compiler.codegen.llvm_ir import Function

__all__ = ["Code", "Int", "Mask", "Number"]


@dataclass(frozen=True, slots=True)
class Number:
    """Floating-point lanes of one type."""

    code: Code
    name: str
    real: Real

    @property
    def type(self) -> str:
        return self.real.vector(self.code.lanes)

    def _other(self, other: Number | float) -> Number:
        return other if isinstance(other, Number) else self.code.number(other, self.real)

    def _do(self, operation: str, a: Number, b: Number) -> Number:
        return Number(self.code, self.code.let(f"{operation} {self.type} {a.name}, {b.name}"), self.real)

    def __add__(self, other: Number | float) -> Number:
        return self._do("fadd", self, self._other(other))

    def __radd__(self, other: float) -> Number:
        return self._do("fadd", self._other(other), self)

    def __sub__(self, other: Number | float) -> Number:
        return self._do("fsub", self, self._other(other))

    def __rsub__(self, other: float) -> Number:
        return self._do("fsub", self._other(other), self)

    def __mul__(self, other: Number | float) -> Number:
        return self._do("fmul", self, self._other(other))

    def __rmul__(self, other: float) -> Number:
        return self._do("fmul", self._other(other), self)

    def __truediv__(self, other: Number | float) -> Number:
        return self._do("fdiv", self, self._other(other))

    def __rtruediv__(self, other: float) -> Number:
        return self._do("fdiv", self._other(other), self)

    def __neg__(self) -> Number:
        return Number(self.code, self.code.let(f"fneg {self.type} {self.name}"), self.real)

    def __abs__(self) -> Number:
        return self.code.intrinsic("fabs", self)

    def sqrt(self) -> Number:
        return self.code.intrinsic("sqrt", self)

    def _compare(self, predicate: str, other: Number | float) -> Mask:
        line = f"fcmp {predicate} {self.type} {self.name}, {self._other(other).name}"
        return Mask(self.code, self.code.let(line))

    def __lt__(self, other: Number | float) -> Mask:
        return self._compare("olt", other)

    def __le__(self, other: Number | float) -> Mask:
        return self._compare("ole", other)

    def __gt__(self, other: Number | float) -> Mask:
        return self._compare("ogt", other)

    def __ge__(self, other: Number | float) -> Mask:
        return self._compare("oge", other)

    def equals(self, other: Number | float) -> Mask:
        return self._compare("oeq", other)

    def unordered(self, other: Number | float) -> Mask:
        """Where one of the two is NaN."""
        return self._compare("uno", other)

    def to_bits(self) -> Int:
        kind = self.real.integers(self.code.lanes)
        return Int(self.code, self.code.let(f"bitcast {self.type} {self.name} to {kind}"), self.real)

    def widened(self) -> Number:
        to = DOUBLE.vector(self.code.lanes)
        return Number(self.code, self.code.let(f"fpext {self.type} {self.name} to {to}"), DOUBLE)

    def narrowed(self) -> Number:
        to = SINGLE.vector(self.code.lanes)
        return Number(self.code, self.code.let(f"fptrunc {self.type} {self.name} to {to}"), SINGLE)


@dataclass(frozen=True, slots=True)
class Int:
    """Integer lanes, as wide as the floating-point ones whose bits they are."""

    code: Code
    name: str
    real: Real

    @property
    def type(self) -> str:
        return self.real.integers(self.code.lanes)

    def _do(self, operation: str, other: Int | int) -> Int:
        b = other if isinstance(other, Int) else self.code.int(other, self.real)
        return Int(self.code, self.code.let(f"{operation} {self.type} {self.name}, {b.name}"), self.real)

    def __add__(self, other: Int | int) -> Int:
        return self._do("add", other)

    def __sub__(self, other: Int | int) -> Int:
        return self._do("sub", other)

    def __rsub__(self, other: int) -> Int:
        return self.code.int(other, self.real)._do("sub", self)

    def __and__(self, other: Int | int) -> Int:
        return self._do("and", other)

    def __or__(self, other: Int | int) -> Int:
        return self._do("or", other)

    def __xor__(self, other: Int | int) -> Int:
        return self._do("xor", other)

    def __lshift__(self, other: int) -> Int:
        return self._do("shl", other)

    def __rshift__(self, other: int) -> Int:
        """Zeros come in."""
        return self._do("lshr", other)

    def nonzero(self) -> Mask:
        zero = self.code.int(0, self.real)
        return Mask(self.code, self.code.let(f"icmp ne {self.type} {self.name}, {zero.name}"))

    def to_real(self) -> Number:
        """The number that has these bits."""
        to = self.real.vector(self.code.lanes)
        return Number(self.code, self.code.let(f"bitcast {self.type} {self.name} to {to}"), self.real)


@dataclass(frozen=True, slots=True)
class Mask:
    """A truth value for each lane."""

    code: Code
    name: str

    def _do(self, operation: str, other: Mask) -> Mask:
        kind = vector("i1", self.code.lanes)
        return Mask(self.code, self.code.let(f"{operation} {kind} {self.name}, {other.name}"))

    def __and__(self, other: Mask) -> Mask:
        return self._do("and", other)

    def __or__(self, other: Mask) -> Mask:
        return self._do("or", other)

    def __xor__(self, other: Mask) -> Mask:
        return self._do("xor", other)

    def where(self, a: Number | float, b: Number | float) -> Number:
        """a in the lanes where this is true, b in the others; of two plain numbers, as float64."""
        real = next((x.real for x in (a, b) if isinstance(x, Number)), DOUBLE)
        x, y = (v if isinstance(v, Number) else self.code.number(v, real) for v in (a, b))
        line = f"select {vector('i1', self.code.lanes)} {self.name}, {x.type} {x.name}, {y.type} {y.name}"
        return Number(self.code, self.code.let(line), real)

    def where_int(self, a: Int, b: Int) -> Int:
        """The same choice between integers."""
        line = f"select {vector('i1', self.code.lanes)} {self.name}, {a.type} {a.name}, {b.type} {b.name}"
        return Int(self.code, self.code.let(line), a.real)

    def any(self) -> str:
        """Whether it is true in any lane, as the name of an i1."""
        lanes = self.code.lanes
        if lanes == 1:
            return self.name
        packed = self.code.let(f"bitcast <{lanes} x i1> {self.name} to i{lanes}")
        return self.code.let(f"icmp ne i{lanes} {packed}, 0")


class Code(Function):
    """A function on numbers of so many lanes; ``fused`` says whether the target fuses products and sums."""

    def __init__(self, signature: str, lanes: int, fused: bool, attributes: str = "#0") -> None:
        # vectors that wait on the stack stand on their own boundaries, so that each is in one line of the cache
        super().__init__(signature, "#2" if lanes > 1 and attributes == "#0" else attributes)
        self.lanes, self.fused = lanes, fused

    def number(self, value: float, real: Real = DOUBLE) -> Number:
        """The same number in every lane."""
        return Number(self, real.literal(value, self.lanes), real)

    def int(self, value: int, real: Real = DOUBLE) -> Int:
        """The same integer in every lane."""
        return Int(self, splat(f"i{real.bits}", f"{value}", self.lanes), real)

    def intrinsic(self, name: str, *arguments: Number) -> Number:
        real = arguments[0].real
        kind, function = real.vector(self.lanes), f"@llvm.{name}.{real.suffix(self.lanes)}"
        self.declare(f"declare {kind} {function}({', '.join([kind] * len(arguments))})")
        given = ", ".join(f"{kind} {a.name}" for a in arguments)
        return Number(self, self.let(f"call {kind} {function}({given})"), real)

    def fma(self, a: Number, b: Number | float, c: Number | float) -> Number:
        """a b + c, rounded once if the target fuses and twice otherwise."""
        b, c = (v if isinstance(v, Number) else self.number(v, a.real) for v in (b, c))
        return self.intrinsic("fma", a, b, c) if self.fused else a * b + c

    def polynomial(self, z: Number, k: Sequence[float], z2: Number | None = None) -> Number:
        """k0 + k1 z + k2 z^2 + ...: by pairs, and Horner's rule in z^2 over the pairs, for half the depth."""
        if len(k) < 3:
            return self.fma(z, k[1], k[0]) if len(k) > 1 else self.number(k[0], z.real)
        z2 = z * z if z2 is None else z2
        value: Number | None = None
        for i in range((len(k) - 1) // 2 * 2, -1, -2):
            if i + 1 == len(k):
                value = self.number(k[i], z.real)
                continue
            pair = self.fma(z, k[i + 1], k[i])
            value = pair if value is None else self.fma(z2, value, pair)
        assert value is not None
        return value

    def with_sign(self, size: Number, sign: Number) -> Number:
        """A number with the sign of another one."""
        return self.intrinsic("copysign", size, sign)
