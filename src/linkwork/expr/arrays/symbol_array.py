"""Arrays of symbols: NumPy arrays of objects on which NumPy's functions mean what they mean on arrays of floats.

`linkwork.compile` hands such arrays to the function that it traces, and functions of robots answer with them.  The
elements are scalars of any kind: symbols, numbers, dual numbers, and whole batches (an array for each element).
NumPy asks a `SymbolArray`, or a bare symbol among its arguments, before it does anything itself;
`numpy_elementwise.py` and `numpy_functions.py` say what is done.  What cannot work on symbols is refused with the name
of what can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork.expr.scalar.symbol_methods import ANSWERS, AS_AN_INDEX

__all__ = ["SymbolArray", "array", "bare", "filled", "floats", "is_traced", "over_samples", "scalars", "wrapped"]


class SymbolArray(np.ndarray):
    """An array of scalars of any kind; see the module."""

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
        # an element that is a batch is a number too: an array of no dimension keeps it apart from arrays
        return filled((), [result]) if isinstance(result, np.ndarray) and result.dtype != object else result

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            if isinstance(value, SymbolArray) and not value.ndim:
                there = np.ndarray.__getitem__(self, key)
                if not (isinstance(there, np.ndarray) and there.dtype == object):
                    value = value.item()  # NumPy would take the array itself for an element
            np.ndarray.__setitem__(self, key, value)
        except IndexError as error:
            _refuse_symbols_in(key, error)
            raise

    def __contains__(self, item: Any) -> NoReturn:
        raise TypeError("in: which numbers an array of symbols has is not known while a function is traced: compare it")

    def astype(self, dtype: Any, *arguments: Any, **how: Any) -> Any:
        """As of any array; one of objects stays an array of symbols."""
        result = np.asarray(self).astype(dtype, *arguments, **how)
        return wrapped(result)

    def dot(self, other: Any, out: Any = None) -> Any:
        """As `numpy.dot`."""
        return np.dot(self, other)

    def trace(self, *arguments: Any, **how: Any) -> Any:
        """As `numpy.trace`."""
        return np.trace(self, *arguments, **how)

    def round(self, *arguments: Any, **how: Any) -> Any:
        """As `numpy.round`."""
        return np.round(self, *arguments, **how)

    def var(self, *arguments: Any, **how: Any) -> Any:
        """As `numpy.var`."""
        return np.var(self, *arguments, **how)

    def std(self, *arguments: Any, **how: Any) -> Any:
        """As `numpy.std`."""
        return np.std(self, *arguments, **how)

    def mean(self, *arguments: Any, **how: Any) -> Any:
        """As `numpy.mean`."""
        return np.mean(self, *arguments, **how)


def _refusing(name: str) -> Any:
    def method(self: SymbolArray, *arguments: Any, **how: Any) -> NoReturn:
        raise ANSWERS.refusal(name)

    method.__name__ = name
    method.__doc__ = f"Refused: what `numpy.{name}` gives depends on values."
    return method


for _name in ("argmax", "argmin", "argsort", "argpartition", "sort", "partition", "nonzero", "searchsorted"):
    setattr(SymbolArray, _name, _refusing(_name))


@public
def array(values: Any) -> Any:
    """What `numpy.array` makes of numbers in nested lists; where a symbol is among them, an array of symbols.

    NumPy's own functions of elements, choices and comparisons work on the result, as they do not on what `numpy.array`
    makes of symbols.
    """
    result = np.array(values)
    if result.dtype != object:
        return result
    return filled(result.shape, [x.item() if isinstance(x, SymbolArray) else x for x in result.ravel().tolist()])


def filled(shape: Sequence[int], elements: Sequence[Any]) -> Any:
    """The array of a shape with these elements, in row-major order; an element may be an array, a batch."""
    made = np.empty(len(elements), dtype=object)
    for k, element in enumerate(elements):
        made[k] = element
    return made.reshape(shape).view(SymbolArray)


def floats(made: np.ndarray) -> np.ndarray:
    """An array of floats for one of objects that are all numbers; any other as it is."""
    elements = made.ravel().tolist()
    known = all(isinstance(x, (int, float)) for x in elements)
    return np.array(elements, dtype=float).reshape(made.shape) if known else made


def over_samples(
    function: Callable[..., Sequence[Sequence[Any]]],
    arrays: Sequence[np.ndarray],
    ranks: Sequence[int],
    shapes: Sequence[tuple[int, ...]],
) -> list[Any]:
    """What a function of one sample gives for each of a batch, whose leading dimensions broadcast.

    It takes the elements of each array's last so many dimensions, and gives those of results of these shapes.  A result
    of no dimension is the bare scalar.
    """
    leading = [x.shape[: x.ndim - rank] for x, rank in zip(arrays, ranks, strict=True)]
    batch = np.broadcast_shapes(*leading)
    samples = [
        function(*(_sample(x, own, place) for x, own in zip(arrays, leading, strict=True)))
        for place in np.ndindex(*batch)
    ]
    results = []
    for k, shape in enumerate(shapes):
        elements = [x for sample in samples for x in sample[k]]
        single = not batch and not shape and not isinstance(elements[0], np.ndarray)
        results.append(elements[0] if single else filled((*batch, *shape), elements))
    return results


def _sample(array: np.ndarray, leading: tuple[int, ...], place: tuple[int, ...]) -> list[Any]:
    """The elements of one sample of an array that is broadcast to a batch; whole numbers as floats."""
    own = place[len(place) - len(leading) :]
    index: Any = (*(0 if size == 1 else k for k, size in zip(own, leading, strict=True)), ...)
    sample = array.view(np.ndarray)[index]
    return [float(x) if isinstance(x, (bool, int)) else x for x in sample.ravel().tolist()]


def wrapped(result: Any) -> Any:
    """What NumPy made of arrays of objects, as a caller gets it."""
    if isinstance(result, np.ndarray):
        return result.view(SymbolArray) if result.dtype == object else result
    if isinstance(result, (list, tuple)):
        parts = [wrapped(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result


def bare(x: Any) -> Any:
    """The same as arrays that NumPy takes for plain ones; scalars of ours have no dimension, and lists stay lists."""
    if isinstance(x, SymbolArray):
        return x.view(np.ndarray)
    if getattr(x.__class__, "_precedence", None) is not None:
        made = np.empty((), dtype=object)
        made[()] = x
        return made
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(bare(part) for part in x)
    return x


def scalars(x: Any) -> np.ndarray:
    """An array of scalars of any kind, of objects where some are no numbers.  Raises ValueError where it is none."""
    made = bare(x)
    if isinstance(made, np.ndarray):
        return made
    return np.array(made, dtype=object) if is_traced(x) else np.asarray(made)


def is_traced(x: Any) -> bool:
    """Whether it is a scalar of ours, or an array of such or of batches; or lists, tuples or dicts of these."""
    if isinstance(x, SymbolArray) or getattr(x.__class__, "_precedence", None) is not None:
        return True
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(isinstance(y, np.ndarray) or is_traced(y) for y in x.ravel().tolist())
    if isinstance(x, Mapping):
        x = list(x.values())
    return isinstance(x, (list, tuple)) and any(map(is_traced, x))


def _refuse_symbols_in(key: Any, error: Exception) -> None:
    """Raises TypeError where what stands in brackets is a symbol, or an array of symbols."""
    parts = key if isinstance(key, tuple) else (key,)
    if any(is_traced(part) for part in parts):
        raise TypeError(AS_AN_INDEX) from error
