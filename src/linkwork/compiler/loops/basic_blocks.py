"""Pieces of straight-line code of a program with loops: they load what waits in a frame, and leave what others need.

Short pieces stand in the driver that runs them, long ones are functions of their own, in modules of their own.

Numbers put in place by a table: of thousands of loads and stores in one piece of code, LLVM takes long for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.table_lookup import bundle
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.loops.execution_plan import CONTROL, FRAME, SLICE, Control, Piece, Scope, Spot
from linkwork.compiler.program import CONSTANT, INPUT
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.scalar.multi_result import PART

__all__ = ["INLINE", "MANY", "PieceCode", "Pointers", "move_numbers"]


_COUNTED = {32: 1 << 24, 64: 1 << 53}  # steps: a number counts no further
INLINE = 400  # instructions of a body that stands in its driver as a whole


@dataclass(frozen=True, slots=True)
class Pointers:
    """What a piece works with: the frame, columns of inputs of this step of a loop, where what it keeps goes, and what
    a loop holds in registers, by the places that it has in the frame.
    """

    frame: str = "%frame"
    columns: tuple[str, ...] = ()
    kept: str = "null"
    held: Mapping[int, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """As arguments of a function."""
        return ", ".join(f"ptr {pointer}" for pointer in (self.frame, *self.columns))

    @staticmethod
    def given(count: int) -> Pointers:
        """Those that a function gets as arguments."""
        return Pointers("%frame", tuple(f"%column{k}" for k in range(count)))


class PieceCode(ABC):
    """Writes pieces into functions and texts."""

    def __init__(
        self, new_text: Callable[[], IrModule], target: Target, real: FloatType, lanes: int, stem: str
    ) -> None:
        self.target, self.real, self.lanes, self.stem = target, real, lanes, stem
        self.mask = f"i{lanes}"
        self.width = real.bytes * lanes
        self.main = new_text()
        self.others: list[IrModule] = []
        self.new_text = new_text
        self._count = 0

    def function(self, signature: str, *, unchanging: bool = False) -> Instructions:
        return Instructions(signature, self.target, self.real, self.lanes, unchanging=unchanging)

    def name(self, what: str) -> str:
        self._count += 1
        return f"@.{self.stem}.{what}{self._count}"

    @property
    def everyone(self) -> str:
        """The mask of all lanes."""
        return "true" if self.lanes == 1 else "-1"

    def without(self, f: Instructions, mask: str, others: str) -> str:
        """The lanes of a mask that are not in another."""
        return f.let(f"and {self.mask} {mask}, {f.let(f'xor {self.mask} {others}, {self.everyone}')}")

    def most_steps(self, loop: Loop) -> float:
        """Of a loop with a condition, as far as numbers count."""
        return float(min(loop.max_iterations, _COUNTED[self.real.bits]))

    @abstractmethod
    def control(self, f: Instructions, scope: Scope, step: Control, at: Pointers, mask: str) -> None:
        """Run a loop, a choice or a call."""

    def inline(self, scope: Scope) -> bool:
        """Whether pieces of a scope stand in its driver."""
        return scope.work <= INLINE

    # -- steps

    def run(
        self, f: Instructions, scope: Scope, steps: slice, at: Pointers, mask: str, *, inline: bool
    ) -> Callable[[int], str]:
        """Write steps of a scope; returned is what names values in the last of them."""
        name: Callable[[int], str] = lambda value: ""  # noqa: E731
        for step in scope.steps[steps]:
            if isinstance(step, Control):
                self.control(f, scope, step, at, mask)
            elif inline:
                name = self.piece(f, scope, step, at)
            else:
                self._piece_apart(f, scope, step, at)
        return name

    def _piece_apart(self, f: Instructions, scope: Scope, step: Piece, at: Pointers) -> None:
        if step.stop == step.start and not step.placed:
            return
        name = self.name("piece")
        text = self.new_text()
        self.others.append(text)
        given = Pointers.given(scope.columns)
        g = self.function(f"define void {name}({given})", unchanging=False)
        self.piece(g, scope, step, given)
        text.add(g)
        f.declare(f"declare void {name}({', '.join(['ptr'] * (1 + scope.columns))})")
        f.do(f"call void {name}({at})")

    def piece(self, f: Instructions, scope: Scope, step: Piece, at: Pointers) -> Callable[[int], str]:
        """Straight-line code in the function that is being written; returned is what names values."""
        instructions = scope.listing.instructions
        bases = {c.number: c.results for c in scope.steps if isinstance(c, Control)}
        names: dict[int, str] = {}

        def name(value: int) -> str:
            if value not in names:
                operation, args, number = instructions[value]
                if operation is CONSTANT:
                    names[value] = f.constant(number)
                elif operation is INPUT:
                    names[value] = self._input(f, scope.inputs[number], at)
                elif operation is PART and args[0] in bases:
                    names[value] = f.get(at.frame, bases[args[0]] + number)
                else:
                    names[value] = f.fetch(operation, scope.places[value], at.frame)
            return names[value]

        def memory(value: int) -> tuple[str, int] | None:
            operation, args, number = instructions[value]
            if operation is PART and args[0] in bases:
                return at.frame, bases[args[0]] + number
            if operation is INPUT and scope.inputs[number].area == FRAME:
                return at.frame, scope.inputs[number].number
            return None

        lanes = f.lanes_of(f.load(self.mask, f.at(at.frame, scope.mask * self.width))) if step.over else ""
        parts: dict[int, list[str]] = {}  # of instructions of several results that are no controls
        for value in range(step.start, step.stop):
            operation, args, number = instructions[value]
            if operation in (CONSTANT, INPUT) or operation in CONTROL or value in scope.puts:
                continue
            if operation is PART:
                if args[0] in bases or args[0] in scope.puts:
                    continue
                names[value] = parts[args[0]][number]
            elif operation.arity < 0:
                parts[value] = bundle(f, number, args, name, memory)
                continue
            else:
                names[value] = f.operation(operation, [name(a) for a in args])
            if value in step.over:
                if self.lanes == 1:
                    f.put(names[value], at.frame, scope.places[value])
                else:
                    f.put_in(lanes, names[value], at.frame, scope.places[value])
            elif value in step.left:
                f.keep(operation, names[value], step.left[value], at.frame)
        placed = step.placed if len(step.placed) < MANY else self._moved(f, scope, step, at)
        for value, place in placed:
            f.keep(instructions[value].operation, name(value), place, at.frame)
        return name

    def _moved(self, f: Instructions, scope: Scope, step: Piece, at: Pointers) -> list[tuple[int, int]]:
        """Put in place, by tables, what stands in the frame and constants; what is left is returned."""
        instructions = scope.listing.instructions
        bases = {c.number: c.results for c in scope.steps if isinstance(c, Control)}
        moves: list[tuple[int, int]] = []
        constants: list[tuple[float, int]] = []
        others: list[tuple[int, int]] = []
        for value, place in step.placed:
            operation, args, number = instructions[value]
            if operation is CONSTANT:
                constants.append((number, place))
            elif operation is PART and args[0] in bases:
                moves.append((bases[args[0]] + number, place))
            elif operation is INPUT and scope.inputs[number].area == FRAME:
                moves.append((scope.inputs[number].number, place))
            elif value in scope.places and operation.gives == "n":
                moves.append((scope.places[value], place))
            else:
                others.append((value, place))
        move_numbers(f, self.real, self.name("placed"), moves, constants, at.frame)
        return others

    def run_to_the_end(
        self, f: Instructions, scope: Scope, steps: slice, at: Pointers, mask: str, inline: bool
    ) -> Callable[[int], str]:
        """Run steps and name the results, in the last piece or, where pieces are functions, after it."""
        if inline:
            return self.run(f, scope, steps, at, mask, inline=True)
        self.run(f, scope, slice(steps.start, -1), at, mask, inline=False)
        return self.piece(f, scope, scope.last, at)

    def _input(self, f: Instructions, spot: Spot, at: Pointers) -> str:
        """The value of an input, where it stands."""
        if spot.area == FRAME:
            return at.held.get(spot.number) or f.get(at.frame, spot.number)
        if spot.area == SLICE:
            return f.get(at.columns[spot.column], spot.number)
        return f.splat(f.load(self.real.name, at.columns[spot.column], self.real.bytes))


MANY = 512  # numbers that a table is worth


def move_numbers(
    f: Instructions,
    real: FloatType,
    name: str,
    moves: Sequence[tuple[int, int]],
    constants: Sequence[tuple[float, int]],
    frame: str,
    to_frame: str = "",
) -> None:
    """Copy numbers from place to place in a frame, or in another, and put constants into places; tables get names from
    ``name``.
    """
    other = to_frame or frame
    width = real.bytes * f.lanes
    if moves:
        table = _table(f, f"{name}.moves", "i32", [str(place * width) for move in moves for place in move])
        with f.loop(len(moves)) as k:
            entry = f.at(table, f.let(f"shl i64 {k}, 3"))
            start, to = _address(f, frame, f.at(entry, 0)), _address(f, other, f.at(entry, 4))
            f.put(f.get(start, 0), to, 0)
    if constants:
        numbers = _table(f, f"{name}.constants", real.name, [real.literal(number) for number, _ in constants])
        places = _table(f, f"{name}.places", "i32", [str(place * width) for _, place in constants])
        with f.loop(len(constants)) as k:
            number = f.load(real.name, f.at(numbers, f.let(f"shl i64 {k}, {real.shift}")), real.bytes)
            f.put(f.splat(number), _address(f, other, f.at(places, f.let(f"shl i64 {k}, 2"))), 0)


def _address(f: Instructions, frame: str, entry: str) -> str:
    return f.at(frame, f.let(f"zext i32 {f.load('i32', entry, 4)} to i64"))


def _table(f: Instructions, name: str, kind: str, entries: Sequence[str]) -> str:
    listed = ", ".join([f"{kind} {entry}" for entry in entries])
    f.declare(f"{name} = internal constant [{len(entries)} x {kind}] [{listed}], align 64")
    return name
