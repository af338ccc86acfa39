"""Scans whose outputs other scans read: in a trace, the rows of all steps are one value.

In a trace, each element of an output of `scan` is a separate value, which every compiler pass visits.  Rows that one
scan produces and only other scans read, such as factors of an elimination, are stored as one value instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import flatten, tree_map
from linkwork.expr.control.loops import StoredRows, scan, scan_rows
from linkwork.expr.control.numeric_loops import number_of_steps

__all__ = ["scan_stored", "scan_storing"]


def scan_storing(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any) -> tuple[Any, Any]:
    """Return the last carry of a forward `scan`, and a pair of its stored outputs and its other outputs.

    ``f`` returns (carry, (row, y)); y is () without other outputs.  The rows are stored for `scan_stored`.  In a trace,
    each element of an output of `scan` would be a separate value.
    """
    return _scan(f, init, xs, stores=True)


def scan_stored(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    stored: Any,
    xs: Any = None,
    *,
    reverse: bool = False,
    stores: bool = False,
) -> tuple[Any, Any]:
    """Return the result of a `scan` over rows of `scan_storing`; ``f`` is called with (carry, (row, x)).

    ``stored`` is a tuple of the rows of several scans, or the rows of one scan.  Without ``xs``, x is None.  With
    ``stores``, the outputs are stored as by `scan_storing`.  If ``xs`` have more steps than the rows, the last row is
    repeated.  The scans that stored the rows must be in the same function, and no loop that contains this scan may be
    in between.
    """
    all_stored = stored if isinstance(stored, tuple) else (stored,)
    if all(isinstance(rows, StoredRows) for rows in all_stored):
        return _scan(
            f if stored is all_stored else _with_one_row(f), init, xs, reverse=reverse, stores=stores, stored=all_stored
        )
    if xs is None:
        return scan(lambda carry, row: f(carry, (row, None)), init, stored, reverse=reverse)
    steps = number_of_steps(flatten(xs, "scan: xs")[1], None)
    stored = tree_map(lambda x: np.concatenate([x, *[x[-1:]] * (steps - len(x))]), stored)
    return scan(f, init, (stored, xs), reverse=reverse)


def _with_one_row(f: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[[Any, Any], tuple[Any, Any]]:
    return lambda carry, row: f(carry, (row[0][0], row[1]))


def _scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    *,
    stores: bool,
    reverse: bool = False,
    stored: Sequence[StoredRows] = (),
) -> tuple[Any, Any]:
    inputs, form = flatten(xs, "scan: xs") if xs is not None else ([], None)
    steps = stored[0].steps if stored and form is None else number_of_steps(form, None)
    return scan_rows(f, init, xs, inputs, form, steps, reverse, stores, stored)
