"""Random loops, choices, calls, tables and linear equations, one inside the other, for random programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.soak.random_programs import Growing, argument, constants_of, grow, operations_of
from linkwork.compiler.program import CONSTANT, Instruction
from linkwork.expr import linalg
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.table_access import Put, Take
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.multi_result import PART, MultiResult
from linkwork.expr.scalar.operations import BY_NAME
from linkwork.expr.scalar.symbol import Graph

__all__ = ["Control"]

_DEEPEST = 3  # bodies inside bodies


@dataclass
class Control:
    """Grows instructions of several results.  ``often`` is how likely one is instead of another instruction."""

    often: float
    depth: int = 0
    called: list[tuple[Region, int]] = field(default_factory=list)  # bodies that are called, and how much they take

    def __call__(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> bool:
        """Try to add an instruction or several; return True if it tried."""
        if rng.random() >= self.often:
            return False
        kinds = (self._scan, self._while, self._choice, self._call, self._take, self._put, self._solve)
        kinds[int(rng.choice(len(kinds), p=[0.25, 0.2, 0.18, 0.14, 0.1, 0.05, 0.08]))](rng, growing, exact_only)
        return True

    # -- bodies

    def _body(
        self,
        rng: np.random.Generator,
        inputs: list[np.ndarray],
        results: int,
        exact_only: bool,
        *,
        condition: bool = False,
        tables: Sequence[tuple[int, int, int]] = (),
    ) -> Region:
        """Return a body of random instructions.

        Each table is (rows, columns, index of its first value among the inputs); the results contain its values after
        most of the writes.
        """
        inside = Growing.of(inputs, rng)
        grown = Control(0.5 * self.often if self.depth < _DEEPEST else 0.0, self.depth + 1, self.called)
        constants = constants_of(inside)
        names, weights = operations_of(rng, exact_only)
        length = int(rng.integers(1, 20)) if rng.random() < 0.95 else int(rng.integers(20, 80))
        for _ in range(length):
            if not grown(rng, inside, exact_only):
                grow(rng, inside, BY_NAME[names[int(rng.choice(len(names), p=weights))]], constants)
        first = []
        if condition:
            if not inside.truths or rng.random() < 0.5:
                pair = (argument(rng, inside, inside.reals), argument(rng, inside, inside.reals))
                inside.add(Instruction(BY_NAME["lt"], pair), inside.samples[pair[0]] < inside.samples[pair[1]])
            first = [argument(rng, inside, inside.truths)]
        loose = [k for k in inside.unused if k in set(inside.reals)]
        rng.shuffle(loose)
        picked = [
            loose.pop() if loose and rng.random() < 0.8 else argument(rng, inside, inside.reals) for _ in range(results)
        ]
        for table in tables:
            start = table[2]
            picked[start : start + table[0] * table[1]] = self._changed(rng, inside, table)
        body = Region(len(inputs), tuple(inside.instructions), tuple(int(k) for k in (*first, *picked)), len(first))
        return body.pruned()

    def _changed(self, rng: np.random.Generator, inside: Growing, table: tuple[int, int, int]) -> list[int]:
        """The numbers of a table after some puts, between which it is read."""
        rows, columns, start = table
        values = list(range(start, start + rows * columns))
        for _ in range(int(rng.integers(0, 4))):
            index = self._index(rng, inside)
            before = len(inside.instructions)
            self._add(rng, inside, Put(rows, columns), [index, *several(rng, inside, columns), *values])
            if len(inside.instructions) > before:
                values = list(range(len(inside.instructions) - rows * columns, len(inside.instructions)))
            if rng.random() < 0.4:
                self._add(rng, inside, Take(rows, columns), [self._index(rng, inside), *values])
        if rng.random() < 0.15:
            values[int(rng.integers(len(values)))] = argument(rng, inside, inside.reals)
        return values

    def _index(self, rng: np.random.Generator, growing: Growing) -> int:
        """A number for an index, now and then a sum of two."""
        index = argument(rng, growing, growing.reals)
        if rng.random() < 0.5:
            pair = index, argument(rng, growing, growing.reals)
            growing.add(Instruction(BY_NAME["mul"], pair), growing.samples[pair[0]] * growing.samples[pair[1]])
            index = len(growing.instructions) - 1
        return index

    def _add(self, rng: np.random.Generator, growing: Growing, bundle: MultiResult, args: list[int]) -> None:
        """Add the instruction and its parts, usually only if its results are neither huge nor NaN."""
        if not bundle.count:
            return
        with np.errstate(all="ignore"):
            results = bundle.evaluate([growing.samples[a] for a in args])
        results = [np.broadcast_to(np.asarray(x, dtype=float), (8,)) for x in results]
        if not all((np.abs(x) < 1e6).all() for x in results) and rng.random() > 0.03:
            return
        whole = len(growing.instructions)
        growing.instructions.append(Instruction(bundle.operation, tuple(args), bundle))
        growing.samples.append(np.zeros(8))
        growing.unused -= set(args)
        for k, x in enumerate(results):
            growing.add(Instruction(PART, (whole,), k), x)

    # -- kinds

    def _scan(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> None:
        carried, inputs, outputs, outside = (int(n) for n in rng.integers(0, 4, size=4))
        steps = int(rng.choice([0, 1, 2, 3, 5, 8, 13, 40], p=[0.04, 0.1, 0.16, 0.2, 0.2, 0.15, 0.1, 0.05]))
        tables = some_tables(rng, carried)
        carried += sum(rows * columns for rows, columns, _ in tables)
        if steps * inputs > 60:
            inputs = 1
        state = several(rng, growing, carried)
        stacked = self._stacked(rng, growing, steps * inputs)
        captured = several(rng, growing, outside)
        arguments = [
            growing.samples[k] for k in (*state, *(stacked or several(rng, growing, inputs))[:inputs], *captured)
        ]
        body = self._body(rng, arguments, carried + outputs, exact_only, tables=tables)
        loop = Loop(body, carried, inputs, outputs, steps, backward=rng.random() < 0.4)
        self._add(rng, growing, loop, [*state, *stacked, *captured])

    def _stacked(self, rng: np.random.Generator, growing: Growing, count: int) -> list[int]:
        """Inputs of steps: side by side, all one, all constants, or any."""
        how = rng.random()
        start = int(rng.integers(max(len(growing.reals) - count, 0) + 1))
        side_by_side = growing.reals[start : start + count]
        if how < 0.4 and len(side_by_side) == count:
            return list(side_by_side)
        constants = [k for k, i in enumerate(growing.instructions) if i.operation is CONSTANT]
        if how < 0.6:
            return [int(rng.choice(constants)) for _ in range(count)]
        return several(rng, growing, 1) * count if how < 0.7 else several(rng, growing, count)

    def _while(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> None:
        carried, outside = int(rng.integers(1, 5)), int(rng.integers(0, 4))
        tables = some_tables(rng, carried)
        carried += sum(rows * columns for rows, columns, _ in tables)
        args = several(rng, growing, carried + outside)
        body = self._body(rng, [growing.samples[k] for k in args], carried, exact_only, condition=True, tables=tables)
        most = int(rng.choice([0, 1, 2, 4, 7, 15]))
        watched = carried if rng.random() < 0.8 else int(rng.integers(0, carried + 1))
        self._add(rng, growing, Loop(body, carried, 0, 0, most, conditional=True, watched=watched), args)

    def _choice(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> None:
        if not growing.truths:
            return
        args = several(rng, growing, int(rng.integers(0, 5)))
        arguments, results = [growing.samples[k] for k in args], int(rng.integers(1, 4))
        bodies = [self._body(rng, arguments, results, exact_only) for _ in range(2)]
        self._add(rng, growing, Choice(*bodies), [argument(rng, growing, growing.truths), *args])

    def _call(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> None:
        if not self.called or rng.random() < 0.4:
            takes = int(rng.integers(1, 5))
            arguments = [growing.samples[k] for k in several(rng, growing, takes)]
            deeper = Control(self.often, self.depth, [])  # what is called calls nothing that may call it
            self.called.append((deeper._body(rng, arguments, int(rng.integers(1, 4)), exact_only), takes))
        body, takes = self.called[int(rng.integers(len(self.called)))]
        for _ in range(int(rng.integers(1, 4))):
            self._add(rng, growing, Subroutine(body), several(rng, growing, takes))

    def _take(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> None:
        rows, columns = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        index = argument(rng, growing, growing.reals)
        if rng.random() < 0.5:
            table = tuple(float(x) for x in rng.normal(size=rows * columns).round(3))
            self._add(rng, growing, Take(rows, columns, table), [index])
        else:
            self._add(rng, growing, Take(rows, columns), [index, *several(rng, growing, rows * columns)])

    def _put(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> None:
        rows, columns = int(rng.integers(1, 9)), int(rng.integers(1, 4))
        args = [argument(rng, growing, growing.reals), *several(rng, growing, (1 + rows) * columns)]
        self._add(rng, growing, Put(rows, columns), args)

    def _solve(self, rng: np.random.Generator, growing: Growing, exact_only: bool) -> None:
        """Linear equations whose matrix has a strong diagonal, or any."""
        n, assume = int(rng.integers(1, 5)), str(rng.choice(["gen", "pos" if rng.random() < 0.5 else "sym"]))
        graph = Graph()
        symbols = graph.inputs("x", (n * n + n,))
        matrix = np.array(symbols[: n * n], dtype=object).reshape(n, n)
        if rng.random() < 0.8:
            matrix = matrix + np.diag(np.full(n, 9.0))
        x, status = linalg.solve(matrix, np.array(symbols[n * n :], dtype=object), assume=assume, status=True)
        body = Region.of([*x, status], symbols)
        self._add(rng, growing, Subroutine(body), several(rng, growing, n * n + n))


def some_tables(rng: np.random.Generator, start: int) -> list[tuple[int, int, int]]:
    """Return random tables (rows, columns, start) of a loop's state, after its other values."""
    tables = []
    for _ in range(int(rng.choice(3, p=[0.7, 0.25, 0.05]))):
        rows, columns = int(rng.integers(1, 15)), int(rng.integers(1, 4))
        tables.append((rows, columns, start))
        start += rows * columns
    return tables


def several(rng: np.random.Generator, growing: Growing, count: int) -> list[int]:
    """Return several existing values."""
    return [argument(rng, growing, growing.reals) for _ in range(count)]
