"""Blocks of straight-line code of a program with loops; they exchange values with other blocks through a frame.

Short blocks are part of the driver that runs them; long blocks are functions in separate modules. Many copies within a
frame are driven by a table, since LLVM is slow on thousands of loads and stores in one block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.loops.execution_plan import CONTROL, FRAME, SLICE, BasicBlock, Control, Scope, Slot
from linkwork.compiler.codegen.quick.block_assembler import BlockAssembler, NotSupported
from linkwork.compiler.codegen.table_lookup import bundle
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.program import CONSTANT, INPUT
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar.multi_result import PART

__all__ = ["INLINE", "MANY", "BlockCode", "Pointers", "copy_values", "long_runs"]


_MAX_COUNT = {32: 1 << 24, 64: 1 << 53}  # iterations that a floating-point number can count
INLINE = 400  # maximum instructions of a body that is part of its driver
_MIN_ASSEMBLED = 16  # instructions of a block that is written without LLVM, as a function


@dataclass(frozen=True, slots=True)
class Pointers:
    """Pointers that a block of straight-line code uses: the frame, input columns, and the address of its outputs.

    The frame is the array of intermediate values; a column has one input of all iterations of a loop.  ``registers``
    are values that a loop holds in registers, by their slots in the frame. ``stored_columns`` is the address at which
    the pointers of many columns are stored for functions written without LLVM; "" if they are not stored.
    """

    frame: str = "%frame"
    columns: tuple[str, ...] = ()
    outputs: str = "null"
    registers: Mapping[int, str] = field(default_factory=dict)
    stored_columns: str = ""

    def __str__(self) -> str:
        """Return the pointers to the frame and the input columns as arguments of an LLVM function call."""
        return ", ".join(f"ptr {pointer}" for pointer in (self.frame, *self.columns))

    @staticmethod
    def arguments(count: int) -> Pointers:
        """Return the pointers to the frame and to ``count`` input columns that an LLVM function has as parameters."""
        return Pointers("%frame", tuple(f"%column{k}" for k in range(count)))


class BlockCode(ABC):
    """Writes the straight-line code between loops and branches into LLVM functions and modules."""

    def __init__(
        self, new_text: Callable[[], IrModule], target: Target, real: FloatType, lanes: int, stem: str
    ) -> None:
        self.target, self.real, self.lanes, self.stem = target, real, lanes, stem
        self.mask = f"i{lanes}"
        self.width = real.bytes * lanes
        self.main = new_text()
        self.further_texts: list[IrModule] = []
        self.new_text = new_text
        self.assembled: list[tuple[str, BlockAssembler]] | None = None  # functions of blocks, if written without LLVM
        self.in_lanes = True  # False: iterations of a loop are not computed side by side
        self._count = 0

    def function(self, signature: str, *, unchanging: bool = False) -> Instructions:
        return Instructions(signature, self.target, self.real, self.lanes, unchanging=unchanging)

    def name(self, kind: str) -> str:
        self._count += 1
        return f"@.{self.stem}.{kind}{self._count}"

    @property
    def all_lanes(self) -> str:
        """The mask of all lanes."""
        return "true" if self.lanes == 1 else "-1"

    def without(self, f: Instructions, mask: str, others: str) -> str:
        """Emit the lanes of ``mask`` that are not in the mask ``others``, and return the name of their mask."""
        return f.let(f"and {self.mask} {mask}, {f.let(f'xor {self.mask} {others}, {self.all_lanes}')}")

    def max_count(self, loop: Loop) -> float:
        """Return the maximum number of iterations of a loop with a condition.

        It is at most the largest count that the floating-point type represents exactly.
        """
        return float(min(loop.max_iterations, _MAX_COUNT[self.real.bits]))

    @abstractmethod
    def control(self, f: Instructions, scope: Scope, step: Control, at: Pointers, mask: str) -> None:
        """Emit a loop, a branch or a call."""

    def inline(self, scope: Scope) -> bool:
        """Return True if a scope's straight-line code is emitted in the function of its loops, and not as functions."""
        return scope.work <= INLINE

    # -- steps

    def run(
        self, f: Instructions, scope: Scope, steps: slice, at: Pointers, mask: str, *, inline: bool
    ) -> Callable[[int], str]:
        """Emit code for the steps ``steps`` of a scope: straight-line code, loops, branches and calls.

        Return a function from a value's index to its name in that code.  It knows the values that are available after
        the last block of straight-line code.  The names exist only if blocks are emitted ``inline``, in the current
        function.
        """
        name: Callable[[int], str] = lambda value: ""  # noqa: E731
        for step in scope.steps[steps]:
            if isinstance(step, Control):
                self.control(f, scope, step, at, mask)
            elif inline:
                name = self.block(f, scope, step, at)
            else:
                self._block_function(f, scope, step, at)
        return name

    def _block_function(self, f: Instructions, scope: Scope, step: BasicBlock, at: Pointers) -> None:
        if step.stop == step.start and not step.copies:
            return
        if self._assembled_block(f, scope, step, at, inline=False) is not None:
            return
        name = self.name("block")
        text = self.new_text()
        self.further_texts.append(text)
        arguments = Pointers.arguments(scope.columns)
        g = self.function(f"define void {name}({arguments})", unchanging=False)
        self._written(g, scope, step, arguments)
        text.add(g)
        f.declare(f"declare void {name}({', '.join(['ptr'] * (1 + scope.columns))})")
        f.do(f"call void {name}({at})")

    def block(self, f: Instructions, scope: Scope, step: BasicBlock, at: Pointers) -> Callable[[int], str]:
        """Emit straight-line code in the current function; return a function that names a value by its index."""
        return self._assembled_block(f, scope, step, at) or self._written(f, scope, step, at)

    def _assembled_block(
        self, f: Instructions, scope: Scope, step: BasicBlock, at: Pointers, *, inline: bool = True
    ) -> Callable[[int], str] | None:
        """Emit the call of a function that is written without LLVM; return a function that names a value by its index.

        Return None if LLVM must write the block.  If the block is ``inline``, its function stores values on the current
        function's stack, from which the current function loads them; otherwise all values are in the frame.
        """
        if self.assembled is None or at.registers or step.stop - step.start < _MIN_ASSEMBLED:
            return None
        arguments = Pointers.arguments(scope.columns)
        try:
            if scope.columns > _MAX_COLUMNS:
                assembler = BlockAssembler([arguments.frame, _RESULTS, "%columns"], arguments.columns, self.real)
            else:
                assembler = BlockAssembler([arguments.frame, _RESULTS, *arguments.columns], real=self.real)
            inner = self._written(assembler, scope, step, arguments)
        except NotSupported:
            return None
        name = self.name("block")
        self.assembled.append((name, assembler))
        instructions = scope.listing.instructions
        computed = (k for k in range(step.start, step.stop) if instructions[k].operation not in _LEAVES)
        results = f.stack_memory(sum(1 for _ in computed) * self.width, self.width) if inline else "null"
        pointers = [at.frame, results, *at.columns]
        if scope.columns > _MAX_COLUMNS:
            pointers[2:] = [at.stored_columns or self.stored_columns(f, at.columns)]
        f.declare(f"declare void {name}({', '.join(['ptr'] * len(pointers))})")
        f.do(f"call void {name}({', '.join([f'ptr {pointer}' for pointer in pointers])})")
        outside = self._names(f, scope, at, {})
        names: dict[int, str] = {}

        def name_of(value: int) -> str:
            operation = instructions[value].operation
            if not step.start <= value < step.stop or operation in _LEAVES:
                loaded: str = outside(value)
                return loaded
            if value not in names:
                assembler.keep(operation, inner(value), len(names), _RESULTS)
                names[value] = f.fetch(operation, len(names), results)
            return names[value]

        return name_of

    def stored_columns(self, f: Instructions, columns: Sequence[str]) -> str:
        """Emit the stores of pointers of columns for functions that are written without LLVM; return their address.

        Return "" if such functions receive the pointers one by one, or if there are no such functions.
        """
        if self.assembled is None or len(columns) <= _MAX_COLUMNS:
            return ""
        result = f.stack_memory(8 * len(columns), 8)
        for k, column in enumerate(columns):
            f.store("ptr", column, f.at(result, 8 * k))
        return result

    def _names(self, f: Any, scope: Scope, at: Pointers, names: dict[int, Any]) -> Callable[[int], Any]:
        """Return a function that names a value by its index; a value that ``names`` lacks is loaded from the frame."""
        instructions = scope.listing.instructions
        bases = {c.number: c.results for c in scope.steps if isinstance(c, Control)}

        def name(value: int) -> Any:
            if value not in names:
                operation, args, number = instructions[value]
                if operation is CONSTANT:
                    names[value] = f.constant(number)
                elif operation is INPUT:
                    names[value] = self._input(f, scope.inputs[number], at)
                elif operation is PART and args[0] in bases:
                    names[value] = f.get(at.frame, bases[args[0]] + number)
                else:
                    names[value] = f.fetch(operation, scope.slots[value], at.frame)
            return names[value]

        return name

    def _written(self, f: Any, scope: Scope, step: BasicBlock, at: Pointers) -> Callable[[int], Any]:
        """Emit a block of straight-line code; return a function that names a value by its index.

        ``f`` is the current LLVM function, or a `BlockAssembler` that writes machine code without LLVM.
        """
        instructions = scope.listing.instructions
        bases = {c.number: c.results for c in scope.steps if isinstance(c, Control)}
        names: dict[int, Any] = {}
        name = self._names(f, scope, at, names)
        by_llvm = not isinstance(f, BlockAssembler)

        def memory(value: int) -> tuple[str, int] | None:
            operation, args, number = instructions[value]
            if operation is PART and args[0] in bases:
                return at.frame, bases[args[0]] + number
            if operation is INPUT and scope.inputs[number].area == FRAME:
                return at.frame, scope.inputs[number].number
            return None

        lanes = (
            f.lanes_of(f.load(self.mask, f.at(at.frame, scope.mask * self.width)))
            if step.overwrites and self.lanes > 1
            else ""
        )
        parts: dict[int, list[str]] = {}  # results of instructions of several results other than controls
        simple = {} if by_llvm else f.simple
        stores, overwrites = step.stores, step.overwrites
        for value in range(step.start, step.stop):
            operation, args, number = instructions[value]
            if operation in simple:  # most instructions, written without LLVM
                known = [names[a] if a in names else name(a) for a in args]
                names[value] = result = f.simple_operation(operation, known)
                if value in overwrites:
                    f.put(result, at.frame, scope.slots[value])
                elif value in stores:
                    f.keep(operation, result, stores[value], at.frame)
                continue
            if operation is CONSTANT or operation is INPUT or operation in CONTROL or value in scope.puts:
                continue
            if operation is PART:
                if args[0] in bases or args[0] in scope.puts:
                    continue
                names[value] = parts[args[0]][number]
            elif operation.arity < 0:
                if not by_llvm:
                    raise NotSupported
                parts[value] = bundle(f, number, args, name, memory)
                continue
            else:
                names[value] = f.operation(operation, [name(a) for a in args])
            if value in step.overwrites:
                if self.lanes == 1:
                    f.put(names[value], at.frame, scope.slots[value])
                else:
                    f.put_in(lanes, names[value], at.frame, scope.slots[value])
            elif value in step.stores:
                f.keep(operation, names[value], step.stores[value], at.frame)
        as_table = by_llvm and len(step.copies) >= MANY
        placed = self._table_copies(f, scope, step, at) if as_table else step.copies
        for value, slot in placed:
            f.keep(instructions[value].operation, name(value), slot, at.frame)
        return name

    def _table_copies(self, f: Instructions, scope: Scope, step: BasicBlock, at: Pointers) -> list[tuple[int, int]]:
        """Emit loops that copy values between slots of the frame and write constants to slots, driven by tables.

        Return the block's other copies, which remain to be emitted, as pairs (value, slot).
        """
        instructions = scope.listing.instructions
        bases = {c.number: c.results for c in scope.steps if isinstance(c, Control)}
        moves: list[tuple[int, int]] = []
        constants: list[tuple[float, int]] = []
        other_copies: list[tuple[int, int]] = []
        for value, slot in step.copies:
            operation, args, number = instructions[value]
            if operation is CONSTANT:
                constants.append((number, slot))
            elif operation is PART and args[0] in bases:
                moves.append((bases[args[0]] + number, slot))
            elif operation is INPUT and scope.inputs[number].area == FRAME:
                moves.append((scope.inputs[number].number, slot))
            elif value in scope.slots and operation.gives == "n":
                moves.append((scope.slots[value], slot))
            else:
                other_copies.append((value, slot))
        copy_values(f, self.real, self.name("placed"), moves, constants, at.frame)
        return other_copies

    def run_to_the_end(
        self, f: Instructions, scope: Scope, steps: slice, at: Pointers, mask: str, inline: bool
    ) -> Callable[[int], str]:
        """Emit the steps of a scope to its end; return a function that names a result by its index.

        If blocks are functions, the last one is emitted in the current function, where the results are named.
        """
        if inline:
            return self.run(f, scope, steps, at, mask, inline=True)
        self.run(f, scope, slice(steps.start, -1), at, mask, inline=False)
        return self.block(f, scope, scope.last, at)

    def _input(self, f: Any, spot: Slot, at: Pointers) -> Any:
        """Emit the load of an input from the frame, a register or a column of a loop's inputs; return its name."""
        if spot.area == FRAME:
            return at.registers.get(spot.number) or f.get(at.frame, spot.number)
        if spot.area == SLICE:
            return f.get(at.columns[spot.column], spot.number)
        return f.splat(f.load(self.real.name, at.columns[spot.column], self.real.bytes))


_RESULTS = "%results"
_MAX_COLUMNS = 8  # pointers of columns that a function receives one by one
_LEAVES = frozenset((CONSTANT, INPUT, PART))

MANY = 512  # copies from which on a table is used
_MIN_RUN = 64  # adjacent copies that are a loop without a table


def copy_values(
    f: Instructions,
    real: FloatType,
    name: str,
    moves: Sequence[tuple[int, int]],
    constants: Sequence[tuple[float, int]],
    frame: str,
    to_frame: str = "",
) -> None:
    """Emit copies of numbers between slots of a frame, or to slots of another frame, and of constants to slots.

    The tables' names begin with ``name``.
    """
    target_frame = to_frame or frame
    width = real.bytes * f.lanes
    runs, moves = long_runs(moves)
    for source, target, count in runs:
        start, to = f.at(frame, source * width), f.at(target_frame, target * width)
        with f.loop(count) as k:
            offset = f.let(f"mul i64 {k}, {width}")
            f.put(f.get(f.at(start, offset), 0), f.at(to, offset), 0)
    if moves:
        table = _table(f, f"{name}.moves", "i32", [str(slot * width) for move in moves for slot in move])
        with f.loop(len(moves)) as k:
            entry = f.at(table, f.let(f"shl i64 {k}, 3"))
            start, to = _address(f, frame, f.at(entry, 0)), _address(f, target_frame, f.at(entry, 4))
            f.put(f.get(start, 0), to, 0)
    if constants:
        values = _table(f, f"{name}.constants", real.name, [real.literal(number) for number, _ in constants])
        targets = _table(f, f"{name}.places", "i32", [str(slot * width) for _, slot in constants])
        with f.loop(len(constants)) as k:
            number = f.load(real.name, f.at(values, f.let(f"shl i64 {k}, {real.shift}")), real.bytes)
            f.put(f.splat(number), _address(f, target_frame, f.at(targets, f.let(f"shl i64 {k}, 2"))), 0)


def long_runs(moves: Sequence[tuple[int, int]]) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]]]:
    """Split moves between slots into long runs of adjacent slots and single moves.

    A move is a pair of slots (source, target).  A run is a triple (first source, first target, count).
    """
    runs: list[tuple[int, int, int]] = []
    for source, target in moves:
        if runs and (source, target) == (runs[-1][0] + runs[-1][2], runs[-1][1] + runs[-1][2]):
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((source, target, 1))
    short_moves = [(source + k, target + k) for source, target, count in runs if count < _MIN_RUN for k in range(count)]
    return [run for run in runs if run[2] >= _MIN_RUN], short_moves


def _address(f: Instructions, frame: str, entry: str) -> str:
    return f.at(frame, f.let(f"zext i32 {f.load('i32', entry, 4)} to i64"))


def _table(f: Instructions, name: str, kind: str, entries: Sequence[str]) -> str:
    listed = ", ".join([f"{kind} {entry}" for entry in entries])
    f.declare(f"{name} = internal constant [{len(entries)} x {kind}] [{listed}], align 64")
    return name
