"""Values of several lanes in LLVM IR, written with Python's operators.

`LaneBuilder` builds a function; `FloatLanes`, `IntLanes` and `LaneMask` are values in this function. No instruction has
a fast-math flag. Intrinsics are called only if they are instructions on every 64-bit target (`llvm.fma` only if the
target has fused multiply-add). So the operations on a lane do not depend on the number of lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkwork.compiler.codegen.float_type import DOUBLE, SINGLE, FloatType, splat, vector
from linkwork.compiler.codegen.llvm_ir import IrFunction

__all__ = ["FloatLanes", "IntLanes", "LaneBuilder", "LaneMask"]


@dataclass(frozen=True, slots=True)
class FloatLanes:
    """A value of the generated code: one floating-point number for each SIMD lane."""

    code: LaneBuilder
    name: str
    real: FloatType

    @property
    def type(self) -> str:
        return self.real.vector(self.code.lanes)

    def _other(self, other: FloatLanes | float) -> FloatLanes:
        return other if isinstance(other, FloatLanes) else self.code.number(other, self.real)

    def _do(self, operation: str, a: FloatLanes, b: FloatLanes) -> FloatLanes:
        return FloatLanes(self.code, self.code.let(f"{operation} {self.type} {a.name}, {b.name}"), self.real)

    def __add__(self, other: FloatLanes | float) -> FloatLanes:
        return self._do("fadd", self, self._other(other))

    def __radd__(self, other: float) -> FloatLanes:
        return self._do("fadd", self._other(other), self)

    def __sub__(self, other: FloatLanes | float) -> FloatLanes:
        return self._do("fsub", self, self._other(other))

    def __rsub__(self, other: float) -> FloatLanes:
        return self._do("fsub", self._other(other), self)

    def __mul__(self, other: FloatLanes | float) -> FloatLanes:
        return self._do("fmul", self, self._other(other))

    def __rmul__(self, other: float) -> FloatLanes:
        return self._do("fmul", self._other(other), self)

    def __truediv__(self, other: FloatLanes | float) -> FloatLanes:
        return self._do("fdiv", self, self._other(other))

    def __rtruediv__(self, other: float) -> FloatLanes:
        return self._do("fdiv", self._other(other), self)

    def __neg__(self) -> FloatLanes:
        return FloatLanes(self.code, self.code.let(f"fneg {self.type} {self.name}"), self.real)

    def __abs__(self) -> FloatLanes:
        return self.code.intrinsic("fabs", self)

    def sqrt(self) -> FloatLanes:
        return self.code.intrinsic("sqrt", self)

    def _compare(self, predicate: str, other: FloatLanes | float) -> LaneMask:
        line = f"fcmp {predicate} {self.type} {self.name}, {self._other(other).name}"
        return LaneMask(self.code, self.code.let(line))

    def __lt__(self, other: FloatLanes | float) -> LaneMask:
        return self._compare("olt", other)

    def __le__(self, other: FloatLanes | float) -> LaneMask:
        return self._compare("ole", other)

    def __gt__(self, other: FloatLanes | float) -> LaneMask:
        return self._compare("ogt", other)

    def __ge__(self, other: FloatLanes | float) -> LaneMask:
        return self._compare("oge", other)

    def equals(self, other: FloatLanes | float) -> LaneMask:
        return self._compare("oeq", other)

    def unordered(self, other: FloatLanes | float) -> LaneMask:
        """Return a mask of the lanes where one of the two is NaN."""
        return self._compare("uno", other)

    def to_bits(self) -> IntLanes:
        kind = self.real.integers(self.code.lanes)
        return IntLanes(self.code, self.code.let(f"bitcast {self.type} {self.name} to {kind}"), self.real)

    def widened(self) -> FloatLanes:
        to = DOUBLE.vector(self.code.lanes)
        return FloatLanes(self.code, self.code.let(f"fpext {self.type} {self.name} to {to}"), DOUBLE)

    def narrowed(self) -> FloatLanes:
        to = SINGLE.vector(self.code.lanes)
        return FloatLanes(self.code, self.code.let(f"fptrunc {self.type} {self.name} to {to}"), SINGLE)


@dataclass(frozen=True, slots=True)
class IntLanes:
    """Integers in lanes of the same width as floating-point lanes, such as the bits of floating-point numbers."""

    code: LaneBuilder
    name: str
    real: FloatType

    @property
    def type(self) -> str:
        return self.real.integers(self.code.lanes)

    def _do(self, operation: str, other: IntLanes | int) -> IntLanes:
        b = other if isinstance(other, IntLanes) else self.code.int(other, self.real)
        return IntLanes(self.code, self.code.let(f"{operation} {self.type} {self.name}, {b.name}"), self.real)

    def __add__(self, other: IntLanes | int) -> IntLanes:
        return self._do("add", other)

    def __sub__(self, other: IntLanes | int) -> IntLanes:
        return self._do("sub", other)

    def __rsub__(self, other: int) -> IntLanes:
        return self.code.int(other, self.real)._do("sub", self)

    def __and__(self, other: IntLanes | int) -> IntLanes:
        return self._do("and", other)

    def __or__(self, other: IntLanes | int) -> IntLanes:
        return self._do("or", other)

    def __xor__(self, other: IntLanes | int) -> IntLanes:
        return self._do("xor", other)

    def __lshift__(self, other: int) -> IntLanes:
        return self._do("shl", other)

    def __rshift__(self, other: int) -> IntLanes:
        """Shift right and fill with zeros."""
        return self._do("lshr", other)

    def nonzero(self) -> LaneMask:
        zero = self.code.int(0, self.real)
        return LaneMask(self.code, self.code.let(f"icmp ne {self.type} {self.name}, {zero.name}"))

    def to_real(self) -> FloatLanes:
        """Return the floating-point lanes that have these bits."""
        to = self.real.vector(self.code.lanes)
        return FloatLanes(self.code, self.code.let(f"bitcast {self.type} {self.name} to {to}"), self.real)


@dataclass(frozen=True, slots=True)
class LaneMask:
    """A truth value for each lane."""

    code: LaneBuilder
    name: str

    def _do(self, operation: str, other: LaneMask) -> LaneMask:
        kind = vector("i1", self.code.lanes)
        return LaneMask(self.code, self.code.let(f"{operation} {kind} {self.name}, {other.name}"))

    def __and__(self, other: LaneMask) -> LaneMask:
        return self._do("and", other)

    def __or__(self, other: LaneMask) -> LaneMask:
        return self._do("or", other)

    def __xor__(self, other: LaneMask) -> LaneMask:
        return self._do("xor", other)

    def where(self, a: FloatLanes | float, b: FloatLanes | float) -> FloatLanes:
        """Return a in the lanes where the mask is true, b in the others; float64 for two Python floats."""
        real = next((x.real for x in (a, b) if isinstance(x, FloatLanes)), DOUBLE)
        x, y = (v if isinstance(v, FloatLanes) else self.code.number(v, real) for v in (a, b))
        line = f"select {vector('i1', self.code.lanes)} {self.name}, {x.type} {x.name}, {y.type} {y.name}"
        return FloatLanes(self.code, self.code.let(line), real)

    def where_int(self, a: IntLanes, b: IntLanes) -> IntLanes:
        """Return integer a in the lanes where the mask is true, b in the others."""
        line = f"select {vector('i1', self.code.lanes)} {self.name}, {a.type} {a.name}, {b.type} {b.name}"
        return IntLanes(self.code, self.code.let(line), a.real)

    def any(self) -> str:
        """Return, as the name of an i1, whether the mask is true in any lane."""
        lanes = self.code.lanes
        if lanes == 1:
            return self.name
        packed = self.code.let(f"bitcast <{lanes} x i1> {self.name} to i{lanes}")
        return self.code.let(f"icmp ne i{lanes} {packed}, 0")


class LaneBuilder(IrFunction):
    """Builder of an LLVM function whose values are vectors of ``lanes`` elements, or scalars for one lane.

    ``fused`` states that the target has a fused multiply-add.
    """

    def __init__(self, signature: str, lanes: int, fused: bool, attributes: str = "#0") -> None:
        # vectors on the stack are aligned, so that each is in one line of the cache
        super().__init__(signature, "#2" if lanes > 1 and attributes == "#0" else attributes)
        self.lanes, self.fused = lanes, fused

    def number(self, value: float, real: FloatType = DOUBLE) -> FloatLanes:
        """Return a value that has this constant in every lane."""
        return FloatLanes(self, real.literal(value, self.lanes), real)

    def int(self, value: int, real: FloatType = DOUBLE) -> IntLanes:
        """Return the integer constant in every lane."""
        return IntLanes(self, splat(f"i{real.bits}", f"{value}", self.lanes), real)

    def intrinsic(self, name: str, *arguments: FloatLanes) -> FloatLanes:
        real = arguments[0].real
        kind, function = real.vector(self.lanes), f"@llvm.{name}.{real.suffix(self.lanes)}"
        self.declare(f"declare {kind} {function}({', '.join([kind] * len(arguments))})")
        values = ", ".join(f"{kind} {a.name}" for a in arguments)
        return FloatLanes(self, self.let(f"call {kind} {function}({values})"), real)

    def fma(self, a: FloatLanes, b: FloatLanes | float, c: FloatLanes | float) -> FloatLanes:
        """Return a b + c, rounded once if the target fuses and twice otherwise."""
        b, c = (v if isinstance(v, FloatLanes) else self.number(v, a.real) for v in (b, c))
        return self.intrinsic("fma", a, b, c) if self.fused else a * b + c

    def polynomial(self, z: FloatLanes, k: Sequence[float], z2: FloatLanes | None = None) -> FloatLanes:
        """Return k0 + k1 z + k2 z^2 + ... in pairs, by Horner's rule in z^2, which halves the depth."""
        if len(k) < 3:
            return self.fma(z, k[1], k[0]) if len(k) > 1 else self.number(k[0], z.real)
        z2 = z * z if z2 is None else z2
        value: FloatLanes | None = None
        for i in range((len(k) - 1) // 2 * 2, -1, -2):
            if i + 1 == len(k):
                value = self.number(k[i], z.real)
                continue
            pair = self.fma(z, k[i + 1], k[i])
            value = pair if value is None else self.fma(z2, value, pair)
        assert value is not None
        return value

    def with_sign(self, size: FloatLanes, sign: FloatLanes) -> FloatLanes:
        """Return a number with the magnitude of ``size`` and the sign of ``sign``."""
        return self.intrinsic("copysign", size, sign)
