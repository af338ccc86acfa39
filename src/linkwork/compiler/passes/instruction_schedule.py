"""Instruction scheduling: a list schedule for few live values.

Among the instructions whose arguments are computed, the next is the one that ends the most live values. Of equal
instructions the first in the trace is next, since the order of the recursions is already good. In a short program,
latency costs more than registers, so of equal instructions the one with the longest dependent chain to a result is
next. Sines and cosines of inputs come first, while a call has few registers to save. Inputs and constants are placed
just before their first use.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import chain, compress
from operator import itemgetter
from typing import TypeVar

from linkwork.compiler.program import CONSTANT, COS_OF, INPUT, SIN_OF, SINCOS
from linkwork.expr.scalar.block import InstructionList
from linkwork.expr.scalar.multi_result import PART

__all__ = ["schedule", "trace_order"]

L = TypeVar("L", bound=InstructionList)

_EARLY = frozenset((SINCOS, SIN_OF, COS_OF))
_SHORT = 1300  # instructions; in longer programs an order other than the trace's exceeds the registers


def schedule(program: L) -> L:
    instructions = program.instructions
    leaf = [i[0] is INPUT or i[0] is CONSTANT for i in instructions]
    users: list[list[int]] = [[] for _ in instructions]
    needs: list[Sequence[int]] = []  # distinct arguments of each instruction that are computed
    for k, (_, args, _) in enumerate(instructions):
        computed: Sequence[int]
        if len(args) == 1:
            computed = () if leaf[args[0]] else args
        elif len(args) == 2 and args[0] != args[1]:
            a, b = args
            computed = () if leaf[a] and leaf[b] else (b,) if leaf[a] else (a,) if leaf[b] else args
        else:
            computed = tuple({a for a in args if not leaf[a]})
        needs.append(computed)
        for a in computed:
            users[a].append(k)
    missing = [*map(len, needs)]  # number of arguments that are not computed yet
    uses_left = [*map(len, users)]
    order: list[int] = []
    placed = bytearray(len(instructions))
    stale: dict[int, int] = {}
    chains = _chain_lengths(program) if len(instructions) <= _SHORT else [0] * len(instructions)
    first = program.needed(program.results[: program.first]) if program.first else ()
    # a heap of (can wait, change of live values, minus length of the dependent chain, index in the trace)
    ready: list[tuple[bool, int, int, int]] = []

    def offer(k: int) -> None:
        cost = 1 if users[k] else 0  # the change of the number of live values by instruction k
        for a in needs[k]:
            if uses_left[a] == 1:
                cost -= 1
        stale[k] = cost
        heapq.heappush(ready, (k not in first, cost, -chains[k], k))

    def append(k: int) -> None:
        for a in instructions[k][1]:
            if leaf[a] and not placed[a]:
                placed[a] = 1
                order.append(a)
        placed[k] = 1
        order.append(k)
        for a in needs[k]:
            uses_left[a] -= 1
            if uses_left[a] == 1:  # the only remaining use may have become cheaper
                for user in users[a]:
                    if not placed[user] and missing[user] == 0:
                        offer(user)
        for user in users[k]:
            missing[user] -= 1
            if missing[user] == 0:
                offer(user)

    for k, instruction in enumerate(instructions):
        if instruction.operation in _EARLY and missing[k] == 0 and (not first or k in first):
            append(k)
    for k in range(len(instructions)):
        if not leaf[k] and not placed[k] and missing[k] == 0:
            offer(k)
    while ready:
        _, value, _, k = heapq.heappop(ready)
        if not placed[k] and stale[k] == value:
            append(k)
    for r in program.results:
        if not placed[r]:
            placed[r] = True
            order.append(r)
    return program.ordered(order)


def trace_order(program: L) -> L:
    """Return the program in traced order, without instructions that no result needs: a schedule for quick code.

    As in `schedule`, instructions that a loop's condition needs come first, then sines and cosines of inputs.  Inputs
    and constants come just before their first use.  The extraction of results follows directly after an instruction of
    several results.
    """
    instructions = program.instructions
    needed = program.flags(program.results)
    head = program.flags(program.results[: program.first]) if program.first else None
    placed = bytearray(len(needed))
    order: list[int] = []
    add = order.append
    sines: dict[int, None] = {}  # those of inputs and constants
    followers: dict[int, list[int]] = {}  # of instructions of several results: those that select one
    if SINCOS in program.kinds:
        has_early = map(_EARLY.__contains__, map(itemgetter(0), instructions))
        for k in compress(range(len(needed)), has_early):
            operation, args, _ = instructions[k]
            if args[0] in sines or not instructions[args[0]][1]:
                sines[k] = None
            if operation is SINCOS:
                followers[k] = []
            elif needed[k]:
                followers[args[0]].append(k)
    for k in program.bundles:
        end = k + 1
        while end < len(needed) and instructions[end][0] is PART and instructions[end][1][0] == k:
            end += 1
        followers[k] = [follower for follower in range(k + 1, end) if needed[follower]]
    for part in (needed,) if head is None else (head, needed):
        for k in chain([k for k in sines if part[k]], compress(range(len(part)), part)):
            args = instructions[k][1]
            if args and not placed[k]:
                for a in args:
                    if not placed[a]:  # an input or a constant: all else was placed before
                        placed[a] = 1
                        add(a)
                placed[k] = 1
                add(k)
                if k in followers:
                    order += followers[k]
                    for follower in followers[k]:
                        placed[follower] = 1
    for r in program.results:
        if not placed[r]:
            placed[r] = 1
            add(r)
    return program.ordered(order)


def _chain_lengths(program: InstructionList) -> list[int]:
    """Return the length of the longest chain of instructions that depends on each instruction."""
    lengths = [0] * len(program.instructions)
    for k in range(len(lengths) - 1, -1, -1):
        for a in program.instructions[k].args:
            lengths[a] = max(lengths[a], lengths[k] + 1)
    return lengths
