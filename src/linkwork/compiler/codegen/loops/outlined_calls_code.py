"""Code of outlined calls: one function for each distinct sequence of instructions (a body), and a driver.

The driver runs the calls in order.  Three tables describe the calls.  The first has each call's body, and where its
entries in the other tables begin.  The second has offsets of values in the array of intermediate values, the frame.
The third has constants.  A body finds each input and output at an offset of the call plus a fixed distance.  Two values
share an offset if their distance is the same in all calls of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.loops.execution_plan import Control
from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.compiler.program import CONSTANT, INPUT
from linkwork.expr.scalar.block import Region

__all__ = ["calls_driver"]

_MODULE_SIZE = 600  # instructions of bodies in one module
_ARGUMENTS = (
    "ptr noalias readonly %in, ptr noalias %out, ptr noalias readonly %offsets, ptr noalias readonly %constants"
)


class Writer(Protocol):
    """The parts of the code generator that the writer of outlined calls uses: types, modules, functions and names."""

    real: FloatType
    width: int
    main: IrModule
    further_texts: list[IrModule]
    new_text: Callable[[], IrModule]

    def name(self, stem: str) -> str: ...
    def function(self, signature: str, *, unchanging: bool = False) -> Instructions: ...


class Distances:
    """The positions of a subroutine's inputs and outputs in memory, relative to offsets that differ between calls.

    Inputs and outputs at a constant distance from one another share an offset. ``of`` has, for each input and output,
    the index of its offset and its distance [slots] from it.
    """

    def __init__(self, slots: Sequence[Sequence[int]]) -> None:
        self.starts: list[int] = []  # for each offset, the column at distance 0
        self.of: list[tuple[int, int]] = []
        known: dict[tuple[int, ...], int] = {}
        for number, column in enumerate(zip(*slots, strict=True)):
            offset = known.setdefault(tuple([slot - column[0] for slot in column]), len(self.starts))
            if offset == len(self.starts):
                self.starts.append(number)
            self.of.append((offset, column[0] - slots[0][self.starts[offset]]))


def calls_driver(code: Writer, step: Control) -> str:
    """Write the LLVM function that runs all outlined calls on a frame, the array of values; return its name."""
    rows: OutlinedCalls = step.bundle
    slots = _slots_of_calls(step)
    distances = [
        Distances([p for p, row in zip(slots, rows.calls, strict=True) if row.body == k])
        for k in range(len(rows.bodies))
    ]
    bodies = _bodies(code, rows, distances)
    driver = code.name("rows")
    heads, offsets, constants = (f"{driver}.{stem}" for stem in ("heads", "offsets", "constants"))
    f = code.function(f"define internal void {driver}(ptr noalias %frame)")
    f.declare(*_tables(code, rows, slots, distances, (heads, offsets, constants)))
    f.declare(*(f"declare void {body}(ptr, ptr, ptr, ptr)" for body in bodies))
    with f.loop(len(rows.calls)) as row:
        head = f.at(heads, f.let(f"mul i64 {row}, 12"))
        body = f.load("i32", head, 4)
        first = f.at(offsets, f.let(f"zext i32 {f.load('i32', f.at(head, 4), 4)} to i64"))
        second = f.at(constants, f.let(f"zext i32 {f.load('i32', f.at(head, 8), 4)} to i64"))
        cases = " ".join(f"i32 {k}, label %case.{k}" for k in range(1, len(bodies)))
        f.do(f"switch i32 {body}, label %case.0 [{cases}]")
        for k, name in enumerate(bodies):
            f.label(f"case.{k}")
            f.do(f"call void {name}(ptr %frame, ptr %frame, ptr {first}, ptr {second})")
            f.do("br label %case.done")
        f.label("case.done")
    code.main.add(f)
    return driver


def _slots_of_calls(step: Control) -> list[list[int]]:
    """Return, for each call, the slots in memory of its inputs and outputs."""
    count = len(step.arguments)

    def at(slot: int) -> int:
        return step.arguments[slot + count] if slot < 0 else step.results + slot

    return [[at(slot) for slot in (*row.inputs, *row.outputs)] for row in step.bundle.calls]


def _tables(
    code: Writer,
    rows: OutlinedCalls,
    slots: Sequence[Sequence[int]],
    distances: Sequence[Distances],
    names: Sequence[str],
) -> list[str]:
    """Return the LLVM declarations of three tables of the calls: heads, offsets of slots, and constants.

    A head is the index of the body, and the byte positions at which the offsets and the constants of the call begin.
    """
    heads: list[int] = []
    offsets: list[int] = []
    constants: list[float] = []
    for row, arguments in zip(rows.calls, slots, strict=True):
        heads += (row.body, 4 * len(offsets), code.real.bytes * len(constants))
        offsets += [arguments[start] * code.width for start in distances[row.body].starts]
        constants += row.constants
    real = code.real
    return [
        _table(names[0], "i32", [str(k) for k in heads]),
        _table(names[1], "i32", [str(k) for k in offsets]),
        _table(names[2], real.name, [real.literal(x) for x in constants]),
    ]


def _table(name: str, kind: str, entries: Sequence[str]) -> str:
    listed = ", ".join([f"{kind} {entry}" for entry in entries])
    return f"{name} = internal constant [{len(entries)} x {kind}] [{listed}], align 64"


def _bodies(code: Writer, rows: OutlinedCalls, distances: Sequence[Distances]) -> list[str]:
    """Write an LLVM function for each distinct sequence of instructions, and return the functions' names.

    Several functions are in one module.
    """
    names: list[str] = []
    much = _MODULE_SIZE
    for k, body in enumerate(rows.bodies):
        if much >= _MODULE_SIZE:
            code.further_texts.append(code.new_text())
            much = 0
        much += len(body.instructions)
        name = code.name("body")
        f = code.function(f"define void {name}({_ARGUMENTS})", unchanging=True)
        _write(f, body, distances[k])
        code.further_texts[-1].add(f)
        names.append(name)
    return names


def _write(f: Instructions, body: Region, distances: Distances) -> None:
    """Emit the instructions of a subroutine: inputs are loaded at first use, outputs are stored immediately."""
    instructions = body.instructions
    taken = len(distances.of) - len(body.results)
    names: dict[int, str] = {}
    starts: dict[tuple[str, int], str] = {}
    left: dict[int, list[int]] = {}
    for k, result in enumerate(body.results):
        left.setdefault(result, []).append(taken + k)

    def at(pointer: str, k: int) -> tuple[str, int]:
        offset, distance = distances.of[k]
        if (pointer, offset) not in starts:
            number = f.let(f"zext i32 {f.one('i32', '%offsets', 4 * offset, 4)} to i64")
            starts[pointer, offset] = f.at(pointer, number)
        return starts[pointer, offset], distance

    def name(value: int) -> str:
        if value not in names:
            operation, _, number = instructions[value]
            if operation is CONSTANT:
                names[value] = f.constant(number)
            elif number < taken:
                names[value] = f.get(*at("%in", number))
            else:
                size = f.real.bytes
                names[value] = f.splat(f.one(f.real.name, "%constants", size * (number - taken), size))
        return names[value]

    for value, (operation, args, _) in enumerate(instructions):
        if operation is not CONSTANT and operation is not INPUT:
            names[value] = f.operation(operation, [name(a) for a in args])
        for k in left.get(value, ()):
            f.put(name(value), *at("%out", k))
