"""Writer of code for dense matrices in a frame: loops over elements, which use all SIMD lanes even for one sample.

Rows are processed four at a time, and the sum of each column stays in a register. With several samples, the lanes of a
register are samples; with one sample, they are adjacent columns of a row. The order of summation is the same in both
cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.loops.execution_plan import Control
from linkwork.compiler.codegen.target import Target
from linkwork.expr.linalg.matrix_product import MatrixProduct

__all__ = ["ROWS", "DenseCode", "StepWriter", "product_driver", "step_function"]

ROWS = 4  # processed together


class StepWriter(Protocol):
    """The parts of the code generator that writers of matrix code use: types, a module, functions and names."""

    real: FloatType
    target: Target
    lanes: int
    width: int
    main: IrModule

    def name(self, stem: str) -> str: ...
    def function(self, signature: str, *, unchanging: bool = False) -> Instructions: ...


def step_function(code: StepWriter, stem: str, write: Callable[[Instructions, str], None]) -> str:
    """Write an LLVM function that runs on a frame (the array of a program's values); return the function's name.

    ``write(function, name)`` writes the function's instructions.
    """
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
        """Emit ``total + x y``, by a fused multiply-add if the processor has one, and return its name."""
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


def product_driver(code: StepWriter, step: Control) -> str:
    """Write the function that multiplies two matrices in a frame, and return its name."""
    return step_function(code, "product", lambda f, _: _Product(f, code, step).write())


class _Product(DenseCode):
    """Writer of the LLVM function that computes a product of two dense matrices."""

    def __init__(self, f: Instructions, code: StepWriter, step: Control) -> None:
        super().__init__(f, code)
        self.product: MatrixProduct = step.bundle
        slots = (*step.arguments, step.results)
        self.left, self.right, self.target = (f.at("%frame", slot * code.width) for slot in slots)

    def write(self) -> None:
        self.blocks(0, self.product.rows, self._rows)

    def _element(self, start: str, columns: int, i: str | int, j: str | int) -> str:
        return self.address(start, self.sum(self.f.let(f"mul i64 {i}, {columns}"), j))

    def _rows(self, i: str, rows: int) -> None:
        """Emit the computation of ``rows`` rows of the product, from row i on."""
        j = "0"
        for wide, many in self.widths:
            start = j
            stop = self.product.columns - wide * many + 1
            with self.f.loop(stop, start=start, step=wide * many) as j:
                self._columns(i, rows, j, wide, many)

    def _columns(self, i: str, rows: int, j: str, wide: int, many: int) -> None:
        """Emit the computation of ``many`` vectors of ``wide`` columns for the rows, from column j on."""
        f, product = self.f, self.product
        sums = [self.all_lanes(f.constant(0.0), wide) for _ in range(rows * many)]
        lines = [self._element(self.left, product.inner, self.sum(i, a), 0) for a in range(rows)]
        with f.loop(product.inner, kind=self.kind(wide), carried=sums) as k:
            start = self._element(self.right, product.columns, k, j)
            values = [self.get(f.at(start, b * wide * self.width), wide) for b in range(many)]
            factors = [self.all_lanes(self.get(self.address(line, k)), wide) for line in lines]
            sums[:] = [self.plus(x, factors[n // many], values[n % many], wide) for n, x in enumerate(sums)]
        for a in range(rows):
            at = self._element(self.target, product.columns, self.sum(i, a), j)
            for b in range(many):
                self.put(sums[a * many + b], f.at(at, b * wide * self.width), wide)
