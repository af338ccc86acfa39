"""Tables: entries read or replaced at an index that is known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.arrays.pytree import Leaf, flatten, unflatten
from linkwork.expr.arrays.symbol_array import floats, object_array
from linkwork.expr.autodiff.graph_derivative import is_zero
from linkwork.expr.autodiff.masked_terms import flagged, is_conditional, masked, terms_of_body
from linkwork.expr.control.closure_conversion import graph_of
from linkwork.expr.control.flat_values import is_truth
from linkwork.expr.scalar.functions import and_, eq, floor, fmax, fmin, le, lt
from linkwork.expr.scalar.multi_result import MultiResult, SparseRow, bundle_operation
from linkwork.expr.scalar.operations import Operation
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["PUT", "TAKE", "Put", "Take", "entry", "put", "table_of", "take", "with_entry"]


TAKE = bundle_operation("take")
PUT = bundle_operation("put")


@dataclass(frozen=True)
class Take(MultiResult):
    """Instruction that reads one row of a table of ``rows`` × ``columns`` scalars, at an index known at run time.

    The arguments are the index and the table's elements, row by row.  A constant ``table`` is stored in the
    instruction instead.
    """

    rows: int
    columns: int
    table: tuple[float, ...] = ()

    operation: ClassVar[Operation] = TAKE

    @property
    def count(self) -> int:
        return self.columns

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        index, *elements = arguments
        position = np.asarray(np.fmin(np.fmax(np.floor(index), 0.0), float(self.rows - 1)), dtype=np.int64)
        elements = elements or list(self.table)
        result = []
        for column in range(self.columns):
            entries = np.broadcast_arrays(*elements[column :: self.columns])
            stacked = np.stack(entries)
            whole = np.broadcast_shapes(position.shape, stacked.shape[1:])
            chosen = np.take_along_axis(
                np.broadcast_to(stacked.reshape(self.rows, *(1,) * (len(whole) - stacked.ndim + 1), *stacked.shape[1:]),
                                (self.rows, *whole)),
                np.broadcast_to(position, whole)[np.newaxis], axis=0)[0]  # fmt: skip
            chosen = np.where(np.isnan(index), np.nan, chosen)
            result.append(chosen if whole else float(chosen))
        return result

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        result: list[dict[Any, Any]] = [{} for _ in results]
        for key in dict.fromkeys(key for row in rows[1:] for key in row):
            derivatives = [row.get(key, 0.0) for row in rows[1:]]
            flags = _flags(derivatives, self.columns)
            values = Take(self.rows, self.columns + sum(flags))(
                [arguments[0], *flagged(derivatives, flags * self.rows)]
            )
            for row, term in zip(result, terms_of_body(iter(values), flags), strict=True):
                row[key] = term
        return list(result)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        if self.table:
            return [0.0]
        position = fmin(fmax(floor(arguments[0]), 0.0), float(self.rows - 1))
        gradient: list[Any] = [0.0]
        for row in range(self.rows):
            is_row = eq(position, float(row))
            gradient += [0.0 if is_zero(weight) else masked(weight, is_row) for weight in weights]
        return gradient


@dataclass(frozen=True)
class Put(MultiResult):
    """Instruction that replaces one row of a table; an index out of range leaves the table unchanged.

    The arguments are the index, the new row, and the table's elements, row by row.  The results are the elements of
    the new table.
    """

    rows: int
    columns: int

    operation: ClassVar[Operation] = PUT

    @property
    def count(self) -> int:
        return self.rows * self.columns

    def split(self, arguments: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
        """Split the instruction's arguments into the index, the new row, and the elements of the table."""
        return arguments[0], arguments[1 : 1 + self.columns], arguments[1 + self.columns :]

    def evaluate(self, arguments: Sequence[Any]) -> Sequence[Any]:
        index, row, table = self.split(arguments)
        position = np.floor(index)
        result = list(table)
        for k in np.unique(position[(position >= 0.0) & (position < self.rows)]) if np.ndim(position) else [position]:
            if 0.0 <= k < self.rows:
                start = int(k) * self.columns
                for column, value in enumerate(row):
                    old = result[start + column]
                    result[start + column] = np.where(position == k, value, old) if np.ndim(position) else value
        return result

    def push_forward(
        self, arguments: Sequence[Any], results: Sequence[Any], rows: Sequence[SparseRow]
    ) -> Sequence[SparseRow]:
        result: list[dict[Any, Any]] = [{} for _ in results]
        for key in dict.fromkeys(key for row in rows[1:] for key in row):
            derivatives = [row.get(key, 0.0) for row in rows[1:]]
            flags = _flags(derivatives, self.columns)
            new = Put(self.rows, self.columns + sum(flags))
            values = new([arguments[0], *flagged(derivatives, flags * (1 + self.rows))])
            for row, term in zip(result, terms_of_body(iter(values), flags * self.rows), strict=True):
                row[key] = term
        return list(result)

    def pull_back(self, arguments: Sequence[Any], results: Sequence[Any], weights: Sequence[Any]) -> Sequence[Any]:
        index = arguments[0]
        is_inside = and_(le(0.0, index), lt(index, float(self.rows)))
        used = [k for k in range(self.columns) if not all(map(is_zero, weights[k :: self.columns]))]
        if not used:
            return [0.0] * len(arguments)
        used_weights = [weights[line * self.columns + k] for line in range(self.rows) for k in used]
        flags = _flags(used_weights, len(used))
        taken = iter(Take(self.rows, len(used) + sum(flags))([index, *flagged(used_weights, flags * self.rows)]))
        row = dict(zip(used, terms_of_body(taken, flags), strict=True))
        all_flagged = flagged([*[0.0] * len(used), *used_weights], [True] * (len(used) + len(used_weights)))
        remaining_terms = terms_of_body(
            iter(Put(self.rows, 2 * len(used))([index, *all_flagged])), [True] * len(used_weights)
        )
        to_row = [masked(row[k], is_inside) if k in row else 0.0 for k in range(self.columns)]
        to_table = [next(remaining_terms) if k % self.columns in row else 0.0 for k in range(self.count)]
        return [0.0, *to_row, *to_table]


def _flags(terms: Sequence[Any], columns: int) -> list[bool]:
    """Return for each column of a table of derivative terms, row by row, True if one of its terms is masked or zero."""
    return [any(map(is_conditional, terms[k::columns])) for k in range(columns)]


@public
def take(table: Any, index: Any) -> Any:
    """Return the entry of a table (n,) or (n, ...) at an index that may be known at run time only.

    The index is an integer, or is rounded down to one; an index below 0 or above n - 1 selects the first or last entry,
    and NaN gives NaN.  The derivative with respect to the index is zero; the derivative with respect to the table's
    values is exact.

    >>> import numpy as np
    >>> from linkwork.expr import take
    >>> take(np.array([2.0, 3.0, 5.0]), 1.0), take([2.0, 3.0, 5.0], 7)
    (3.0, 5.0)

    Raises ValueError for an empty table, TypeError for anything but an array.
    """
    elements, form = _table_of("take", table)
    index, in_elements = _index_of("take", index)
    size = form.size // form.shape[0]
    fixed = graph_of([index]) is not None and all(isinstance(x, (int, float)) for x in elements)
    bundle = Take(form.shape[0], size, tuple(map(float, elements)) if fixed else ())
    result = bundle([index] if fixed else [index, *elements])
    in_elements = in_elements and isinstance(index, np.ndarray)
    row = Leaf(form.shape[1:], is_array=len(form.shape) > 1 or in_elements)
    if not row.is_array:
        return result[0]
    if isinstance(index, np.ndarray) and index.ndim and not in_elements:
        return np.stack(result, axis=-1).reshape(*index.shape, *form.shape[1:])
    return unflatten(row, result, floats)


@public
def put(table: Any, index: Any, value: Any) -> Any:
    """Return a table (n,) or (n, ...) with the entry at an index replaced by a number or an array (...).

    The index is an integer, or is rounded down to one, and may be known at run time only.  If it is below 0, above n -
    1 or NaN, the table is unchanged, so an index of -1 writes nothing.  The derivative with respect to the table's
    values and the new entry is exact; with respect to the index it is zero.

    >>> import numpy as np
    >>> from linkwork.expr import put
    >>> put(np.array([2.0, 3.0, 5.0]), 1, 7.0), put([2.0, 3.0], 2, 7.0)
    (array([2., 7., 5.]), array([2., 3.]))

    If a loop's state contains the table and each step changes it only by `put`, it is changed in place: the cost of a
    step does not depend on the table's length.

    Raises ValueError for an empty table and for a value of another shape than its entries, TypeError for anything but
    arrays and numbers.
    """
    elements, form = _table_of("put", table)
    index, _ = _index_of("put", index)
    row = _row_of(value, form.shape[1:], batches=graph_of((index, *elements)) is None)
    if any(map(is_truth, (*elements, *row))):
        raise TypeError("put: value: expected numbers, got truth values: where(condition, 1.0, 0.0) converts them")
    size = len(row)
    if isinstance(index, (int, float)):
        start = int(index) * size if 0.0 <= index < form.shape[0] else len(elements)
        elements[start : start + size] = row if start < len(elements) else []
    else:
        elements = list(Put(form.shape[0], size)([index, *row, *elements]))
    return unflatten(Leaf(form.shape), elements, floats)


def _table_of(caller: str, table: Any) -> tuple[list[Any], Leaf]:
    """Return the elements of a table, flattened by rows, and its shape."""
    elements, form = flatten(table, f"{caller}: table")
    if not isinstance(form, Leaf) or not form.shape or form.shape[0] == 0:
        raise ValueError(f"{caller}: table: expected an array with at least one entry, got {form}")
    if any(x.__class__ is Symbol and x.op.logical for x in elements):
        raise TypeError(
            f"{caller}: table: expected numbers, got truth values: where(condition, 1.0, 0.0) converts them"
        )
    return elements, form


def _index_of(caller: str, index: Any) -> tuple[Any, bool]:
    """Return the index as a scalar or a batch; and True if it was a 0-dimensional object array."""
    in_elements = isinstance(index, np.ndarray) and index.dtype == object and index.ndim == 0
    if in_elements:
        index = index.item()
    if not (np.ndim(index) == 0 or (isinstance(index, np.ndarray) and index.dtype != object)):
        raise TypeError(f"{caller}: index: expected a number, got {index!r}")
    if not isinstance(index, np.ndarray):
        (index,), _ = flatten(index, f"{caller}: index")
    return index, in_elements


def _row_of(value: Any, shape: tuple[int, ...], *, batches: bool) -> list[Any]:
    """Return the elements of a new entry of the ``shape`` as a flat list.

    Each element of a batch is an array of all samples.
    """
    if batches and isinstance(value, np.ndarray) and value.dtype != object and value.ndim > len(shape):
        samples = value.shape[: value.ndim - len(shape)]
        if value.shape[len(samples) :] == shape:
            return list(np.moveaxis(value.reshape(*samples, -1), -1, 0))
    elements, form = flatten(value, "put: value")
    if not isinstance(form, Leaf) or form.shape != shape:
        expected = f"an array of shape {shape}, as the entries of the table" if shape else "a number, as in the table"
        raise ValueError(f"put: value: expected {expected}, got {form}")
    return elements


def table_of(rows: Sequence[Sequence[Any]]) -> Any:
    """Return a table of the given rows, each a list of scalars, for `entry` and `with_entry`."""
    return object_array((len(rows), len(rows[0])), [x for row in rows for x in row])


def entry(table: Any, index: Any) -> Any:
    """Return the row of a table at an index, as a list of scalars; the index may be known at run time only."""
    return list(np.moveaxis(np.asarray(take(table, index)), -1, 0))


def with_entry(table: Any, index: Any, elements: Sequence[Any]) -> Any:
    """Return a table in which ``elements`` replace the row at an index; an index out of range changes nothing."""
    return np.asarray(put(table, index, object_array((len(elements),), elements)))
