"""Instructions of a program as LLVM IR, for a vector of samples or for one.

Both run the same operations in the same order, each rounded the same way, so a sample's result does not depend on
which of the two computed it.  No instruction carries a fast-math flag.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expr.operations import Operation
from .lanes import Code, Number
from .program import SINCOS
from .real import Real, vector
from .target import Target
from .vector_math import CODES, vector_function

__all__ = ["Instructions"]


class Instructions(Code):
    """A function that runs operations on numbers of so many lanes.

    ``unchanging`` says that the memory that is loaded from changes only between calls of the function.
    """

    def __init__(self, signature: str, target: Target, real: Real, lanes: int, *, unchanging: bool) -> None:
        super().__init__(signature, lanes, target.fma)
        self.real = real
        self.type, self.truth = real.vector(lanes), vector("i1", lanes)
        self.align = real.bytes * lanes
        self._unchanging = ", !invariant.load !0" if unchanging else ""

    def constant(self, value: float) -> str:
        return self.real.literal(value, self.lanes)

    def get(self, pointer: str, place: int) -> str:
        """The number (of all lanes) that stands so many numbers further on."""
        address = self.at(pointer, place * self.align)
        return self.let(f"load {self.type}, ptr {address}, align {self.align}{self._unchanging}")

    def put(self, value: str, pointer: str, place: int) -> None:
        self.store(self.type, value, self.at(pointer, place * self.align), self.align)

    def keep(self, operation: Operation, value: str, place: int) -> None:
        """Leave a value in the workspace, a truth value as 0 or 1."""
        if operation.logical:
            value = self._select(value, self.constant(1.0), self.constant(0.0))
        self.put(value, "%work", place)

    def fetch(self, operation: Operation, place: int) -> str:
        """Take a value that was kept."""
        value = self.get("%work", place)
        return self.let(f"fcmp one {self.type} {value}, {self.constant(0.0)}") if operation.logical else value

    def status(self, guards: Sequence[str], off: int) -> str:
        """``off`` where one of these numbers is greater than zero, and 0 otherwise."""
        total = "0"
        for guard in guards:
            above = self.let(f"fcmp ogt {self.type} {guard}, {self.constant(0.0)}")
            total = self.let(f"select i1 {above}, i32 {off}, i32 {total}")
        return total

    def operation(self, operation: Operation, a: Sequence[str]) -> str:
        """The value of an operation on values."""
        kind, code = operation.lowering.kind, operation.lowering.code
        if kind == "instruction":
            of = self.truth if code in ("and", "or") else self.type
            return self.let(f"{code} {of} {', '.join(a)}")
        if kind == "intrinsic":
            return self._intrinsic(code, *a)
        if code == "fma":
            return self._intrinsic("fma", *a)
        if code == "fms":
            return self._intrinsic("fma", a[0], a[1], self._minus(a[2]))
        if code == "fnma":
            return self._intrinsic("fma", self._minus(a[0]), a[1], a[2])
        if operation is SINCOS:
            return self._own("sincos", a)
        if code in ("first", "second"):
            return self._part(a[0], code == "second")
        if code == "where":
            return self._select(*a)
        if code == "not":
            ones = "true" if self.lanes == 1 else "<" + ", ".join(["i1 true"] * self.lanes) + ">"
            return self.let(f"xor {self.truth} {a[0]}, {ones}")
        if code == "sign":
            return self._sign(a[0])
        if code in ("sin", "cos"):
            return self._part(self._own("sincos", a), code == "cos")
        if kind == "vector" and code in CODES:
            return self._own(code, a)
        raise ValueError(f"no lowering for the operation {operation!r}")

    def _intrinsic(self, code: str, *a: str) -> str:
        return self.intrinsic(code, *(Number(self, x, self.real) for x in a)).name

    def _own(self, code: str, a: Sequence[str]) -> str:
        """What a function of our own mathematics gives."""
        function = vector_function(code, self.lanes, self.real.bits, self.fused)
        if function not in self.needs:
            self.needs.append(function)
        returned = f"{{ {self.type}, {self.type} }}" if code == "sincos" else self.type
        return self.let(f"call {returned} {function.name}({', '.join(f'{self.type} {x}' for x in a)})")

    def _part(self, pair: str, second: bool) -> str:
        return self.let(f"extractvalue {{ {self.type}, {self.type} }} {pair}, {int(second)}")

    def _minus(self, x: str) -> str:
        return self.let(f"fneg {self.type} {x}")

    def _select(self, truth: str, x: str, y: str) -> str:
        return self.let(f"select {self.truth} {truth}, {self.type} {x}, {self.type} {y}")

    def _sign(self, x: str) -> str:
        """±1 with the sign of x; the magnitude of x where that is zero or NaN."""
        signed = self._intrinsic("copysign", self.constant(1.0), x)
        some = self.let(f"fcmp one {self.type} {x}, {self.constant(0.0)}")
        return self._select(some, signed, self._intrinsic("fabs", x))
