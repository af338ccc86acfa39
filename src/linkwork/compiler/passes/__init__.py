"""Compiler passes: functions from a program to an equivalent, cheaper one, one file for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from linkwork.compiler.passes.instruction_schedule import schedule, trace_order
from linkwork.compiler.passes.outline import outline
from linkwork.compiler.passes.simplifications import (
    dead_code,
    drop_rules,
    fold_constants,
    fuse,
    merge_loops,
    pair_sincos,
    trim_loops,
)
from linkwork.compiler.passes.store_forwarding import look_through_puts
from linkwork.compiler.program import Instruction, Program, verify
from linkwork.expr.scalar.block import InstructionList, Region

__all__ = ["ALL", "ORDERING", "QUICK_ORDERING", "SIMPLIFYING", "everywhere", "optimize"]

L = TypeVar("L", bound=InstructionList)

Pass = Callable[[Any], Any]

SIMPLIFYING: tuple[Pass, ...] = (
    drop_rules,
    outline,
    look_through_puts,
    fold_constants,
    merge_loops,
    trim_loops,
    pair_sincos,
    fuse,
)
ORDERING: tuple[Pass, ...] = (dead_code, schedule)
QUICK_ORDERING: tuple[Pass, ...] = (trace_order,)  # in place of `ORDERING`, for code that is made in little time
ALL = SIMPLIFYING + ORDERING


def everywhere(
    one_pass: Callable[[InstructionList], InstructionList],
    listing: L,
    done: dict[int, tuple[Region, Region]] | None = None,
) -> L:
    """Run a pass on a listing and on all regions in it, once for each object, and return the new listing."""
    done = {} if done is None else done  # by identity: a hash visits all instructions of a region

    def inside(region: Region) -> Region:
        known = done.get(id(region))
        if known is None:
            known = done[id(region)] = region, everywhere(one_pass, region, done)
        return known[1]

    return one_pass(_with_bodies(listing, inside))  # type: ignore[return-value]


def _shared(program: Program) -> Program:
    """Return the program with one object for equal regions, so that passes run on each once."""
    known: dict[Region, Region] = {}

    def inside(region: Region) -> Region:
        region = _with_bodies(region, inside)
        return known.setdefault(region, region)

    return _with_bodies(program, inside)


def _with_bodies(listing: L, inside: Callable[[Region], Region]) -> L:
    """Return the listing with the bodies of its instructions replaced; itself if no body changes."""
    is_same = True

    def replaced(region: Region) -> Region:
        nonlocal is_same
        result = inside(region)
        is_same &= result is region
        return result

    changed: dict[int, Instruction] = {}
    for k in listing.bundles:
        operation, args, value = listing.instructions[k]
        changed[k] = Instruction(operation, args, value.with_bodies(replaced))
    if is_same:
        return listing
    instructions = list(listing.instructions)
    for k, instruction in changed.items():
        instructions[k] = instruction
    result: L = replace(listing, instructions=tuple(instructions))  # type: ignore[type-var]
    result.__dict__.update(kinds=listing.kinds, bundles=listing.bundles)  # the operations are the same
    return result


def optimize(
    program: Program, *, without: Sequence[str] = (), debug: bool = False, passes: Sequence[Pass] | None = None
) -> Program:
    """Run all passes, or ``passes``, except those named in ``without``; with ``debug``, verify the program after each.

    Raises ValueError for the name of an unknown pass.
    """
    unknown = set(without) - {p.__name__ for p in ALL}
    if unknown:
        raise ValueError(f"without: unknown passes {sorted(unknown)}; the passes are {[p.__name__ for p in ALL]}")
    if debug:
        verify(program)
    program = _shared(program)
    for one_pass in ALL if passes is None else passes:
        if one_pass.__name__ not in without:
            program = everywhere(one_pass, program)
            if debug:
                verify(program)
    return program
