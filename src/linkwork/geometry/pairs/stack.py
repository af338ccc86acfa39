"""Tables that loops carry and change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...expr.functions import eq, where

__all__ = ["put", "table_of"]


def table_of(rows: Sequence[Any]) -> Any:
    """Rows of scalars, or scalars, as a table."""
    wide = isinstance(rows[0], (list, tuple))
    table = np.empty((len(rows), len(rows[0])) if wide else len(rows), dtype=object)
    for k, row in enumerate(rows):
        if wide:
            for c, x in enumerate(row):
                table[k, c] = x
        else:
            table[k] = row
    return table


def put(table: Any, index: Any, value: Any) -> Any:
    """The table with a row in the place of what stands at an index, as it is where there is none."""
    found = []
    for k, row in enumerate(table):
        here = eq(index, float(k))
        if isinstance(value, list):
            found.append([where(here, new, old) for new, old in zip(value, row, strict=True)])
        else:
            found.append(where(here, value, row))
    return table_of(found)
