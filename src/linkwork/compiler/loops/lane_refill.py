"""A loop with a condition over a tile of samples: a lane whose sample is done takes the next sample at once.

The lanes work in a frame of their own.  What the loop carries and what it takes from outside is copied there from the
frame of a sample, number by number, and what was carried goes back when the loop is done.  So a batch takes as long as
its samples' steps need on average, not as long as the longest of those that happen to be side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import MOST_UNROLLED, Function
from linkwork.compiler.loops.basic_blocks import Pointers
from linkwork.compiler.loops.driver_code import ControlCode
from linkwork.compiler.loops.execution_plan import Control
from linkwork.compiler.loops.interrupt_checks import end_if_interrupted, period_of
from linkwork.expr.control.loop_instruction import OUT_OF_ITERATIONS, Loop

__all__ = ["refill_function"]

_IDLE = 4  # of so many lanes one may be idle before new samples are taken, which costs more than a step missed


def refill_function(code: ControlCode, step: Control, frame_bytes: int, vectors: int) -> str:
    """``(frames, vectors)``: the loop for the samples of some frames; one frame more, behind the most there may be, is
    there to work in.  Returned is the function's name."""
    loop: Loop = step.bundle
    (scope,) = step.scopes
    carried = range(step.results, step.results + loop.carried)
    into, back = code.name("taken"), code.name("given")
    code.main.add(_take_function(code, into, [*carried, *step.outside]))
    code.main.add(_give_function(code, back, range(step.results, step.results + loop.carried + 2)))
    name = code.name("refill")
    f = code.function(f"define internal void {name}(ptr %frames, i64 %vectors)")
    here = f.at("%frames", vectors * frame_bytes)
    work = _Lanes(code, f, step, here, frame_bytes)
    at, inline = Pointers(here), code.inline(scope)
    with f.loop(code.lanes) as lane:
        work.take(lane, into)
    f.store(code.mask, "0", work.going)
    work.begin(code.everyone)
    period, steps = period_of(loop, vectors * code.lanes), ["0"]
    with f.repeat(["i64"] if period else [], steps if period else None) as leave:
        if period:
            end_if_interrupted(f, period, steps[0], leave)
        code.head(f, step, work.going, at, inline)
        going = f.load(code.mask, work.going)
        idle = code.without(f, f.load(code.mask, work.busy), going)
        enough = work.enough(idle, going)
        with f.when(enough):
            work.exchange(idle, into, back)
            f.require(f.let(f"icmp ne {code.mask} {f.load(code.mask, work.busy)}, 0"), leave)
        with f.unless(enough):  # the new samples are asked for the condition first
            code.step(f, step, work.going, at, inline)
        if period:
            steps[0] = f.let(f"add i64 {steps[0]}, 1")
    code.main.add(f)
    return name


def _take_function(code: ControlCode, name: str, places: Sequence[int]) -> Function:
    """Copy the numbers of some places of a sample into one lane of a frame.

    Whole vectors are loaded and stored: what loads them next would wait long for a number stored alone.
    """
    f = code.function(f"define internal void {name}(ptr noalias %from, ptr noalias %to, {code.mask} %lane)")
    f.attributes = "noinline #0"
    lane = f.lanes_of("%lane")

    def copy(offset: str | int) -> None:
        number = f.load(code.real.name, f.at("%from", offset), code.real.bytes)
        f.put_in(lane, f.splat(number), f.at("%to", offset), 0)

    _each(f, name, [place * code.width for place in places], copy)
    return f


def _give_function(code: ControlCode, name: str, places: Sequence[int]) -> Function:
    """Copy the numbers of some places, of one lane, from a frame to the frame of a sample."""
    f = code.function(f"define internal void {name}(ptr noalias %from, ptr noalias %to)")
    f.attributes = "noinline #0"
    real = code.real

    def copy(offset: str | int) -> None:
        f.store(real.name, f.load(real.name, f.at("%from", offset), real.bytes), f.at("%to", offset), real.bytes)

    _each(f, name, [place * code.width for place in places], copy)
    return f


def _each(f: Function, name: str, offsets: Sequence[int], copy: Callable[[str | int], None]) -> None:
    """Copy what stands at some offsets, many of them by a loop over a table."""
    if len(offsets) <= MOST_UNROLLED:
        for offset in offsets:
            copy(offset)
        return
    table = f"{name}.places"
    f.declare(f"{table} = internal constant [{len(offsets)} x i64] [{', '.join(f'i64 {x}' for x in offsets)}]")
    with f.loop(len(offsets)) as k:
        copy(f.load("i64", f.at(table, f.let(f"shl i64 {k}, 3"))))


class _Lanes:
    """Which sample each lane is at, and which lanes have one."""

    def __init__(self, code: ControlCode, f: Instructions, step: Control, here: str, frame_bytes: int) -> None:
        self.code, self.f, self.step, self.here, self.frame_bytes = code, f, step, here, frame_bytes
        self.sample = f.let(f"alloca [{code.lanes} x ptr], align 8")  # of each lane: the sample's place in its frame
        self.going, self.busy, self.fresh = (f.let(f"alloca {code.mask}, align 8") for _ in range(3))
        self.next, self.idle = (f.let(f"alloca {kind}, align 8") for kind in ("i64", code.mask))
        f.store("i64", "0", self.next)
        f.store(code.mask, code.everyone, self.busy)
        self.total = f.let(f"mul i64 %vectors, {code.lanes}")

    def take(self, lane: str, into: str) -> None:
        """Give a lane the next sample."""
        f, code = self.f, self.code
        sample = f.load("i64", self.next)
        f.store("i64", f.let(f"add i64 {sample}, 1"), self.next)
        frame = f.let(f"mul i64 {f.let(f'udiv i64 {sample}, {code.lanes}')}, {self.frame_bytes}")
        offset = f.let(f"mul i64 {f.let(f'urem i64 {sample}, {code.lanes}')}, {code.real.bytes}")
        place = f.at(f.at("%frames", frame), offset)
        f.store("ptr", place, f.at(self.sample, f.let(f"shl i64 {lane}, 3")))
        bit = f.let(f"shl {code.mask} 1, {f.let(f'trunc i64 {lane} to {code.mask}')}")
        f.do(f"call void {into}(ptr {place}, ptr {self.here}, {code.mask} {bit})")

    def begin(self, fresh: str) -> None:
        """What the loop says of itself, for lanes with a new sample."""
        f = self.f
        done, status = self.step.ending
        lanes = f.lanes_of(fresh)
        for place, number in ((done, 0.0), (status, OUT_OF_ITERATIONS)):
            f.put_in(lanes, f.constant(number), self.here, place)
        mask = self.code.mask
        going = f.load(mask, self.going)
        f.store(mask, fresh, self.going)
        self.code.end_where_any_nan(f, self.step, self.going, self.here)
        f.store(mask, f.let(f"or {mask} {f.load(mask, self.going)}, {going}"), self.going)

    def enough(self, idle: str, going: str) -> str:
        """Whether so many lanes are idle that it is worth giving them samples, or none is left that goes on."""
        f, mask = self.f, self.code.mask
        f.declare(f"declare {mask} @llvm.ctpop.{mask}({mask})")
        count = f.let(f"call {mask} @llvm.ctpop.{mask}({mask} {idle})")
        many = f.let(f"icmp uge {mask} {count}, {max(self.code.lanes // _IDLE, 1)}")
        nobody = f.let(f"icmp eq {mask} {going}, 0")
        return f.any_of("i1", [many, nobody])

    def exchange(self, idle: str, into: str, back: str) -> None:
        """Take results away from idle lanes, and give them samples as long as there are some."""
        f, code = self.f, self.code
        mask = code.mask
        f.declare(f"declare {mask} @llvm.cttz.{mask}({mask}, i1)")
        f.store(mask, idle, self.idle)
        f.store(mask, "0", self.fresh)
        with f.repeat() as done:
            left = f.load(mask, self.idle)
            f.require(f.let(f"icmp ne {mask} {left}, 0"), done)
            number = f.let(f"call {mask} @llvm.cttz.{mask}({mask} {left}, i1 true)")
            bit = f.let(f"shl {mask} 1, {number}")
            f.store(mask, f.let(f"xor {mask} {left}, {bit}"), self.idle)
            lane = f.let(f"zext {mask} {number} to i64")
            place = f.load("ptr", f.at(self.sample, f.let(f"shl i64 {lane}, 3")))
            f.do(f"call void {back}(ptr {f.at(self.here, f.let(f'mul i64 {lane}, {code.real.bytes}'))}, ptr {place})")
            more = f.let(f"icmp ult i64 {f.load('i64', self.next)}, {self.total}")
            with f.when(more):
                self.take(lane, into)
                f.store(mask, f.let(f"or {mask} {f.load(mask, self.fresh)}, {bit}"), self.fresh)
            with f.unless(more):
                f.store(mask, f.let(f"xor {mask} {f.load(mask, self.busy)}, {bit}"), self.busy)
        self.begin(f.load(mask, self.fresh))
