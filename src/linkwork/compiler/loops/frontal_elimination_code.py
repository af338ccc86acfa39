"""Code of frontal elimination, in place: see `linkwork.expr.linalg.frontal_elimination`.

The upper triangle is stored row by row, so that every step consists of sums of multiples of rows. Four rows at a time
accumulate all multiples of the rows above, and each column's sum stays in a register: with several samples a number of
all lanes, with one sample adjacent columns of a row, in as many lanes. Sums are in the same order in both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.loops.execution_plan import Control
from linkwork.expr.linalg.frontal_elimination import FrontElimination

__all__ = ["front_driver", "front_slots"]

_ROWS = 4  # processed together


class _Writer(Protocol):
    """The writer of the functions of a program's steps."""

    real: FloatType
    target: Target
    lanes: int
    width: int
    main: IrModule

    def name(self, stem: str) -> str: ...
    def function(self, signature: str, *, unchanging: bool = False) -> Instructions: ...


def front_slots(front: FrontElimination) -> int:
    """Return the number of slots: results, added rows, multiples of rows, and original pivots."""
    return front.count + front.offset + _ROWS * max(front.pivots, front.added) + front.pivots


def front_driver(code: _Writer, step: Control) -> str:
    """Write the function that performs a frontal elimination in place in a frame, and return its name."""
    name = code.name("front")
    f = code.function(f"define internal void {name}(ptr noalias %frame)")
    _Front(f, code, step).write()
    code.main.add(f)
    return name


class _Front:
    """Writer of the function of a frontal elimination.

    Row and column indices are integers, or names of LLVM values.
    """

    def __init__(self, f: Instructions, code: _Writer, step: Control) -> None:
        self.f, self.real, self.width = f, code.real, code.width
        self.front: FrontElimination = step.bundle
        front = self.front

        def at(slot: int) -> str:
            return f.at("%frame", slot * code.width)

        first = step.results + front.count
        self.triangle, self.flag = at(step.results), at(step.results + front.triangle)
        self.counts, self.stretch, self.added = at(first), at(first + 1), at(first + 2)
        self.multiples = at(first + front.offset)
        self.before = at(first + front.offset + _ROWS * max(front.pivots, front.added))
        # lanes of a value, and number of such values of columns that are processed together
        lanes = code.target.lanes_of(code.real) if code.lanes == 1 else 1
        shorter = [wide for wide in (lanes // 2, 1) if lanes > 4 or wide == 1 < lanes]
        self.widths = [(lanes, 2), *((wide, 1) for wide in (lanes, *shorter))]

    # -- values

    def _sum(self, *terms: str | int) -> str:
        total, *rest = map(str, terms)
        for term in rest:
            total = self.f.let(f"add i64 {total}, {term}") if term != "0" else total
        return total

    def _row(self, i: str | int) -> str:
        """Return the index at which row i would begin if it had all columns."""
        double = self.f.let(f"sub i64 {2 * self.front.columns - 1}, {i}")
        return self.f.let(f"lshr i64 {self.f.let(f'mul i64 {i}, {double}')}, 1")

    def _address(self, start: str, number: str | int) -> str:
        return self.f.at(start, self.f.let(f"mul i64 {number}, {self.width}"))

    def _element(self, i: str | int, j: str | int) -> str:
        return self._address(self.triangle, self._sum(self._row(i), j))

    def _added(self, r: str | int, j: str | int) -> str:
        """Return the address of a number of an added row: the weight, the right-hand side, then its coefficients."""
        return self._address(self.added, self._sum(self.f.let(f"mul i64 {r}, {self.front.size + 2}"), j))

    def _kind(self, wide: int) -> str:
        return self.real.vector(wide) if wide > 1 else self.f.type

    def _get(self, at: str, wide: int = 1) -> str:
        return self.f.load(self._kind(wide), at, self.real.bytes if wide > 1 else self.width)

    def _put(self, x: str, at: str, wide: int = 1) -> None:
        self.f.store(self._kind(wide), x, at, self.real.bytes if wide > 1 else self.width)

    def _all(self, x: str, wide: int) -> str:
        """Return a number in all lanes."""
        if wide == 1:
            return x
        kind = self._kind(wide)
        first = self.f.let(f"insertelement {kind} poison, {self.real.name} {x}, i32 0")
        return self.f.let(f"shufflevector {kind} {first}, {kind} poison, <{wide} x i32> zeroinitializer")

    def _plus(self, total: str, x: str, y: str, wide: int = 1) -> str:
        """Return total + x y, rounded once if the processor fuses."""
        f, kind = self.f, self._kind(wide)
        if not f.fused:
            return f.let(f"fadd {kind} {total}, {f.let(f'fmul {kind} {x}, {y}')}")
        lanes = wide if wide > 1 else f.lanes
        code = f"llvm.fma.{'' if lanes == 1 else f'v{lanes}'}f{self.real.bits}"
        f.declare(f"declare {kind} @{code}({kind}, {kind}, {kind})")
        return f.let(f"call {kind} @{code}({kind} {x}, {kind} {y}, {kind} {total})")

    # -- elimination

    def write(self) -> None:
        f, front = self.f, self.front
        self._put(f.constant(1.0), self.flag)
        if front.added:
            self._blocks(0, front.size, self._add)
        with f.loop(front.pivots) as i:
            self._put(self._get(self._element(i, i)), self._address(self.before, i))
        self._blocks(0, front.pivots, self._factor)
        self._blocks(front.pivots, front.size, lambda i, rows: self._reduce(i, rows, front.pivots))

    def _blocks(self, start: int, stop: int, do: Callable[[str, int], None]) -> None:
        """Emit ``do(i, count)`` for blocks of ``count`` rows from row i on.

        The blocks cover the rows from ``start`` to ``stop``.
        """
        left = (stop - start) % _ROWS
        if stop - start >= _ROWS:
            with self.f.loop(stop - left, start=start, step=_ROWS) as i:
                do(i, _ROWS)
        if left:
            do(str(stop - left), left)

    def _add(self, i: str, rows: int) -> None:
        """Emit the addition of the added least-squares rows to ``rows`` rows of the triangle, from row i on."""
        f, front = self.f, self.front
        with f.loop(front.added) as r:
            weight = self._get(self._added(r, 0))
            for k in range(rows):
                x = self._get(self._added(r, self._sum(i, 2 + k)))
                self._put(f.let(f"fmul {f.type} {weight}, {x}"), self._multiple(r, k))

        def column(r: str, j: str) -> str:
            return self._added(r, self._sum(j, 2))

        self._multiplied(i, rows, front.added, front.size, column, stretched=True)
        sides = [self._get(self._element(self._sum(i, k), front.size)) for k in range(rows)]
        with f.loop(front.added, kind=f.type, carried=sides) as r:
            side = self._get(self._added(r, 1))
            sides[:] = [self._plus(x, side, self._get(column(r, self._sum(i, k)))) for k, x in enumerate(sides)]
        for k, x in enumerate(sides):
            self._put(x, self._element(self._sum(i, k), front.size))

    def _reduce(self, i: str, rows: int, above: str | int) -> None:
        """Emit the elimination of the first ``above`` unknowns from ``rows`` rows of the triangle.

        The rows begin with row i. Multiples of the first ``above`` rows are subtracted.
        """
        f = self.f
        with f.loop(above) as p:
            for k in range(rows):
                x = self._get(self._element(p, self._sum(i, k)))
                self._put(f.let(f"fneg {f.type} {x}"), self._multiple(p, k))
        self._multiplied(i, rows, above, self.front.columns, self._element)

    def _multiple(self, p: str, k: int) -> str:
        return self._address(self.multiples, self._sum(self.f.let(f"mul i64 {p}, {_ROWS}"), k))

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

        The first ``above`` rows are added, whose elements ``column(row, j)`` addresses. Each row changes from its
        diagonal to ``columns``. With ``stretched``, the sum of the products on the diagonal is multiplied by the
        argument ``stretch``.
        """
        f = self.f
        corner = [(a, b) for b in range(rows) for a in range(b + 1)]
        addresses = [self._element(self._sum(i, a), self._sum(i, b)) for a, b in corner]
        apart = [stretched and a == b for a, b in corner]
        sums = [f.constant(0.0) if own else self._get(at) for at, own in zip(addresses, apart, strict=True)]
        with f.loop(above, kind=f.type, carried=sums) as p:
            multiples = [self._get(self._multiple(p, a)) for a in range(rows)]
            values = [self._get(column(p, self._sum(i, b))) for b in range(rows)]
            sums[:] = [self._plus(x, multiples[a], values[b]) for x, (a, b) in zip(sums, corner, strict=True)]
        stretch = self._get(self.stretch) if stretched else ""
        for x, at, own in zip(sums, addresses, apart, strict=True):
            self._put(self._plus(self._get(at), stretch, x) if own else x, at)
        j = self._sum(i, rows)
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
        """Emit the additions of `_multiplied` for the columns from j on, beyond the block on the diagonal.

        ``many`` vectors of ``wide`` columns are processed together.
        """
        f = self.f
        addresses = [
            self.f.at(self._element(self._sum(i, a), j), b * wide * self.width)
            for a in range(rows)
            for b in range(many)
        ]
        sums = [self._get(at, wide) for at in addresses]
        with f.loop(above, kind=self._kind(wide), carried=sums) as p:
            start = column(p, j)
            values = [self._get(f.at(start, b * wide * self.width), wide) for b in range(many)]
            multiples = [self._all(self._get(self._multiple(p, a)), wide) for a in range(rows)]
            sums[:] = [self._plus(x, multiples[n // many], values[n % many], wide) for n, x in enumerate(sums)]
        for x, at in zip(sums, addresses, strict=True):
            self._put(x, at, wide)

    def _factor(self, i: str, rows: int) -> None:
        """Emit the elimination of ``rows`` pivots from row i on: these rows become rows of the upper factor."""
        self._reduce(i, rows, i)
        for k in range(rows):
            own = self._sum(i, k)
            for other in range(k):
                above = self._sum(i, other)
                x = self._get(self._element(above, own))
                less = partial(self._plus_multiple, self.f.let(f"fneg {self.f.type} {x}"))
                self._along(own, own, less, above)
            self._along(own, self._sum(own, 1), partial(self._times, self._pivot(own)))

    def _plus_multiple(self, factor: str, x: str, wide: int, y: str) -> str:
        return self._plus(x, self._all(factor, wide), y, wide)

    def _times(self, factor: str, x: str, wide: int, _: str) -> str:
        return self.f.let(f"fmul {self._kind(wide)} {x}, {self._all(factor, wide)}")

    def _along(self, i: str, start: str, do: Callable[[str, int, str], str], other: str = "") -> None:
        """Emit an operation on the elements of row i, from column ``start`` on.

        ``do(x, lanes, y)`` returns the new elements; x are the elements of row i, and y those of row ``other`` if
        there is one.
        """
        j = start
        for wide in dict.fromkeys(wide for wide, _ in self.widths):
            begin = j
            with self.f.loop(self.front.columns - wide + 1, start=begin, step=wide) as j:
                at = self._element(i, j)
                y = self._get(self._element(other, j), wide) if other else ""
                self._put(do(self._get(at, wide), wide, y), at, wide)

    def _pivot(self, i: str) -> str:
        """Emit the reciprocal of pivot i into the diagonal, and return the factor that scales row i."""
        f, at = self.f, self._element(i, i)
        x, before = self._get(at), self._get(self._address(self.before, i))
        least = f.let(f"fmul {f.type} {f.constant(self.front.least)}, {before}")
        fine = f.let(f"fcmp olt {f.type} {least}, {x}")
        self._put(f.select(fine, self._get(self.flag), f.constant(0.0)), self.flag)
        root = f.intrinsic_of("sqrt", f.select(fine, x, f.constant(1.0)))
        inverse = f.let(f"fdiv {f.type} {f.constant(1.0)}, {root}")
        self._put(inverse, at)
        return f.let(f"fmul {f.type} {inverse}, {self._get(self.counts)}")
