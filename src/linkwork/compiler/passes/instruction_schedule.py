"""Instruction scheduling: a list schedule for few live values.

Of the instructions whose arguments are computed, the next is the one that ends the most live values. Ties go to the
first in the order of the trace, which is the order of the recursions and already a good one; in a short program, where
latency costs more than registers, to the one with the longest dependent chain to a result. Sines and cosines of inputs
come first, while no registers are in use that a call would have to save. Inputs and constants are placed just before
their first use.
"""

from __future__ import annotations

import heapq
from typing import TypeVar

from linkwork.compiler.program import CONSTANT, COS_OF, INPUT, SIN_OF, SINCOS
from linkwork.expr.scalar.block import InstructionList

__all__ = ["schedule"]

L = TypeVar("L", bound=InstructionList)

_SHORT = 1300  # instructions; in longer programs an order other than the trace's exceeds the registers


def schedule(program: L) -> L:
    instructions = program.instructions
    leaf = [i.operation is INPUT or i.operation is CONSTANT for i in instructions]
    users: list[list[int]] = [[] for _ in instructions]
    missing = []  # number of arguments that are not computed yet
    for k, instruction in enumerate(instructions):
        distinct = {a for a in instruction.args if not leaf[a]}
        missing.append(len(distinct))
        for a in distinct:
            users[a].append(k)
    uses_left = [len(u) for u in users]
    order: list[int] = []
    placed = [False] * len(instructions)
    stale: dict[int, int] = {}
    chain = _chain_lengths(program) if len(instructions) <= _SHORT else [0] * len(instructions)
    first = program.needed(program.results[: program.first]) if program.first else ()
    # a heap of (can wait, change of live values, minus length of the dependent chain, index in the trace)
    ready: list[tuple[bool, int, int, int]] = []

    def cost(k: int) -> int:
        """Return the change of the number of live values by instruction k."""
        ended = sum(1 for a in set(instructions[k].args) if not leaf[a] and uses_left[a] == 1)
        return (1 if users[k] else 0) - ended

    def offer(k: int) -> None:
        stale[k] = cost(k)
        heapq.heappush(ready, (k not in first, stale[k], -chain[k], k))

    def append(k: int) -> None:
        for a in instructions[k].args:
            if leaf[a] and not placed[a]:
                placed[a] = True
                order.append(a)
        placed[k] = True
        order.append(k)
        for a in set(instructions[k].args):
            if not leaf[a]:
                uses_left[a] -= 1
                if uses_left[a] == 1:  # the only remaining use may have become cheaper
                    for user in users[a]:
                        if not placed[user] and missing[user] == 0:
                            offer(user)
        for user in users[k]:
            missing[user] -= 1
            if missing[user] == 0:
                offer(user)

    early = (SINCOS, SIN_OF, COS_OF)
    for k, instruction in enumerate(instructions):
        if instruction.operation in early and missing[k] == 0 and (not first or k in first):
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


def _chain_lengths(program: InstructionList) -> list[int]:
    """Return the length of the longest chain of instructions that depends on each instruction."""
    chain = [0] * len(program.instructions)
    for k in range(len(chain) - 1, -1, -1):
        for a in program.instructions[k].args:
            chain[a] = max(chain[a], chain[k] + 1)
    return chain
