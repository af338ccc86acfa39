"""Tables: the entry of an index that is known only when code runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..arrays import floats
from ..bundle import Bundle, Row, bundle_operation
from ..derivative import is_zero
from ..functions import eq, floor, fmax, fmin, where
from ..operations import Operation
from ..structure import Leaf, put_together, taken_apart
from .numbers import graph_of

__all__ = ["TAKE", "Take", "take"]

TAKE = bundle_operation("take")


@dataclass(frozen=True)
class Take(Bundle):
    """A row of a table of so many rows and columns.

    The arguments are the index and, unless the ``table`` is of constants, its numbers, row by row.
    """

    rows: int
    columns: int
    table: tuple[float, ...] = ()

    operation: ClassVar[Operation] = TAKE

    @property
    def count(self) -> int:
        return self.columns

    def on_numbers(self, arguments: Sequence[Any]) -> Sequence[Any]:
        index, *numbers = arguments
        place = np.asarray(np.fmin(np.fmax(np.floor(index), 0.0), float(self.rows - 1)), dtype=np.int64)
        numbers = numbers or list(self.table)
        found = []
        for column in range(self.columns):
            entries = np.broadcast_arrays(*numbers[column :: self.columns])
            stacked = np.stack(entries)
            whole = np.broadcast_shapes(place.shape, stacked.shape[1:])
            chosen = np.take_along_axis(
                np.broadcast_to(stacked.reshape(self.rows, *(1,) * (len(whole) - stacked.ndim + 1), *stacked.shape[1:]),
                                (self.rows, *whole)),
                np.broadcast_to(place, whole)[np.newaxis], axis=0)[0]  # fmt: skip
            chosen = np.where(np.isnan(index), np.nan, chosen)
            found.append(chosen if whole else float(chosen))
        return found

    def pushed(self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[Row]) -> Sequence[Row]:
        found: list[dict[Any, Any]] = [{} for _ in results]
        for key in dict.fromkeys(key for row in rows[1:] for key in row):
            derivatives = [row.get(key, 0.0) for row in rows[1:]]
            values = Take(self.rows, self.columns)([arguments[0], *derivatives])
            for row, value in zip(found, values, strict=True):
                row[key] = value
        return list(found)

    def pulled(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        if self.table:
            return [0.0]
        place = fmin(fmax(floor(arguments[0]), 0.0), float(self.rows - 1))
        gradient: list[Any] = [0.0]
        for row in range(self.rows):
            here = eq(place, float(row))
            gradient += [0.0 if is_zero(weight) else where(here, weight, 0.0) for weight in weights]
        return gradient


def take(table: Any, index: Any) -> Any:
    """The entry of a table (n,), or the row of a table (n, ...), at an index that need not be known in advance.

    The index is a whole number, or is rounded down to one; one below 0 or above n - 1 gives the first or last entry,
    and NaN gives NaN.  The derivative is that by the table's numbers: by the index it is zero.

    >>> import numpy as np
    >>> from linkwork.expr import take
    >>> take(np.array([2.0, 3.0, 5.0]), 1.0), take([2.0, 3.0, 5.0], 7)
    (3.0, 5.0)

    Raises ValueError for a table without rows, TypeError for what is no array.
    """
    numbers, form = taken_apart(table, "take: table")
    if not isinstance(form, Leaf) or not form.shape or form.shape[0] == 0:
        raise ValueError(f"take: table: expected an array of one row at least, got {form}")
    in_elements = isinstance(index, np.ndarray) and index.dtype == object and index.ndim == 0
    if in_elements:
        index = index.item()
    if not (np.ndim(index) == 0 or (isinstance(index, np.ndarray) and index.dtype != object)):
        raise TypeError(f"take: index: expected a number, got {index!r}")
    size = form.size // form.shape[0]
    fixed = graph_of([index]) is not None and all(isinstance(x, (int, float)) for x in numbers)
    bundle = Take(form.shape[0], size, tuple(map(float, numbers)) if fixed else ())
    found = bundle([index] if fixed else [index, *numbers])
    in_elements = in_elements and isinstance(index, np.ndarray)
    row = Leaf(form.shape[1:], is_array=len(form.shape) > 1 or in_elements)
    if not row.is_array:
        return found[0]
    if isinstance(index, np.ndarray) and index.ndim and not in_elements:
        return np.stack(found, axis=-1).reshape(*index.shape, *form.shape[1:])
    return put_together(row, found, floats)
