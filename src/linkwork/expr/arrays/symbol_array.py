"""Arrays of symbols: NumPy object arrays on which NumPy's functions work as on arrays of floats.

`linkwork.compile` passes such arrays to the function that it traces, and functions of robots return them.  The elements
are scalars of any type: symbols, numbers, dual numbers, and whole batches (an array as one element).  NumPy calls a
`SymbolArray`, or a bare symbol among its arguments, first; `numpy_elementwise.py` and `numpy_functions.py` implement
the functions.  Functions that are undefined on symbols raise an error that names an alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.scalar.symbol import Symbol
from linkwork.expr.scalar.symbol_methods import ANSWERS, AS_AN_INDEX

__all__ = [
    "SymbolArray",
    "array",
    "as_symbol_arrays",
    "floats",
    "is_traced",
    "map_samples",
    "object_array",
    "plain_arrays",
    "scalars",
]


class SymbolArray(np.ndarray):
    """A NumPy object array of symbols, numbers or other scalars, on which NumPy's functions work."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **how: Any) -> Any:
        return ANSWERS.ufunc(ufunc, method, inputs, how)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return ANSWERS.function(func, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        try:
            result = np.ndarray.__getitem__(self, key)
        except IndexError as error:
            _refuse_symbols_in(key, error)
            raise
        # an element that is a batch counts as a number: a 0-dimensional array distinguishes it from arrays
        return object_array((), [result]) if isinstance(result, np.ndarray) and result.dtype != object else result

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            if isinstance(value, SymbolArray) and not value.ndim:
                target = np.ndarray.__getitem__(self, key)
                if not (isinstance(target, np.ndarray) and target.dtype == object):
                    value = value.item()  # NumPy would store the array itself as an element
            np.ndarray.__setitem__(self, key, value)
        except IndexError as error:
            _refuse_symbols_in(key, error)
            raise

    def __contains__(self, item: Any) -> NoReturn:
        raise TypeError("in: the values of an array of symbols are not known during tracing: compare elements")

    def astype(self, dtype: Any, *arguments: Any, **how: Any) -> Any:
        """Convert to a type, as NumPy's arrays do; an object array stays an array of symbols.

        Truth values become 0 and 1 of a floating-point type.
        """
        truths = [getattr(getattr(x, "op", None), "logical", False) for x in self.flat]
        if truths and all(truths) and np.dtype(dtype).kind == "f":
            return np.where(self, 1.0, 0.0)
        result = np.asarray(self).astype(dtype, *arguments, **how)
        return as_symbol_arrays(result)

    def dot(self, other: Any, out: Any = None) -> Any:
        """Return `numpy.dot`."""
        return np.dot(self, other)

    def trace(self, *arguments: Any, **how: Any) -> Any:
        """Return `numpy.trace`."""
        return np.trace(self, *arguments, **how)

    def round(self, *arguments: Any, **how: Any) -> Any:
        """Return `numpy.round`."""
        return np.round(self, *arguments, **how)

    def var(self, *arguments: Any, **how: Any) -> Any:
        """Return `numpy.var`."""
        return np.var(self, *arguments, **how)

    def std(self, *arguments: Any, **how: Any) -> Any:
        """Return `numpy.std`."""
        return np.std(self, *arguments, **how)

    def mean(self, *arguments: Any, **how: Any) -> Any:
        """Return `numpy.mean`."""
        return np.mean(self, *arguments, **how)


def _refusing(name: str) -> Any:
    def method(self: SymbolArray, *arguments: Any, **how: Any) -> NoReturn:
        raise ANSWERS.refusal(name)

    method.__name__ = name
    method.__doc__ = f"Raise TypeError: the result of `numpy.{name}` depends on values."
    return method


for _name in ("argmax", "argmin", "argsort", "argpartition", "sort", "partition", "nonzero", "searchsorted"):
    setattr(SymbolArray, _name, _refusing(_name))


@public
def array(values: Any) -> Any:
    """Return `numpy.array` of nested lists; with symbols among the values, an array of symbols.

    NumPy's elementwise functions, selections and comparisons work on the result, but not on `numpy.array` of symbols.
    """
    if values.__class__ is list and values:  # of a vector or rows of scalars, NumPy would ask each for its shape
        if values[0].__class__ is list:
            columns = len(values[0])
            if columns and all(row.__class__ is list and len(row) == columns for row in values):
                elements = [x for row in values for x in row]
                if _SCALARS.issuperset(map(type, elements)) and not all(x.__class__ is float for x in elements):
                    return object_array((len(values), columns), elements)
        elif _SCALARS.issuperset(map(type, values)) and not all(x.__class__ is float for x in values):
            return object_array((len(values),), values)
    result = np.array(values)
    if result.dtype != object:
        return result
    return object_array(result.shape, [x.item() if isinstance(x, SymbolArray) else x for x in result.ravel().tolist()])


def object_array(shape: Sequence[int], elements: Sequence[Any]) -> Any:
    """Build an object array of a shape from its elements in row-major order; an element may be a batch."""
    return np.fromiter(elements, dtype=object, count=len(elements)).reshape(shape).view(SymbolArray)


_SCALARS = frozenset((float, Symbol))


def floats(values: np.ndarray) -> np.ndarray:
    """Convert an object array of numbers to floats; return any other array unchanged."""
    elements = values.ravel().tolist()
    known = all(isinstance(x, (int, float)) for x in elements)
    return np.array(elements, dtype=float).reshape(values.shape) if known else values


def map_samples(
    function: Callable[..., Sequence[Sequence[Any]]],
    arrays: Sequence[np.ndarray],
    ranks: Sequence[int],
    shapes: Sequence[tuple[int, ...]],
) -> list[Any]:
    """Apply a function to each sample of a batch.  Return its results, each as an array of all samples.

    The last ``ranks[k]`` dimensions of ``arrays[k]`` belong to one sample; the leading dimensions of all arrays
    broadcast.  The function receives the elements of one sample of each array, as flat lists.  It returns a flat list
    of elements for each of the ``shapes``, which are the shapes of its results.  Without a batch, a result of shape ()
    is a bare scalar.
    """
    leading = [x.shape[: x.ndim - rank] for x, rank in zip(arrays, ranks, strict=True)]
    batch = np.broadcast_shapes(*leading)
    samples = [
        function(*(_sample(x, dimensions, index) for x, dimensions in zip(arrays, leading, strict=True)))
        for index in np.ndindex(*batch)
    ]
    results = []
    for k, shape in enumerate(shapes):
        elements = [x for sample in samples for x in sample[k]]
        single = not batch and not shape and not isinstance(elements[0], np.ndarray)
        results.append(elements[0] if single else object_array((*batch, *shape), elements))
    return results


def _sample(array: np.ndarray, leading: tuple[int, ...], index: tuple[int, ...]) -> list[Any]:
    """Return the elements of one sample of an array broadcast to a batch, with integers as floats."""
    own_index = index[len(index) - len(leading) :]
    key: Any = (*(0 if size == 1 else k for k, size in zip(own_index, leading, strict=True)), ...)
    sample = array.view(np.ndarray)[key]
    return [float(x) if isinstance(x, (bool, int)) else x for x in sample.ravel().tolist()]


def as_symbol_arrays(result: Any) -> Any:
    """Convert the object arrays in a NumPy function's result to `SymbolArray`s."""
    if isinstance(result, np.ndarray):
        return result.view(SymbolArray) if result.dtype == object else result
    if isinstance(result, (list, tuple)):
        parts = [as_symbol_arrays(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def plain_arrays(x: Any) -> Any:
    """Convert arrays of symbols to plain NumPy object arrays, and scalars to 0-dimensional object arrays."""
    if isinstance(x, SymbolArray):
        return x.view(np.ndarray)
    if getattr(x.__class__, "_precedence", None) is not None:
        array = np.empty((), dtype=object)
        array[()] = x
        return array
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(plain_arrays(part) for part in x)
    return x


def scalars(x: Any) -> np.ndarray:
    """Return ``x`` as an array: an object array if it contains symbols, dual numbers or batches.

    Raises ValueError for nested lists of numbers whose lengths differ.
    """
    array = plain_arrays(x)
    if isinstance(array, np.ndarray):
        return array
    if not is_traced(x):
        return np.asarray(array)
    result = np.array(array, dtype=object)
    for index, element in np.ndenumerate(result):  # scalars in lists are arrays (), which NumPy keeps as elements
        if element.__class__ is np.ndarray and not element.ndim:
            result[index] = element.item()
    return result


def is_traced(x: Any, depth: int = 0) -> bool:
    """Return True for a symbol or dual number, and for an array or container with such scalars or batches.

    Containers are searched to a maximum ``depth``, since NumPy crashes on a container that contains itself.
    """
    if depth > _MAX_LEVELS:
        return False
    if isinstance(x, SymbolArray) or getattr(x.__class__, "_precedence", None) is not None:
        return True
    if isinstance(x, np.ndarray):
        if x.dtype != object:
            return False
        elements = x.ravel().tolist()
        return any(is_traced(y, depth + 1) or (isinstance(y, np.ndarray) and y.dtype != object) for y in elements)
    if isinstance(x, Mapping):
        x = list(x.values())
    return isinstance(x, (list, tuple)) and any(is_traced(y, depth + 1) for y in x)


_MAX_LEVELS = 64  # of nested containers, as many as NumPy's arrays may have


def _refuse_symbols_in(key: Any, error: Exception) -> None:
    """Raise TypeError if an index is a symbol or an array of symbols."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(is_traced(part) for part in parts):
        raise TypeError(AS_AN_INDEX) from error
