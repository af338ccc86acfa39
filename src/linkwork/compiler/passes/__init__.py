"""Passes: functions from a program to an equal and better one.  Each stands in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ...expr.bundle import Bundle
from ...expr.region import Listing
from ..program import Instruction, Program
from ..verify import verify
from .dead_code import dead_code
from .drop_rules import drop_rules
from .fold_constants import fold_constants
from .fuse import fuse
from .pair_sincos import pair_sincos
from .schedule import schedule

__all__ = ["ALL", "optimize"]

L = TypeVar("L", bound=Listing)

ALL: tuple[Callable[[Any], Any], ...] = (drop_rules, fold_constants, pair_sincos, fuse, dead_code, schedule)


def _everywhere(one_pass: Callable[[Listing], Listing], listing: L) -> L:
    """What a pass makes of a listing, after all bodies in it."""

    def inside(instruction: Instruction) -> Instruction:
        operation, args, value = instruction
        return Instruction(operation, args, value.with_bodies(lambda body: _everywhere(one_pass, body)))

    if any(isinstance(i.value, Bundle) for i in listing.instructions):
        changed = [inside(i) if isinstance(i.value, Bundle) else i for i in listing.instructions]
        listing = listing.rebuilt(changed, listing.results)
    return one_pass(listing)  # type: ignore[return-value]


def optimize(program: Program, *, without: Sequence[str] = (), debug: bool = False) -> Program:
    """Run all passes but those named in ``without``; with ``debug`` verify the program between them."""
    unknown = set(without) - {p.__name__ for p in ALL}
    if unknown:
        raise ValueError(f"no pass named {sorted(unknown)}; there are {[p.__name__ for p in ALL]}")
    if debug:
        verify(program)
    for one_pass in ALL:
        if one_pass.__name__ not in without:
            program = _everywhere(one_pass, program)
            if debug:
                verify(program)
    return program
