"""Tables of numbers that loops carry and change, of any scalars: rows of them, or one each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...expr.control.table import put, take

__all__ = ["entry", "table_of", "with_entry"]


def table_of(rows: Sequence[Any]) -> Any:
    """Rows of scalars, or scalars, as a table."""
    wide = isinstance(rows[0], list)
    table = np.empty((len(rows), len(rows[0])) if wide else len(rows), dtype=object)
    for k, row in enumerate(rows):
        for place, x in zip(np.ndindex(table.shape[1:]), row if wide else [row], strict=True):
            table[k, *place] = x
    return table


def entry(table: Any, index: Any) -> Any:
    """The row at an index, as a list, or the scalar."""
    found = take(table, index)
    return list(np.moveaxis(np.asarray(found), -1, 0)) if np.ndim(table) > 1 else found


def with_entry(table: Any, index: Any, value: Any) -> Any:
    """The table with a row, or a scalar, in the place of what stands at an index, if there is such a place."""
    return np.asarray(put(table, index, table_of(value) if isinstance(value, list) else value))
