"""In which steps a program with loops runs, and where in the frame its values wait (see `steps`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate

from linkwork.compiler.codegen.code_segments import EXTRACTED, MAX_SEGMENT, best_cut, with_pairs_split
from linkwork.compiler.loops.execution_plan import (
    CONTROL,
    FRAME,
    SLICE,
    TABLE,
    Column,
    Control,
    Memory,
    Piece,
    Scope,
    Spot,
)
from linkwork.compiler.loops.frontal_elimination_code import front_places
from linkwork.compiler.loops.in_place_tables import stored_tables
from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.compiler.program import CONSTANT, INPUT
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.linalg.frontal_elimination import FrontElimination
from linkwork.expr.scalar.block import InstructionList, Region
from linkwork.expr.scalar.multi_result import PART, MultiResult

__all__ = ["has_control", "plan_program"]

MANY = 64  # numbers that a loop carries on: fewer are put in place at the end of a step


def has_control(listing: InstructionList) -> bool:
    """Whether some of the instructions are loops, choices or calls."""
    return any(i.operation in CONTROL for i in listing.instructions)


def plan_program(program: InstructionList) -> tuple[Scope, Memory]:
    """The steps of a program that has loops in it, and the frame that they work in."""
    memory = Memory(program.elements_in)
    scope = _Planner(program, [Spot(FRAME, k) for k in range(program.elements_in)], memory).plan(whole=True)
    return scope, memory


class _Planner:
    """Plans one scope."""

    def __init__(
        self,
        listing: InstructionList,
        inputs: Sequence[Spot],
        memory: Memory,
        columns: int = 0,
        own: tuple[int, Loop] | None = None,  # of a loop: where what it carries stands
    ) -> None:
        self.listing, self.inputs, self.memory = with_pairs_split(listing), inputs, memory
        self.own = own
        self.scope = Scope(self.listing, inputs, columns)
        if own is not None:
            tables = stored_tables(self.listing, own[1])
            self.scope.tables = tuple([replace(table, spare=memory.take(table.span)) for table in tables])
        self.bases: dict[int, int] = {}  # of controls: the first place of their results

    def plan(self, *, whole: bool) -> Scope:
        """``whole`` says that the results are to be in the frame when all is done."""
        listing, scope = self.listing, self.scope
        instructions = listing.instructions
        bounds = self._bounds()
        step_of = [0] * len(instructions)
        for s, (start, stop) in enumerate(bounds):
            step_of[start:stop] = [s] * (stop - start)
            if not (stop == start + 1 and instructions[start].operation in CONTROL):
                scope.steps.append(Piece(start, stop))
            else:
                scope.steps.append(Control(start, instructions[start].value, 0, ()))
        last = len(bounds) - 1
        needed_last = [r for j, r in enumerate(listing.results[listing.first :]) if j not in scope.stored]
        for k in scope.puts:
            step_of[k] = last
        if self.own is not None and self.own[1].conditional:
            self._put_over(step_of, *self.own)
        self._place_what_waits(step_of, last, needed_last, whole)
        for s, step in enumerate(scope.steps):
            if isinstance(step, Control):
                before = scope.steps[s - 1]
                assert isinstance(before, Piece)
                self._control(step, before)
        if whole:
            places = {r: self._placed(r, scope.last) for r in dict.fromkeys(listing.results)}
            scope.results = tuple([places[r] for r in listing.results])
        return scope

    # -- steps

    def _bounds(self) -> list[tuple[int, int]]:
        """Where steps begin and end: a piece stands before and after every control, and after a loop's condition."""
        instructions, first = self.listing.instructions, self.listing.first
        cuts = [0]
        head = 1 + max(self.listing.needed(self.listing.results[:first]), default=-1) if first else 0
        while 0 < head < len(instructions) and instructions[head].operation in EXTRACTED:
            head += 1
        bounds: list[tuple[int, int]] = []
        work = [0, *accumulate(self.scope.counts)]

        def piece(stop: int) -> None:
            start = cuts[-1]
            while stop - start > MAX_SEGMENT and work[stop] - work[start] > MAX_SEGMENT:
                cut = self._best_cut(start, stop)
                bounds.append((start, cut))
                start = cut
            bounds.append((start, stop))
            cuts.append(stop)

        for k, instruction in enumerate(instructions):
            if first and k == head:
                piece(k)
                self.scope.head = len(bounds)
            if instruction.operation in CONTROL:
                piece(k)
                bounds.append((k, k + 1))
                cuts.append(k + 1)
        if first and head == len(instructions):
            piece(head)
            self.scope.head = len(bounds)
        piece(len(instructions))
        return bounds

    def _best_cut(self, start: int, stop: int) -> int:
        """In the last quarter of what is allowed, where the fewest values are alive."""
        instructions = self.listing.instructions
        window = range(start + MAX_SEGMENT - MAX_SEGMENT // 4, min(start + MAX_SEGMENT + 1, stop))
        return best_cut(instructions, self._alive, window)

    @cached_property
    def _alive(self) -> list[int]:
        return self.listing.alive()

    # -- places

    def _free(self, value: int) -> bool:
        """Whether a value can be had in every piece, or in none: leaves, results of controls, parts of tables."""
        operation, args, _ = self.listing.instructions[value]
        if value in self.scope.puts or (operation is PART and args[0] in self.scope.puts):
            return True
        return operation in (INPUT, CONSTANT) or self._control_of(value) is not None or operation in CONTROL

    def _control_of(self, value: int) -> int | None:
        """The control that this value is a result of."""
        operation, args, _ = self.listing.instructions[value]
        return args[0] if operation is PART and self.listing.instructions[args[0]].operation in CONTROL else None

    def _put_over(self, step_of: list[int], base: int, loop: Loop) -> None:
        """Find what a loop carries on that can be put where it stood as soon as it is computed: numbers of which the
        old one is not read any more, and that nobody looks at for NaN.
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
            assert isinstance(step, Piece)
            step.over[r] = old[0]
            scope.places[r] = base + j
            over.add(j)
        if len(over) >= MANY:
            scope.over, scope.mask = frozenset(over), self.memory.take(1)
            return
        for step in scope.steps:
            if isinstance(step, Piece):
                for r in step.over:
                    del scope.places[r]
                step.over.clear()

    def _place_what_waits(self, step_of: list[int], last: int, results: Iterable[int], whole: bool) -> None:
        """Give every computed value that outlives its piece a place, free again after the last step that takes it."""
        instructions, scope = self.listing.instructions, self.scope
        until: dict[int, int] = {}
        for k, instruction in enumerate(instructions):
            control = instruction.operation in CONTROL
            for a in instruction.args:
                if (control or step_of[a] != step_of[k]) and not self._free(a) and a not in scope.places:
                    until[a] = max(until.get(a, 0), step_of[k])
        for r in results:
            if not self._free(r) and (whole or step_of[r] != last) and r not in scope.places:
                until[r] = last + whole  # what the program gives stays to the end
        for r in self.listing.results[: self.listing.first]:
            if not self._free(r) and step_of[r] != scope.head - 1:
                until[r] = max(until.get(r, 0), scope.head - 1)
        ending: dict[int, list[int]] = {}
        leaving: dict[int, list[int]] = {}
        for value, end in until.items():
            leaving.setdefault(step_of[value], []).append(value)
            ending.setdefault(end, []).append(value)
        free: list[int] = []
        for s, step in enumerate(scope.steps):
            for value in sorted(leaving.get(s, ())):
                place = free.pop() if free else self.memory.take(1)
                scope.places[value] = place
                assert isinstance(step, Piece)
                step.left[value] = place
            free += [scope.places[value] for value in ending.get(s, ())]

    def natural(self, value: int) -> Spot | None:
        """Where a value stands anyway."""
        operation, _, number = self.listing.instructions[value]
        control = self._control_of(value)
        if control is not None:
            return Spot(FRAME, self.bases[control] + number)
        if operation is INPUT:
            return self.inputs[int(number)]
        return Spot(FRAME, self.scope.places[value]) if value in self.scope.places else None

    def _placed(self, value: int, before: Piece) -> int:
        """A place of this value in the frame; the piece before puts it there if it is not."""
        result = self.natural(value)
        if result is not None and result.area == FRAME:
            return result.number
        place = self.memory.take(1)
        before.placed.append((value, place))
        return place

    def _seen(self, value: int, before: Piece) -> Spot:
        """Where a body that gets this scope's columns finds the value: inputs of a loop's step stay where they are."""
        result = self.natural(value)
        return result if result is not None and result.area != FRAME else Spot(FRAME, self._placed(value, before))

    def _filled(self, values: Sequence[int], before: Piece, at: int | None = None) -> int:
        """Places side by side that the piece before fills with these values."""
        base = self.memory.take(len(values)) if at is None else at
        before.placed += [(value, base + k) for k, value in enumerate(values)]
        return base

    # -- controls

    def _control(self, step: Control, before: Piece) -> None:
        args, bundle = self.listing.instructions[step.number].args, step.bundle
        if isinstance(bundle, Loop):
            self._loop(step, bundle, args, before)
        else:
            self._other(step, bundle, args, before)
        self.bases[step.number] = step.results

    def _loop(self, step: Control, loop: Loop, args: Sequence[int], before: Piece) -> None:
        state, stacked, outside = loop.split(args)
        rest = 2 if loop.conditional else loop.max_iterations * loop.kept
        step.results = self.memory.take(loop.carried + rest)
        self._filled(state, before, step.results)
        step.columns, slices = self._columns(stacked, loop, before)
        taken = [self._placed(x, before) for x in outside]
        inputs = [Spot(FRAME, step.results + k) for k in range(loop.carried)]
        inputs += slices
        inputs += [Spot(FRAME, place) for place in taken]
        step.outside = tuple(dict.fromkeys(taken))
        own = step.results, loop
        step.scopes = (_Planner(loop.body, inputs, self.memory, len(step.columns), own).plan(whole=False),)

    def _other(self, step: Control, bundle: MultiResult, args: Sequence[int], before: Piece) -> None:
        if isinstance(bundle, OutlinedCalls):
            step.results = self.memory.take(bundle.slots)
            step.outside = step.arguments = tuple([self._placed(x, before) for x in args])
            return
        if isinstance(bundle, FrontElimination):
            step.results = self.memory.take(front_places(bundle))
            self._filled(args[bundle.given :], before, step.results)
            self._filled(args[: bundle.given], before, step.results + bundle.count)
            return
        step.results = self.memory.take(bundle.count)
        if isinstance(bundle, Subroutine):
            scope, step.frame = self._called(bundle.body)
            self._filled(args, before, step.frame)
            step.scopes = (scope,)
            return
        assert isinstance(bundle, Choice)
        step.condition = self._placed(args[0], before)
        inputs = [self._seen(x, before) for x in args[1:]]
        step.outside = tuple(dict.fromkeys(spot.number for spot in inputs if spot.area == FRAME))
        step.scopes = tuple(
            _Planner(body, inputs, self.memory, self.scope.columns).plan(whole=False) for body in bundle.bodies
        )

    def _called(self, body: Region) -> tuple[Scope, int]:
        """The scope of what is called, planned once, and where its frame begins."""
        if body not in self.memory.called:
            scope, memory = plan_program(body)
            self.memory.called[body] = scope, self.memory.take(memory.size)
        return self.memory.called[body]

    def _columns(self, stacked: Sequence[int], loop: Loop, before: Piece) -> tuple[tuple[Column, ...], list[Spot]]:
        """Where the inputs of a loop's steps stand, and where its body finds each."""
        columns: list[Column] = []
        spots: list[Spot] = []
        for j in range(loop.inputs):
            result = self._column(stacked[j :: loop.inputs], before)
            if columns and columns[-1].goes_on_with(result):
                columns[-1].count += 1
                spots.append(Spot(SLICE, columns[-1].count - 1, len(columns) - 1))
                continue
            columns.append(result)
            spots.append(Spot(TABLE if result.table else SLICE, 0, len(columns) - 1))
        return tuple(columns), spots

    def _column(self, values: Sequence[int], before: Piece) -> Column:
        """One number of each step: where it stands anyway, or where the piece before puts it."""
        instructions = self.listing.instructions
        if not values:  # of a loop of no steps, which nobody reads
            return Column(Spot(FRAME, 0), 0, 1)
        if len(set(values)) == 1:
            return Column(Spot(FRAME, self._placed(values[0], before)), 0, 1)
        if all(instructions[value].operation is CONSTANT for value in values):
            return Column(Spot(TABLE, 0), 1, 1, tuple(instructions[value].value for value in values))
        spots = [self.natural(value) for value in values]
        first, second = spots[:2]
        if first is not None and second is not None:
            stride = second.number - first.number
            regular = (Spot(first.area, first.number + k * stride, first.column) for k in range(len(spots)))
            if first.area != TABLE and all(spot == wanted for spot, wanted in zip(spots, regular, strict=True)):
                return Column(first, stride, 1)
        return Column(Spot(FRAME, self._filled(values, before)), 1, 1)
