"""Compiler passes: functions from a program to an equivalent, cheaper one, one file for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from linkwork.compiler.passes.instruction_schedule import schedule
from linkwork.compiler.passes.outlining.outline import outline
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
from linkwork.compiler.passes.verifier import verify
from linkwork.compiler.program import Instruction, Program
from linkwork.expr.scalar.block import InstructionList, Region

__all__ = ["ALL", "everywhere", "optimize"]

L = TypeVar("L", bound=InstructionList)

ALL: tuple[Callable[[Any], Any], ...] = (
    drop_rules,
    outline,
    look_through_puts,
    fold_constants,
    merge_loops,
    trim_loops,
    pair_sincos,
    fuse,
    dead_code,
    schedule,
)


def everywhere(
    one_pass: Callable[[InstructionList], InstructionList], listing: L, done: dict[Region, Region] | None = None
) -> L:
    """Run a pass on a listing and on all regions in it, each equal region once, and return the new listing."""
    done = {} if done is None else done

    def inside(region: Region) -> Region:
        if region not in done:
            done[region] = everywhere(one_pass, region, done)
        return done[region]

    if listing.has_bodies:
        changed = [
            Instruction(i.operation, i.args, i.value.with_bodies(inside)) if i.operation.arity < 0 else i
            for i in listing.instructions
        ]
        listing = replace(listing, instructions=tuple(changed))  # type: ignore[type-var]
    return one_pass(listing)  # type: ignore[return-value]


def optimize(program: Program, *, without: Sequence[str] = (), debug: bool = False) -> Program:
    """Run all passes but those named in ``without``; with ``debug``, verify the program between them.

    Raises ValueError for the name of an unknown pass.
    """
    unknown = set(without) - {p.__name__ for p in ALL}
    if unknown:
        raise ValueError(f"without: unknown passes {sorted(unknown)}; the passes are {[p.__name__ for p in ALL]}")
    if debug:
        verify(program)
    for one_pass in ALL:
        if one_pass.__name__ not in without:
            program = everywhere(one_pass, program)
            if debug:
                verify(program)
    return program
