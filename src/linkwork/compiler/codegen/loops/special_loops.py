"""Two faster forms of loops: with carried values in registers, and with iterations in SIMD lanes.

`in_registers` and `while_in_registers` keep the carried values in registers. Otherwise each iteration would wait for
the stores of the one before.

`VectorizedLoop` runs several iterations in lanes if a single sample runs a loop that carries nothing. The loop's body
is planned as a separate program, whose frame has a vector for each number. Inputs of iterations are gathered into
lanes, and results are transposed to where the loop stores them. Lanes beyond the last iteration are masked. This frame
follows the frame of the sample in memory; all such loops share it, as no two of them run at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import transpose
from linkwork.compiler.codegen.loops.basic_blocks import BlockCode, Pointers
from linkwork.compiler.codegen.loops.execution_plan import (
    SLICE,
    TABLE,
    BasicBlock,
    Control,
    FrameAllocator,
    Scope,
    Slot,
    samples_cost,
)
from linkwork.compiler.codegen.loops.in_place_tables import nan_values, store, written_rows
from linkwork.compiler.codegen.loops.interrupt_checks import end_if_interrupted, period_of
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.program import INPUT
from linkwork.expr.control.loop_instruction import DONE, NOT_A_NUMBER, Loop

__all__ = ["VectorizedLoop", "in_registers", "nan_flags", "while_in_registers", "worth_lanes"]


_MIN_ITERATIONS = 3  # of a vectorized loop, and lanes
_MAX_UNROLLED = 64  # iterations whose groups are unrolled; more are a loop over groups
_MAX_MOVED = 512  # inputs and outputs of all unrolled groups
_MAX_ADJACENT = 16  # adjacent numbers from which on they are copied in a loop
_MIN_WORK = 200  # instructions of an iteration that pay for moving its inputs and outputs to lanes and back
_MAX_FRAME = 1 << 18  # [bytes] to stay in the cache; the collision check of two arms takes 200 000


def worth_lanes(loop: Loop) -> bool:
    """Return True if a loop is faster with an iteration in each SIMD lane."""
    apart = not loop.conditional and not loop.carried and loop.inputs > 0 and loop.outputs > 0
    return apart and loop.max_iterations >= _MIN_ITERATIONS and samples_cost(loop.body) >= _MIN_WORK


class VectorizedLoop:
    """A loop without carried values that runs an iteration in each SIMD lane, with the frame of its body."""

    def __init__(self, name: str, scope: Scope, memory: FrameAllocator, target: Target, real: FloatType) -> None:
        self.name, self.scope, self.real, self.target = name, scope, real, target
        self.lanes = target.lanes_of(real)
        self.width = real.bytes * self.lanes
        self.bytes = memory.size * self.width

    @property
    def fits(self) -> bool:
        """True if the processor has enough SIMD lanes, and the loop's intermediate values need little enough memory."""
        return self.lanes >= _MIN_ITERATIONS and self.bytes <= _MAX_FRAME

    def run(self, f: Instructions, step: Control, starts: Sequence[str], room: int) -> None:
        """Emit the code of the whole loop in a function that computes one sample.

        ``starts`` are the addresses of the columns of inputs, for the first iteration. ``room`` is the byte offset
        from the sample's frame to the frame of the loop's body, which has a vector for each scalar.
        """
        loop: Loop = step.bundle
        frame = f.at("%frame", room)
        spots = step.scopes[0].inputs
        f.declare(f"declare void {self.name}(ptr, i{self.lanes})")
        self._spread_all(f, frame, loop.inputs, [spot.number for spot in spots[loop.inputs :]])
        outputs_start = f.at("%frame", step.results * self.real.bytes)
        groups, left = divmod(loop.max_iterations, self.lanes)
        written = 0
        if groups > 1 and (loop.max_iterations > _MAX_UNROLLED or groups * (loop.inputs + loop.outputs) > _MAX_MOVED):
            period = period_of(loop, self.target)
            with f.loop(groups, ending=partial(end_if_interrupted, f, period) if period else None) as k:
                begins = [self._further(f, step, spot, starts, k) for spot in spots[: loop.inputs]]
                at = f.at(outputs_start, f.let(f"mul i64 {k}, {self.lanes * loop.outputs * self.real.bytes}"))
                self._group(f, step, frame, begins, 0, at, self.lanes)
            written = groups
        begins = [starts[spot.column] for spot in spots[: loop.inputs]]
        for group in range(written, groups + (left > 0)):
            first = group * self.lanes
            at = f.at(outputs_start, first * loop.outputs * self.real.bytes)
            self._group(f, step, frame, begins, first, at, left if group == groups else self.lanes)

    def _further(self, f: Instructions, step: Control, spot: Slot, starts: Sequence[str], group: str) -> str:
        """Return the address of a loop input, for the first of the iterations that run together in SIMD lanes.

        These iterations are a group, and ``group`` is the name of its index.  ``starts`` has the addresses for the
        first iteration of the loop.
        """
        size = self._distance(step, spot) * self.lanes
        start = starts[spot.column]
        return f.at(start, f.let(f"mul i64 {group}, {size}")) if size else start

    def _group(
        self, f: Instructions, step: Control, frame: str, begins: Sequence[str], first: int, target: str, count: int
    ) -> None:
        """Emit ``count`` iterations, one in each lane, and the write of their results to ``target``.

        ``begins`` are the addresses of the inputs' columns, and ``first`` is the iteration, counted from there, with
        which the group begins.
        """
        loop: Loop = step.bundle
        kind, mask = self.real.vector(self.lanes), f"i{self.lanes}"
        spots = step.scopes[0].inputs
        for k, begin in enumerate(begins):
            self._put(f, frame, k, self._row(f, step, spots[k], begin, range(first, first + count)))
        f.do(f"call void {self.name}(ptr {frame}, {mask} {-1 if count == self.lanes else (1 << count) - 1})")
        taken: Callable[[int], str] = lambda j: f.load(kind, f.at(frame, self.scope.results[j] * self.width), 64)  # noqa: E731
        self._leave(f, taken, target, loop.outputs, count)

    def _distance(self, step: Control, spot: Slot) -> int:
        """Return the distance [bytes] between the values of an input in adjacent iterations."""
        assert spot.area in (SLICE, TABLE)
        return self.real.bytes * (1 if spot.area == TABLE else step.columns[spot.column].stride)

    def _row(self, f: Instructions, step: Control, spot: Slot, start: str, steps: range) -> Sequence[str]:
        """Emit the loads of one loop input for the iterations ``steps``, and return the values' names."""
        distance, size = self._distance(step, spot), self.real.bytes
        at = 0 if spot.area == TABLE else spot.number * size
        return [f.load(self.real.name, f.at(start, at + k * distance), size) for k in steps]

    def _put(self, f: Instructions, frame: str, slot: int, values: Sequence[str]) -> None:
        """Emit the write of ``values`` to a frame slot, one for each lane; further lanes get the first value."""
        kind = self.real.vector(self.lanes)
        column = "poison"
        for lane in range(self.lanes):
            x = values[lane] if lane < len(values) else values[0]
            column = f.let(f"insertelement {kind} {column}, {self.real.name} {x}, i32 {lane}")
        f.store(kind, column, f.at(frame, slot * self.width), self.width)

    def _spread_all(self, f: Instructions, frame: str, first: int, slots: Sequence[int]) -> None:
        """Emit copies of numbers in the sample's frame to all lanes of slots; adjacent numbers are copied in a loop."""
        k = 0
        while k < len(slots):
            count = 1
            while k + count < len(slots) and slots[k + count] == slots[k] + count:
                count += 1
            if count >= _MAX_ADJACENT:
                start, to = (
                    f.at(x, y) for x, y in (("%frame", slots[k] * self.real.bytes), (frame, (first + k) * self.width))
                )
                with f.loop(count) as index:
                    number = f.load(
                        self.real.name, f.at(start, f.let(f"mul i64 {index}, {self.real.bytes}")), self.real.bytes
                    )
                    self._spread(f, f.at(to, f.let(f"mul i64 {index}, {self.width}")), 0, number)
            else:
                for j in range(k, k + count):
                    self._spread(f, frame, first + j, f.get("%frame", slots[j]))
            k += count

    def _spread(self, f: Instructions, frame: str, slot: int, number: str) -> None:
        """Emit the write of ``number`` to all lanes of a frame slot."""
        kind = self.real.vector(self.lanes)
        first = f.let(f"insertelement {kind} poison, {self.real.name} {number}, i32 0")
        all_of_it = f.let(f"shufflevector {kind} {first}, {kind} poison, <{self.lanes} x i32> zeroinitializer")
        f.store(kind, all_of_it, f.at(frame, slot * self.width), self.width)

    def _leave(self, f: Instructions, taken: Callable[[int], str], target: str, count: int, steps: int) -> None:
        """Emit the writes of the results of ``steps`` iterations to ``target``, ``count`` results for each iteration.

        ``taken(j)`` returns result j as a vector with one iteration in each lane.
        """
        lanes, size = self.lanes, self.real.bytes
        kind = self.real.vector(lanes)
        if count < lanes:
            for j in range(count):
                column = taken(j)
                for lane in range(steps):
                    x = f.let(f"extractelement {kind} {column}, i32 {lane}")
                    f.store(self.real.name, x, f.at(target, (lane * count + j) * size), size)
            return
        for j in dict.fromkeys([*range(0, count - lanes + 1, lanes), count - lanes]):
            square = transpose(f, [taken(k) for k in range(j, j + lanes)], self.real, lanes)
            for lane in range(steps):
                f.store(kind, square[lane], f.at(target, (lane * count + j) * size), size)


_REGISTERS = 12  # maximum carried values in registers


def in_registers(code: BlockCode, scope: Scope, loop: Loop) -> bool:
    """Return True if the values that a loop carries from one iteration to the next can stay in processor registers.

    Tables that are changed in place are stored in memory and are not counted. There are at most `_REGISTERS` other
    carried values. The loop's body is straight-line code, and short enough to be part of the function that runs the
    loop. No carried value is stored in the frame as soon as it is computed, and no carried value is an element of a
    table that is read or written at an index.
    """
    if not (0 < loop.carried - len(scope.stored) <= _REGISTERS and code.inline(scope)):
        return False
    instructions = scope.listing.instructions
    bundles = (instructions[k] for k in scope.listing.bundles if k not in scope.puts)
    tables = (a for i in bundles for a in i.args[1:])  # after the index
    looked_up = {instructions[a].value for a in tables if instructions[a].operation is INPUT}
    return (
        all(isinstance(step, BasicBlock) for step in scope.steps)
        and not scope.overwritten
        and looked_up.isdisjoint(set(range(loop.carried)) - scope.stored)
    )


def while_in_registers(code: BlockCode, f: Instructions, step: Control, scope: Scope, active: str) -> None:
    """Emit a loop with a condition that keeps its carried values in registers, for active lanes.

    ``active`` points to the mask of active lanes.  Values are stored only at the end, except tables, which are changed
    in place.
    """
    loop: Loop = step.bundle
    done, status = step.ending
    slots = {j: step.results + j for j in range(loop.carried) if j not in scope.stored}
    values = [f.get("%frame", slot) for slot in slots.values()]
    carried = [f.load(code.mask, active), f.constant(0.0), f.get("%frame", status), *values]
    period = period_of(loop, code.target)
    kinds = [code.mask, f.type, *[f.type] * (1 + len(slots))]
    if period:
        kinds, carried = [*kinds, "i64"], [*carried, "0"]
    with f.repeat(kinds, carried) as leave:
        steps = [carried.pop()] if period else []
        mask, count, ending, *values = carried
        at = Pointers(registers=dict(zip(slots.values(), values, strict=True)))
        holds = f.bits(code.run(f, scope, slice(0, scope.head), at, mask, inline=True)(scope.listing.results[0]))
        last = f.select(f.lanes_of(code.without(f, mask, holds)), f.constant(DONE), ending)
        below = f.bits(f.let(f"fcmp olt {f.type} {count}, {f.constant(code.max_count(loop))}"))
        mask = f.let(f"and {code.mask} {f.let(f'and {code.mask} {mask}, {holds}')}, {below}")
        f.require(f.let(f"icmp ne {code.mask} {mask}, 0"), leave)
        value = code.run_to_the_end(f, scope, slice(scope.head, None), at, mask, inline=True)
        result = {j: value(scope.listing.results[1 + j]) for j in slots}
        stored = written_rows(scope.listing, scope.tables, value)
        lanes = f.lanes_of(mask)
        for table, rows in stored:
            store(f, table, rows, "%frame", step.results, lanes)
        following = [f.let(f"fadd {f.type} {count}, {f.constant(1.0)}"), last, *result.values()]
        if code.lanes > 1:
            pairs = zip(following, (count, last, *values), strict=True)
            following = [x if x == y else f.select(lanes, x, y) for x, y in pairs]
        watched = [x for j, x in result.items() if j < loop.watched]
        for table, rows in stored:
            watched += nan_values(f, table, rows) if min(table.indices) < loop.watched else []
        if watched:
            bad = f.let(f"and {code.mask} {mask}, {f.bits(f.any_of(f.truth, nan_flags(f, watched)))}")
            following[1] = f.select(f.lanes_of(bad), f.constant(NOT_A_NUMBER), following[1])
            mask = f.let(f"xor {code.mask} {mask}, {bad}")
        for index in steps:
            end_if_interrupted(f, period, index, leave)
        carried[:] = [mask, *following, *[f.let(f"add i64 {index}, 1") for index in steps]]
    for slot, x in zip((done, status, *slots.values()), (count, last, *values), strict=True):
        f.put(x, "%frame", slot)


def nan_flags(f: Instructions, values: Sequence[str]) -> list[str]:
    """Emit comparisons of values with NaN, and return the flags: if any value is NaN, at least one flag is true."""
    flags = [f.let(f"fcmp uno {f.type} {x}, {y}") for x, y in zip(values[::2], values[1::2], strict=False)]
    if len(values) % 2:
        flags.append(f.let(f"fcmp uno {f.type} {values[-1]}, {values[-1]}"))
    return flags
