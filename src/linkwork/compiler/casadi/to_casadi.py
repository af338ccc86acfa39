"""Conversion of a program to a `casadi.Function`: the program is run on CasADi's scalars.

The table of operations has CasADi's name of each operation; an operation without counterpart is refused by name. Loops,
branches, calls and tables are expanded on SX, and become functions on MX.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from linkwork._util.lazy_imports import optional_module
from linkwork.compiler.operation_counts import counted
from linkwork.compiler.passes import ALL, optimize
from linkwork.compiler.program import Instruction, Program
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.control.table_access import Put, Take
from linkwork.expr.linalg.matrix_product import MatrixInstruction
from linkwork.expr.scalar.block import InstructionList, Region
from linkwork.expr.scalar.functions import eq, floor, le, or_, where
from linkwork.expr.scalar.multi_result import MultiResult

__all__ = ["import_casadi", "to_casadi"]


_LEFT_OUT = [one_pass.__name__ for one_pass in ALL if one_pass.__name__ != "drop_rules"]


def to_casadi(program: Program) -> Any:
    """Convert a program to a `casadi.Function`, to differentiate, to optimize, or to call from other functions.

    Inputs and outputs keep their names; () becomes (1, 1), (n,) a column (n, 1), and if there are more than two
    dimensions, all but the last are merged: poses of shape (nb, 4, 4) become (4 nb, 4), stacked. An output with the
    name of an input gets the suffix ``_out``.

    The function consists of SX expressions: loops are expanded, and both branches of conditionals are computed. If that
    would be very long, the function consists of MX expressions: loops become `mapaccum`, and only the selected branch
    is computed.

    Raises ImportError without CasADi, and ValueError for an operation without counterpart, or a loop with a condition.
    """
    casadi = import_casadi()
    program = optimize(program.unguarded, without=_LEFT_OUT)
    writer = ControlWriter(casadi, program.name)
    symbols, elements_of = writer.world(program)
    arguments, elements = [], []
    for port in program.inputs:
        argument = symbols.sym(port.name, *_matrix(port.shape))
        arguments.append(argument)
        elements += elements_of(argument.T)  # CasADi's order is by columns
    values = writer.run(program, elements, symbols)
    names_in = [port.name for port in program.inputs]
    names_out: list[str] = []
    results, start = [], 0
    for port in program.outputs:
        rows, columns = _matrix(port.shape)
        parts = values[start : start + port.size]
        start += port.size
        column = casadi.vertcat(*parts) if parts else symbols(0, 1)
        results.append(casadi.reshape(column, columns, rows).T)
        out = port.name
        while out in names_in or out in names_out:
            out += "_out"
        names_out.append(out)
    called = program.name
    if not casadi.Function.check_name(called):
        called = casadi.Function.fix_name(called)
    return casadi.Function(called, arguments, results, names_in, names_out)


def import_casadi() -> Any:
    """Import and return CasADi. Raises ImportError if it is not installed."""
    return optional_module("casadi", "this needs CasADi", "casadi")


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the shape (rows, columns) of the CasADi matrix for a NumPy array of this shape.

    Read row by row, the matrix has the elements of the array in row-major order.
    """
    if len(shape) < 2:
        return math.prod(shape), 1
    return math.prod(shape[:-1]), shape[-1]


MAX_EXPANDED = 10_000  # operations of a function of SX that has loops


class ControlWriter:
    """Converts lists of instructions to CasADi expressions, by evaluating the instructions on CasADi's symbols."""

    def __init__(self, casadi: Any, name: str) -> None:
        self._casadi, self._name = casadi, name
        self._functions: dict[tuple[Region, int], Any] = {}

    def world(self, listing: InstructionList) -> tuple[Any, Callable[[Any], list[Any]]]:
        """Return CasADi's matrix class for a list of instructions, and a function that lists a matrix's elements.

        The class is SX; it is MX if the list has loops, branches or subroutines and would be very long if they were
        expanded.
        """
        has_bodies = any(isinstance(i.value, (Loop, Choice, Subroutine)) for i in listing.instructions)
        if has_bodies and sum(counted(listing).values()) > MAX_EXPANDED:
            return self._casadi.MX, lambda matrix: self._split(self._casadi.vec(matrix), matrix.numel())
        return self._casadi.SX, lambda matrix: matrix.elements()

    def run(self, listing: InstructionList, elements: Sequence[Any], symbols: Any) -> list[Any]:
        """Evaluate a list of instructions on elements of SX or MX, and return its results."""

        def apply(instruction: Instruction, arguments: list[Any]) -> Any:
            operation, bundle = instruction.operation, instruction.value
            if isinstance(bundle, MultiResult):
                return self._results(bundle, arguments, symbols)
            called = operation.casadi
            if operation.composition is None and isinstance(called, str) and not hasattr(self._casadi, called):
                raise ValueError(f"{self._name}: CasADi has no operation for linkwork's {operation.name!r}")
            return operation(*arguments)

        return listing.run(elements, apply, symbols)

    def _results(self, bundle: MultiResult, arguments: list[Any], symbols: Any) -> list[Any]:
        if isinstance(bundle, Take):
            return _taken(bundle, arguments)
        if isinstance(bundle, Put):
            return _put(bundle, arguments)
        if isinstance(bundle, Loop) and bundle.conditional:
            raise ValueError(
                f"{self._name}: CasADi has no loop of unknown length, such as while_loop (also inside root and "
                f"fixed_point): use scan or fori_loop, or solve equations with casadi.rootfinder"
            )
        on_mx = symbols is self._casadi.MX
        if isinstance(bundle, Loop):
            return (self._accumulated if on_mx else self._expanded)(bundle, arguments)
        if isinstance(bundle, Choice):
            condition, *inputs = arguments
            if on_mx:
                chosen = self._casadi.Function.if_else("choice", *map(self._function, bundle.bodies))
                return self._split(chosen(condition, self._column(inputs)), bundle.count)
            yes, no = (self.run(body, inputs, symbols) for body in bundle.bodies)
            return [where(condition, a, b) for a, b in zip(yes, no, strict=True)]
        if isinstance(bundle, Subroutine):
            if on_mx:
                return self._split(self._function(bundle.body)(self._column(arguments)), bundle.count)
            return self.run(bundle.body, arguments, symbols)
        if isinstance(bundle, MatrixInstruction):
            return bundle.written_out(arguments)
        raise ValueError(f"{self._name}: CasADi has no counterpart of {bundle.operation.name!r}")

    def _expanded(self, loop: Loop, arguments: list[Any]) -> list[Any]:
        state, stacked, outside = loop.split(arguments)
        outputs: list[list[Any]] = [[] for _ in range(loop.max_iterations)]
        for t in reversed(range(loop.max_iterations)) if loop.backward else range(loop.max_iterations):
            inputs = loop.inputs_of(stacked, t)
            result = self.run(loop.body, [*state, *inputs, *outside], self._casadi.SX)
            state, outputs[t] = result[: loop.carried], result[loop.carried :]
        return loop.results_of(state, outputs)

    def _accumulated(self, loop: Loop, arguments: list[Any]) -> list[Any]:
        """Return the results of a loop as a call of CasADi's `mapaccum`.

        The matrices of `mapaccum` have a column for each iteration.
        """
        casadi, steps = self._casadi, loop.max_iterations
        if not steps:
            return arguments[: loop.carried]
        state, inputs, outside = loop.split(arguments)
        inputs = [x for t in range(steps) for x in loop.inputs_of(inputs, t)]
        state, stacked, outside = (self._column(part) for part in (state, inputs, outside))
        slices = casadi.reshape(stacked, loop.inputs, steps)
        order = list(reversed(range(steps)))
        if loop.backward:
            slices = slices[:, order]
        step = self._function(loop.body, loop)
        states, outputs = step.mapaccum("loop", steps)(state, slices, casadi.repmat(outside, 1, steps))
        if loop.backward:
            outputs = outputs[:, order]
        last = self._split(states[:, steps - 1], loop.carried)
        values = self._split(casadi.vec(outputs), steps * loop.outputs)
        return loop.results_of(last, [values[t * loop.outputs : (t + 1) * loop.outputs] for t in range(steps)])

    def _function(self, body: Region, loop: Loop | None = None) -> Any:
        """Return the body of a loop or of another construct as a CasADi function of columns.

        The body of a loop is a function of three columns: the loop-carried values, the inputs of the iteration, and
        the values that are equal in all iterations. The body of another construct is a function of one column.
        """
        key = body, -1 if loop is None else loop.carried
        if key in self._functions:
            return self._functions[key]
        symbols, elements_of = self.world(body)
        sizes, ends = [body.takes], [len(body.results)]
        if loop is not None:
            sizes = [loop.carried, loop.inputs, body.takes - loop.carried - loop.inputs]
            ends = [loop.carried, loop.outputs]
        columns = [symbols.sym(f"x{k}", size) for k, size in enumerate(sizes)]
        result = self.run(body, [x for column in columns for x in elements_of(column)], symbols)
        results, start = [], 0
        for count in ends:
            part = result[start : start + count]
            results.append(self._casadi.vertcat(*part) if part else symbols(0, 1))
            start += count
        function = self._functions[key] = self._casadi.Function("body", columns, results)
        return function

    def _column(self, values: Sequence[Any]) -> Any:
        return self._casadi.vertcat(*values) if values else self._casadi.MX(0, 1)

    def _split(self, column: Any, count: int) -> list[Any]:
        return self._casadi.vertsplit(column) if count else []


def _taken(take: Take, arguments: list[Any]) -> list[Any]:
    """Return a table's row at an index that is known only at run time, by nested if-else expressions."""
    index, *values = arguments
    entries: Sequence[Any] = values or take.table
    line = floor(index)
    result = list(entries[: take.columns])
    for row in range(1, take.rows):
        above = le(float(row), line)
        result = [where(above, x, y) for x, y in zip(entries[row * take.columns :], result, strict=False)]
    known = or_(le(index, 0.0), le(0.0, index))  # not NaN; x == x is true for CasADi before it is computed
    return [where(known, x, index) for x in result]


def _put(put: Put, arguments: list[Any]) -> list[Any]:
    """Return a table in which one row is replaced, with an if-else expression for each element.

    The row's index is known only at run time.
    """
    index, row, table = put.split(arguments)
    is_replaced = [eq(floor(index), float(line)) for line in range(put.rows)]
    return [where(is_replaced[k // put.columns], row[k % put.columns], old) for k, old in enumerate(table)]
