"""A kernel's Python function on numbers, as it stands: the reference that does not share the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork.compiler.program import Port
from linkwork.compiler.trace.pytree_ports import PortTree
from linkwork.expr.arrays.pytree import Form, Leaf, leaves_of, put_together, taken_apart
from linkwork.expr.arrays.symbol_array import filled

__all__ = ["run_uncompiled"]


def run_uncompiled(
    function: Callable[..., Any],
    nesting: PortTree,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    given: Sequence[Any],
) -> list[np.ndarray]:
    """The outputs, in the order of the ports, for arrays of shape (..., *port shape), one for each input port.

    One state goes in as floats.  A batch goes in as arrays whose elements are arrays, of all samples; so the function
    runs once either way.  Raises ValueError for arrays of other shapes.
    """
    name = getattr(function, "__name__", "function")
    arrays = [port.array(name, x) for port, x in zip(inputs, given, strict=True)]
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(port.shape)] for port, x in zip(inputs, arrays, strict=True)))
    arguments, start = {}, 0
    for key, form in nesting.inputs.items():
        count = len(leaves_of(form))
        arguments[key] = _argument(form, arrays[start : start + count], batch)
        start += count
    with np.errstate(all="ignore"):
        returned = function(**arguments)
    parts = _parts(returned, nesting, len(outputs))
    return [_output(part, port, batch) for part, port in zip(parts, outputs, strict=True)]


def _argument(form: Form | Leaf, arrays: Sequence[np.ndarray], batch: tuple[int, ...]) -> Any:
    numbers: list[Any] = []
    for (_, leaf), x in zip(leaves_of(form), arrays, strict=True):
        if batch:
            full = np.broadcast_to(x, (*batch, *leaf.shape)).reshape(*batch, leaf.size)
            numbers += [np.array(full[..., k]) for k in range(leaf.size)]
        else:
            numbers += x.ravel().tolist()
    if batch:
        singles = [leaf for _, leaf in leaves_of(form) if not leaf.is_array]
        return put_together(_all_arrays(form) if singles else form, numbers)
    return put_together(form, numbers, lambda elements: np.array(elements, dtype=np.float64))


def _all_arrays(form: Form | Leaf) -> Form | Leaf:
    """The form with arrays of no dimension in the place of bare numbers: so a batch is told from an array."""
    if isinstance(form, Leaf):
        return Leaf(form.shape)
    return Form(form.kind, form.keys, tuple(_all_arrays(part) for part in form.parts))


def _parts(returned: Any, nesting: PortTree, count: int) -> list[Any]:
    """The arrays that a function returned, one for each output."""
    if nesting.outputs is not None:
        numbers, form = taken_apart(returned, "output")
        found, start = [], 0
        for _, leaf in leaves_of(form):
            found.append(filled(leaf.shape, numbers[start : start + leaf.size]))
            start += leaf.size
        return found
    if isinstance(returned, dict):
        return list(returned.values())
    return list(returned) if isinstance(returned, tuple) else [returned]


def _output(part: Any, port: Port, batch: tuple[int, ...]) -> np.ndarray:
    """One output's numbers, a batch in the leading dimensions."""
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
