"""Writer of code for dense matrices in a frame: loops over elements, in lanes where one sample is computed.

Rows are processed four at a time, and each column's sum stays in a register: with several samples a number of all
lanes, with one sample adjacent columns of a row, in as many lanes. Sums are in the same order in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.target import Target

__all__ = ["ROWS", "DenseCode", "StepWriter", "step_function"]

ROWS = 4  # processed together


class StepWriter(Protocol):
    """The writer of the functions of a program's steps."""

    real: FloatType
    target: Target
    lanes: int
    width: int
    main: IrModule

    def name(self, stem: str) -> str: ...
    def function(self, signature: str, *, unchanging: bool = False) -> Instructions: ...


def step_function(code: StepWriter, stem: str, write: Callable[[Instructions, str], None]) -> str:
    """Write a function of a frame, and return its name; ``write`` takes the function and this name."""
    name = code.name(stem)
    f = code.function(f"define internal void {name}(ptr noalias %frame)")
    write(f, name)
    code.main.add(f)
    return name


class DenseCode:
    """Writer of the function of an instruction on dense matrices.

    Row and column indices are integers, or names of LLVM values.
    """

    def __init__(self, f: Instructions, code: StepWriter) -> None:
        self.f, self.real, self.width = f, code.real, code.width
        # lanes of a value, and number of such values of columns that are processed together
        lanes = code.target.lanes_of(code.real) if code.lanes == 1 else 1
        shorter = [wide for wide in (lanes // 2, 1) if lanes > 4 or wide == 1 < lanes]
        self.widths = [(lanes, 2), *((wide, 1) for wide in (lanes, *shorter))]

    def sum(self, *terms: str | int) -> str:
        total, *remaining = map(str, terms)
        for term in remaining:
            total = self.f.let(f"add i64 {total}, {term}") if term != "0" else total
        return total

    def address(self, start: str, number: str | int) -> str:
        return self.f.at(start, self.f.let(f"mul i64 {number}, {self.width}"))

    def kind(self, wide: int) -> str:
        return self.real.vector(wide) if wide > 1 else self.f.type

    def get(self, at: str, wide: int = 1) -> str:
        return self.f.load(self.kind(wide), at, self.real.bytes if wide > 1 else self.width)

    def put(self, x: str, at: str, wide: int = 1) -> None:
        self.f.store(self.kind(wide), x, at, self.real.bytes if wide > 1 else self.width)

    def all_lanes(self, x: str, wide: int) -> str:
        """Return a number in all lanes."""
        if wide == 1:
            return x
        kind = self.kind(wide)
        first = self.f.let(f"insertelement {kind} poison, {self.real.name} {x}, i32 0")
        return self.f.let(f"shufflevector {kind} {first}, {kind} poison, <{wide} x i32> zeroinitializer")

    def plus(self, total: str, x: str, y: str, wide: int = 1) -> str:
        """Return total + x y, rounded once if the processor fuses."""
        f, kind = self.f, self.kind(wide)
        if not f.fused:
            return f.let(f"fadd {kind} {total}, {f.let(f'fmul {kind} {x}, {y}')}")
        lanes = wide if wide > 1 else f.lanes
        code = f"llvm.fma.{'' if lanes == 1 else f'v{lanes}'}f{self.real.bits}"
        f.declare(f"declare {kind} @{code}({kind}, {kind}, {kind})")
        return f.let(f"call {kind} @{code}({kind} {x}, {kind} {y}, {kind} {total})")

    def blocks(self, start: int, stop: int, do: Callable[[str, int], None]) -> None:
        """Emit ``do(i, count)`` for blocks of ``count`` rows from row i on.

        The blocks cover the rows from ``start`` to ``stop``.
        """
        left = (stop - start) % ROWS
        if stop - start >= ROWS:
            with self.f.loop(stop - left, start=start, step=ROWS) as i:
                do(i, ROWS)
        if left:
            do(str(stop - left), left)
