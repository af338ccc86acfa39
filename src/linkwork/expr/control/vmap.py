"""The same function of many rows of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.control.loops import scan
from linkwork.expr.linalg.sparse_dot import is_zero

__all__ = ["each"]

FunctionSpec = Sequence[Any]


def each(
    function: Callable[[FunctionSpec], FunctionSpec],
    rows: Sequence[FunctionSpec],
    *,
    in_loops: bool,
    alike: bool = False,
) -> list[list[Any]]:
    """The function of each row; in a trace written out row by row or, in loops, once for rows that are alike.

    Rows are alike that have structural zeros in the same places, or all of them where that is said.  All rows have as
    many numbers.
    """
    if not in_loops or not any(hasattr(x, "_precedence") for row in rows for x in row):
        return [list(function(row)) for row in rows]
    found_alike: dict[tuple[int, ...], list[int]] = {}
    for k, row in enumerate(rows):
        places = tuple(i for i, x in enumerate(row) if alike or not is_zero(x))
        found_alike.setdefault(places, []).append(k)
    found: list[list[Any]] = [[] for _ in rows]
    for places, members in found_alike.items():
        if len(members) == 1 or not places:
            for k in members:
                found[k] = list(function(rows[k]))
            continue

        def step(_: Any, given: Any, places: tuple[int, ...] = places) -> tuple[Any, Any]:
            row = [0.0] * len(rows[0])
            for place, x in zip(places, given, strict=True):
                row[place] = x
            return (), np.array(function(row), dtype=object)

        _, results = scan(step, (), np.array([[rows[k][i] for i in places] for k in members], dtype=object))
        for k, result in zip(members, results, strict=True):
            found[k] = list(result)
    return found
