"""Passes: functions from a program to an equal and better one.  Each stands in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..program import Program
from ..verify import verify
from .dead_code import dead_code
from .drop_rules import drop_rules
from .fold_constants import fold_constants
from .fuse import fuse
from .pair_sincos import pair_sincos
from .schedule import schedule

__all__ = ["ALL", "optimize"]

ALL: tuple[Callable[[Program], Program], ...] = (drop_rules, fold_constants, pair_sincos, fuse, dead_code, schedule)


def optimize(program: Program, *, without: Sequence[str] = (), debug: bool = False) -> Program:
    """Run all passes but those named in ``without``; with ``debug`` verify the program between them."""
    unknown = set(without) - {p.__name__ for p in ALL}
    if unknown:
        raise ValueError(f"no pass named {sorted(unknown)}; there are {[p.__name__ for p in ALL]}")
    if debug:
        verify(program)
    for one_pass in ALL:
        if one_pass.__name__ not in without:
            program = one_pass(program)
            if debug:
                verify(program)
    return program
