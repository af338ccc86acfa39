"""A program's operations on symbols, or on other scalars of ours: how a kernel is called while a function is traced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from linkwork.compiler.program import Program
from linkwork.expr.arrays.symbol_array import over_samples, scalars
from linkwork.expr.scalar.precision import in_double

__all__ = ["on_symbols"]


def on_symbols(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """The outputs for arrays of shape (..., *port shape) with any scalars in them.  Raises TypeError for too many."""
    if len(arrays) != len(program.inputs):
        raise TypeError(f"{program.name}: expected {len(program.inputs)} arrays, got {len(arrays)}")
    ends = list(accumulate((port.size for port in program.outputs), initial=0))
    unguarded = program.unguarded

    def sample(*elements: list[Any]) -> list[list[Any]]:
        given = [x for part in elements for x in part]
        if program.in_double:
            in_double(given)
        found = unguarded.run(given)
        return [found[start:end] for start, end in pairwise(ends)]

    ranks, shapes = [len(port.shape) for port in program.inputs], [port.shape for port in program.outputs]
    return over_samples(sample, [scalars(x) for x in arrays], ranks, shapes)
