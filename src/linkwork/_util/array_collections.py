"""Arguments that are collections of other libraries: lazy arrays of Dask and labelled arrays of xarray.

They are recognised without an import of these libraries.  `linkwork.interop.dask_arrays` applies a function to
them.  It is imported at the first call with one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork._util.lazy_imports import LazyModule

__all__ = ["CollectionError", "LazyFunction", "has_collections", "is_collection", "refuse_collections"]

_DASK_ARRAYS = LazyModule("linkwork.interop.dask_arrays")


class CollectionError(TypeError):
    """Raised where an array is expected and a collection is passed; callers catch it and build a lazy result."""


def is_collection(x: Any) -> bool:
    """Return True for a collection with Dask's protocol, such as an array of Dask or of xarray."""
    return hasattr(type(x), "__dask_graph__")


def has_collections(arguments: Iterable[Any]) -> bool:
    """Return True if an argument, or a value in a dict among them, is a collection."""
    return any(is_collection(x) or (isinstance(x, Mapping) and any(map(is_collection, x.values()))) for x in arguments)


def refuse_collections(arguments: Iterable[Any]) -> None:
    """Raise CollectionError if an argument, or a value in a dict among them, is a collection."""
    if has_collections(arguments):
        raise CollectionError("expected NumPy arrays, got a collection")


@dataclass(frozen=True, slots=True)
class LazyFunction:
    """Function of arrays, with the properties that lazy arrays need before they call it block by block."""

    call: Callable[..., Any]  # pickles; takes one array for each input
    label: str  # with which messages begin
    inputs: Sequence[Any]  # ports: name and shape
    outputs: Sequence[Any]
    result: Callable[..., Any] | None  # type of named tuples; None for a single output
    check_shapes: Callable[[Sequence[Any]], Any]  # raises the function's errors; arguments have shapes, without values
    is_single: Callable[[Sequence[Any]], bool]  # True if the result is float32
    sizes_of: Callable[[str], Mapping[str, int]] | None = None  # of the entries of an input that is passed as a dict

    def __call__(self, arguments: Sequence[Any], out: Any = None) -> Any:
        """Return the lazy result, or a named tuple of them.  Raises the errors of `apply_lazily`."""
        return _DASK_ARRAYS.apply_lazily(self, arguments, out)
