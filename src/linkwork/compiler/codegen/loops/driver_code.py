"""Drivers of programs with loops: functions that run blocks of straight-line code.

A *driver* is a function of one loop, branch or call, for one vector of samples or one sample: it runs the blocks of its
bodies as often as its lanes need. The carried values of lanes that have ended, or are not active, do not change. A mask
with one bit for each lane marks the active lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from linkwork.compiler.codegen.float_type import FloatType
from linkwork.compiler.codegen.llvm_instructions import Instructions
from linkwork.compiler.codegen.llvm_ir import IrModule
from linkwork.compiler.codegen.loops.basic_blocks import MANY, BlockCode, Pointers, copy_values, long_runs
from linkwork.compiler.codegen.loops.dense_code import product_driver
from linkwork.compiler.codegen.loops.execution_plan import FRAME, BasicBlock, Column, Control, Scope
from linkwork.compiler.codegen.loops.frame_layout import plan_program
from linkwork.compiler.codegen.loops.frontal_elimination_code import front_driver
from linkwork.compiler.codegen.loops.in_place_tables import nan_values, store, written_rows
from linkwork.compiler.codegen.loops.interrupt_checks import end_if_interrupted, period_of
from linkwork.compiler.codegen.loops.outlined_calls_code import calls_driver
from linkwork.compiler.codegen.loops.sparse_factors_code import factors_driver, solution_driver
from linkwork.compiler.codegen.loops.special_loops import (
    VectorizedLoop,
    in_registers,
    nan_flags,
    while_in_registers,
    worth_lanes,
)
from linkwork.compiler.codegen.target import Target
from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.expr.control.branch_and_call_instructions import Subroutine
from linkwork.expr.control.loop_instruction import DONE, NOT_A_NUMBER, OUT_OF_ITERATIONS, Loop
from linkwork.expr.linalg.frontal_elimination import FrontElimination
from linkwork.expr.linalg.matrix_product import MatrixProduct
from linkwork.expr.linalg.sparse_factors import SparseFactorization, SparseSolution
from linkwork.expr.scalar.multi_result import PART

__all__ = ["ControlCode"]

_UNROLLED = 8  # values that are moved, and checked for NaN, in one iteration of a loop
_MIN_LOOP = 64  # values from which on the check for NaN is a loop
_MIN_TABLE = 64  # values from which on they are copied by a table


class ControlCode(BlockCode):
    """Writes the LLVM functions that run a program's loops, branches, calls and matrix instructions, each once."""

    def __init__(
        self, new_text: Callable[[], IrModule], target: Target, real: FloatType, lanes: int, stem: str
    ) -> None:
        super().__init__(new_text, target, real, lanes, stem)
        self._called: dict[int, str] = {}
        self._vectorized_steps: dict[
            int, tuple[VectorizedLoop, int]
        ] = {}  # of steps, with the position of the lanes' frame

    def room(self, scope: Scope, behind: int) -> int:
        """Return the memory that vectorized loops need for their intermediate values, for one sample [bytes].

        This memory begins ``behind`` bytes after the start of the sample's own frame. Call this method before steps are
        emitted.
        """
        most, visited = 0, set[int]()
        waiting = [(scope, behind)]
        while waiting:
            visited_scope, after = waiting.pop()
            if id(visited_scope) in visited:
                continue
            visited.add(id(visited_scope))
            inner = []
            for step in visited_scope.steps:
                if not isinstance(step, Control):
                    continue
                apart = isinstance(step.bundle, Loop) and not any(column.rows for column in step.columns)
                together = self._vectorized(step.bundle) if apart else None
                if together is not None:
                    self._vectorized_steps[id(step)] = together, after
                    most = max(most, together.bytes)
                    continue
                inner += [(body, after - step.frame * self.width) for body in step.scopes]
            waiting += reversed(inner)
        return most

    def control(self, f: Instructions, scope: Scope, step: Control, at: Pointers, mask: str) -> None:
        """Emit the call of the function that runs a step: a loop, branch, call or matrix instruction."""
        if isinstance(step.bundle, OutlinedCalls):
            f.do(f"call void {calls_driver(self, step)}(ptr {at.frame})")
            return
        if isinstance(step.bundle, FrontElimination):
            f.do(f"call void {front_driver(self, step)}(ptr {at.frame})")
            return
        if isinstance(step.bundle, MatrixProduct):
            f.do(f"call void {product_driver(self, step)}(ptr {at.frame})")
            return
        if isinstance(step.bundle, SparseFactorization):
            f.do(f"call void {factors_driver(self, step)}(ptr {at.frame})")
            return
        if isinstance(step.bundle, SparseSolution):
            f.do(f"call void {solution_driver(self, step)}(ptr {at.frame})")
            return
        if isinstance(step.bundle, Subroutine):
            self._call(f, step, at, mask)
            return
        write = self._loop if isinstance(step.bundle, Loop) else self._choice
        driver = write(step, Pointers.arguments(scope.columns))
        f.do(f"call void {driver}({at}, {self.mask} {mask})")

    def _call(self, f: Instructions, step: Control, at: Pointers, mask: str) -> None:
        (scope,) = step.scopes
        if id(scope) not in self._called:
            driver = self.name("call")
            self._called[id(scope)] = driver
            g = self.function(f"define internal void {driver}(ptr noalias %frame, {self.mask} %mask)")
            self.run(g, scope, slice(None), Pointers(), "%mask", inline=self.inline(scope))
            self.main.add(g)
        inner = f.at(at.frame, step.frame * self.width)
        f.do(f"call void {self._called[id(scope)]}(ptr {inner}, {self.mask} {mask})")
        for k, slot in enumerate(scope.results):
            f.put(f.get(inner, slot), at.frame, step.results + k)

    def _driver(self, stem: str, at: Pointers) -> tuple[str, Instructions]:
        name = self.name(stem)
        return name, self.function(f"define internal void {name}({at}, {self.mask} %mask)")

    def _choice(self, step: Control, at: Pointers) -> str:
        name, f = self._driver("choice", at)
        holds = f.bits(f.fetch_truth("%frame", step.condition))
        yes = f.let(f"and {self.mask} %mask, {holds}")
        no = self.without(f, "%mask", holds)
        for k, (scope, mask) in enumerate(zip(step.scopes, (yes, no), strict=True)):
            with f.when(f.let(f"icmp ne {self.mask} {mask}, 0")):
                value = self.run_to_the_end(f, scope, slice(None), at, mask, self.inline(scope))
                result = [value(r) for r in scope.listing.results]
                for j, x in enumerate(result):
                    if k:
                        f.put_in(f.lanes_of(mask), x, "%frame", step.results + j)
                    else:
                        f.put(x, "%frame", step.results + j)
        self.main.add(f)
        return name

    def _loop(self, step: Control, outer: Pointers) -> str:
        loop: Loop = step.bundle
        name, f = self._driver("loop", outer)
        (scope,) = step.scopes
        if id(step) in self._vectorized_steps:
            together, room = self._vectorized_steps[id(step)]
            together.run(f, step, [self._start(f, column, outer) for column in step.columns], room)
        elif loop.conditional:
            self._while(f, step, loop, scope)
        else:
            self._for(f, step, loop, scope, outer)
        self.main.add(f)
        return name

    def _vectorized(self, loop: Loop) -> VectorizedLoop | None:
        """Return the vectorized form of a loop in the code for one sample; None if it is not faster."""
        lanes = self.target.lanes_of(self.real)
        if self.lanes > 1 or lanes == 1 or not self.in_lanes or not worth_lanes(loop):
            return None
        scope, memory = plan_program(loop.body)
        result = VectorizedLoop(self.name("abreast"), scope, memory, self.target, self.real)
        if not result.fits:
            return None
        code = ControlCode(self.new_text, self.target, self.real, lanes, result.name[2:])
        g = code.function(f"define void {result.name}(ptr noalias %frame, {code.mask} %mask)")
        code.run(g, scope, slice(None), Pointers("%frame"), "%mask", inline=code.inline(scope))
        code.main.add(g)
        self.further_texts += [code.main, *code.further_texts]
        return result

    def _for(self, f: Instructions, step: Control, loop: Loop, scope: Scope, outer: Pointers) -> None:
        starts = [self._start(f, column, outer) for column in step.columns]
        outputs_start = f.at("%frame", (step.results + loop.carried) * self.width)
        slots = [step.results + j for j in range(loop.carried) if j not in scope.stored]
        uses_registers = in_registers(
            self, scope, loop
        )  # otherwise an iteration would wait for the stores of the one before
        carried = [f.get("%frame", slot) for slot in slots] if uses_registers else []
        period = period_of(loop, self.target)
        ending = partial(end_if_interrupted, f, period) if period else None
        with f.loop(loop.max_iterations, kind=f.type, carried=carried, ending=ending) as count:
            k = f.let(f"sub i64 {loop.max_iterations - 1}, {count}") if loop.backward else count
            columns = []
            for column, start in zip(step.columns, starts, strict=True):
                size = self.real.bytes if column.table else column.stride * self.width
                row = f.smaller(k, column.rows - 1) if column.rows else k
                columns.append(f.at(start, f.let(f"mul i64 {row}, {size}")) if size else start)
            at = Pointers(
                "%frame", tuple(columns), f.at(outputs_start, f.let(f"mul i64 {k}, {loop.outputs * self.width}"))
            )
            at = replace(
                at,
                registers=dict(zip(slots, carried, strict=False)),
                stored_columns=self.stored_columns(f, columns),
            )
            value = self.run_to_the_end(f, scope, slice(0, None), at, "%mask", self.inline(scope))
            apart = {} if uses_registers else self._results_in_frame(scope, step, loop, _MIN_TABLE)
            results = enumerate(scope.listing.results)
            result = {j: value(r) for j, r in results if j not in scope.stored and j not in apart}
            stored = written_rows(scope.listing, scope.tables, value)
            for outputs in (True, False):
                first = loop.carried if outputs else -step.results
                to = at.outputs if outputs else "%frame"
                moves = [(slot, j - first) for j, slot in apart.items() if (j >= loop.carried) == outputs]
                copy_values(f, self.real, self.name("left"), moves, [], "%frame", to)
            for j in range(loop.carried, loop.carried + loop.outputs):
                if j in result:
                    f.put(result[j], at.outputs, j - loop.carried)
            carried[:] = [result[slot - step.results] for slot in slots] if uses_registers else []
            for slot in slots:
                if not uses_registers and slot - step.results in result:
                    f.put(result[slot - step.results], "%frame", slot)
            for table, rows in stored:
                store(f, table, rows, "%frame", step.results)
        for slot, x in zip(slots, carried, strict=False):
            f.put(x, "%frame", slot)

    def _start(self, f: Instructions, column: Column, outer: Pointers) -> str:
        """Return the address of a column, one loop input of all iterations, at the first; declare constants."""
        if column.table:
            values = ", ".join(f"{self.real.name} {self.real.literal(x)}" for x in column.table)
            name = self.name("table")
            f.declare(f"{name} = internal constant [{len(column.table)} x {self.real.name}] [{values}], align 8")
            return name
        area = "%frame" if column.start.area == FRAME else outer.columns[column.start.column]
        return f.at(area, column.start.number * self.width)

    def _while(self, f: Instructions, step: Control, loop: Loop, scope: Scope) -> None:
        at, inline = Pointers(), self.inline(scope)
        active = f.let(f"alloca {self.mask}, align 8")
        done, status = step.ending
        f.put(f.constant(0.0), "%frame", done)
        f.put(f.constant(OUT_OF_ITERATIONS), "%frame", status)
        f.store(self.mask, "%mask", active)
        self.end_where_any_nan(f, step, active, "%frame")
        if in_registers(self, scope, loop):
            while_in_registers(self, f, step, scope, active)
            return
        period, steps = period_of(loop, self.target), ["0"]
        with f.repeat(["i64"] if period else [], steps if period else None) as leave:
            self.head(f, step, active, at, inline)
            mask = f.load(self.mask, active)
            f.require(f.let(f"icmp ne {self.mask} {mask}, 0"), leave)
            self.step(f, step, active, at, inline)
            if period:
                end_if_interrupted(f, period, steps[0], leave)
                steps[0] = f.let(f"add i64 {steps[0]}, 1")

    def head(self, f: Instructions, step: Control, active: str, at: Pointers, inline: bool) -> None:
        """Emit a loop's condition; end the lanes in which it is false or the iterations are used up."""
        loop: Loop = step.bundle
        (scope,) = step.scopes
        done, status = step.ending
        mask = f.load(self.mask, active)
        condition = scope.listing.results[0]
        if inline:
            holds = f.bits(self.run(f, scope, slice(0, scope.head), at, mask, inline=True)(condition))
        else:
            self.run(f, scope, slice(0, scope.head - 1), at, mask, inline=False)
            head_block = scope.steps[scope.head - 1]
            assert isinstance(head_block, BasicBlock)
            holds = f.bits(self.block(f, scope, head_block, at)(condition))
        ended = self.without(f, mask, holds)
        self._set(f, ended, DONE, status, at.frame)
        count, most = f.get(at.frame, done), self.max_count(loop)
        below = f.bits(f.let(f"fcmp olt {f.type} {count}, {f.constant(most)}"))
        more = f.let(f"and {self.mask} {f.let(f'and {self.mask} {mask}, {holds}')}, {below}")
        f.store(self.mask, more, active)

    def step(self, f: Instructions, step: Control, active: str, at: Pointers, inline: bool) -> None:
        """Emit one iteration of a loop with a condition, for the lanes whose condition still holds."""
        loop: Loop = step.bundle
        (scope,) = step.scopes
        done, status = step.ending
        mask = f.load(self.mask, active)
        if scope.overwritten:
            f.store(self.mask, mask, f.at(at.frame, scope.mask * self.width))
        value = self.run_to_the_end(f, scope, slice(scope.head, None), at, mask, inline)
        results = scope.listing.results[1:]
        waiting = {} if inline else self._results_in_frame(scope, step, loop, _UNROLLED)
        direct = (
            j for j in range(len(results)) if j not in waiting and j not in scope.overwritten and j not in scope.stored
        )
        result = {j: value(results[j]) for j in direct}
        stored = written_rows(scope.listing, scope.tables, value)
        lanes = f.lanes_of(mask) if self.lanes > 1 else ""  # one lane has not ended here
        for watched in (True, False):
            moves = [(slot, step.results + j) for j, slot in waiting.items() if (j < loop.watched) == watched]
            self._move_some(f, moves, lanes, active if watched else "", at.frame)
        for j, x in result.items():
            self._put(f, lanes, x, at.frame, step.results + j)
        for table, rows in stored:
            store(f, table, rows, at.frame, step.results, lanes)
        count = f.get(at.frame, done)
        following = f.let(f"fadd {f.type} {count}, {f.constant(1.0)}")
        self._put(f, lanes, following, at.frame, done)
        if waiting:
            self._set(f, self.without(f, mask, f.load(self.mask, active)), NOT_A_NUMBER, status, at.frame)
        watched_numbers = [x for j, x in result.items() if j < loop.watched]
        for table, rows in stored:
            watched_numbers += nan_values(f, table, rows) if min(table.indices) < loop.watched else []
        self.end_where_nan(f, watched_numbers, active, status, at.frame)

    @staticmethod
    def _put(f: Instructions, lanes: str, x: str, pointer: str, index: int) -> None:
        """Emit the store of a value in the lanes of the mask ``lanes``, or in all lanes for ""."""
        if lanes:
            f.put_in(lanes, x, pointer, index)
        else:
            f.put(x, pointer, index)

    def _results_in_frame(self, scope: Scope, step: Control, loop: Loop, fewest: int) -> dict[int, int]:
        """Return the frame slots that have results of an iteration already, so that no block must store them.

        The keys are the results' indices.  No carried value occupies the slots.  Returns {} if there are fewer than
        ``fewest``.
        """
        instructions = scope.listing.instructions
        bases = {c.number: c.results for c in scope.steps if isinstance(c, Control)}
        state = range(step.results, step.results + loop.carried)
        result: dict[int, int] = {}
        for j, r in enumerate(scope.listing.results[loop.conditional :]):
            operation, args, number = instructions[r]
            if j in scope.overwritten or j in scope.stored:
                continue
            if operation is PART and args[0] in bases:
                result[j] = bases[args[0]] + number
            elif operation.gives == "n" and r in scope.slots and r < scope.last.start:
                result[j] = scope.slots[r]
        result = {j: slot for j, slot in result.items() if slot not in state}
        return result if len(result) >= fewest else {}

    def _move_some(
        self, f: Instructions, moves: Sequence[tuple[int, int]], lanes: str, active: str, frame: str
    ) -> None:
        """Emit copies between slots of the frame, in the lanes of the mask ``lanes``, or in all lanes for "".

        ``active`` points to the mask of active lanes, from which lanes with a NaN among the copied values are removed;
        "" for no such check.
        """
        if not moves:
            return
        if len(moves) < MANY:
            flags: list[str] = []
            for source_slot, target_slot in moves:
                x = f.get(frame, source_slot)
                flags.append(f.let(f"fcmp uno {f.type} {x}, {x}") if active else "")
                self._put(f, lanes, x, frame, target_slot)
            if active:
                bad = f.bits(f.any_of(f.truth, flags))
                f.store(self.mask, self.without(f, f.load(self.mask, active), bad), active)
            return
        runs, moves = long_runs(moves)
        for source_slot, target_slot, many in runs:
            start, to = (f.at(frame, slot * self.width) for slot in (source_slot, target_slot))
            steps = many - many % _UNROLLED
            moves = [*moves, *((source_slot + k, target_slot + k) for k in range(steps, many))]
            with f.loop(steps, step=_UNROLLED) as k:
                offset = f.let(f"mul i64 {k}, {self.width}")
                near = f.at(start, offset), f.at(to, offset)
                pairs = [tuple(f.at(x, n * self.width) for x in near) for n in range(_UNROLLED)]
                self._move_values(f, pairs, lanes, active)
        if not moves:
            return
        moves = [*moves, *[moves[-1]] * (-len(moves) % _UNROLLED)]
        entries = ", ".join(f"i32 {slot * self.width}" for move in moves for slot in move)
        table = self.name("moved")
        f.declare(f"{table} = internal constant [{2 * len(moves)} x i32] [{entries}], align 64")
        with f.loop(len(moves), step=_UNROLLED) as k:
            entry = f.at(table, f.let(f"shl i64 {k}, 3"))
            pairs = [
                tuple(
                    f.at(frame, f.let(f"zext i32 {f.load('i32', f.at(entry, 8 * n + offset), 4)} to i64"))
                    for offset in (0, 4)
                )
                for n in range(_UNROLLED)
            ]
            self._move_values(f, pairs, lanes, active)

    def _move_values(self, f: Instructions, pairs: Sequence[tuple[str, ...]], lanes: str, active: str) -> None:
        """Emit copies of values between pairs of addresses; see `_move_some`."""
        values: list[str] = []
        for start, to in pairs:
            values.append(f.get(start, 0))
            self._put(f, lanes, values[-1], to, 0)
        if active:
            flags = [f.let(f"fcmp uno {f.type} {x}, {y}") for x, y in zip(values[::2], values[1::2], strict=True)]
            bad = f.bits(f.any_of(f.truth, flags))
            f.store(self.mask, self.without(f, f.load(self.mask, active), bad), active)

    def end_where_any_nan(self, f: Instructions, step: Control, active: str, frame: str) -> None:
        """Emit code that ends a loop in the lanes where one of the values that it checks is NaN."""
        _, status = step.ending
        count, slot = step.bundle.watched, step.results
        if count >= _MIN_LOOP:
            many = count - count % _UNROLLED
            with f.loop(many, step=_UNROLLED) as k:
                start = f.at(frame, f.let(f"mul i64 {k}, {self.width}"))
                values = [f.get(start, slot + n) for n in range(_UNROLLED)]
                self.end_where_nan(f, values, active, status, frame)
            count, slot = count - many, slot + many
        self.end_where_nan(f, [f.get(frame, slot + k) for k in range(count)], active, status, frame)

    def end_where_nan(self, f: Instructions, values: list[str], active: str, status: int, frame: str) -> None:
        """Emit code that ends a loop in the active lanes where one of these values is NaN.

        ``active`` points to the mask of active lanes; the status of these lanes is written to the slot ``status``.
        """
        flags = nan_flags(f, values)
        if not flags:
            return
        mask = f.load(self.mask, active)
        bad = f.let(f"and {self.mask} {mask}, {f.bits(f.any_of(f.truth, flags))}")
        with f.when(f.let(f"icmp ne {self.mask} {bad}, 0")):
            self._set(f, bad, NOT_A_NUMBER, status, frame)
            f.store(self.mask, f.let(f"xor {self.mask} {mask}, {bad}"), active)

    def _set(self, f: Instructions, mask: str, number: float, slot: int, frame: str) -> None:
        """Emit the write of a constant to a slot of the frame, in the lanes of ``mask``."""
        f.put_in(f.lanes_of(mask), f.constant(number), frame, slot)
