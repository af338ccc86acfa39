"""Steps as rows of a table: one body for those of a form, and places for the numbers that wait between them.

A form that few steps have is one with those from which it differs in signs alone.

Forms that differ in the signs of terms alone, as one: the signs are then numbers that rows of the table have.

`signs` finds signs for most steps that make them equal.  What is left are sums that add in one step and subtract in the
next, since what comes from two other steps has a sign of its own.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from linkwork.compiler.outlined_calls import OutlinedCall, Rows
from linkwork.compiler.passes.outlining.step_patterns import OF_CONSTANT, Form, Step
from linkwork.compiler.program import CONSTANT, INPUT, Instruction
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["ADD", "MUL", "SUB", "rows_of", "unsigned"]


_NOBODY = -1  # takes a value
_OFTEN = 8  # steps that have a form for themselves


@dataclass(slots=True)
class _Group:
    """The steps of one form: their numbers, and the places in the form of what they leave."""

    members: list[int]
    columns: _Columns
    kept: list[int]


def rows_of(
    instructions: Sequence[Instruction], steps: Sequence[Step], arguments: Sequence[int], results: Sequence[int]
) -> Rows:
    """Steps as rows.  Arguments are the numbers of inputs, results of values that steps compute, each there once."""
    steps = list(steps)
    groups = _grouped(instructions, steps, _wanted(instructions, steps, results))
    taken: list[list[int]] = [[]] * len(steps)
    group_of: list[int | None] = [None] * len(steps)
    for number, group in enumerate(groups):
        for j, s in enumerate(group.members):
            group_of[s] = number
            taken[s] = [column[j] for column in group.columns.values]
    taker = {value: s for s, values in enumerate(taken) for value in values}  # the last one
    blocks = [_blocks(steps, group, taker) for group in groups]
    constants = [group.columns.numbers() for group in groups]
    nth = [0] * len(groups)
    memory = _Memory(arguments, results, taker, len(steps))
    rows = []
    for s, step in enumerate(steps):
        g = group_of[s]
        if g is not None:
            left = memory.keep(s, [[step.values[k] for k in block] for block in blocks[g]])
            rows.append(OutlinedCall(g, memory.at(taken[s]), constants[g][nth[g]], left))
            nth[g] += 1
            memory.end(s)
    bodies = [
        group.columns.body(steps[group.members[0]], [k for block in some for k in block])
        for group, some in zip(groups, blocks, strict=True)
    ]
    return Rows(tuple(bodies), tuple(rows), len(results), memory.size)


def _grouped(instructions: Sequence[Instruction], steps: list[Step], wanted: Container[int]) -> list[_Group]:
    groups = []
    for members, signs in _alike(steps):
        alike = [steps[s] for s in members]
        kept = sorted({k for step in alike for k, value in enumerate(step.values) if value in wanted})
        if kept:  # otherwise nobody needs what it computes
            groups.append(_Group(members, _Columns(instructions, alike, signs), kept))
    return groups


_Signs = Sequence[tuple[float, ...]]  # of the terms of all sums in a form, a column for each


def _alike(steps: list[Step]) -> list[tuple[list[int], _Signs]]:
    """The steps that become one body: of a form, or of forms that differ in signs, whose sums then have signs.

    These are written anew in ``steps``.
    """
    result: dict[Form, list[int]] = {}
    for s, step in enumerate(steps):
        result.setdefault(step.form, []).append(s)
    together: dict[Form, list[tuple[Form, list[int]]]] = {}
    for form, members in result.items():
        key = form if len(members) >= _OFTEN else unsigned(form).form
        together.setdefault(key, []).append((form, members))
    groups: list[tuple[list[int], _Signs]] = []
    for some in together.values():
        if len(some) == 1:
            groups.append((some[0][1], ()))
            continue
        signs: dict[int, tuple[float, ...]] = {}
        for form, members in some:
            plain = unsigned(form)
            for s in members:
                operands = steps[s].operands
                if plain.order is not None:
                    operands = [operands[k] for k in plain.order]
                steps[s] = replace(steps[s], form=plain.form, operands=operands)
                signs[s] = plain.signs
        groups.append((sorted(signs), list(zip(*[signs[s] for s in sorted(signs)], strict=True))))
    return sorted(groups, key=lambda group: group[0][0])


def _blocks(steps: Sequence[Step], group: _Group, taker: Mapping[int, int]) -> list[list[int]]:
    """What a step leaves, apart by who takes it last: those stand side by side, and their places are free together."""
    result: dict[tuple[int, ...], list[int]] = {}
    for k in group.kept:
        takers = tuple([taker.get(steps[s].values[k], _NOBODY) for s in group.members])
        result.setdefault(takers, []).append(k)
    return list(result.values())


def _wanted(instructions: Sequence[Instruction], steps: Sequence[Step], results: Iterable[int]) -> set[int]:
    """The computed values that another step takes, or that are results."""
    wanted = set(results)
    for step in steps:
        wanted.update(step.operands)
    return {k for k in wanted if instructions[k].args}


class _Columns:
    """The operands of steps of one form, a column for each place in it, and equal columns one."""

    def __init__(self, instructions: Sequence[Instruction], steps: Sequence[Step], signs: _Signs) -> None:
        self._instructions, self._count, self._signs = instructions, len(steps), signs
        self.values: list[tuple[int, ...]] = []
        self.constants: list[tuple[int, ...]] = []
        self.signs = [*dict.fromkeys(column for column in signs if len(set(column)) > 1)]
        self._of_place: list[tuple[int, tuple[int, ...]]] = []  # OF_CONSTANT or not, and the column
        known: dict[tuple[int, ...], None] = {}
        kinds = [code for code in steps[0].form if code.__class__ is int and code < 0]
        for kind, column in zip(kinds, zip(*(step.operands for step in steps), strict=True), strict=True):
            self._of_place.append((kind, column))
            if column in known:
                continue
            known[column] = None
            if kind != OF_CONSTANT:
                self.values.append(column)
            elif not self._equal(column):
                self.constants.append(column)

    def _equal(self, column: Sequence[int]) -> bool:
        """Whether a column of constants is one number; zeros of both signs are two."""
        return len({self._number(k) for k in column}) == 1

    def _number(self, k: int) -> tuple[float, float]:
        value = self._instructions[k].value
        return value, math.copysign(1.0, value)

    def numbers(self) -> list[tuple[float, ...]]:
        """The constants of each step, and its signs."""
        columns = [[self._instructions[k].value for k in column] for column in self.constants]
        columns += [list(column) for column in self.signs]
        return list(zip(*columns, strict=True)) if columns else [()] * self._count

    def body(self, step: Step, results: Sequence[int]) -> Region:
        """What steps of this form compute."""
        kept: list[Instruction] = []
        number: dict[tuple[int, ...], int] = {}
        for k, column in enumerate([*self.values, *self.constants]):
            number[column] = len(kept)
            kept.append(Instruction(INPUT, (), k))
        sign: dict[tuple[float, ...], int] = {}
        for signs in self.signs:
            sign[signs] = len(kept)
            kept.append(Instruction(INPUT, (), len(kept)))
        takes = len(kept)

        def new(operation: Operation, args: Iterable[int]) -> int:
            kept.append(Instruction(operation, tuple(args)))
            return len(kept) - 1

        own: list[int] = []
        operands = iter(self._of_place)
        form = iter(step.form)
        terms = iter(self._signs)
        for operation in form:
            assert isinstance(operation, Operation)
            args = []
            for _ in range(operation.arity):
                place = next(form)
                assert isinstance(place, int)
                if place >= 0:
                    args.append(own[place])
                    continue
                _, column = next(operands)
                if column not in number:
                    number[column] = len(kept)
                    kept.append(Instruction(CONSTANT, (), self._instructions[column[0]].value))
                args.append(number[column])
            if self._signs and operation is ADD:
                a, b = args
                of_a, of_b = next(terms), next(terms)
                a = new(MUL, (sign[of_a], a)) if of_a in sign else a
                b = new(MUL, (sign[of_b], b)) if of_b in sign else b
                if of_a not in sign and of_a[0] < 0.0:
                    operation, args = SUB, [b, a]
                elif of_b not in sign and of_b[0] < 0.0:
                    operation, args = SUB, [a, b]
                else:
                    args = [a, b]
            own.append(new(operation, args))
        return Region(takes, tuple(kept), tuple([own[k] for k in results]))


class _Memory:
    """Hands out places, some side by side: they are free again after the last step that takes one of their values."""

    def __init__(self, arguments: Sequence[int], results: Sequence[int], taker: Mapping[int, int], steps: int) -> None:
        self._place = {value: k for k, value in enumerate(results)}
        self._place |= {value: k - len(arguments) for k, value in enumerate(arguments)}
        self._taker = taker
        self.size = len(results)
        self._free: dict[int, list[int]] = {}  # by size
        self._ending: list[list[tuple[int, int]]] = [[] for _ in range(steps)]

    def keep(self, step: int, blocks: Iterable[Sequence[int]]) -> tuple[int, ...]:
        """The places where a step leaves values."""
        places: list[int] = []
        for values in blocks:
            free = self._free.get(len(values))
            start = free.pop() if free else self._more(len(values))
            until = step
            for k, value in enumerate(values):
                if value not in self._place and value != _NOBODY:
                    self._place[value] = start + k
                    until = max(until, self._taker.get(value, step))
                places.append(self._place.get(value, start + k))
            self._ending[until].append((len(values), start))
        return tuple(places)

    def at(self, values: Iterable[int]) -> tuple[int, ...]:
        """The places where values stand."""
        return tuple([self._place[value] for value in values])

    def end(self, step: int) -> None:
        """What was taken for the last time leaves its places free."""
        for size, start in self._ending[step]:
            self._free.setdefault(size, []).append(start)

    def _more(self, count: int) -> int:
        self.size += count
        return self.size - count


ADD, SUB, MUL = (BY_NAME[name] for name in ("add", "sub", "mul"))


class SignlessForm(NamedTuple):
    """A form with sums in the place of additions and subtractions, terms in an order that depends on no sign."""

    form: Form
    order: tuple[int, ...] | None  # of operands: which of the form's own comes next; None: as they are
    signs: tuple[float, ...]  # of the terms of all sums, one after the other


def unsigned(form: Form) -> SignlessForm:
    result: list[Operation | int] = []
    order: list[int] = []
    signs: list[float] = []
    rest = iter(form)
    operands = 0
    for operation in rest:
        assert isinstance(operation, Operation)
        args: list[tuple[int, int]] = []  # a place and, of an operand, which it is
        for _ in range(operation.arity):
            place = next(rest)
            assert isinstance(place, int)
            args.append((place, operands))
            operands += place < 0
        if operation is ADD or operation is SUB:
            terms = [(args[0], 1.0), (args[1], 1.0 if operation is ADD else -1.0)]
            if args[0][0] > args[1][0]:
                terms.reverse()
            args = [arg for arg, _ in terms]
            signs += [sign for _, sign in terms]
            operation = ADD
        result.append(operation)
        for place, operand in args:
            result.append(place)
            if place < 0:
                order.append(operand)
    return SignlessForm(tuple(result), None if order == sorted(order) else tuple(order), tuple(signs))
