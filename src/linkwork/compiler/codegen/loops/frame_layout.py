"""The steps of a program with loops, and the slots of its values in the frame (see `execution_plan`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from linkwork._util.cached_properties import cached_property
from linkwork.compiler.codegen.code_segments import MAX_SEGMENT, best_cut, with_pairs_split
from linkwork.compiler.codegen.loops.execution_plan import (
    CONTROL,
    FRAME,
    SLICE,
    TABLE,
    BasicBlock,
    Column,
    Control,
    FrameAllocator,
    Scope,
    Slot,
)
from linkwork.compiler.codegen.loops.frontal_elimination_code import front_slots
from linkwork.compiler.codegen.loops.in_place_tables import in_place_tables
from linkwork.compiler.codegen.loops.sparse_factors_code import factors_slots
from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.compiler.program import CONSTANT, EXTRACTED, INPUT
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.linalg.frontal_elimination import FrontElimination
from linkwork.expr.linalg.matrix_product import MatrixProduct
from linkwork.expr.linalg.sparse_factors import SparseFactorization, SparseSolution
from linkwork.expr.scalar.block import InstructionList, Region
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = ["has_control", "plan_program"]

MANY = 64  # carried values of a loop; fewer are stored at the end of an iteration


def has_control(listing: InstructionList) -> bool:
    """Return True if any of the instructions is a loop, branch or call."""
    return any(i.operation in CONTROL for i in listing.instructions)


def plan_program(program: InstructionList) -> tuple[Scope, FrameAllocator]:
    """Return the steps of a program with loops, and the allocator of their frame."""
    memory = FrameAllocator(program.elements_in)
    scope = _Planner(program, [Slot(FRAME, k) for k in range(program.elements_in)], memory).plan(whole=True)
    return scope, memory


class _Planner:
    """Planner of one list of instructions: it forms the steps, and assigns slots in memory to the values."""

    def __init__(
        self,
        listing: InstructionList,
        inputs: Sequence[Slot],
        memory: FrameAllocator,
        columns: int = 0,
        carried_loop: tuple[int, Loop] | None = None,  # of a loop: first slot of its carried values, and the loop
    ) -> None:
        self.listing, self.inputs, self.memory = with_pairs_split(listing), inputs, memory
        self.carried_loop = carried_loop
        self.scope = Scope(self.listing, inputs, columns)
        if carried_loop is not None:
            tables = in_place_tables(self.listing, carried_loop[1])
            self.scope.tables = tuple([replace(table, spare=memory.take(table.span)) for table in tables])
        self.bases: dict[int, int] = {}  # of controls: the first slot of their results

    def plan(self, *, whole: bool) -> Scope:
        """Plan the scope; with ``whole``, all results are in the frame at the end."""
        listing, scope = self.listing, self.scope
        instructions = listing.instructions
        bounds = self._bounds()
        step_of = [0] * len(instructions)
        for s, (start, stop) in enumerate(bounds):
            step_of[start:stop] = [s] * (stop - start)
            if not (stop == start + 1 and instructions[start].operation in CONTROL):
                scope.steps.append(BasicBlock(start, stop))
            else:
                scope.steps.append(Control(start, instructions[start].value, 0, ()))
        last = len(bounds) - 1
        needed_last = [r for j, r in enumerate(listing.results[listing.first :]) if j not in scope.stored]
        for k in scope.puts:
            step_of[k] = last
        if self.carried_loop is not None and self.carried_loop[1].conditional:
            self._overwrite_state(step_of, *self.carried_loop)
        self._assign_slots(step_of, last, needed_last, whole)
        for s, step in enumerate(scope.steps):
            if isinstance(step, Control):
                before = scope.steps[s - 1]
                assert isinstance(before, BasicBlock)
                self._control(step, before)
        if whole:
            slots_of_results = {r: self._slot_of(r, scope.last) for r in dict.fromkeys(listing.results)}
            scope.results = tuple([slots_of_results[r] for r in listing.results])
        return scope

    # -- steps

    def _bounds(self) -> list[tuple[int, int]]:
        """Return the instruction indices (start, stop) of each step.

        There is a block of straight-line code before and after every loop, branch or call, and after a loop's
        condition.
        """
        instructions, first = self.listing.instructions, self.listing.first
        cuts = [0]
        head = 1 + max(self.listing.needed(self.listing.results[:first]), default=-1) if first else 0
        while 0 < head < len(instructions) and instructions[head].operation in EXTRACTED:
            head += 1
        bounds: list[tuple[int, int]] = []
        work = [0, *accumulate(self.scope.counts)]

        def add_block(stop: int) -> None:
            start = cuts[-1]
            while stop - start > MAX_SEGMENT and work[stop] - work[start] > MAX_SEGMENT:
                cut = self._best_cut(start, stop)
                bounds.append((start, cut))
                start = cut
            bounds.append((start, stop))
            cuts.append(stop)

        controls = [k for k in self.listing.bundles if instructions[k].operation in CONTROL]
        for k in sorted({*controls, head} if first else controls):
            if first and k == head:
                add_block(k)
                self.scope.head = len(bounds)
            if k < len(instructions) and instructions[k].operation in CONTROL:
                add_block(k)
                bounds.append((k, k + 1))
                cuts.append(k + 1)
        add_block(len(instructions))
        return bounds

    def _best_cut(self, start: int, stop: int) -> int:
        """Return the index in the last quarter of the allowed length with the fewest live values."""
        instructions = self.listing.instructions
        window = range(start + MAX_SEGMENT - MAX_SEGMENT // 4, min(start + MAX_SEGMENT + 1, stop))
        return best_cut(instructions, self._alive, window)

    @cached_property
    def _alive(self) -> list[int]:
        return self.listing.alive()

    # -- slots

    @cached_property
    def _needs_no_slot(self) -> list[bool]:
        """For each instruction, True if it is an input, a constant, a result of a control or kept in a table."""
        instructions = self.listing.instructions
        without = {k for k in self.listing.bundles if instructions[k][0] in CONTROL} | self.scope.puts
        result = [
            operation is INPUT or operation is CONSTANT or (operation is PART and args[0] in without)
            for operation, args, _ in instructions
        ]
        for k in without:
            result[k] = True
        return result

    def _control_of(self, value: int) -> int | None:
        """Return the index of the loop, branch or call of which a value is a result, or None."""
        operation, args, _ = self.listing.instructions[value]
        return args[0] if operation is PART and self.listing.instructions[args[0]].operation in CONTROL else None

    def _overwrite_state(self, step_of: list[int], base: int, loop: Loop) -> None:
        """Let blocks overwrite carried values of a loop with their new values as soon as these are computed.

        This is done if there are many such numbers: their old value is not read afterwards, and the loop does not check
        them for NaN.
        """
        instructions, scope = self.listing.instructions, self.scope
        results = self.listing.results[self.listing.first :]
        last_use: dict[int, int] = {}
        times: dict[int, int] = {}
        for k, instruction in enumerate(instructions):
            last_use |= {a: k for a in instruction.args if instructions[a].operation is INPUT}
        for r in self.listing.results:
            last_use[r] = len(instructions)
            times[r] = times.get(r, 0) + 1
        inputs: dict[int, list[int]] = {}
        for k, (operation, _, number) in enumerate(instructions):
            if operation is INPUT:
                inputs.setdefault(int(number), []).append(k)
        over: set[int] = set()
        for j in range(loop.watched, loop.carried):
            r, old = results[j], inputs.get(j, [])
            operation = instructions[r].operation
            step = scope.steps[step_of[r]]
            if operation.gives != "n" or operation.arity < 0 or operation in (INPUT, CONSTANT, PART):
                continue
            if times[r] > 1 or len(old) != 1 or last_use.get(old[0], -1) > r or step_of[r] < scope.head:
                continue
            assert isinstance(step, BasicBlock)
            step.overwrites[r] = old[0]
            scope.slots[r] = base + j
            over.add(j)
        if len(over) >= MANY:
            scope.overwritten, scope.mask = frozenset(over), self.memory.take(1)
            return
        for step in scope.steps:
            if isinstance(step, BasicBlock):
                for r in step.overwrites:
                    del scope.slots[r]
                step.overwrites.clear()

    def _assign_slots(self, step_of: list[int], last: int, results: Iterable[int], whole: bool) -> None:
        """Assign a slot to every computed value that outlives its block.

        The slot is freed after the last step that reads the value.
        """
        instructions, scope, needs_no_slot = self.listing.instructions, self.scope, self._needs_no_slot
        slots, until = scope.slots, dict[int, int]()
        for reader, (_, args, _) in zip(step_of, instructions, strict=True):  # a control is a step of its own
            for a in args:
                if step_of[a] != reader and not needs_no_slot[a] and a not in slots and until.get(a, 0) <= reader:
                    until[a] = reader
        for r in results:
            if not needs_no_slot[r] and (whole or step_of[r] != last) and r not in scope.slots:
                until[r] = last + whole  # the program's results stay to the end
        for r in self.listing.results[: self.listing.first]:
            if not needs_no_slot[r] and step_of[r] != scope.head - 1:
                until[r] = max(until.get(r, 0), scope.head - 1)
        ending: dict[int, list[int]] = {}
        leaving: dict[int, list[int]] = {}
        for value, end in until.items():
            leaving.setdefault(step_of[value], []).append(value)
            ending.setdefault(end, []).append(value)
        free: list[int] = []
        for s, step in enumerate(scope.steps):
            for value in sorted(leaving.get(s, ())):
                slot = free.pop() if free else self.memory.take(1)
                scope.slots[value] = slot
                assert isinstance(step, BasicBlock)
                step.stores[value] = slot
            free += [scope.slots[value] for value in ending.get(s, ())]

    def existing_slot(self, value: int) -> Slot | None:
        """Return the position in memory where a value already is; None if it must be stored first."""
        operation, _, number = self.listing.instructions[value]
        control = self._control_of(value)
        if control is not None:
            return Slot(FRAME, self.bases[control] + number)
        if operation is INPUT:
            return self.inputs[int(number)]
        return Slot(FRAME, self.scope.slots[value]) if value in self.scope.slots else None

    def _slot_of(self, value: int, before: BasicBlock) -> int:
        """Return the frame slot of a value; the block ``before`` stores the value there if necessary."""
        result = self.existing_slot(value)
        if result is not None and result.area == FRAME:
            return result.number
        slot = self.memory.take(1)
        before.copies.append((value, slot))
        return slot

    def _visible_slot(self, value: int, before: BasicBlock) -> Slot:
        """Return the position at which a body inside this scope reads a value.

        An input of a loop's iteration is read from its column; another value is read from the frame, where the
        preceding block stores it if necessary.
        """
        result = self.existing_slot(value)
        return result if result is not None and result.area != FRAME else Slot(FRAME, self._slot_of(value, before))

    def _adjacent_slots(self, values: Sequence[int], before: BasicBlock, at: int | None = None) -> int:
        """Return the first of adjacent slots to which the block ``before`` copies the values."""
        base = self.memory.take(len(values)) if at is None else at
        before.copies += [(value, base + k) for k, value in enumerate(values)]
        return base

    def _run_of_slots(self, values: Sequence[int], before: BasicBlock) -> int:
        """Return the first of adjacent slots with the values, which the preceding block stores there if necessary."""
        first = self.existing_slot(values[0])
        if first is not None and first.area == FRAME:
            slots = map(self.existing_slot, values)
            if all(slot == (FRAME, first.number + k, 0) for k, slot in enumerate(slots)):
                return first.number
        return self._adjacent_slots(values, before)

    # -- controls

    def _control(self, step: Control, before: BasicBlock) -> None:
        args, bundle = self.listing.instructions[step.number].args, step.bundle
        if isinstance(bundle, Loop):
            self._loop(step, bundle, args, before)
        else:
            self._other(step, bundle, args, before)
        self.bases[step.number] = step.results

    def _loop(self, step: Control, loop: Loop, args: Sequence[int], before: BasicBlock) -> None:
        state, stacked, outside = loop.split(args)
        output_count = 2 if loop.conditional else loop.max_iterations * loop.outputs
        step.results = self.memory.take(loop.carried + output_count)
        self._adjacent_slots(state, before, step.results)
        step.columns, slices = self._columns(stacked, loop, before)
        captured = [self._slot_of(x, before) for x in outside]
        inputs = [Slot(FRAME, step.results + k) for k in range(loop.carried)]
        inputs += slices
        inputs += [Slot(FRAME, slot) for slot in captured]
        step.outside = tuple(dict.fromkeys(captured))
        carried_loop = step.results, loop
        step.scopes = (_Planner(loop.body, inputs, self.memory, len(step.columns), carried_loop).plan(whole=False),)

    def _other(self, step: Control, bundle: MultiResult, args: Sequence[int], before: BasicBlock) -> None:
        if isinstance(bundle, OutlinedCalls):
            step.results = self.memory.take(bundle.slots)
            step.outside = step.arguments = tuple([self._slot_of(x, before) for x in args])
            return
        if isinstance(bundle, FrontElimination):
            step.results = self.memory.take(front_slots(bundle))
            self._adjacent_slots(args[bundle.offset :], before, step.results)
            self._adjacent_slots(args[: bundle.offset], before, step.results + bundle.count)
            return
        if isinstance(bundle, SparseFactorization):
            step.results = self.memory.take(factors_slots(bundle))
            self._adjacent_slots(args, before, step.results)
            return
        step.results = self.memory.take(bundle.count)
        if isinstance(bundle, SparseSolution):
            self._adjacent_slots(args[bundle.offset :], before, step.results)
            self._read_in_place(step, [args[: bundle.offset]], before)
            return
        if isinstance(bundle, MatrixProduct):
            self._read_in_place(step, [args[: bundle.offset], args[bundle.offset :]], before)
            return
        if isinstance(bundle, Subroutine):
            scope, step.frame = self._called(bundle.body)
            self._adjacent_slots(args, before, step.frame)
            step.scopes = (scope,)
            return
        assert isinstance(bundle, Choice)
        step.condition = self._slot_of(args[0], before)
        inputs = [self._visible_slot(x, before) for x in args[1:]]
        step.outside = tuple(dict.fromkeys(position.number for position in inputs if position.area == FRAME))
        step.scopes = tuple(
            _Planner(body, inputs, self.memory, self.scope.columns).plan(whole=False) for body in bundle.bodies
        )

    def _read_in_place(self, step: Control, runs: Sequence[Sequence[int]], before: BasicBlock) -> None:
        """Set the slots from which a step reads its arguments: each sequence in ``runs`` needs adjacent slots.

        The block ``before`` copies a sequence to adjacent slots if it is not stored so already.
        """
        step.arguments = tuple([self._run_of_slots(values, before) for values in runs])
        starts = zip(step.arguments, runs, strict=True)
        step.outside = tuple([start + k for start, run in starts for k in range(len(run))])

    def _called(self, body: Region) -> tuple[Scope, int]:
        """Return the plan of a called subroutine, made once for all calls, and the slot at which its frame begins."""
        if body not in self.memory.called:
            scope, memory = plan_program(body)
            self.memory.called[body] = scope, self.memory.take(memory.size)
        return self.memory.called[body]

    def _columns(self, stacked: Sequence[int], loop: Loop, before: BasicBlock) -> tuple[tuple[Column, ...], list[Slot]]:
        """Return the columns of a loop's inputs, and the position of each input as the loop's body reads it."""
        columns: list[Column] = []
        positions: list[Slot] = []
        for rows, count in zip(stacked, loop.reads, strict=False):  # where another loop has stored them
            positions += [Slot(SLICE, k, len(columns)) for k in range(count)]
            source: Loop = self.listing.instructions[self.listing.instructions[rows].args[0]].value
            start, many = Slot(FRAME, self._slot_of(rows, before)), source.max_iterations
            columns.append(Column(start, source.outputs, count, rows=many if many < loop.max_iterations else 0))
        input_count, first = loop.own_inputs, len(loop.reads)
        for j in range(input_count):
            result = self._column(stacked[first + j :: input_count], before)
            if columns and columns[-1].is_followed_by(result):
                columns[-1].count += 1
                positions.append(Slot(SLICE, columns[-1].count - 1, len(columns) - 1))
                continue
            columns.append(result)
            positions.append(Slot(TABLE if result.table else SLICE, 0, len(columns) - 1))
        return tuple(columns), positions

    def _column(self, values: Sequence[int], before: BasicBlock) -> Column:
        """Return the column of one input of all iterations.

        The column is the place where the values already are, or where the preceding block stores them.
        """
        instructions = self.listing.instructions
        if not values:  # of a loop without iterations, never read
            return Column(Slot(FRAME, 0), 0, 1)
        if len(set(values)) == 1:
            return Column(Slot(FRAME, self._slot_of(values[0], before)), 0, 1)
        if all(instructions[value].operation is CONSTANT for value in values):
            return Column(Slot(TABLE, 0), 1, 1, tuple(instructions[value].value for value in values))
        first, second = self.existing_slot(values[0]), self.existing_slot(values[1])
        if first is not None and second is not None and first.area != TABLE:
            stride = second.number - first.number
            if all(
                self.existing_slot(value) == (first.area, first.number + k * stride, first.column)
                for k, value in enumerate(values)
            ):
                return Column(first, stride, 1)
        return Column(Slot(FRAME, self._adjacent_slots(values, before)), 1, 1)
