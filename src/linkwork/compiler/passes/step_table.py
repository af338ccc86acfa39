"""Steps as a table of outlined calls: one body for the steps of a form, and slots for values between them.

Forms with few steps are merged if they differ only in the signs of terms; the signs then become constants of the calls.
`signs_moved` chooses signs that make most steps equal. The remaining differences are sums that add a value in one step
and subtract it in the next, where other steps determine the value's sign.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from linkwork.compiler.outlined_calls import OutlinedCall, OutlinedCalls
from linkwork.compiler.passes.step_patterns import OF_CONSTANT, Form, Step
from linkwork.compiler.program import CONSTANT, INPUT, Instruction
from linkwork.expr.scalar.block import Region
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["ADD", "MUL", "SUB", "fewest_instructions", "outlined_calls", "unsigned"]


_NO_STEP = -1  # no step uses the value
_MIN_STEPS = 8  # of a form that is not merged with others


@dataclass(slots=True)
class _Group:
    """The steps of one form: their indices, and the indices in the form of the values that other steps use."""

    members: list[int]
    columns: _Columns
    used: list[int]


def outlined_calls(
    instructions: Sequence[Instruction], steps: Sequence[Step], arguments: Sequence[int], results: Sequence[int]
) -> OutlinedCalls:
    """Return steps as outlined calls.

    ``arguments`` are the indices of inputs, and ``results`` are the distinct indices of values that steps compute.
    """
    steps = list(steps)
    groups = _grouped(instructions, steps, _used_values(instructions, steps, results))
    inputs: list[list[int]] = [[]] * len(steps)
    group_of: list[int | None] = [None] * len(steps)
    for number, group in enumerate(groups):
        for j, s in enumerate(group.members):
            group_of[s] = number
            inputs[s] = [column[j] for column in group.columns.values]
    taker = {value: s for s, values in enumerate(inputs) for value in values}  # the last step that uses a value
    blocks = [_blocks(steps, group, taker) for group in groups]
    constants = [group.columns.constants_of_steps() for group in groups]
    nth = [0] * len(groups)
    memory = _Memory(arguments, results, taker, len(steps))
    calls = []
    for s, step in enumerate(steps):
        g = group_of[s]
        if g is not None:
            outputs = memory.allocate(s, [[step.values[k] for k in block] for block in blocks[g]])
            calls.append(OutlinedCall(g, memory.at(inputs[s]), constants[g][nth[g]], outputs))
            nth[g] += 1
            memory.end(s)
    bodies = [
        group.columns.body(steps[group.members[0]], [k for block in result_blocks for k in block])
        for group, result_blocks in zip(groups, blocks, strict=True)
    ]
    return OutlinedCalls(tuple(bodies), tuple(calls), len(results), memory.size)


def fewest_instructions(instructions: Sequence[Instruction], steps: Sequence[Step], results: Sequence[int]) -> int:
    """Return a lower bound of the number of instructions in the bodies of `outlined_calls`.

    Steps can share a body only if their operations are the same, additions and subtractions being alike.
    """
    used = _used_values(instructions, steps, results)
    operations = {
        tuple([ADD if x is SUB else x for x in step.form if x.__class__ is Operation])
        for step in steps
        if not used.isdisjoint(step.values)
    }
    return sum(map(len, operations))


def _grouped(instructions: Sequence[Instruction], steps: list[Step], used: Container[int]) -> list[_Group]:
    groups = []
    for members, signs in _merged_forms(steps):
        alike = [steps[s] for s in members]
        outputs = sorted({k for step in alike for k, value in enumerate(step.values) if value in used})
        if outputs:  # otherwise no step needs its results
            groups.append(_Group(members, _Columns(instructions, alike, signs), outputs))
    return groups


_Signs = Sequence[tuple[float, ...]]  # of the terms of all sums in a form, a column for each


def _merged_forms(steps: list[Step]) -> list[tuple[list[int], _Signs]]:
    """Group the steps that become one body.

    These steps have one form, or forms that differ in signs, which become constants of the calls; forms that differ are
    rewritten in ``steps``.
    """
    result: dict[Form, list[int]] = {}
    for s, step in enumerate(steps):
        result.setdefault(step.form, []).append(s)
    together: dict[Form, list[tuple[Form, list[int]]]] = {}
    for form, members in result.items():
        key = form if len(members) >= _MIN_STEPS else unsigned(form).form
        together.setdefault(key, []).append((form, members))
    groups: list[tuple[list[int], _Signs]] = []
    for forms in together.values():
        if len(forms) == 1:
            groups.append((forms[0][1], ()))
            continue
        signs: dict[int, tuple[float, ...]] = {}
        for form, members in forms:
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
    """Split a step's results by the last step that uses them.

    Each block has adjacent slots, which are freed together.
    """
    result: dict[tuple[int, ...], list[int]] = {}
    for k in group.used:
        takers = tuple([taker.get(steps[s].values[k], _NO_STEP) for s in group.members])
        result.setdefault(takers, []).append(k)
    return list(result.values())


def _used_values(instructions: Sequence[Instruction], steps: Sequence[Step], results: Iterable[int]) -> set[int]:
    """Return the computed values that another step uses, or that are results."""
    used = set(results)
    for step in steps:
        used.update(step.operands)
    return {k for k in used if instructions[k].args}


class _Columns:
    """The operands of steps of one form: a column for each operand of the form, without duplicate columns."""

    def __init__(self, instructions: Sequence[Instruction], steps: Sequence[Step], signs: _Signs) -> None:
        self._instructions, self._count, self._signs = instructions, len(steps), signs
        self.values: list[tuple[int, ...]] = []
        self.constants: list[tuple[int, ...]] = []
        self.signs = [*dict.fromkeys(column for column in signs if len(set(column)) > 1)]
        self._of_position: list[tuple[int, tuple[int, ...]]] = []  # OF_CONSTANT or OF_VALUE, and the column
        known: dict[tuple[int, ...], None] = {}
        kinds = [code for code in steps[0].form if code.__class__ is int and code < 0]
        for kind, column in zip(kinds, zip(*(step.operands for step in steps), strict=True), strict=True):
            self._of_position.append((kind, column))
            if column in known:
                continue
            known[column] = None
            if kind != OF_CONSTANT:
                self.values.append(column)
            elif not self._equal(column):
                self.constants.append(column)

    def _equal(self, column: Sequence[int]) -> bool:
        """Return True if all constants of a column are equal; 0.0 and -0.0 differ."""
        return len({self._number(k) for k in column}) == 1

    def _number(self, k: int) -> tuple[float, float]:
        value = self._instructions[k].value
        return value, math.copysign(1.0, value)

    def constants_of_steps(self) -> list[tuple[float, ...]]:
        """Return the constants of each step, including signs."""
        columns = [[self._instructions[k].value for k in column] for column in self.constants]
        columns += [list(column) for column in self.signs]
        return list(zip(*columns, strict=True)) if columns else [()] * self._count

    def body(self, step: Step, results: Sequence[int]) -> Region:
        """Return the body of the steps of this form."""
        listing: list[Instruction] = []
        number: dict[tuple[int, ...], int] = {}
        for k, column in enumerate([*self.values, *self.constants]):
            number[column] = len(listing)
            listing.append(Instruction(INPUT, (), k))
        sign: dict[tuple[float, ...], int] = {}
        for signs in self.signs:
            sign[signs] = len(listing)
            listing.append(Instruction(INPUT, (), len(listing)))
        takes = len(listing)

        def new(operation: Operation, args: Iterable[int]) -> int:
            listing.append(Instruction(operation, tuple(args)))
            return len(listing) - 1

        computed: list[int] = []
        operands = iter(self._of_position)
        form = iter(step.form)
        terms = iter(self._signs)
        for operation in form:
            assert isinstance(operation, Operation)
            args = []
            for _ in range(operation.arity):
                entry = next(form)
                assert isinstance(entry, int)
                if entry >= 0:
                    args.append(computed[entry])
                    continue
                _, column = next(operands)
                if column not in number:
                    number[column] = len(listing)
                    listing.append(Instruction(CONSTANT, (), self._instructions[column[0]].value))
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
            computed.append(new(operation, args))
        return Region(takes, tuple(listing), tuple([computed[k] for k in results]))


class _Memory:
    """Allocates slots, also adjacent ones; they are freed after the last step that uses one of their values."""

    def __init__(self, arguments: Sequence[int], results: Sequence[int], taker: Mapping[int, int], steps: int) -> None:
        self._slot = {value: k for k, value in enumerate(results)}
        self._slot |= {value: k - len(arguments) for k, value in enumerate(arguments)}
        self._taker = taker
        self.size = len(results)
        self._free: dict[int, list[int]] = {}  # by size
        self._ending: list[list[tuple[int, int]]] = [[] for _ in range(steps)]

    def allocate(self, step: int, blocks: Iterable[Sequence[int]]) -> tuple[int, ...]:
        """Allocate and return the slots of a step's results."""
        slots: list[int] = []
        for values in blocks:
            free = self._free.get(len(values))
            start = free.pop() if free else self._more(len(values))
            until = step
            for k, value in enumerate(values):
                if value not in self._slot and value != _NO_STEP:
                    self._slot[value] = start + k
                    until = max(until, self._taker.get(value, step))
                slots.append(self._slot.get(value, start + k))
            self._ending[until].append((len(values), start))
        return tuple(slots)

    def at(self, values: Iterable[int]) -> tuple[int, ...]:
        """Return the slots of values."""
        return tuple([self._slot[value] for value in values])

    def end(self, step: int) -> None:
        """Free the slots whose last use was this step."""
        for size, start in self._ending[step]:
            self._free.setdefault(size, []).append(start)

    def _more(self, count: int) -> int:
        self.size += count
        return self.size - count


ADD, SUB, MUL = (BY_NAME[name] for name in ("add", "sub", "mul"))


class SignlessForm(NamedTuple):
    """A form with additions instead of subtractions, and terms in an order that is independent of signs."""

    form: Form
    order: tuple[int, ...] | None  # of operands: indices into the form's own order; None: unchanged
    signs: tuple[float, ...]  # of the terms of all sums, in sequence


def unsigned(form: Form) -> SignlessForm:
    """Return a form without signs, with the order of its operands and the signs of its terms."""
    result: list[Operation | int] = []
    order: list[int] = []
    signs: list[float] = []
    entries = iter(form)
    operands = 0
    for operation in entries:
        assert isinstance(operation, Operation)
        args: list[tuple[int, int]] = []  # a position and, for an operand, its index
        for _ in range(operation.arity):
            entry = next(entries)
            assert isinstance(entry, int)
            args.append((entry, operands))
            operands += entry < 0
        if operation is ADD or operation is SUB:
            terms = [(args[0], 1.0), (args[1], 1.0 if operation is ADD else -1.0)]
            if args[0][0] > args[1][0]:
                terms.reverse()
            args = [arg for arg, _ in terms]
            signs += [sign for _, sign in terms]
            operation = ADD
        result.append(operation)
        for entry, operand in args:
            result.append(entry)
            if entry < 0:
                order.append(operand)
    return SignlessForm(tuple(result), None if order == sorted(order) else tuple(order), tuple(signs))
