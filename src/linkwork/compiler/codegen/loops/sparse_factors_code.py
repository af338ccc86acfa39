"""Code of sparse factors and of solutions with them: see `linkwork.expr.linalg.sparse_factors`.

Loops run over tables that have, for each column, the rows of its elements and the elements that each product changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.loops.dense_code import DenseCode, StepWriter, step_function
from linkwork.compiler.codegen.loops.execution_plan import Control
from linkwork.expr.linalg.sparse_factors import SUMS, Change, SparseFactorization, SparseInstruction, SparseSolution

__all__ = ["factors_driver", "factors_slots", "solution_driver"]

_LONGEST = 4  # elements that change together: with more, loads wait for stores that they overlap


def factors_slots(factorization: SparseFactorization) -> int:
    """Return the number of memory slots for a sparse factorization: its results, and a column's scaled elements."""
    return factorization.count + max((len(elements) for _, elements in factorization.columns()), default=0)


def factors_driver(code: StepWriter, step: Control) -> str:
    """Write the function that factors a sparse matrix in place in a frame, and return its name."""
    return step_function(code, "factors", lambda f, name: _Factors(f, code, step, name).write())


def solution_driver(code: StepWriter, step: Control) -> str:
    """Write the function that solves linear equations with a sparse matrix's factors, and return its name."""
    return step_function(code, "solution", lambda f, name: _Solution(f, code, step, name).write())


class _Sparse(DenseCode):
    """Writer of an LLVM function for a sparse lower triangular matrix."""

    def __init__(self, f: Instructions, code: StepWriter, step: Control, name: str) -> None:
        super().__init__(f, code)
        self.sparse: SparseInstruction = step.bundle
        self._stem = name
        self.order = self.table("order", [unknown * self.width for unknown in self.sparse.order])

    def table(self, name: str, entries: Sequence[int]) -> str:
        """Write a table of integers, and return its name."""
        called, entries = f"{self._stem}.{name}", entries or [0]
        listed = ", ".join([f"i32 {entry}" for entry in entries])
        self.f.declare(f"{called} = internal constant [{len(entries)} x i32] [{listed}], align 64")
        return called

    def entry(self, table: str, index: str | int) -> str:
        """Return an entry of a table."""
        at = self.f.at(table, self.f.let(f"shl i64 {index}, 2"))
        return self.f.let(f"zext i32 {self.f.load('i32', at, 4)} to i64")

    def ends(self, table: str, k: str) -> tuple[str, str]:
        """Emit the bounds of column k in a list of all columns' entries: its first index, and the index after its last.

        ``table`` has the number of entries before each column.
        """
        return self.entry(table, k), self.entry(table, self.sum(k, 1))

    def subtract(self, at: str, factor: str, x: str) -> None:
        """Subtract the product of x and a negated factor from the value stored at an address."""
        self.put(self.plus(self.get(at), factor, x), at)

    def minus(self, x: str) -> str:
        return self.f.let(f"fneg {self.f.type} {x}")


class _Factors(_Sparse):
    """Writer of the LLVM function that factors a sparse matrix."""

    def __init__(self, f: Instructions, code: StepWriter, step: Control, name: str) -> None:
        super().__init__(f, code, step, name)
        self.factorization: SparseFactorization = step.bundle
        first, size = step.results, self.factorization.size
        slots = first, first + size, first + self.factorization.count
        self.D, self.L, self.scaled = (f.at("%frame", slot * self.width) for slot in slots)
        widest = min(code.target.lanes_of(code.real), _LONGEST) if code.lanes == 1 else 1
        self.lengths = [widest >> n for n in range(widest.bit_length())]  # of runs of elements that change together

    def write(self) -> None:
        f = self.f
        starts = self.table("starts", self.sparse.starts)
        rows = self.table("rows", [row * self.width for row in self.sparse.rows])
        changes = [*self.factorization.changes(self.lengths)]
        tables = {
            length: self._tables(
                [[change for change in column if change.length == length] for column in changes], length
            )
            for length in self.lengths
        }
        with f.loop(self.factorization.size) as k:
            start, stop = self.ends(starts, k)
            at = f.at(self.D, self.entry(self.order, k))
            inverse = self._reciprocal_or_zero(self.get(at))
            self.put(inverse, at)
            with f.loop(stop, start=start) as e:
                x = self.get(self.address(self.L, e))
                factor = f.let(f"fmul {f.type} {x}, {inverse}")
                self.put(factor, self.address(self.scaled, f.let(f"sub i64 {e}, {start}")))
                self.subtract(f.at(self.D, self.entry(rows, e)), self.minus(factor), x)
            for length, (ends, *columns) in tables.items():
                first, last = self.ends(ends, k)
                with f.loop(last, start=first) as change:
                    self._change([self.entry(column, change) for column in columns], length)
            with f.loop(stop, start=start) as e:
                self.put(self.get(self.address(self.scaled, f.let(f"sub i64 {e}, {start}"))), self.address(self.L, e))

    def _tables(self, changes: Sequence[Sequence[Change]], length: int) -> list[str]:
        """Write tables of the changes that subtract ``length`` adjacent elements of the factor L; return their names.

        The first table has, for each column, the number of changes before the column's changes.  The others have
        offsets [bytes] of the factor, of the first source and of the first target of each change.
        """
        every = [change for column in changes for change in column]
        columns = {
            "ends": [0, *accumulate(map(len, changes))],
            "factors": [change.factor * self.width for change in every],
            "sources": [change.source * self.width for change in every],
            "targets": [change.target * self.width for change in every],
        }
        return [self.table(f"{name}{length}", column) for name, column in columns.items()]

    def _change(self, offsets: Sequence[str], length: int) -> None:
        """Emit the subtraction of a factor times source elements of L from adjacent target elements of L.

        ``offsets`` are the offsets of the factor, the first source and the first target [bytes].
        """
        f = self.f
        factor, source, target = offsets
        times = self.all_lanes(self.minus(self.get(f.at(self.scaled, factor))), length)
        x, to = self.get(f.at(self.L, source), length), f.at(self.L, target)
        self.put(self.plus(self.get(to, length), times, x, length), to, length)

    def _reciprocal_or_zero(self, x: str) -> str:
        f = self.f
        is_zero = f.let(f"fcmp oeq {f.type} {x}, {f.constant(0.0)}")
        inverse = f.let(f"fdiv {f.type} {f.constant(1.0)}, {f.select(is_zero, f.constant(1.0), x)}")
        return f.select(is_zero, f.constant(0.0), inverse)


class _Solution(_Sparse):
    """Writer of the LLVM function that solves equations with the factor L of a sparse matrix."""

    def __init__(self, f: Instructions, code: StepWriter, step: Control, name: str) -> None:
        super().__init__(f, code, step, name)
        self.solution: SparseSolution = step.bundle
        first = step.arguments[0]
        self.D_inv, self.L = (f.at("%frame", slot * self.width) for slot in (first, first + self.solution.size))
        self.y = f.at("%frame", step.results * self.width)
        self.lanes = code.target.lanes_of(code.real)

    def write(self) -> None:
        self.chunks = {length: self._tables(length) for length in (SUMS, 1)}
        if self.solution.forward:
            self._forward()
        if self.solution.backward:
            self._backward()

    def _tables(self, length: int) -> list[str]:
        """Write tables of the chunks of ``length`` elements of L whose unknowns are adjacent; return their names.

        The first has the number of chunks before each column, and the others offsets of elements and unknowns [bytes].
        """
        chunks = [[start for start, count in column if count == length] for column in self.solution.chunks()]
        every = [start for column in chunks for start in column]
        columns = {
            "ends": [0, *accumulate(map(len, chunks))],
            "elements": [start * self.width for start in every],
            "unknowns": [self.solution.rows[start] * self.width for start in every],
        }
        return [self.table(f"{name}{length}", column) for name, column in columns.items()]

    def _parts(self, length: int) -> list[tuple[int, int]]:
        """Return the parts of a chunk of ``length`` elements as pairs of an offset [bytes] and a number of lanes.

        The elements of a part are processed together, in the lanes of a register.
        """
        if self.f.lanes > 1 or length > self.lanes:
            return [(n * self.width, 1) for n in range(length)]
        return [(0, length)]

    def _forward(self) -> None:
        f = self.f
        with f.loop(self.solution.size) as k:
            factor = self.minus(self.get(f.at(self.y, self.entry(self.order, k))))
            for length, (ends, elements, unknowns) in self.chunks.items():
                first, last = self.ends(ends, k)
                with f.loop(last, start=first) as chunk:
                    x, y = f.at(self.L, self.entry(elements, chunk)), f.at(self.y, self.entry(unknowns, chunk))
                    for offset, wide in self._parts(length):
                        at, element = f.at(y, offset), self.get(f.at(x, offset), wide)
                        self.put(self.plus(self.get(at, wide), self.all_lanes(factor, wide), element, wide), at, wide)

    def _backward(self) -> None:
        f, last = self.f, self.solution.size - 1
        with f.loop(self.solution.size) as turn:
            k = f.let(f"sub i64 {last}, {turn}")
            unknown = self.entry(self.order, k)
            at = f.at(self.y, unknown)
            sums = self._sums(k)
            scaled = f.let(f"fmul {f.type} {self.get(at)}, {self.get(f.at(self.D_inv, unknown))}")
            pairs = [f.let(f"fadd {f.type} {a}, {b}") for a, b in zip(sums[::2], sums[1::2], strict=True)]
            self.put(f.let(f"fsub {f.type} {scaled}, {f.let(f'fadd {f.type} {pairs[0]}, {pairs[1]}')}"), at)

    def _sums(self, k: str) -> list[str]:
        """Emit the sum of the products of column k of L and unknowns; return it as partial sums.

        Each partial sum is over one position in the chunks of elements.
        """
        f = self.f
        sums: list[str] = []
        for length, (ends, elements, unknowns) in self.chunks.items():
            parts = self._parts(length)
            wide = parts[0][1]
            partial_sums = sums[:1] if length == 1 else [self.all_lanes(f.constant(0.0), wide) for _ in parts]
            first, last = self.ends(ends, k)
            with f.loop(last, start=first, kind=self.kind(wide), carried=partial_sums) as chunk:
                x, y = f.at(self.L, self.entry(elements, chunk)), f.at(self.y, self.entry(unknowns, chunk))
                partial_sums[:] = [
                    self.plus(total, self.get(f.at(x, offset), wide), self.get(f.at(y, offset), wide), wide)
                    for total, (offset, _) in zip(partial_sums, parts, strict=True)
                ]
            if length == 1:
                sums[0] = partial_sums[0]
            elif wide == 1:
                sums = partial_sums
            else:
                sums = [f.let(f"extractelement {self.kind(wide)} {partial_sums[0]}, i32 {n}") for n in range(wide)]
        return sums
