"""Functions of robots and kernels applied to Dask's arrays: the results are lazy, and computed block by block.

`apply_lazily` checks types, shapes and chunks while the graph is built.  Values are checked when a block is computed,
by the function itself.  A block's result has the same bits as in a call with the whole array, whatever the chunks.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from linkwork._util.array_collections import LazyFunction, has_collections, is_collection
from linkwork._util.lazy_imports import optional_module

__all__ = ["apply_lazily", "dask_array"]

_REAL = "fiub"  # kinds of types that convert to float64


def dask_array() -> Any:
    """Return the module `dask.array`.  Raises ImportError with the package to install."""
    return optional_module("dask.array", "lazy arrays need Dask", "dask")


def apply_lazily(function: LazyFunction, arguments: Sequence[Any], out: Any = None) -> Any:
    """Return the function's lazy result if some arguments are Dask arrays; a named tuple for several results.

    Raises TypeError for other collections and for ``out``.  Raises ValueError for wrong shapes, for types that are not
    real numbers, and if a dimension of one sample is divided into several chunks.
    """
    label = function.label
    named = [(port.name, x) for port, x in zip(function.inputs, arguments, strict=True)]
    entries = [
        (f"{name}[{key!r}]" if key else name, value)
        for name, x in named
        for key, value in (x.items() if isinstance(x, Mapping) else [("", x)])
    ]
    for name, x in entries:
        _refuse_labels(label, name, x)
    da = dask_array()
    if out is not None:
        raise TypeError(f"{label}: out: not supported with Dask arrays, whose results are lazy; remove out=")
    for name, x in entries:
        _check_type(da, label, name, x)
    function.check_shapes([_shape_only(x, _sizes(function, name, x)) for name, x in named])
    single = function.is_single([_type_only(x) for x in arguments])
    slots = _Slots(da, label)
    template = [
        slots.filled(name, x, len(port.shape), _sizes(function, name, x))
        for port, (name, x) in zip(function.inputs, named, strict=True)
    ]
    dtype = np.dtype(np.float32 if single else np.float64)
    name = re.sub(r"\W", "_", label)
    block = _Block(function.call, tuple(template), dtype.str, name)
    shapes = [port.shape for port in function.outputs]
    batch, arrays = slots.unified()
    rank = max(slots.ranks, default=0)
    if function.result is None and len(shapes[0]) >= rank:
        return _blockwise(da, block, batch, arrays, slots.ranks, dtype, shapes[0])
    together = _blockwise(da, block, batch, arrays, slots.ranks, dtype, (1,) * rank)
    results = [
        _blockwise(da, _Result(k, max(rank - len(shape), 0), name), batch, [together], [rank], dtype, shape)
        for k, shape in enumerate(shapes)
    ]
    return results[0] if function.result is None else function.result(*results)


def _blockwise(
    da: Any,
    function: Callable[..., Any],
    batch: Mapping[str, Any],
    arrays: Sequence[Any],
    ranks: Sequence[int],
    dtype: Any,
    shape: Sequence[int],
) -> Any:
    """Return the lazy array with the chunks ``batch`` along each batch axis, and with the ``shape`` of one sample.

    A block of the result belongs to one block of each array; the last ``ranks[k]`` dimensions of array k are one
    sample.  These dimensions share their axes with the result, so Dask fuses the function and the computation of its
    arrays into one task.  If an array has more such dimensions than the result, the function receives nested lists.
    """
    axes = (*batch, *_sample_axes(len(shape)))
    names = [
        (*[*batch][len(batch) - x.ndim + rank :], *_sample_axes(rank)) for x, rank in zip(arrays, ranks, strict=True)
    ]
    taken = max(ranks, default=0)
    return da.blockwise(
        function,
        axes,
        *(entry for pair in zip(arrays, names, strict=True) for entry in pair),
        new_axes=dict(zip(_sample_axes(len(shape))[taken:], shape[taken:], strict=True)),
        adjust_chunks={**batch, **dict(zip(_sample_axes(len(shape)), ((n,) for n in shape[:taken]), strict=False))},
        align_arrays=False,
        dtype=dtype,
        meta=np.empty((0,) * len(axes), dtype=dtype),
        concatenate=None if taken > len(shape) else True,  # concatenation of the only block would copy it
    )


def _sample_axes(rank: int) -> tuple[str, ...]:
    return tuple(f"sample_{k}" for k in range(rank))


def _refuse_labels(label: str, name: str, x: Any) -> None:
    """Raise TypeError for a labelled array of xarray, which may be installed without Dask."""
    if is_collection(x) and type(x).__module__.partition(".")[0] == "xarray":
        raise TypeError(
            f"{label}: {name}: expected an array of NumPy or Dask, got xarray's {type(x).__name__}; "
            f"robot.xarray.{label} takes labelled arrays, and .data is the array without labels"
        )


def _check_type(da: Any, label: str, name: str, x: Any) -> None:
    """Raise TypeError for a Dask collection that is not an array, ValueError for a type that float64 cannot hold."""
    if not is_collection(x):
        return
    if not isinstance(x, da.Array):
        raise TypeError(
            f"{label}: {name}: expected an array of NumPy or Dask, got Dask's {type(x).__name__}; call "
            f".to_dask_array(lengths=True) for an array of Dask"
        )
    if x.dtype.kind not in _REAL or x.dtype.itemsize > 8:
        raise ValueError(
            f"{label}: {name}: expected real numbers, got an array of Dask of type {x.dtype}, "
            f"which does not convert to float64"
        )


def _sizes(function: LazyFunction, name: str, x: Any) -> Mapping[str, int]:
    """Return the number of elements of one sample for each key of the dict ``x``; {} if ``x`` is not a dict."""
    return function.sizes_of(name) if isinstance(x, Mapping) and function.sizes_of is not None else {}


def _shape_only(x: Any, sizes: Mapping[str, int]) -> Any:
    """Return an object array with the shape of a lazy array, without memory for its elements; other values unchanged.

    Dimensions of unknown length become 1. In a dict by joint, each value keeps only the dimensions of one sample.
    """
    if isinstance(x, Mapping) and has_collections([x]):
        return {key: np.zeros(() if sizes.get(key) == 1 else np.shape(value)[-1:]) for key, value in x.items()}
    if not is_collection(x):
        return x
    return np.broadcast_to(np.empty((), dtype=object), tuple(1 if n != n else n for n in x.shape))


def _type_only(x: Any) -> Any:
    """Return an empty NumPy array with the dtype of a Dask array; return other values unchanged."""
    return np.empty(0, dtype=x.dtype) if is_collection(x) else x


@dataclass(frozen=True, slots=True)
class _Slot:
    """Placeholder of an array argument, or of a value in a dict argument, that Dask passes block by block.

    ``index`` is its position among all such arrays.
    """

    index: int


class _Slots:
    """Array arguments that Dask passes block by block, each with the number of dimensions of one sample."""

    def __init__(self, da: Any, label: str) -> None:
        self.da, self.label = da, label
        self.arrays: list[Any] = []
        self.names: list[str] = []
        self.ranks: list[int] = []

    def filled(self, name: str, x: Any, rank: int, sizes: Mapping[str, int] = MappingProxyType({})) -> Any:
        """Return an argument with a placeholder for each array that Dask passes block by block.

        ``rank`` is the number of dimensions of one sample. Raises ValueError if one of these dimensions has several
        chunks.
        """
        if isinstance(x, Mapping):
            return {key: self.filled(f"{name}[{key!r}]", value, int(sizes[key] > 1)) for key, value in x.items()}
        if not is_collection(x):
            if np.ndim(x) <= rank:
                return x
            x = self.da.from_array(np.asarray(x), chunks=-1)
        elif rank:
            self._check_chunks(name, x, rank)
        self.arrays.append(x)
        self.names.append(name)
        self.ranks.append(rank)
        return _Slot(len(self.arrays) - 1)

    def _check_chunks(self, name: str, x: Any, rank: int) -> None:
        """Raise ValueError if a dimension of one sample is divided into several chunks."""
        chunks = x.chunks[x.ndim - rank :]
        if any(len(sizes) > 1 for sizes in chunks):
            axes = ", ".join(f"{axis}: -1" for axis in range(-rank, 0))
            along = "dimension" if rank == 1 else f"{rank} dimensions"
            got = ", ".join(map(str, chunks))
            raise ValueError(
                f"{self.label}: {name}: expected one chunk along the last {along}, "
                f"got chunks of {got}; rechunk it: {name}.rechunk({{{axes}}})"
            )

    def unified(self) -> tuple[dict[str, Any], list[Any]]:
        """Return the chunks of the batch by the names of its axes, and the arrays with these chunks.

        Raises ValueError for batches that do not broadcast, or whose chunks are unknown and may differ.
        """
        batches = [x.shape[: x.ndim - rank] for x, rank in zip(self.arrays, self.ranks, strict=True)]
        shown = ", ".join(f"{name} {x.shape}" for name, x in zip(self.names, self.arrays, strict=True))
        if any(n != n for batch in batches for n in batch):
            if len({x.chunks[: x.ndim - rank] for x, rank in zip(self.arrays, self.ranks, strict=True)}) > 1:
                raise ValueError(
                    f"{self.label}: expected arrays whose chunks have known sizes, got {shown}; call their method "
                    f"compute_chunk_sizes()"
                )
        else:
            try:
                np.broadcast_shapes(*batches)
            except ValueError:
                raise ValueError(f"{self.label}: the leading dimensions do not broadcast: {shown}") from None
        axes = [tuple(f"batch_{k}" for k in range(len(batch), 0, -1)) for batch in batches]
        pairs: list[Any] = []
        for k, (x, batch, rank) in enumerate(zip(self.arrays, axes, self.ranks, strict=True)):
            pairs += [x, (*batch, *(f"input_{k}_{i}" for i in range(rank)))]
        chunks, arrays = self.da.unify_chunks(*pairs)
        return {axis: chunks[axis] for axis in max(axes, key=len)}, arrays


class _Block:
    """Function call for one block of each Dask argument; it stores the other arguments, and can be pickled."""

    __slots__ = ("__name__", "_dtype", "_function", "_template")

    def __init__(self, function: Callable[..., Any], template: tuple[Any, ...], dtype: str, name: str) -> None:
        self._function, self._template, self._dtype, self.__name__ = function, template, dtype, name

    def __call__(self, *arrays: Any) -> Any:
        blocks = [np.asarray(x) for x in arrays]
        arguments = [_with_blocks(x, blocks) for x in self._template]
        try:
            result = self._function(*arguments)
        except ValueError as error:
            shapes = ", ".join(str(x.shape) for x in blocks)
            error.add_note(f"Indices in this message count within a block of the Dask arrays, of shapes {shapes}.")
            raise
        if isinstance(result, tuple):
            return tuple(np.asarray(x, dtype=self._dtype) for x in result)
        return np.asarray(result, dtype=self._dtype)

    def __dask_tokenize__(self) -> Any:
        """Return the token of this call, from which Dask forms names of results: equal calls have equal tokens."""
        try:
            content = pickle.dumps(self)
        except Exception:  # a function that does not pickle, such as a user's friction law of a script
            return uuid.uuid4().hex
        return "linkwork", hashlib.sha256(content).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Block, (self._function, self._template, self._dtype, self.__name__)


class _Result:
    """Callable that selects one of the several results of a block's function call.

    Dask passes the call's results inside nested lists of one element each, which are removed.
    """

    __slots__ = ("__name__", "_depth", "_index")

    def __init__(self, index: int, depth: int, name: str) -> None:
        self._index, self._depth, self.__name__ = index, depth, name

    def __call__(self, results: Any) -> Any:
        for _ in range(self._depth):
            (results,) = results
        return results[self._index] if isinstance(results, tuple) else results

    def __dask_tokenize__(self) -> Any:
        return "linkwork", self._index, self._depth

    def __reduce__(self) -> tuple[Any, ...]:
        return _Result, (self._index, self._depth, self.__name__)


def _with_blocks(x: Any, blocks: Sequence[np.ndarray]) -> Any:
    if isinstance(x, _Slot):
        return blocks[x.index]
    if isinstance(x, Mapping):
        return {key: _with_blocks(value, blocks) for key, value in x.items()}
    return x
