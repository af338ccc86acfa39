"""Instructions of a program as LLVM IR, for a vector of samples or for one.

Both run the same operations in the same order, each rounded the same way, so a sample's result does not depend on
which of the two computed it.  No instruction carries a fast-math flag.
"""

from __future__ import annotations

from ..expr.operations import Operation
from .program import SINCOS, Program
from .real import Real
from .target import Target
from .vector_math import CODES, vector_function

__all__ = ["Instructions", "Text", "slots"]


class Text:
    """The pieces of a module: declarations and functions, each there once."""

    def __init__(self) -> None:
        self.declarations: dict[str, None] = {}
        self.functions: list[str] = []
        self._shared: set[str] = set()

    def declare(self, *declarations: str) -> None:
        for declaration in declarations:
            self.declarations[declaration] = None

    def vector_function(self, code: str, lanes: int, bits: int, fma: bool) -> str:
        """Make a function of our own mathematics available: its name."""
        definitions = vector_function(code, lanes, bits, fma)
        for definition in definitions:
            if definition.name not in self._shared:
                self._shared.add(definition.name)
                self.declare(*definition.declarations)
                self.functions.append(definition.ir)
        return definitions[-1].name

    def __str__(self) -> str:
        return "\n".join([*self.declarations, *self.functions])


def slots(program: Program) -> tuple[list[int], list[int]]:
    """The distinct values among the results, and for each output element which of them it is."""
    place: dict[int, int] = {}
    index = [place.setdefault(r, len(place)) for r in program.results]
    return list(place), index


class Instructions:
    """Writes operations on numbers of so many lanes; names of values are the caller's.

    ``unchanging`` says that the memory that is loaded from changes only between calls of the function.
    """

    def __init__(self, text: Text, target: Target, real: Real, lanes: int, *, unchanging: bool) -> None:
        self.text, self.target, self.real, self.lanes = text, target, real, lanes
        self.type = real.vector(lanes)
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.align = real.bytes * lanes
        self._unchanging = ", !invariant.load !0" if unchanging else ""
        self.lines: list[str] = []

    def constant(self, value: float) -> str:
        return self.real.literal(value, self.lanes)

    def load(self, name: str, address: str) -> None:
        self.lines.append(f"{name} = load {self.type}, ptr {address}, align {self.align}{self._unchanging}")

    def store(self, name: str, address: str) -> None:
        self.lines.append(f"store {self.type} {name}, ptr {address}, align {self.align}")

    def address(self, name: str, pointer: str, place: int) -> str:
        """The address of a number (of all lanes) by its place."""
        self.lines.append(f"{name} = getelementptr i8, ptr {pointer}, i64 {place * self.align}")
        return name

    def keep(self, operation: Operation, name: str, address: str) -> None:
        """Store a value, a truth value as 0 or 1."""
        if operation.logical:
            one, zero = self.constant(1.0), self.constant(0.0)
            self.lines.append(f"{name}.k = select {self.truth} {name}, {self.type} {one}, {self.type} {zero}")
            name = f"{name}.k"
        self.store(name, address)

    def fetch(self, operation: Operation, name: str, address: str) -> None:
        """Load a value that was kept."""
        if not operation.logical:
            self.load(name, address)
            return
        self.load(f"{name}.k", address)
        self.lines.append(f"{name} = fcmp one {self.type} {name}.k, {self.constant(0.0)}")

    def status(self, guards: list[str], off: int) -> str:
        """``off`` where one of these numbers is greater than zero, and 0 otherwise."""
        total = "0"
        for k, guard in enumerate(guards):
            self.lines.append(f"%guard{k} = fcmp ogt {self.type} {guard}, {self.constant(0.0)}")
            self.lines.append(f"%status{k} = select i1 %guard{k}, i32 {off}, i32 {total}")
            total = f"%status{k}"
        return total

    def intrinsic(self, code: str, arity: int) -> str:
        name = f"@llvm.{code}.{self.real.suffix(self.lanes)}"
        self.text.declare(f"declare {self.type} {name}({', '.join([self.type] * arity)})")
        return name

    def emit(self, name: str, operation: Operation, a: list[str]) -> None:
        kind, code = operation.lowering.kind, operation.lowering.code
        type_, out = self.type, self.lines.append
        if kind == "instruction":
            of = self.truth if code in ("and", "or") else type_
            out(f"{name} = {code} {of} {', '.join(a)}")
        elif kind == "intrinsic":
            out(f"{name} = {self._call(self.intrinsic(code, len(a)), a)}")
        elif code in ("fma", "fms", "fnma"):
            x, y, z = a
            if code == "fms":
                out(f"{name}.n = fneg {type_} {z}")
                z = f"{name}.n"
            elif code == "fnma":
                out(f"{name}.n = fneg {type_} {x}")
                x = f"{name}.n"
            out(f"{name} = {self._call(self.intrinsic('fma', 3), [x, y, z])}")
        elif operation is SINCOS:
            function = self._own("sincos")
            out(f"{name} = call {{ {type_}, {type_} }} {function}({type_} {a[0]})")
        elif code in ("first", "second"):
            out(f"{name} = extractvalue {{ {type_}, {type_} }} {a[0]}, {int(code == 'second')}")
        elif code == "where":
            out(f"{name} = select {self.truth} {a[0]}, {type_} {a[1]}, {type_} {a[2]}")
        elif code == "not":
            ones = "true" if self.lanes == 1 else "<" + ", ".join(["i1 true"] * self.lanes) + ">"
            out(f"{name} = xor {self.truth} {a[0]}, {ones}")
        elif code == "sign":
            self._sign(name, a[0])
        elif code in ("sin", "cos"):
            out(f"{name}.b = call {{ {type_}, {type_} }} {self._own('sincos')}({type_} {a[0]})")
            out(f"{name} = extractvalue {{ {type_}, {type_} }} {name}.b, {int(code == 'cos')}")
        elif kind == "vector" and code in CODES:
            out(f"{name} = {self._call(self._own(code), a)}")
        else:
            raise ValueError(f"no lowering for the operation {operation!r}")

    def _call(self, function: str, a: list[str]) -> str:
        return f"call {self.type} {function}({', '.join(f'{self.type} {x}' for x in a)})"

    def _own(self, code: str) -> str:
        return self.text.vector_function(code, self.lanes, self.real.bits, self.target.fma)

    def _sign(self, name: str, x: str) -> None:
        """±1 with the sign of x; the magnitude of x where that is zero or NaN."""
        one, zero = self.constant(1.0), self.constant(0.0)
        self.lines.append(f"{name}.s = {self._call(self.intrinsic('copysign', 2), [one, x])}")
        self.lines.append(f"{name}.c = fcmp one {self.type} {x}, {zero}")
        self.lines.append(f"{name}.m = {self._call(self.intrinsic('fabs', 1), [x])}")
        self.lines.append(f"{name} = select {self.truth} {name}.c, {self.type} {name}.s, {self.type} {name}.m")
