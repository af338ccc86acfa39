"""A program with loops as code: ``@block`` for vectors of samples, ``@sample`` for one, and where they work.

They are called as those of straight-line programs are (see `straight`), with a frame in the place of inputs, workspace
and results: arrays are packed into the frame of a vector, and results unpacked from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from linkwork.compiler.codegen.float_type import Real
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import MOST_UNROLLED, Function, Text
from linkwork.compiler.codegen.straight_line import end_sample, memory
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.loops.basic_blocks import INLINE, Pointers
from linkwork.compiler.loops.driver_code import ControlCode
from linkwork.compiler.loops.execution_plan import Control, Memory, Piece, Scope, samples_cost
from linkwork.compiler.loops.lane_refill import refill_function
from linkwork.compiler.program import Program
from linkwork.expr.control.loop_instruction import Loop

__all__ = ["ControlLayout", "block_texts", "sample_texts"]


_VECTORS = 32  # of a tile of samples, whose loops lanes share
_OF_PIECES = 8  # of a tile of samples, through which long pieces of code go one after the other
_WORTH = 64  # instructions of a step: to take a sample into a lane costs about as much as so many
_ONE_BY_ONE = 1024  # numbers of an output that are copied by code of their own
_CACHED = 1 << 18  # bytes of their frames, which should stay in the second-level cache


def _is_refilled(step: Piece | Control) -> bool:
    """Whether this is a loop whose samples may need different numbers of steps, each of some length, and longer than it
    takes to bring in what a sample needs from outside, and tables, which may be long."""
    if not (isinstance(step, Control) and isinstance(step.bundle, Loop) and step.bundle.conditional):
        return False
    cost = samples_cost(step.bundle.body)
    return cost >= _WORTH and cost - step.bundle.body.elements_in >= len(step.outside) + len(step.scopes[0].stored)


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
        refilled = [k for k, step in enumerate(scope.steps) if lanes > 1 and _is_refilled(step)]
        most = _VECTORS if refilled else _OF_PIECES if lanes > 1 and not _short(scope) else 1
        self.vectors = max(1, min(most, _CACHED // max(self.frame_bytes, 1)))
        self.refilled = refilled if self.vectors > 1 else []  # the steps that are loops whose lanes take samples
        self.bytes = self.frame_bytes * (self.vectors + bool(self.refilled))

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
    inline = _short(layout.scope)
    steps = layout.scope.steps
    for some in _together(layout, inline):
        step = steps[some.start]
        if some.start in layout.refilled and isinstance(step, Control):
            name = refill_function(code, step, layout.frame_bytes, layout.vectors)
            f.do(f"call void {name}(ptr %in, i64 %vectors)")
            continue
        with f.loop("%vectors") as vector:
            frame = f.at("%in", f.let(f"mul i64 {vector}, {layout.frame_bytes}"))
            code.run(f, layout.scope, some, Pointers(frame), code.everyone, inline=inline)
    code.main.add(f)
    return [code.main, *code.others]


def _together(layout: ControlLayout, inline: bool) -> Iterator[slice]:
    """The steps that run one after the other for a vector before they do for the next: all, but for loops whose lanes
    take samples, or one at a time where they are long."""
    count, start = len(layout.scope.steps), 0
    for k in range(count):
        alone = not inline or k in layout.refilled
        if (alone or k + 1 == count or k + 1 in layout.refilled) and start <= k:
            yield slice(start, k + 1)
            start = k + 1


def sample_texts(layout: ControlLayout, new_text: Callable[[], Text]) -> list[Text]:
    """``@sample(in..., out...)``: one sample, from and to contiguous arrays; it returns 0, `NO_MEMORY` or `OFF`.

    An output may be an input as well, since inputs are copied first.
    """
    code = ControlCode(new_text, layout.target, layout.real, 1, "sample")
    program, real = layout.program, layout.real
    outputs = [f"%out{j}" for j in range(len(program.outputs))]
    arguments = [f"ptr %in{j}" for j in range(len(program.inputs))] + [f"ptr {out}" for out in outputs]
    f = code.function(f"define i32 @.sample({', '.join(arguments)})")
    frame, taken = memory(f, layout.bytes + code.room(layout.scope, layout.bytes))
    if taken:
        f.require(f.let(f"icmp ne ptr {taken}, null"), "none")
    place = 0
    for j, port in enumerate(program.inputs):
        _copied(f, real, f.at(frame, place * real.bytes), f"%in{j}", port.size)
        place += port.size
    code.run(f, layout.scope, slice(None), Pointers(frame), code.everyone, inline=_short(layout.scope))
    start = 0
    for out, port in zip(outputs, program.outputs, strict=True):
        slots = layout.slot_of[start : start + port.size]
        runs = _runs(slots)
        one_by_one = sum(count for *_, count in runs if count <= MOST_UNROLLED)
        if len(runs) > MOST_UNROLLED or one_by_one > _ONE_BY_ONE:
            _gathered(f, real, out, frame, slots)
            runs = []
        for first, slot, distance, count in runs:
            _copied(f, real, f.at(out, first * real.bytes), f.at(frame, slot * real.bytes), count, distance)
        start += port.size
    end_sample(f, layout, frame, taken)
    code.main.add(f)
    return [code.main, *code.others]


def _short(scope: Scope) -> bool:
    """Whether the straight-line code between loops is short enough to stand in one function."""
    return sum(step.stop - step.start for step in scope.steps if isinstance(step, Piece)) <= INLINE


def _runs(places: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Places at equal distances as (how many came before, the first place, the distance, how many)."""
    runs: list[tuple[int, int, int, int]] = []
    for k, place in enumerate(places):
        if runs:
            first, start, distance, count = runs[-1]
            if count == 1 or place == start + distance * count:
                runs[-1] = first, start, place - start if count == 1 else distance, count + 1
                continue
        runs.append((k, place, 1, 1))
    return runs


def _gathered(f: Instructions, real: Real, out: str, frame: str, slots: Sequence[int]) -> None:
    """Copy numbers from where a table says to where they are side by side."""
    table = f"@.sample.from_{out[1:]}"
    offsets = ", ".join([f"i32 {slot * real.bytes}" for slot in slots])
    f.declare(f"{table} = internal constant [{len(slots)} x i32] [{offsets}]")
    with f.loop(len(slots)) as k:
        slot = f.load("i32", f.at(table, f.let(f"shl i64 {k}, 2")), 4)
        x = f.load(real.name, f.at(frame, f.let(f"zext i32 {slot} to i64")), real.bytes)
        f.store(real.name, x, f.at(out, f.let(f"shl i64 {k}, {real.shift}")), real.bytes)


def _copied(f: Instructions, real: Real, to: str, source: str, count: int, distance: int = 1) -> None:
    """Copy numbers, so many numbers apart, to where they are side by side."""
    if count > MOST_UNROLLED:
        with f.loop(count) as k:
            offset = f.let(f"shl i64 {k}, {real.shift}")
            taken = offset if distance == 1 else f.let(f"mul i64 {k}, {distance * real.bytes}")
            f.store(real.name, f.load(real.name, f.at(source, taken), real.bytes), f.at(to, offset), real.bytes)
        return
    for place in range(0, count * real.bytes, real.bytes):
        x = f.load(real.name, f.at(source, place * distance), real.bytes)
        f.store(real.name, x, f.at(to, place), real.bytes)
