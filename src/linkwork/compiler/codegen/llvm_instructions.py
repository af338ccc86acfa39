"""Instructions of a program as LLVM IR, for a vector of samples or for one.

Both forms run the same operations in the same order, with the same rounding.  So a sample's result does not depend on
the form that computed it. No instruction has a fast-math flag.
"""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.compiler.codegen.float_type import FloatType, vector
from linkwork.compiler.codegen.simd_values import FloatLanes, LaneBuilder
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.codegen.vector_math import CODES, vector_function
from linkwork.compiler.program import SINCOS
from linkwork.expr.scalar.operations import Operation

__all__ = ["Instructions"]


class Instructions(LaneBuilder):
    """Builder of an LLVM function, with a method for each operation on vectors of ``lanes`` samples.

    ``unchanging`` states that memory from which the function loads does not change during a call.
    """

    def __init__(self, signature: str, target: Target, real: FloatType, lanes: int, *, unchanging: bool) -> None:
        super().__init__(signature, lanes, target.fma)
        self.real = real
        self.type, self.truth = real.vector(lanes), vector("i1", lanes)
        self.align = real.bytes * lanes
        self._has_masks = target.lanes > 4  # mask registers with one bit for each lane
        self._unchanging = ", !invariant.load !0" if unchanging else ""

    def constant(self, value: float) -> str:
        return self.real.literal(value, self.lanes)

    def get(self, pointer: str, index: int) -> str:
        """Emit the load of a vector, one value for each lane, from position ``index`` in an array of vectors."""
        address = self.at(pointer, index * self.align)
        return self.let(f"load {self.type}, ptr {address}, align {self.align}{self._unchanging}")

    def one(self, kind: str, pointer: str, offset: int, align: int) -> str:
        """Load a scalar of type ``kind`` at a byte offset from ``pointer``."""
        return self.let(f"load {kind}, ptr {self.at(pointer, offset)}, align {align}{self._unchanging}")

    def put(self, value: str, pointer: str, index: int) -> None:
        self.store(self.type, value, self.at(pointer, index * self.align), self.align)

    def put_in(self, truth: str, value: str, pointer: str, index: int) -> None:
        """Emit the store of a vector in the lanes where the mask ``truth`` is true; others keep their values."""
        address = self.at(pointer, index * self.align)
        # without mask registers, prevent LLVM from making a masked store of this, which takes dozens of cycles
        old = "load" if self._has_masks or self.lanes == 1 else "load volatile"
        current = self.let(f"{old} {self.type}, ptr {address}, align {self.align}")
        self.store(self.type, self.select(truth, value, current), address, self.align)

    def keep(self, operation: Operation, value: str, index: int, memory: str = "%work") -> None:
        """Emit the store of an operation's value at position ``index`` in memory; a truth value becomes 0 or 1."""
        if operation.logical:
            value = self.select(value, self.constant(1.0), self.constant(0.0))
        self.put(value, memory, index)

    def fetch(self, operation: Operation, index: int, memory: str = "%work") -> str:
        """Emit the load of an operation's value that `keep` stored at position ``index``, and return its name."""
        return self.fetch_truth(memory, index) if operation.logical else self.get(memory, index)

    def fetch_truth(self, memory: str, index: int) -> str:
        """Load a truth value that is stored as 0 or 1."""
        return self.let(f"fcmp one {self.type} {self.get(memory, index)}, {self.constant(0.0)}")

    def bits(self, truth: str) -> str:
        """Return a truth value of all lanes as an integer with one bit for each lane."""
        return truth if self.lanes == 1 else self.let(f"bitcast {self.truth} {truth} to i{self.lanes}")

    def lanes_of(self, bits: str) -> str:
        """Return the truth value of an integer with one bit for each lane."""
        if self.lanes == 1:
            return bits
        if self._has_masks:
            return self.let(f"bitcast i{self.lanes} {bits} to {self.truth}")
        number, kind = self.real.integers(1), self.real.integers(self.lanes)
        scalar_bits = self.let(f"zext i{self.lanes} {bits} to {number}")
        first = self.let(f"insertelement {kind} poison, {number} {scalar_bits}, i32 0")
        every = self.let(f"shufflevector {kind} {first}, {kind} poison, <{self.lanes} x i32> zeroinitializer")
        lane_bits = "<" + ", ".join(f"{number} {1 << lane}" for lane in range(self.lanes)) + ">"
        return self.let(f"icmp ne {kind} {self.let(f'and {kind} {every}, {lane_bits}')}, zeroinitializer")

    def select(self, truth: str, x: str, y: str) -> str:
        """Return x in the lanes where ``truth`` holds, y in the others."""
        return self.let(f"select {self.truth} {truth}, {self.type} {x}, {self.type} {y}")

    def splat(self, number: str) -> str:
        """Return a vector with a scalar in all lanes."""
        if self.lanes == 1:
            return number
        first = self.let(f"insertelement {self.type} poison, {self.real.name} {number}, i32 0")
        return self.let(f"shufflevector {self.type} {first}, {self.type} poison, <{self.lanes} x i32> zeroinitializer")

    def status(self, guards: Sequence[str], off: int) -> str:
        """Emit the status of a sample: ``off`` if a guard is greater than zero, otherwise 0.  Return its name.

        A guard is a hidden result of the program that asks the caller to check the arguments.
        """
        total = "0"
        for guard in guards:
            above = self.let(f"fcmp ogt {self.type} {guard}, {self.constant(0.0)}")
            total = self.let(f"select i1 {above}, i32 {off}, i32 {total}")
        return total

    def operation(self, operation: Operation, a: Sequence[str]) -> str:
        """Emit a scalar operation on the LLVM values ``a``, and return the name of its result."""
        kind, code = operation.lowering.kind, operation.lowering.code
        if kind == "instruction":
            operand_type = self.truth if code in ("and", "or") else self.type
            return self.let(f"{code} {operand_type} {', '.join(a)}")
        if kind == "intrinsic":
            return self.intrinsic_of(code, *a)
        if code == "fma":
            return self.intrinsic_of("fma", *a)
        if code == "fms":
            return self.intrinsic_of("fma", a[0], a[1], self._minus(a[2]))
        if code == "fnma":
            return self.intrinsic_of("fma", self._minus(a[0]), a[1], a[2])
        if operation is SINCOS:
            return self._own("sincos", a)
        if code in ("first", "second"):
            return self._part(a[0], code == "second")
        if code == "where":
            return self.select(*a)
        if code == "not":
            all_true = "true" if self.lanes == 1 else "<" + ", ".join(["i1 true"] * self.lanes) + ">"
            return self.let(f"xor {self.truth} {a[0]}, {all_true}")
        if code == "sign":
            return self._sign(a[0])
        if code in ("sin", "cos"):
            return self._part(self._own("sincos", a), code == "cos")
        if kind == "vector" and code in CODES:
            return self._own(code, a)
        raise ValueError(f"no lowering for the operation {operation!r}")

    def intrinsic_of(self, code: str, *a: str) -> str:
        """Emit a call of an LLVM intrinsic on the values ``a``, and return the name of its result."""
        return self.intrinsic(code, *(FloatLanes(self, x, self.real) for x in a)).name

    def _own(self, code: str, a: Sequence[str]) -> str:
        """Emit a function of `linkwork.compiler.codegen.vector_math` on values; return the name of its result."""
        function = vector_function(code, self.lanes, self.real.bits, self.fused)
        if function not in self.needs:
            self.needs.append(function)
        returned = f"{{ {self.type}, {self.type} }}" if code == "sincos" else self.type
        return self.let(f"call {returned} {function.name}({', '.join(f'{self.type} {x}' for x in a)})")

    def _part(self, pair: str, second: bool) -> str:
        return self.let(f"extractvalue {{ {self.type}, {self.type} }} {pair}, {int(second)}")

    def _minus(self, x: str) -> str:
        return self.let(f"fneg {self.type} {x}")

    def _sign(self, x: str) -> str:
        """Return ±1 with the sign of x, or the magnitude of x if that is zero or NaN."""
        signed = self.intrinsic_of("copysign", self.constant(1.0), x)
        is_nonzero = self.let(f"fcmp one {self.type} {x}, {self.constant(0.0)}")
        return self.select(is_nonzero, signed, self.intrinsic_of("fabs", x))
