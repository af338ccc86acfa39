"""Evaluation of the Python function of a kernel on numbers: slow, and the reference for compiled code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compiler.port import Port
from linkwork.compiler.trace.pytree_ports import PortTree
from linkwork.expr.arrays.pytree import Leaf, TreeDef, flatten, leaf_paths, unflatten
from linkwork.expr.arrays.symbol_array import object_array

__all__ = ["run_uncompiled"]


def run_uncompiled(
    function: Callable[..., Any],
    nesting: PortTree,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    arguments: Sequence[Any],
) -> list[np.ndarray]:
    """Evaluate a Python function and return its outputs in the order of the ports.

    ``arguments`` has an array of shape (..., *port shape) for each input port. One state is passed as floats. A batch
    is passed as arrays whose elements are arrays of all samples, so that the function runs once in both cases. Raises
    ValueError for arrays of other shapes.
    """
    name = getattr(function, "__name__", "function")
    arrays = [port.array(name, x) for port, x in zip(inputs, arguments, strict=True)]
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(port.shape)] for port, x in zip(inputs, arrays, strict=True)))
    named, start = {}, 0
    for key, form in nesting.inputs.items():
        count = len(leaf_paths(form))
        named[key] = _argument(form, arrays[start : start + count], batch)
        start += count
    with np.errstate(all="ignore"):
        returned = function(**named)
    parts = _parts(returned, nesting)
    return [_output(part, port, batch) for part, port in zip(parts, outputs, strict=True)]


def _argument(form: TreeDef | Leaf, arrays: Sequence[np.ndarray], batch: tuple[int, ...]) -> Any:
    values: list[Any] = []
    for (_, leaf), x in zip(leaf_paths(form), arrays, strict=True):
        if batch:
            full = np.broadcast_to(x, (*batch, *leaf.shape)).reshape(*batch, leaf.size)
            values += [np.array(full[..., k]) for k in range(leaf.size)]
        else:
            values += x.ravel().tolist()
    if batch:
        singles = [leaf for _, leaf in leaf_paths(form) if not leaf.is_array]
        return unflatten(_all_arrays(form) if singles else form, values)
    return unflatten(form, values, lambda elements: np.array(elements, dtype=np.float64))


def _all_arrays(form: TreeDef | Leaf) -> TreeDef | Leaf:
    """Return the form with an array of no dimensions in place of every bare float.

    For a batch, the original function is called with arguments of this form, since values are arrays and not floats.
    """
    if isinstance(form, Leaf):
        return Leaf(form.shape)
    return TreeDef(form.kind, form.keys, tuple(_all_arrays(part) for part in form.parts))


def _parts(returned: Any, nesting: PortTree) -> list[Any]:
    """Return the arrays that a function returned, one for each output."""
    if nesting.outputs is not None:
        elements, form = flatten(returned, "output")
        result, start = [], 0
        for _, leaf in leaf_paths(form):
            result.append(object_array(leaf.shape, elements[start : start + leaf.size]))
            start += leaf.size
        return result
    if isinstance(returned, dict):
        return list(returned.values())
    return list(returned) if isinstance(returned, tuple) else [returned]


def _output(part: Any, port: Port, batch: tuple[int, ...]) -> np.ndarray:
    """Return one output as an array (*batch, *port shape)."""
    if isinstance(part, np.ndarray) and part.dtype != object and part.shape == port.shape:
        array = np.asarray(part, dtype=np.float64)
        return np.array(np.broadcast_to(array, (*batch, *port.shape)))
    elements = _elements(part)
    columns = [np.broadcast_to(np.asarray(x, dtype=np.float64), batch) for x in elements]
    stacked = np.stack(columns, axis=-1) if columns else np.zeros((*batch, 0))
    return stacked.reshape((*batch, *port.shape))


def _elements(part: Any) -> list[Any]:
    if isinstance(part, list):
        return [x for inner in part for x in _elements(inner)]
    if isinstance(part, np.ndarray) and part.dtype == object:
        return [x for inner in part.ravel().tolist() for x in _elements(inner)]
    return list(np.ravel(part).tolist()) if np.ndim(part) == 0 else [part]
