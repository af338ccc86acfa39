"""Code of a matrix product: see `linkwork.expr.linalg.matrix_product`."""

from __future__ import annotations

from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.loops.dense_code import DenseCode, StepWriter, step_function
from linkwork.compiler.codegen.loops.execution_plan import Control
from linkwork.expr.linalg.matrix_product import MatrixProduct

__all__ = ["product_driver"]


def product_driver(code: StepWriter, step: Control) -> str:
    """Write the function that multiplies two matrices in a frame, and return its name."""
    return step_function(code, "product", lambda f, _: _Product(f, code, step).write())


class _Product(DenseCode):
    """Writer of the function of a matrix product."""

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
