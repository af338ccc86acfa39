"""LLVM IR of a program: straight-line code whose lanes are samples, and the same code for one sample.

Both run the same operations in the same order, each rounded the same way, so a sample's result does not depend on
which of the two computed it.  No instruction carries a fast-math flag.
"""

from __future__ import annotations

import struct
from functools import cache

import llvmlite.binding as llvm

from ..expr.operations import Operation
from .program import CONSTANT, INPUT, Program
from .target import Target
from .vector_math import sincos

__all__ = ["Text", "block_function", "number", "sample_function", "slots"]


class Text:
    """The pieces of a module: declarations that may be shared, and functions."""

    def __init__(self) -> None:
        self.declarations: dict[str, None] = {}
        self.functions: list[str] = []

    def declare(self, *declarations: str) -> None:
        for declaration in declarations:
            self.declarations[declaration] = None

    def __str__(self) -> str:
        return "\n".join([*self.declarations, *self.functions])


@cache
def _has_splat() -> bool:
    return bool(llvm.llvm_version_info[0] >= 19)


def number(value: float, lanes: int) -> str:
    """A float64 constant, or a vector of it."""
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    literal = f"0x{bits:016X}"
    if lanes == 1:
        return literal
    if _has_splat():
        return f"splat (double {literal})"
    return "<" + ", ".join([f"double {literal}"] * lanes) + ">"


def slots(program: Program) -> tuple[list[int], list[int]]:
    """The distinct values among the results, and for each output element which of them it is."""
    place: dict[int, int] = {}
    index = [place.setdefault(r, len(place)) for r in program.results]
    return list(place), index


class _Lines:
    """The instructions of one function body."""

    def __init__(self, text: Text, program: Program, target: Target, lanes: int) -> None:
        self.text, self.program, self.target, self.lanes = text, program, target, lanes
        self.real = "double" if lanes == 1 else f"<{lanes} x double>"
        self.truth = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.suffix = "f64" if lanes == 1 else f"v{lanes}f64"
        self.lines: list[str] = []
        self.names: list[str] = []
        definition = None
        if any(i.operation.lowering.code == "sincos" for i in program.instructions):
            definition = sincos(lanes, target.fma)
            text.declare(*definition.declarations)
            text.functions.append(definition.ir)
        self.sincos = definition.name if definition else ""

    def intrinsic(self, code: str, arity: int) -> str:
        name = f"@llvm.{code}.{self.suffix}"
        self.text.declare(f"declare {self.real} {name}({', '.join([self.real] * arity)})")
        return name

    def body(self, load: dict[int, str], store: dict[int, list[str]]) -> list[str]:
        """The instructions; ``load`` gives the address of each input element, ``store`` those of each result."""
        align = 8 * self.lanes
        real = self.real
        for k, (operation, args, value) in enumerate(self.program.instructions):
            name = f"%v{k}"
            if operation is CONSTANT:
                name = number(value, self.lanes)
            elif operation is INPUT:
                self.lines.append(f"{name} = load {real}, ptr {load[value]}, align {align}")
            else:
                self.emit(name, operation, [self.names[a] for a in args])
            self.names.append(name)
            for address in store.get(k, ()):
                self.lines.append(f"store {real} {name}, ptr {address}, align {align}")
        return self.lines

    def emit(self, name: str, operation: Operation, a: list[str]) -> None:
        kind, code = operation.lowering.kind, operation.lowering.code
        real, out = self.real, self.lines.append
        if kind == "instruction":
            of = self.truth if code in ("and", "or") else real
            out(f"{name} = {code} {of} {', '.join(a)}")
        elif kind == "intrinsic":
            typed = ", ".join(f"{real} {x}" for x in a)
            out(f"{name} = call {real} {self.intrinsic(code, len(a))}({typed})")
        elif code in ("fma", "fms", "fnma"):
            x, y, z = a
            if code == "fms":
                out(f"{name}.n = fneg {real} {z}")
                z = f"{name}.n"
            elif code == "fnma":
                out(f"{name}.n = fneg {real} {x}")
                x = f"{name}.n"
            out(f"{name} = call {real} {self.intrinsic('fma', 3)}({real} {x}, {real} {y}, {real} {z})")
        elif code == "sincos":
            out(f"{name} = call {{{real}, {real}}} {self.sincos}({real} {a[0]})")
        elif code in ("first", "second"):
            out(f"{name} = extractvalue {{{real}, {real}}} {a[0]}, {int(code == 'second')}")
        elif code == "where":
            out(f"{name} = select {self.truth} {a[0]}, {real} {a[1]}, {real} {a[2]}")
        elif code == "not":
            ones = "true" if self.lanes == 1 else "<" + ", ".join(["i1 true"] * self.lanes) + ">"
            out(f"{name} = xor {self.truth} {a[0]}, {ones}")
        elif code == "sign":
            self._sign(name, a[0])
        elif kind == "libm":
            self._library(name, code, a)
        else:
            raise ValueError(f"no lowering for the operation {operation!r}")

    def _sign(self, name: str, x: str) -> None:
        """±1 with the sign of x; the magnitude of x where that is zero or NaN."""
        one, zero = number(1.0, self.lanes), number(0.0, self.lanes)
        real = self.real
        one_signed = f"call {real} {self.intrinsic('copysign', 2)}({real} {one}, {real} {x})"
        self.lines.append(f"{name}.s = {one_signed}")
        self.lines.append(f"{name}.c = fcmp one {real} {x}, {zero}")
        self.lines.append(f"{name}.m = call {real} {self.intrinsic('fabs', 1)}({real} {x})")
        self.lines.append(f"{name} = select {self.truth} {name}.c, {real} {name}.s, {real} {name}.m")

    def _library(self, name: str, code: str, a: list[str]) -> None:
        """The C library's function, one lane at a time."""
        self.text.declare(f"declare double @{code}({', '.join(['double'] * len(a))})")
        if self.lanes == 1:
            self.lines.append(f"{name} = call double @{code}({', '.join('double ' + x for x in a)})")
            return
        vector = "poison"
        for lane in range(self.lanes):
            parts = []
            for i, x in enumerate(a):
                parts.append(f"{name}.a{i}.{lane}")
                self.lines.append(f"{parts[-1]} = extractelement {self.real} {x}, i32 {lane}")
            self.lines.append(f"{name}.r{lane} = call double @{code}({', '.join('double ' + p for p in parts)})")
            target = name if lane == self.lanes - 1 else f"{name}.v{lane}"
            self.lines.append(f"{target} = insertelement {self.real} {vector}, double {name}.r{lane}, i32 {lane}")
            vector = target


def block_function(text: Text, program: Program, target: Target) -> str:
    """``@block(ptr in, ptr out)``: one vector of samples.

    ``in`` holds a vector for each input element, ``out`` one for each distinct result.
    """
    lines = _Lines(text, program, target, target.lanes)
    width = 8 * target.lanes
    places, _ = slots(program)
    addresses = {k: f"%i{k}" for k in sorted({i.value for i in program.instructions if i.operation is INPUT})}
    head = [f"{name} = getelementptr i8, ptr %in, i64 {k * width}" for k, name in addresses.items()]
    head += [f"%o{s} = getelementptr i8, ptr %out, i64 {s * width}" for s in range(len(places))]
    body = lines.body(addresses, {r: [f"%o{s}"] for s, r in enumerate(places)})
    signature = "define internal void @block(ptr noalias readonly align 64 %in, ptr noalias align 64 %out)"
    return _function(text, signature, [*head, *body])


def sample_function(text: Text, program: Program, target: Target) -> str:
    """``@sample(ptr in..., ptr out...)``: one sample, straight from and to contiguous arrays."""
    lines = _Lines(text, program, target, 1)
    used = {i.value for i in program.instructions if i.operation is INPUT}
    head: list[str] = []
    load: dict[int, str] = {}
    store: dict[int, list[str]] = {}
    place = 0
    for j, port in enumerate(program.inputs):
        for e in range(port.size):
            if place in used:
                load[place] = f"%i{place}"
                head.append(f"%i{place} = getelementptr i8, ptr %in{j}, i64 {8 * e}")
            place += 1
    place = 0
    for j, port in enumerate(program.outputs):
        for e in range(port.size):
            head.append(f"%o{place} = getelementptr i8, ptr %out{j}, i64 {8 * e}")
            store.setdefault(program.results[place], []).append(f"%o{place}")
            place += 1
    arguments = [f"ptr noalias readonly %in{j}" for j in range(len(program.inputs))]
    arguments += [f"ptr noalias %out{j}" for j in range(len(program.outputs))]
    return _function(text, f"define void @sample({', '.join(arguments)})", [*head, *lines.body(load, store)])


def _function(text: Text, signature: str, lines: list[str]) -> str:
    body = "\n  ".join([*lines, "ret void"])
    text.functions.append(f"{signature} #0 {{\n  {body}\n}}\n")
    return signature
