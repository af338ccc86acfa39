"""Matrix product as one instruction with loops, and the class of such instructions on matrices.

Code written out operation by operation grows with the number of products; matrices of more than about ten rows take
long to compile.  Here a product of any size is the same few loops (`compiler/codegen/loops/dense_code.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from linkwork._util.cached_properties import cached_property
from linkwork.expr.control.branch_and_call_instructions import Subroutine
from linkwork.expr.linalg.sparse_dot import dot, is_zero, product, rows_of, transposed
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import MultiResult, SparseRow, bundle_operation
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Graph, Symbol

__all__ = ["PRODUCT", "MatrixInstruction", "MatrixProduct", "large_product"]

PRODUCT = bundle_operation("matrix_product")

Rows = Sequence[Sequence[Any]]
_SMALL = 2000  # multiplications up to which a product is written out


class MatrixInstruction(MultiResult):
    """Instruction on matrices, whose code is loops over elements in memory."""

    @property
    @abstractmethod
    def operations(self) -> Mapping[str, int]:
        """Number of times that each scalar operation is executed, by its name."""

    @abstractmethod
    def written_out(self, arguments: Sequence[Any]) -> list[Any]:
        """Return the results by single scalar operations, without loops."""

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        return self.written_out(arguments)


class WrittenOutInstruction(MatrixInstruction):
    """Instruction on matrices that is differentiated through its equivalent scalar operations."""

    @property
    @abstractmethod
    def taken(self) -> int:
        """Number of scalar arguments of the instruction."""

    @cached_property
    def _body(self) -> Subroutine:
        """Subroutine with the equivalent scalar operations, from which the instruction's derivatives follow."""
        inputs = Graph().inputs("x", (self.taken,))
        return Subroutine(Region.of(self.written_out(inputs), inputs))

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        return self._body.push_forward(arguments, results, rows)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        return self._body.pull_back(arguments, results, weights)


@dataclass(frozen=True)
class MatrixProduct(MatrixInstruction):
    """Product of a matrix of ``rows`` × ``inner`` elements and one of ``inner`` × ``columns``.

    The arguments are the elements of both matrices, row by row.  The results are the elements of the product, row by
    row.
    """

    rows: int
    inner: int
    columns: int

    operation: ClassVar[Operation] = PRODUCT

    @property
    def offset(self) -> int:
        """Number of elements of the left matrix."""
        return self.rows * self.inner

    @property
    def count(self) -> int:
        return self.rows * self.columns

    @property
    def operations(self) -> Mapping[str, int]:
        products = self.count * self.inner
        return {"mul": products, "add": products - self.count}

    def split(self, arguments: Sequence[Any]) -> tuple[list[list[Any]], list[list[Any]]]:
        """Return the rows of the left and of the right matrix, from the flat list of their elements."""
        left = rows_of(arguments, self.inner, self.rows)
        return left, rows_of(arguments[self.offset :], self.columns, self.inner)

    def written_out(self, arguments: Sequence[Any]) -> list[Any]:
        left, right = self.split(arguments)
        columns = transposed(right)
        return [dot(row, column) for row in left for column in columns]

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> list[SparseRow]:
        pushed: list[dict[Any, Any]] = [{} for _ in results]
        for key in dict.fromkeys(key for row in rows for key in row):
            rates = [row.get(key, 0.0) for row in rows]
            ends = slice(None, self.offset), slice(self.offset, None)
            parts = []
            for end in ends:
                if not all(map(is_zero, rates[end])):
                    changed = list(arguments)
                    changed[end] = rates[end]
                    parts.append(self(changed))
            for row, *terms in zip(pushed, *parts, strict=True):
                row[key] = terms[0] if len(terms) == 1 else terms[0] + terms[1]
        return list(pushed)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
        left, right = self.split(arguments)
        rows = rows_of(weights, self.columns, self.rows)
        by_left = large_product(rows, transposed(right))
        by_right = large_product(transposed(left), rows)
        return [x for row in (*by_left, *by_right) for x in row]


def large_product(left: Rows, right: Rows) -> list[list[Any]]:
    """Return the matrix product left · right of dense matrices.

    In a trace, a large product is one instruction; structural zeros then count as any other number.
    """
    rows, inner, columns = len(left), len(right), len(right[0])
    elements = [x for matrix in (left, right) for row in matrix for x in row]
    if rows * inner * columns <= _SMALL or not any(x.__class__ is Symbol for x in elements):
        return product(left, right)
    return rows_of(MatrixProduct(rows, inner, columns)(elements), columns, rows)
