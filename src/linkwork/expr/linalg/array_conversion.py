"""Conversion of arrays to lists of elements, on which algorithms work, and back.

Arrays of floats may have leading dimensions, a batch; each element is then an array.  The elements of object arrays are
any scalars, and their samples in leading dimensions are processed one after the other.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork._util.validation import shown
from linkwork.errors import SingularMatrixError
from linkwork.expr.arrays.symbol_array import SymbolArray, scalars

__all__ = ["Array", "Computed", "array_of", "matrix", "right_side", "run_on_arrays", "square"]

Array = np.ndarray[Any, Any]
Computed = tuple[Sequence[Sequence[Any]], Any]  # (flat lists of elements, status)
Compute = Callable[..., Computed]
_NO_SCALARS = frozenset({type(None), str, bytes, dict, type, types.FunctionType, types.BuiltinFunctionType})


def array_of(caller: str, name: str, value: Any) -> Array:
    """Return an argument as an array of floats or objects.  Raises TypeError for other arguments."""
    array = np.asarray(scalars(value))
    if array.dtype.kind in "biu":
        array = array.astype(float)
    if array.dtype.kind not in "fO":
        raise TypeError(
            f"{caller}: {name}: expected an array of real numbers or symbols, got an array of {array.dtype}"
        )
    if array.dtype.kind == "O" and not _NO_SCALARS.isdisjoint(map(type, array.flat)):
        raise TypeError(f"{caller}: {name}: expected an array of real numbers or symbols, got {shown(value)}")
    return array


def matrix(caller: str, name: str, value: Any) -> Array:
    """Return an argument as matrices, an array (..., m, n)."""
    array = array_of(caller, name, value)
    if array.ndim < 2:
        raise ValueError(f"{caller}: {name}: expected a matrix, an array (..., m, n), got the shape {array.shape}")
    return array


def square(caller: str, value: Any) -> Array:
    """Return the argument A as square matrices, an array (..., n, n)."""
    array = array_of(caller, "A", value)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"{caller}: A: expected a square matrix, an array (..., n, n), got the shape {array.shape}")
    return array


def right_side(caller: str, matrices: Array, b: Any, rows: int) -> tuple[Array, bool]:
    """Return the right side b as columns (..., rows, k), and True if b is a vector.

    Raises ValueError if the shape of b does not fit the matrices.
    """
    array = array_of(caller, "b", b)
    vector = array.ndim == 1 or array.ndim == matrices.ndim - 1
    if array.ndim == 0 or array.shape[-1 if vector else -2] != rows:
        matrix_text = f"A of the shape {matrices.shape}"
        expected = f"(..., {rows}) or (..., {rows}, k)"
        raise ValueError(
            f"{caller}: b: expected a vector or columns of {rows} rows, an array {expected} for {matrix_text}, "
            f"got the shape {array.shape}; pass several vectors for one matrix as columns: b[..., None]"
        )
    return (array[..., None] if vector else array), vector


def run_on_arrays(
    caller: str,
    compute: Compute,
    operands: Sequence[tuple[Array, int]],
    shapes: Sequence[tuple[int, ...]],
    status: bool = False,
    *,
    positive: bool = False,
) -> tuple[Any, ...]:
    """Apply an algorithm for scalars to arrays, and return its results as arrays.

    ``compute`` is the algorithm. It receives the elements of one sample of each array as nested lists; for a batch of
    floats, each element is an array with the values of all samples. Its last argument is ``with_status``. It returns a
    flat list of elements for each of the ``shapes``, and the status of its pivots (0.0 if it has none). ``operands``
    are pairs of an array and the number of its last dimensions that belong to one sample. With ``status``, the status
    is the last result; otherwise floats and batches with a nonzero status raise SingularMatrixError.
    """
    try:
        batch = np.broadcast_shapes(*(array.shape[: array.ndim - dims] for array, dims in operands))
    except ValueError:
        shown = ", ".join(str(array.shape) for array, _ in operands)
        raise ValueError(f"{caller}: expected batches that broadcast, got arrays of the shapes {shown}") from None
    of_objects = any(array.dtype == object for array, _ in operands)
    kind = object if of_objects else np.result_type(*(array for array, _ in operands))
    result_shapes = [*shapes, ()] if status else shapes
    arrays = [np.empty((*batch, math.prod(shape)), kind) for shape in result_shapes]

    def put(index: Any, result: Computed) -> None:
        outputs, pivot_status = result
        for array, elements in zip(arrays, [*outputs, [pivot_status]], strict=False):
            for k, element in enumerate(elements):
                array[(*index, k)] = element

    with np.errstate(all="ignore"):
        if of_objects:
            wide = [np.broadcast_to(array, (*batch, *array.shape[array.ndim - dims :])) for array, dims in operands]
            samples = [(index, [x[index] if batch else x for x in wide]) for index in np.ndindex(batch)]
            known = all(map(_is_known, wide))
            for index, sample in samples:
                elements = [_scalars(x, dims) for x, (_, dims) in zip(sample, operands, strict=True)]
                result = compute(*elements, with_status=status or known)
                if known and not status:
                    _check(caller, np.asarray(result[1]), positive, index)
                put(index, result)
        else:
            result = compute(*(_elements(array, dims) for array, dims in operands), with_status=True)
            if not status:
                _check(caller, np.broadcast_to(result[1], batch), positive)
            put((...,), result)
    return tuple(_shaped(array, (*batch, *shape)) for array, shape in zip(arrays, result_shapes, strict=True))


def _shaped(array: Array, shape: tuple[int, ...]) -> Any:
    """Return an array in the form for users: a number if it has no dimensions, a `SymbolArray` for symbols."""
    if array.dtype != object:
        return array.reshape(shape)[()]
    single = array.item() if not shape else None
    return array.reshape(shape).view(SymbolArray) if single is None or isinstance(single, np.ndarray) else single


def _is_known(array: Array) -> bool:
    """Return True if all elements are numbers or batches of numbers."""
    return array.dtype != object or all(isinstance(x, (bool, int, float, np.generic, np.ndarray)) for x in array.flat)


def _elements(array: Array, dims: int) -> Any:
    """Return an array's elements as nested lists, each with its samples along the batch dimensions.

    The last ``dims`` dimensions are those of one sample.  Elements of a single sample are Python floats.
    """
    if array.ndim == dims and array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return array.astype(float).tolist()
    if array.ndim == dims:
        return array.tolist()
    columns = np.ascontiguousarray(np.moveaxis(array, range(array.ndim - dims, array.ndim), range(dims)))
    return _nested(columns, dims)


def _nested(array: Any, dims: int) -> Any:
    return [_nested(part, dims - 1) for part in array] if dims else array


def _scalars(array: Any, dims: int) -> Any:
    """Return the elements of an array as nested lists, with numbers as Python floats."""
    if not dims:
        x = array.item() if isinstance(array, np.ndarray) and array.ndim == 0 else array
        return float(x) if isinstance(x, (bool, int, np.bool_, np.integer, np.floating)) else x
    return [_scalars(part, dims - 1) for part in array]


def _check(caller: str, status: Array, positive: bool, index: tuple[int, ...] = ()) -> None:
    """Raise SingularMatrixError if the status of a factorization is not 0, for any sample of a batch.

    The message states the sample's ``index``, and with ``positive`` that the matrix must be positive definite.
    """
    failed = np.argwhere(status)
    if len(failed):
        sample = tuple(map(int, failed[0]))
        raise SingularMatrixError(
            caller, int(status[sample]) - 1, positive=positive, sample=index + sample, samples=len(failed)
        )
