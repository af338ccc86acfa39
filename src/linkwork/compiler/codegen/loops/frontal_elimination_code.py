"""Code of frontal elimination, in place: see `linkwork.expr.linalg.frontal_elimination`.

The upper triangle is stored row by row, so that every step consists of sums of multiples of rows. Four rows at a time
accumulate all multiples of the rows above, and the sum of each column stays in a register. With several samples, the
lanes of a register are samples; with one sample, they are adjacent columns of a row. The order of summation is the same
in both cases.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.loops.dense_code import ROWS, DenseCode, StepWriter, step_function
from linkwork.compiler.codegen.loops.execution_plan import Control
from linkwork.expr.linalg.frontal_elimination import FrontElimination

__all__ = ["front_driver", "front_slots"]


def front_slots(front: FrontElimination) -> int:
    """Return the number of frame slots that a frontal elimination needs.

    They hold its results, least-squares rows that are added, multiples of rows, and the pivots before elimination.
    """
    return front.count + front.offset + ROWS * max(front.pivots, front.added) + front.pivots


def front_driver(code: StepWriter, step: Control) -> str:
    """Write the function that performs a frontal elimination in place in a frame, and return its name."""
    return step_function(code, "front", lambda f, _: _Front(f, code, step).write())


class _Front(DenseCode):
    """Writer of the function of a frontal elimination."""

    def __init__(self, f: Instructions, code: StepWriter, step: Control) -> None:
        super().__init__(f, code)
        self.front: FrontElimination = step.bundle
        front = self.front

        def at(slot: int) -> str:
            return f.at("%frame", slot * code.width)

        first = step.results + front.count
        self.triangle, self.flag = at(step.results), at(step.results + front.triangle)
        self.counts, self.stretch, self.added = at(first), at(first + 1), at(first + 2)
        self.multiples = at(first + front.offset)
        self.before = at(first + front.offset + ROWS * max(front.pivots, front.added))

    # -- values

    def _row(self, i: str | int) -> str:
        """Return the index to which column j is added to address element (i, j) of the packed upper triangle."""
        double = self.f.let(f"sub i64 {2 * self.front.columns - 1}, {i}")
        return self.f.let(f"lshr i64 {self.f.let(f'mul i64 {i}, {double}')}, 1")

    def _element(self, i: str | int, j: str | int) -> str:
        return self.address(self.triangle, self.sum(self._row(i), j))

    def _added(self, r: str | int, j: str | int) -> str:
        """Return the address of element j of added least-squares row r: weight, right-hand side, coefficients."""
        return self.address(self.added, self.sum(self.f.let(f"mul i64 {r}, {self.front.size + 2}"), j))

    # -- elimination

    def write(self) -> None:
        f, front = self.f, self.front
        self.put(f.constant(1.0), self.flag)
        if front.added:
            self.blocks(0, front.size, self._add)
        with f.loop(front.pivots) as i:
            self.put(self.get(self._element(i, i)), self.address(self.before, i))
        self.blocks(0, front.pivots, self._factor)
        self.blocks(front.pivots, front.size, lambda i, rows: self._reduce(i, rows, front.pivots))

    def _add(self, i: str, rows: int) -> None:
        """Emit the contribution of the least-squares rows to ``rows`` rows of the triangle, from row i on."""
        f, front = self.f, self.front
        with f.loop(front.added) as r:
            weight = self.get(self._added(r, 0))
            for k in range(rows):
                x = self.get(self._added(r, self.sum(i, 2 + k)))
                self.put(f.let(f"fmul {f.type} {weight}, {x}"), self._multiple(r, k))

        def column(r: str, j: str) -> str:
            return self._added(r, self.sum(j, 2))

        self._multiplied(i, rows, front.added, front.size, column, stretched=True)
        sides = [self.get(self._element(self.sum(i, k), front.size)) for k in range(rows)]
        with f.loop(front.added, kind=f.type, carried=sides) as r:
            side = self.get(self._added(r, 1))
            sides[:] = [self.plus(x, side, self.get(column(r, self.sum(i, k)))) for k, x in enumerate(sides)]
        for k, x in enumerate(sides):
            self.put(x, self._element(self.sum(i, k), front.size))

    def _reduce(self, i: str, rows: int, above: str | int) -> None:
        """Emit the elimination of the first ``above`` unknowns from ``rows`` rows of the triangle.

        The rows begin with row i. Multiples of the first ``above`` rows are subtracted.
        """
        f = self.f
        with f.loop(above) as p:
            for k in range(rows):
                x = self.get(self._element(p, self.sum(i, k)))
                self.put(f.let(f"fneg {f.type} {x}"), self._multiple(p, k))
        self._multiplied(i, rows, above, self.front.columns, self._element)

    def _multiple(self, p: str, k: int) -> str:
        return self.address(self.multiples, self.sum(self.f.let(f"mul i64 {p}, {ROWS}"), k))

    def _multiplied(
        self,
        i: str,
        rows: int,
        above: str | int,
        columns: int,
        column: Callable[[str, str], str],
        stretched: bool = False,
    ) -> None:
        """Emit the addition of multiples of other rows to ``rows`` rows of the triangle, from row i on.

        Multiples of the first ``above`` rows are added; ``column(row, j)`` returns the address of an element. Each row
        changes from its diagonal to ``columns``. With ``stretched``, the sum of the products on the diagonal is
        multiplied by the argument ``stretch``.
        """
        f = self.f
        corner = [(a, b) for b in range(rows) for a in range(b + 1)]
        addresses = [self._element(self.sum(i, a), self.sum(i, b)) for a, b in corner]
        apart = [stretched and a == b for a, b in corner]
        sums = [
            f.constant(0.0) if is_diagonal else self.get(at) for at, is_diagonal in zip(addresses, apart, strict=True)
        ]
        with f.loop(above, kind=f.type, carried=sums) as p:
            multiples = [self.get(self._multiple(p, a)) for a in range(rows)]
            values = [self.get(column(p, self.sum(i, b))) for b in range(rows)]
            sums[:] = [self.plus(x, multiples[a], values[b]) for x, (a, b) in zip(sums, corner, strict=True)]
        stretch = self.get(self.stretch) if stretched else ""
        for x, at, is_diagonal in zip(sums, addresses, apart, strict=True):
            self.put(self.plus(self.get(at), stretch, x) if is_diagonal else x, at)
        j = self.sum(i, rows)
        for wide, many in self.widths:
            start = j
            with f.loop(columns - wide * many + 1, start=start, step=wide * many) as j:
                self._columns(i, rows, above, column, j, wide, many)

    def _columns(
        self,
        i: str,
        rows: int,
        above: str | int,
        column: Callable[[str, str], str],
        j: str,
        wide: int,
        many: int,
    ) -> None:
        """Emit the row additions of `_multiplied` for the columns from j on, beyond the block on the diagonal.

        ``many`` vectors of ``wide`` columns are processed together.
        """
        f = self.f
        addresses = [
            self.f.at(self._element(self.sum(i, a), j), b * wide * self.width) for a in range(rows) for b in range(many)
        ]
        sums = [self.get(at, wide) for at in addresses]
        with f.loop(above, kind=self.kind(wide), carried=sums) as p:
            start = column(p, j)
            values = [self.get(f.at(start, b * wide * self.width), wide) for b in range(many)]
            multiples = [self.all_lanes(self.get(self._multiple(p, a)), wide) for a in range(rows)]
            sums[:] = [self.plus(x, multiples[n // many], values[n % many], wide) for n, x in enumerate(sums)]
        for x, at in zip(sums, addresses, strict=True):
            self.put(x, at, wide)

    def _factor(self, i: str, rows: int) -> None:
        """Emit the elimination of ``rows`` pivots from row i on: these rows become rows of the upper factor."""
        self._reduce(i, rows, i)
        for k in range(rows):
            diagonal = self.sum(i, k)
            for upper in range(k):
                above = self.sum(i, upper)
                x = self.get(self._element(above, diagonal))
                less = partial(self._plus_multiple, self.f.let(f"fneg {self.f.type} {x}"))
                self._along(diagonal, diagonal, less, above)
            self._along(diagonal, self.sum(diagonal, 1), partial(self._times, self._pivot(diagonal)))

    def _plus_multiple(self, factor: str, x: str, wide: int, y: str) -> str:
        return self.plus(x, self.all_lanes(factor, wide), y, wide)

    def _times(self, factor: str, x: str, wide: int, _: str) -> str:
        return self.f.let(f"fmul {self.kind(wide)} {x}, {self.all_lanes(factor, wide)}")

    def _along(self, i: str, start: str, do: Callable[[str, int, str], str], second_row: str = "") -> None:
        """Emit an operation on the elements of row i, from column ``start`` on.

        ``do(x, lanes, y)`` returns the new elements; x are the elements of row i, and y those of ``second_row`` if
        there is one.
        """
        j = start
        for wide in dict.fromkeys(wide for wide, _ in self.widths):
            begin = j
            with self.f.loop(self.front.columns - wide + 1, start=begin, step=wide) as j:
                at = self._element(i, j)
                y = self.get(self._element(second_row, j), wide) if second_row else ""
                self.put(do(self.get(at, wide), wide, y), at, wide)

    def _pivot(self, i: str) -> str:
        """Emit code that replaces pivot i by the reciprocal of its square root; return the factor that scales row i."""
        f, at = self.f, self._element(i, i)
        x, before = self.get(at), self.get(self.address(self.before, i))
        least = f.let(f"fmul {f.type} {f.constant(self.front.least)}, {before}")
        is_regular = f.let(f"fcmp olt {f.type} {least}, {x}")
        self.put(f.select(is_regular, self.get(self.flag), f.constant(0.0)), self.flag)
        root = f.intrinsic_of("sqrt", f.select(is_regular, x, f.constant(1.0)))
        inverse = f.let(f"fdiv {f.type} {f.constant(1.0)}, {root}")
        self.put(inverse, at)
        return f.let(f"fmul {f.type} {inverse}, {self.get(self.counts)}")
