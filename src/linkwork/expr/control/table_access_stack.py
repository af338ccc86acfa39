"""Tables that loops carry and change: rows of numbers of any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.expr.control.table_access import put, take

__all__ = ["entry", "table_of", "with_entry"]


def table_of(rows: Sequence[Sequence[Any]]) -> Any:
    """Rows as a table."""
    return np.stack([_row(numbers) for numbers in rows])


def entry(table: Any, index: Any) -> Any:
    """The row at an index, as a list."""
    return list(np.moveaxis(np.asarray(take(table, index)), -1, 0))


def with_entry(table: Any, index: Any, numbers: Sequence[Any]) -> Any:
    """The table with a row in the place of what stands at an index, if there is such a place."""
    return np.asarray(put(table, index, _row(numbers)))


def _row(numbers: Sequence[Any]) -> np.ndarray:
    row = np.empty(len(numbers), dtype=object)  # an element may be a batch, which stays one
    for k, x in enumerate(numbers):
        row[k] = x
    return row
