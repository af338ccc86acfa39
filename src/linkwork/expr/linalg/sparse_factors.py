"""Sparse factors L D Lᵀ of symmetric matrices, and solutions with them, as instructions with tables of indices.

Code written out operation by operation has an instruction for each product of the factorization.  It takes long to
compile if there are more than about a thousand products.  Here the code is a few loops over tables of any length
(`compiler/codegen/loops/sparse_factors_code.py`).

Source: Davis, Direct Methods for Sparse Linear Systems, 2006, chapters 3 and 4 (right-looking form).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

from linkwork._util.cached_properties import cached_property
from linkwork.expr.linalg.matrix_product import WrittenOutInstruction
from linkwork.expr.linalg.sparse_dot import reciprocal_or_zero
from linkwork.expr.scalar.functions import eq
from linkwork.expr.scalar.multi_result import bundle_operation
from linkwork.expr.scalar.operations import Operation

__all__ = [
    "FACTORS",
    "SOLUTION",
    "SparseFactorization",
    "SparseFactors",
    "SparseInstruction",
    "SparseSolution",
    "column_pattern",
    "runs",
]

_MAX_PRODUCTS = 1 << 24  # twice those of a factorization that is read from a file
SUMS = 4  # partial sums of products, which a processor computes at the same time
FACTORS, SOLUTION = bundle_operation("sparse_factors"), bundle_operation("sparse_solution")


@dataclass(frozen=True)
class SparseInstruction(WrittenOutInstruction):
    """Instruction on a sparse matrix L, unit lower triangular in the order of elimination, that is stored by columns.

    ``order`` are the unknowns in elimination order: column k eliminates unknown ``order[k]``.  ``rows`` are the
    unknowns of the elements below the diagonal, ascending within each column.  Column k has the indices from
    ``starts[k]`` to ``starts[k + 1]``.
    """

    order: tuple[int, ...]
    starts: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of unknowns."""
        return len(self.order)

    @cached_property
    def is_valid(self) -> bool:
        """True if L has all fill-in of the elimination, which takes at most `_MAX_PRODUCTS` products."""
        order, starts, rows = self.order, self.starts, self.rows
        if not order or sorted(order) != [*range(len(order))] or len(starts) != len(order) + 1:
            return False
        if starts[0] != 0 or starts[-1] != len(rows) or any(a > b for a, b in pairwise(starts)):
            return False
        if sum((b - a) ** 2 for a, b in pairwise(starts)) > _MAX_PRODUCTS:
            return False
        columns = [rows[a:b] for a, b in pairwise(starts)]
        position = {unknown: k for k, unknown in enumerate(order)}
        for k, rows_of_column in enumerate(columns):
            positions = [position.get(row, -1) for row in rows_of_column]
            if any(a >= b for a, b in pairwise(rows_of_column)) or not all(
                later_position > k for later_position in positions
            ):
                return False
            if rows_of_column and not set(rows_of_column) - {order[min(positions)]} <= set(columns[min(positions)]):
                return False
        return True

    def columns(self) -> Iterator[tuple[int, range]]:
        """Yield for each column of L its index and the range of the indices of its elements below the diagonal."""
        return ((k, range(*ends)) for k, ends in enumerate(pairwise(self.starts)))


class Change(NamedTuple):
    """Update of ``length`` consecutive elements of L from index ``target`` on, when a column is eliminated.

    A multiple of the elements from index ``source`` on is subtracted. The multiple is an element of the eliminated
    column times the reciprocal of its pivot; ``factor`` is the index of that element in the column.
    """

    factor: int
    source: int
    target: int
    length: int


@dataclass(frozen=True)
class SparseFactorization(SparseInstruction):
    """Instruction that factors a symmetric matrix A = L D Lᵀ, in place.

    The arguments are the diagonal of A, then its elements at the indices of L below the diagonal.  The results are the
    reciprocals of D, with 0 for zeros of D, then the elements of L.
    """

    operation: ClassVar[Operation] = FACTORS

    @property
    def taken(self) -> int:
        return self.count

    @property
    def count(self) -> int:
        return self.size + len(self.rows)

    @property
    def operations(self) -> Mapping[str, int]:
        sizes = [len(elements) for _, elements in self.columns()]
        products = sum(n * (n + 1) // 2 for n in sizes)
        return Counter(mul=products + len(self.rows), sub=products, div=self.size, eq=self.size, where=2 * self.size)

    def changes(self, lengths: Sequence[int] = (1,)) -> Iterator[list[Change]]:
        """Yield for each column k the list of updates of later elements of L that eliminating column k requires.

        Each update is of adjacent elements; their number is one of ``lengths``, which are in descending order and end
        with 1.
        """
        columns = [*self.columns()]
        column_of = {unknown: k for k, unknown in enumerate(self.order)}
        at = [{self.rows[e]: e for e in elements} for _, elements in columns]
        for _, elements in columns:
            result: list[Change] = []
            for f in elements:
                diagonal = at[column_of[self.rows[f]]]
                pairs = [(e, diagonal[self.rows[e]]) for e in elements if self.rows[e] in diagonal]
                for start, length in runs([source for source, _ in pairs], [target for _, target in pairs], lengths):
                    result.append(Change(f - elements.start, *pairs[start], length))
            yield result

    def written_out(self, arguments: Sequence[Any]) -> list[Any]:
        D, L, rows = list(arguments[: self.size]), list(arguments[self.size :]), self.rows
        for (k, elements), changes in zip(self.columns(), self.changes(), strict=True):
            pivot_index = self.order[k]
            D[pivot_index] = reciprocal_or_zero(D[pivot_index], eq(D[pivot_index], 0.0))
            scaled = [L[e] * D[pivot_index] for e in elements]
            for e, factor in zip(elements, scaled, strict=True):
                D[rows[e]] = D[rows[e]] - factor * L[e]
            for change in changes:
                L[change.target] = L[change.target] - scaled[change.factor] * L[change.source]
            L[elements.start : elements.stop] = scaled
        return [*D, *L]


@dataclass(frozen=True)
class SparseSolution(SparseInstruction):
    """Instruction that solves equations with the factors L and D.

    With ``forward`` alone the result is L⁻¹ b, with ``backward`` alone L⁻ᵀ D⁻¹ b, and with both (L D Lᵀ)⁻¹ b.  The
    arguments are the results of `SparseFactorization`, then b.
    """

    forward: bool
    backward: bool

    operation: ClassVar[Operation] = SOLUTION

    @property
    def offset(self) -> int:
        """Number of arguments before the elements of b."""
        return self.size + len(self.rows)

    @property
    def taken(self) -> int:
        return self.offset + self.size

    @property
    def count(self) -> int:
        return self.size

    @property
    def operations(self) -> Mapping[str, int]:
        products = len(self.rows) * (self.forward + self.backward)
        return Counter(mul=products + self.size * self.backward, sub=products)

    def chunks(self) -> Iterator[list[tuple[int, int]]]:
        """Yield for each column of L its off-diagonal elements in chunks: index of the first one, and length.

        A chunk has `SUMS` elements, whose unknowns are adjacent, or one element.
        """
        for _, elements in self.columns():
            own_elements = [*elements]
            pairs = runs(own_elements, [self.rows[e] for e in own_elements], (SUMS, 1))
            yield [(own_elements[start], length) for start, length in pairs]

    def written_out(self, arguments: Sequence[Any]) -> list[Any]:
        D_inv, L, y = (list(part) for part in self.split(arguments))
        rows, order = self.rows, self.order
        if self.forward:
            for k, elements in self.columns():
                for e in elements:
                    y[rows[e]] = y[rows[e]] - L[e] * y[order[k]]
        if self.backward:
            columns = zip(self.columns(), self.chunks(), strict=True)
            for (k, _), chunks in reversed([*columns]):
                sums: list[Any] = [0.0] * SUMS
                for start, length in sorted(chunks, key=lambda chunk: -chunk[1]):
                    for n in range(length):
                        sums[n] = sums[n] + L[start + n] * y[rows[start + n]]
                y[order[k]] = y[order[k]] * D_inv[order[k]] - ((sums[0] + sums[1]) + (sums[2] + sums[3]))
        return y

    def split(self, arguments: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Return the reciprocals of D, the elements of L, and b."""
        return arguments[: self.size], arguments[self.size : self.offset], arguments[self.offset :]


@dataclass(frozen=True, slots=True)
class SparseFactors:
    """Factors of a symmetric matrix: the instruction that computed them, and its results."""

    factorization: SparseFactorization
    values: list[Any]

    @property
    def D_inv(self) -> list[Any]:
        """Reciprocals of D, in the order of elimination."""
        return [self.values[unknown] for unknown in self.factorization.order]

    def solved(self, b: Sequence[Any], *, forward: bool = True, backward: bool = True) -> list[Any]:
        """Return (L D Lᵀ)⁻¹ b, or the solution with one factor only, L⁻¹ b or L⁻ᵀ D⁻¹ b."""
        pattern = self.factorization
        return list(SparseSolution(pattern.order, pattern.starts, pattern.rows, forward, backward)([*self.values, *b]))


def runs(sources: Sequence[int], targets: Sequence[int], lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Split two lists of indices, of one length, into runs in which both are consecutive.

    Return the start and the length of each run.  The length is one of ``lengths``, in descending order down to 1.
    """
    result, start = [], 0
    while start < len(sources):
        most, first = start + 1, (sources[start], targets[start])
        while (
            most < min(start + lengths[0], len(sources))
            and (sources[most] - first[0], targets[most] - first[1]) == (most - start,) * 2
        ):
            most += 1
        length = next(length for length in lengths if length <= most - start)
        result.append((start, length))
        start += length
    return result


def column_pattern(order: Sequence[int], columns: Sequence[Iterable[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the sparsity pattern of the factor L of a symmetric matrix: ``starts`` and ``rows``.

    ``order`` are the unknowns in elimination order. ``columns`` has, for each unknown, the unknowns with nonzero
    elements in its column that are eliminated later. L also has the nonzero elements that elimination creates
    (fill-in). Column k of L has the elements from ``starts[k]`` to ``starts[k + 1]``; ``rows`` are their unknowns.
    """
    position = {unknown: k for k, unknown in enumerate(order)}
    below = [set(rows) for rows in columns]
    starts, rows = [0], list[int]()
    for rows_below in below:
        if rows_below:
            first = min(position[row] for row in rows_below)
            below[first] |= rows_below - {order[first]}  # the others follow from there
        rows += sorted(rows_below)
        starts.append(len(rows))
    return tuple(starts), tuple(rows)
