"""Operation counts of programs; operations in loops count once for each iteration."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from linkwork.compiler.outlined_calls import OutlinedCalls
from linkwork.expr.control.branch_and_call_instructions import Choice, Subroutine
from linkwork.expr.control.loop_instruction import Loop
from linkwork.expr.linalg.matrix_product import MatrixInstruction
from linkwork.expr.scalar.block import InstructionList, bodies_of
from linkwork.expr.scalar.multi_result import PART
from linkwork.expr.scalar.operations import Operation

__all__ = ["WhileLoop", "arithmetic", "counted", "listings", "operations_of", "while_loops"]

_ARITHMETIC = {"mul": 1, "add": 1, "sub": 1, "fma": 2, "fms": 2, "fnma": 2}
L = TypeVar("L", bound=InstructionList)
_Position = tuple[InstructionList, int]  # an instruction: its listing and index


class WhileLoop(NamedTuple):
    """A loop with a condition: its maximum iterations, and the operations of one iteration without inner loops."""

    max_iterations: int
    operations: Mapping[str, int]


def arithmetic(operations: Mapping[str, int]) -> int:
    """Return the number of multiplications, additions and subtractions; a fused pair counts as two."""
    return sum(_ARITHMETIC.get(name, 0) * count for name, count in operations.items())


def listings(listing: InstructionList) -> Iterator[InstructionList]:
    """Yield a program and all bodies in it; equal bodies, which share their code, are yielded once."""
    visited: set[InstructionList] = set()
    waiting: list[InstructionList] = [listing]
    while waiting:
        listed = waiting.pop(0)
        if listed not in visited:
            visited.add(listed)
            yield listed
            waiting[:0] = [body for i in listed.instructions if i.operation.arity < 0 for body in bodies_of(i.value)]


def while_loops(program: InstructionList) -> list[WhileLoop]:
    """Return the loops with a condition in the order of the program; inner loops follow their outer loop."""
    result = []
    for listing, k in _conditional_loops(_without_rules(program)):
        loop = listing.instructions[k].value
        result.append(WhileLoop(loop.max_iterations, _sorted(_counted(loop.body, {}))))
    return result


def counted(program: InstructionList, iterations: int | Sequence[int] = 0) -> Mapping[str, int]:
    """Return the number of executions of each operation, if loops with a condition run ``iterations`` times.

    ``iterations`` is one integer for all of `while_loops`, or a list with one for each. Of the two branches of a
    `cond`, the more expensive one counts; a subroutine counts once for each call. Raises ValueError for a list of the
    wrong length, or for more than ``max_iterations``.
    """
    program = _without_rules(program)
    loops = _conditional_loops(program)
    try:
        counts = list(
            map(operator.index, iterations if isinstance(iterations, Sequence) else [iterations] * len(loops))
        )
    except TypeError:
        counts = [-1]
    limits = [listing.instructions[k].value.max_iterations for listing, k in loops]
    if len(counts) != len(limits) or not all(0 <= n <= limit for n, limit in zip(counts, limits, strict=True)):
        expected = f"one for each of the {len(limits)} loops with a condition, which do at most {limits}"
        raise ValueError(f"iterations: expected integers, {expected}, got {iterations!r}")
    return _sorted(_counted(program, dict(zip(loops, counts, strict=True))))


def _without_rules(listing: L) -> L:
    """Return a listing and its bodies without rules of differentiation, as it is compiled."""
    changed = [
        i._replace(value=i.value.with_bodies(_without_rules)) if i.operation.arity < 0 else i
        for i in listing.instructions
    ]
    return listing.rebuilt(changed, listing.results).without_rules()


def _conditional_loops(program: InstructionList) -> list[_Position]:
    result: list[_Position] = []
    for listing in listings(program):
        for k, instruction in enumerate(listing.instructions):
            if isinstance(instruction.value, Loop) and instruction.value.conditional:
                result.append((listing, k))
    return result


def operations_of(operation: Operation, value: Any) -> Mapping[str, int]:
    """Return the operations of one node of a graph; a loop with a condition counts with no iteration."""
    return _of_one(operation, value.with_bodies(_without_rules) if operation.arity < 0 else value, 0, {})


def _counted(listing: InstructionList, iterations: Mapping[_Position, int]) -> Counter[str]:
    total: Counter[str] = Counter()
    for k, (operation, _, value) in enumerate(listing.instructions):
        if operation.arity >= 0:  # the common case
            if operation.arity and operation is not PART:
                total[operation.name] += 1
        else:
            times = iterations.get((listing, k), 0) if isinstance(value, Loop) else 0
            total.update(_of_one(operation, value, times, iterations))
    return total


def _of_one(operation: Operation, value: Any, times: int, iterations: Mapping[_Position, int]) -> Counter[str]:
    """Count the operations of one instruction, with ``times`` iterations if it is a loop with a condition."""
    total: Counter[str] = Counter()
    if isinstance(value, Loop):
        times_run = times if value.conditional else value.max_iterations
        total.update({name: times_run * count for name, count in _counted(value.body, iterations).items()})
        if value.conditional:  # the condition is evaluated once more
            condition = replace(value.body, results=value.body.results[:1], first=1).pruned()
            total.update(_counted(condition, iterations))
    elif isinstance(value, Choice):
        yes, no = (_counted(body, iterations) for body in value.bodies)
        total.update(yes if yes.total() >= no.total() else no)
    elif isinstance(value, Subroutine):
        total.update(_counted(value.body, iterations))
    elif isinstance(value, OutlinedCalls):
        for body, runs in value.runs:
            total.update({name: runs * count for name, count in _counted(body, iterations).items()})
    elif isinstance(value, MatrixInstruction):
        total.update(value.operations)
    elif operation.arity and operation is not PART:
        total[operation.name] += 1
    return total


def _sorted(counts: Counter[str]) -> Mapping[str, int]:
    return {name: count for name, count in sorted(counts.items()) if count}
