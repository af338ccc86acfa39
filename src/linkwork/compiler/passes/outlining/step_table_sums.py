"""Forms that differ in the signs of terms alone, as one: the signs are then numbers that rows of the table have.

`signs` finds signs for most steps that make them equal.  What is left are sums that add in one step and subtract in the
next, since what comes from two other steps has a sign of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from linkwork.compiler.passes.outlining.step_patterns import Form
from linkwork.expr.scalar.operations import BY_NAME, Operation

__all__ = ["ADD", "MUL", "SUB", "Unsigned", "unsigned"]

ADD, SUB, MUL = (BY_NAME[name] for name in ("add", "sub", "mul"))


class Unsigned(NamedTuple):
    """A form with sums in the place of additions and subtractions, terms in an order that depends on no sign."""

    form: Form
    order: tuple[int, ...] | None  # of operands: which of the form's own comes next; None: as they are
    signs: tuple[float, ...]  # of the terms of all sums, one after the other


def unsigned(form: Form) -> Unsigned:
    found: list[Operation | int] = []
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
        found.append(operation)
        for place, operand in args:
            found.append(place)
            if place < 0:
                order.append(operand)
    return Unsigned(tuple(found), None if order == sorted(order) else tuple(order), tuple(signs))
