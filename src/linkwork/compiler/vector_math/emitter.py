"""Writes LLVM IR on numbers of several lanes, from Python's operators.

`Code` holds the lines of one function body; `Real`, `Int` and `Mask` are values in it.  No instruction carries a
fast-math flag, and what is called are intrinsics that are instructions on every 64-bit target (`llvm.fma` only if the
target fuses), so that every lane goes through the same operations, whatever the lane count.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Code", "Definition", "Int", "Mask", "Real", "define", "real_type"]


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


def _vector(scalar: str, lanes: int) -> str:
    return scalar if lanes == 1 else f"<{lanes} x {scalar}>"


def real_type(bits: int, lanes: int) -> str:
    """float or double, or a vector of them."""
    return _vector("double" if bits == 64 else "float", lanes)


@dataclass(frozen=True, slots=True)
class Real:
    """Floating-point lanes of 64 or 32 bits."""

    code: Code
    name: str
    bits: int

    @property
    def type(self) -> str:
        return real_type(self.bits, self.code.lanes)

    def _other(self, other: Real | float) -> Real:
        return other if isinstance(other, Real) else self.code.real(other, self.bits)

    def _do(self, operation: str, a: Real, b: Real) -> Real:
        return Real(self.code, self.code.emit(f"{operation} {self.type} {a.name}, {b.name}"), self.bits)

    def __add__(self, other: Real | float) -> Real:
        return self._do("fadd", self, self._other(other))

    def __radd__(self, other: float) -> Real:
        return self._do("fadd", self._other(other), self)

    def __sub__(self, other: Real | float) -> Real:
        return self._do("fsub", self, self._other(other))

    def __rsub__(self, other: float) -> Real:
        return self._do("fsub", self._other(other), self)

    def __mul__(self, other: Real | float) -> Real:
        return self._do("fmul", self, self._other(other))

    def __rmul__(self, other: float) -> Real:
        return self._do("fmul", self._other(other), self)

    def __truediv__(self, other: Real | float) -> Real:
        return self._do("fdiv", self, self._other(other))

    def __rtruediv__(self, other: float) -> Real:
        return self._do("fdiv", self._other(other), self)

    def __neg__(self) -> Real:
        return Real(self.code, self.code.emit(f"fneg {self.type} {self.name}"), self.bits)

    def __abs__(self) -> Real:
        return self.code.intrinsic("fabs", self)

    def sqrt(self) -> Real:
        return self.code.intrinsic("sqrt", self)

    def _compare(self, predicate: str, other: Real | float) -> Mask:
        line = f"fcmp {predicate} {self.type} {self.name}, {self._other(other).name}"
        return Mask(self.code, self.code.emit(line))

    def __lt__(self, other: Real | float) -> Mask:
        return self._compare("olt", other)

    def __le__(self, other: Real | float) -> Mask:
        return self._compare("ole", other)

    def __gt__(self, other: Real | float) -> Mask:
        return self._compare("ogt", other)

    def __ge__(self, other: Real | float) -> Mask:
        return self._compare("oge", other)

    def equals(self, other: Real | float) -> Mask:
        return self._compare("oeq", other)

    def unordered(self, other: Real | float) -> Mask:
        """Where one of the two is NaN."""
        return self._compare("uno", other)

    def to_bits(self) -> Int:
        kind = _vector(f"i{self.bits}", self.code.lanes)
        return Int(self.code, self.code.emit(f"bitcast {self.type} {self.name} to {kind}"), self.bits)

    def widened(self) -> Real:
        to = real_type(64, self.code.lanes)
        return Real(self.code, self.code.emit(f"fpext {self.type} {self.name} to {to}"), 64)

    def narrowed(self) -> Real:
        to = real_type(32, self.code.lanes)
        return Real(self.code, self.code.emit(f"fptrunc {self.type} {self.name} to {to}"), 32)


@dataclass(frozen=True, slots=True)
class Int:
    """Integer lanes, as wide as the floating-point ones whose bits they are."""

    code: Code
    name: str
    bits: int

    @property
    def type(self) -> str:
        return _vector(f"i{self.bits}", self.code.lanes)

    def _do(self, operation: str, other: Int | int) -> Int:
        b = other if isinstance(other, Int) else self.code.int(other, self.bits)
        return Int(self.code, self.code.emit(f"{operation} {self.type} {self.name}, {b.name}"), self.bits)

    def __add__(self, other: Int | int) -> Int:
        return self._do("add", other)

    def __sub__(self, other: Int | int) -> Int:
        return self._do("sub", other)

    def __rsub__(self, other: int) -> Int:
        return self.code.int(other, self.bits)._do("sub", self)

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
        zero = self.code.int(0, self.bits)
        return Mask(self.code, self.code.emit(f"icmp ne {self.type} {self.name}, {zero.name}"))

    def to_real(self) -> Real:
        """The number that has these bits."""
        to = real_type(self.bits, self.code.lanes)
        return Real(self.code, self.code.emit(f"bitcast {self.type} {self.name} to {to}"), self.bits)


@dataclass(frozen=True, slots=True)
class Mask:
    """A truth value for each lane."""

    code: Code
    name: str

    def _do(self, operation: str, other: Mask) -> Mask:
        kind = _vector("i1", self.code.lanes)
        return Mask(self.code, self.code.emit(f"{operation} {kind} {self.name}, {other.name}"))

    def __and__(self, other: Mask) -> Mask:
        return self._do("and", other)

    def __or__(self, other: Mask) -> Mask:
        return self._do("or", other)

    def __xor__(self, other: Mask) -> Mask:
        return self._do("xor", other)

    def where(self, a: Real | float, b: Real | float, bits: int = 64) -> Real:
        """a in the lanes where this is true, b in the others."""
        bits = next((x.bits for x in (a, b) if isinstance(x, Real)), bits)
        x, y = (v if isinstance(v, Real) else self.code.real(v, bits) for v in (a, b))
        line = f"select {_vector('i1', self.code.lanes)} {self.name}, {x.type} {x.name}, {y.type} {y.name}"
        return Real(self.code, self.code.emit(line), bits)

    def where_int(self, a: Int, b: Int) -> Int:
        """The same choice between integers."""
        line = f"select {_vector('i1', self.code.lanes)} {self.name}, {a.type} {a.name}, {b.type} {b.name}"
        return Int(self.code, self.code.emit(line), a.bits)

    def any(self) -> str:
        """Whether it is true in any lane, as the name of an i1."""
        lanes = self.code.lanes
        if lanes == 1:
            return self.name
        packed = self.code.emit(f"bitcast <{lanes} x i1> {self.name} to i{lanes}")
        return self.code.emit(f"icmp ne i{lanes} {packed}, 0")


class Code:
    """The body of one function."""

    def __init__(self, lanes: int, fma: bool) -> None:
        self.lanes, self.fused = lanes, fma
        self.lines: list[str] = []
        self.declarations: dict[str, None] = {}
        self.needs: tuple[Definition, ...] = ()  # what it calls
        self._count = 0

    def emit(self, instruction: str) -> str:
        """Name the value of an instruction."""
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"  {name} = {instruction}")
        return name

    def real(self, value: float, bits: int = 64) -> Real:
        """The same number in every lane; one for 32 bits must be a float32."""
        (pattern,) = struct.unpack("<Q", struct.pack("<d", value))
        return Real(self, self._splat(real_type(bits, 1), f"0x{pattern:016X}"), bits)

    def int(self, value: int, bits: int = 64) -> Int:
        """The same integer in every lane."""
        return Int(self, self._splat(f"i{bits}", f"{value}"), bits)

    def _splat(self, scalar: str, literal: str) -> str:
        return literal if self.lanes == 1 else f"splat ({scalar} {literal})"

    def intrinsic(self, name: str, *arguments: Real) -> Real:
        bits = arguments[0].bits
        kind = real_type(bits, self.lanes)
        function = f"@llvm.{name}.f{bits}" if self.lanes == 1 else f"@llvm.{name}.v{self.lanes}f{bits}"
        self.declarations[f"declare {kind} {function}({', '.join([kind] * len(arguments))})"] = None
        given = ", ".join(f"{kind} {a.name}" for a in arguments)
        return Real(self, self.emit(f"call {kind} {function}({given})"), bits)

    def fma(self, a: Real, b: Real | float, c: Real | float) -> Real:
        """a b + c, rounded once if the target fuses and twice otherwise."""
        b, c = (v if isinstance(v, Real) else self.real(v, a.bits) for v in (b, c))
        return self.intrinsic("fma", a, b, c) if self.fused else a * b + c

    def polynomial(self, z: Real, k: Sequence[float], z2: Real | None = None) -> Real:
        """k0 + k1 z + k2 z^2 + ...: by pairs, and Horner's rule in z^2 over the pairs, for half the depth."""
        if len(k) < 3:
            return self.fma(z, k[1], k[0]) if len(k) > 1 else self.real(k[0], z.bits)
        z2 = z * z if z2 is None else z2
        value: Real | None = None
        for i in range((len(k) - 1) // 2 * 2, -1, -2):
            if i + 1 == len(k):
                value = self.real(k[i], z.bits)
                continue
            pair = self.fma(z, k[i + 1], k[i])
            value = pair if value is None else self.fma(z2, value, pair)
        assert value is not None
        return value

    def with_sign(self, size: Real, sign: Real) -> Real:
        """A number with the sign of another one."""
        return self.intrinsic("copysign", size, sign)


def define(
    name: str, bits: int, code: Code, body: Callable[..., Real | tuple[Real, Real]], arguments: str
) -> tuple[Definition, ...]:
    """The function that `body` writes, from its arguments to its result or its pair of results, after what it calls."""
    kind = real_type(bits, code.lanes)
    results = body(code, *(Real(code, f"%{a}", bits) for a in arguments))
    parameters = ", ".join(f"{kind} %{a}" for a in arguments)
    if isinstance(results, Real):
        returned, value = kind, results.name
    else:
        returned = f"{{ {kind}, {kind} }}"
        one = code.emit(f"insertvalue {returned} poison, {kind} {results[0].name}, 0")
        value = code.emit(f"insertvalue {returned} {one}, {kind} {results[1].name}, 1")
    head = f"define internal {returned} {name}({parameters}) noinline nounwind {{"
    ir = "\n".join([head, "entry:", *code.lines, f"  ret {returned} {value}", "}\n"])
    return (*code.needs, Definition(name, ir, tuple(code.declarations)))
