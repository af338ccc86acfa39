"""Order: instructions are arranged so that few values are alive at a time.

A list schedule: of the instructions whose arguments are there, take the one that ends the most lives of values.  Of
equals, take the first in the order of the trace, which is the order of the recursions and a good one already; in a
short program, where waiting for results costs more than registers do, the one with the longest way to go to a result.
Sines and cosines of inputs come first, while no registers are taken that a call would have to save.  Inputs and
constants are placed just before their first use.
"""

from __future__ import annotations

import heapq
from typing import TypeVar

from linkwork.compiler.program import CONSTANT, COS_OF, INPUT, SIN_OF, SINCOS
from linkwork.expr.scalar.block import InstructionList

__all__ = ["schedule"]

L = TypeVar("L", bound=InstructionList)

_SHORT = 1300  # instructions: longer programs run out of registers if it is not the trace that decides


def schedule(program: L) -> L:
    instructions = program.instructions
    leaf = [i.operation is INPUT or i.operation is CONSTANT for i in instructions]
    users: list[list[int]] = [[] for _ in instructions]
    missing = []  # how many arguments are not computed yet
    for k, instruction in enumerate(instructions):
        distinct = {a for a in instruction.args if not leaf[a]}
        missing.append(len(distinct))
        for a in distinct:
            users[a].append(k)
    uses_left = [len(u) for u in users]
    order: list[int] = []
    placed = [False] * len(instructions)
    stale: dict[int, int] = {}
    way = _ways(program) if len(instructions) <= _SHORT else [0] * len(instructions)
    first = program.needed(program.results[: program.first]) if program.first else ()
    # a heap of (whether it may wait, lives begun less lives ended, minus way to go, place in the trace)
    ready: list[tuple[bool, int, int, int]] = []

    def cost(k: int) -> int:
        """How many more values are alive after instruction k than before it."""
        ended = sum(1 for a in set(instructions[k].args) if not leaf[a] and uses_left[a] == 1)
        return (1 if users[k] else 0) - ended

    def offer(k: int) -> None:
        stale[k] = cost(k)
        heapq.heappush(ready, (k not in first, stale[k], -way[k], k))

    def place(k: int) -> None:
        for a in instructions[k].args:
            if leaf[a] and not placed[a]:
                placed[a] = True
                order.append(a)
        placed[k] = True
        order.append(k)
        for a in set(instructions[k].args):
            if not leaf[a]:
                uses_left[a] -= 1
                if uses_left[a] == 1:  # the one use left may have become cheaper
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
            place(k)
    for k in range(len(instructions)):
        if not leaf[k] and not placed[k] and missing[k] == 0:
            offer(k)
    while ready:
        _, value, _, k = heapq.heappop(ready)
        if not placed[k] and stale[k] == value:
            place(k)
    for r in program.results:
        if not placed[r]:
            placed[r] = True
            order.append(r)
    return program.ordered(order)


def _ways(program: InstructionList) -> list[int]:
    """How many instructions, one after the other, wait for each."""
    way = [0] * len(program.instructions)
    for k in range(len(way) - 1, -1, -1):
        for a in program.instructions[k].args:
            way[a] = max(way[a], way[k] + 1)
    return way
