"""A program with loops as code: ``@block`` for vectors of samples, ``@sample`` for one, and where they work.

They are called as those of straight-line programs are (see `straight`), with a frame in the place of inputs, workspace
and results: arrays are packed into the frame of a vector, and results unpacked from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir import MOST_UNROLLED, Function, Text
from ..llvm import Instructions
from ..program import Program
from ..real import Real
from ..straight import NO_MEMORY, OFF, guards_exceeded, memory
from ..target import Target
from .code import INLINE, ControlCode, Pointers
from .cost import samples_cost
from .plan import Memory, Piece, Scope

__all__ = ["ControlLayout", "block_texts", "sample_texts"]


class ControlLayout:
    """How a program with loops is laid out as code of so many lanes."""

    def __init__(self, program: Program, scope: Scope, room: Memory, target: Target, real: Real, lanes: int) -> None:
        self.program, self.scope = program, scope
        self.target, self.real, self.lanes = target, real, lanes
        self.width = real.bytes * lanes
        self.slot_of = list(scope.results)
        self.guards = sorted(set(self.slot_of[len(self.slot_of) - program.guards :])) if program.guards else []
        self.frame_bytes = -(-room.size * self.width // 64) * 64
        self.in_bytes = self.out_bytes = self.frame_bytes
        self.vectors = 1
        self.bytes = self.frame_bytes * self.vectors

    @property
    def cost(self) -> float:
        """About how many instructions a sample takes."""
        return samples_cost(self.program)

    def at(self, f: Function, start: str) -> tuple[str, str, str]:
        """Inputs, workspace and results are one: the frame."""
        return start, start, start


def block_texts(layout: ControlLayout, new_text: Callable[[], Text]) -> list[Text]:
    """``@block(in, work, out, vectors)``: the steps for some frames, one behind the other."""
    code = ControlCode(new_text, layout.target, layout.real, layout.lanes, "block")
    f = code.function("define void @.block(ptr %in, ptr %work, ptr %out, i64 %vectors)")
    with f.loop("%vectors") as vector:
        frame = f.at("%in", f.let(f"mul i64 {vector}, {layout.frame_bytes}"))
        _steps(code, f, layout, frame)
    code.main.add(f)
    return [code.main, *code.others]


def sample_texts(layout: ControlLayout, new_text: Callable[[], Text]) -> list[Text]:
    """``@sample(in..., out...)``: one sample, from and to contiguous arrays; it returns 0, `NO_MEMORY` or `OFF`.

    An output may be an input as well, since inputs are copied first.
    """
    code = ControlCode(new_text, layout.target, layout.real, 1, "sample")
    program, real = layout.program, layout.real
    outputs = [f"%out{j}" for j in range(len(program.outputs))]
    arguments = [f"ptr %in{j}" for j in range(len(program.inputs))] + [f"ptr {out}" for out in outputs]
    f = code.function(f"define i32 @.sample({', '.join(arguments)})")
    frame, taken = memory(f, layout.bytes)
    if taken:
        f.require(f.let(f"icmp ne ptr {taken}, null"), "none")
    place = 0
    for j, port in enumerate(program.inputs):
        _copied(f, real, f.at(frame, place * real.bytes), f"%in{j}", port.size)
        place += port.size
    _steps(code, f, layout, frame)
    start = 0
    for out, port in zip(outputs, program.outputs, strict=True):
        for first, slot, count in _runs(layout.slot_of[start : start + port.size]):
            _copied(f, real, f.at(out, first * real.bytes), f.at(frame, slot * real.bytes), count)
        start += port.size
    status = "0"
    if layout.guards:
        off = f.any_of("i1", guards_exceeded(f, layout, frame))
        status = f.let(f"select i1 {off}, i32 {OFF}, i32 0")
    f.end = f"ret i32 {status}"
    if taken:
        f.do(f"call void @free(ptr {taken})")
        f.do(f.end)
        f.label("none")
        f.end = f"ret i32 {NO_MEMORY}"
    code.main.add(f)
    return [code.main, *code.others]


def _steps(code: ControlCode, f: Instructions, layout: ControlLayout, frame: str) -> None:
    inline = sum(s.stop - s.start for s in layout.scope.steps if isinstance(s, Piece)) <= INLINE
    code.run(f, layout.scope, slice(None), Pointers(frame), code.everyone, inline=inline)


def _runs(places: Sequence[int]) -> list[tuple[int, int, int]]:
    """Places in a row as (how many came before, the first place, how many)."""
    runs: list[tuple[int, int, int]] = []
    for k, place in enumerate(places):
        if runs and runs[-1][1] + runs[-1][2] == place:
            first, start, count = runs[-1]
            runs[-1] = first, start, count + 1
        else:
            runs.append((k, place, 1))
    return runs


def _copied(f: Instructions, real: Real, to: str, source: str, count: int) -> None:
    """Copy contiguous numbers."""
    if count > MOST_UNROLLED:
        with f.loop(count) as k:
            offset = f.let(f"shl i64 {k}, {real.shift}")
            f.store(real.name, f.load(real.name, f.at(source, offset), real.bytes), f.at(to, offset), real.bytes)
        return
    for place in range(0, count * real.bytes, real.bytes):
        f.store(real.name, f.load(real.name, f.at(source, place), real.bytes), f.at(to, place), real.bytes)
