"""Rows of a table as code: a function for each body, and a driver that calls one row after the other.

Three tables of the module tell a row: its body and where its entries in the other two begin; the offsets in the frame
of what it takes and, after them, of what it leaves; and its constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ...expr.region import Region
from ..ir import Text
from ..llvm import Instructions
from ..program import CONSTANT, INPUT
from ..real import Real
from ..rows import Rows
from .plan import Control

__all__ = ["rows_driver"]

_TOGETHER = 600  # instructions of bodies that stand in one module
_ARGUMENTS = (
    "ptr noalias readonly %in, ptr noalias %out, ptr noalias readonly %offsets, ptr noalias readonly %constants"
)


class Writer(Protocol):
    """Who writes the functions of a program's steps."""

    real: Real
    width: int
    main: Text
    others: list[Text]
    new_text: Callable[[], Text]

    def name(self, what: str) -> str: ...
    def function(self, signature: str, *, unchanging: bool = False) -> Instructions: ...


def rows_driver(code: Writer, step: Control) -> str:
    """The function that runs all rows on a frame."""
    rows: Rows = step.bundle
    bodies = _bodies(code, rows)
    driver = code.name("rows")
    heads, offsets, constants = (f"{driver}.{what}" for what in ("heads", "offsets", "constants"))
    f = code.function(f"define internal void {driver}(ptr noalias %frame)")
    f.declare(*_tables(code, step, heads, offsets, constants))
    f.declare(*(f"declare void {body}(ptr, ptr, ptr, ptr)" for body in bodies))
    with f.loop(len(rows.rows)) as row:
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


def _tables(code: Writer, step: Control, heads: str, offsets: str, constants: str) -> list[str]:
    """The tables as LLVM has them."""
    rows: Rows = step.bundle
    numbers: list[int] = []
    begun: list[int] = []
    entries: list[float] = []
    count = len(step.arguments)
    for body, taken, values, left in rows.rows:
        begun += (body, 4 * len(numbers), code.real.bytes * len(entries))
        numbers += [step.arguments[place + count] if place < 0 else step.results + place for place in taken]
        numbers += [step.results + place for place in left]
        entries += values
    real = code.real
    return [
        _table(heads, "i32", [str(k) for k in begun]),
        _table(offsets, "i32", [str(k * code.width) for k in numbers]),
        _table(constants, real.name, [real.literal(x) for x in entries]),
    ]


def _table(name: str, kind: str, entries: Sequence[str]) -> str:
    listed = ", ".join([f"{kind} {entry}" for entry in entries])
    return f"{name} = internal constant [{len(entries)} x {kind}] [{listed}], align 64"


def _bodies(code: Writer, rows: Rows) -> list[str]:
    """The functions of bodies, some of them together in a module."""
    names: list[str] = []
    much = _TOGETHER
    for k, body in enumerate(rows.bodies):
        if much >= _TOGETHER:
            code.others.append(code.new_text())
            much = 0
        much += len(body.instructions)
        row = next(row for row in rows.rows if row.body == k)
        name = code.name("body")
        f = code.function(f"define void {name}({_ARGUMENTS})", unchanging=True)
        _write(f, body, len(row.taken))
        code.others[-1].add(f)
        names.append(name)
    return names


def _write(f: Instructions, body: Region, taken: int) -> None:
    """A body's instructions: what it takes is loaded where it is first used, what it leaves is stored at once."""
    instructions = body.instructions
    names: dict[int, str] = {}
    places: dict[int, list[int]] = {}
    for k, result in enumerate(body.results):
        places.setdefault(result, []).append(k)

    def place(pointer: str, k: int) -> str:
        return f.at(pointer, f.let(f"zext i32 {f.one('i32', '%offsets', 4 * k, 4)} to i64"))

    def name(value: int) -> str:
        if value not in names:
            operation, _, number = instructions[value]
            if operation is CONSTANT:
                names[value] = f.constant(number)
            elif number < taken:
                names[value] = f.get(place("%in", number), 0)
            else:
                size = f.real.bytes
                names[value] = f.splat(f.one(f.real.name, "%constants", size * (number - taken), size))
        return names[value]

    for value, (operation, args, _) in enumerate(instructions):
        if operation is not CONSTANT and operation is not INPUT:
            names[value] = f.operation(operation, [name(a) for a in args])
        for k in places.get(value, ()):
            f.put(name(value), place("%out", taken + k), 0)
