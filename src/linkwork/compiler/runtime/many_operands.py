"""Calls of inner loops with more operands than a NumPy ufunc has."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.compiler.codegen.float_type import DOUBLE, FloatType
from linkwork.compiler.port import Port
from linkwork.compiler.runtime.typed_loop import takes_single

__all__ = ["MOST_OPERANDS", "ManyOperands"]

MOST_OPERANDS = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32  # of a ufunc, inputs and outputs

_LOOP = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class ManyOperands:
    """The call of a kernel's inner loops with arrays, which broadcasts and converts them as a generalized ufunc does.

    ``table`` has the address of the loop of each type of ``reals``, and ``state`` is passed to the loops.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        reals: Sequence[FloatType],
        table: ctypes.Array[ctypes.c_void_p],
        state: ctypes.Structure,
    ) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self._reals, self._table, self._state = reals, table, state
        self.owners: Any = None  # objects that keep the loops alive

    def __call__(self, *arrays: Any, out: tuple[Any, ...] | None = None) -> Any:
        """Return the outputs; raises TypeError for arrays that are not real, ValueError for other shapes."""
        single = len(self._reals) > 1 and takes_single(arrays)
        index = next(k for k, real in enumerate(self._reals) if (real is DOUBLE) != single)
        dtype = np.dtype(np.float32 if single else np.float64)
        values = [np.asarray(x) for x in arrays]
        for port, x in zip(self.inputs, values, strict=True):
            if not np.can_cast(x.dtype, dtype, "same_kind"):
                raise TypeError(f"{self.name}: {port.name}: expected real numbers, got an array of {x.dtype}")
            if x.shape[max(x.ndim - len(port.shape), 0) :] != port.shape:
                raise ValueError(f"{self.name}: {port.name}: expected shape (..., {port.shape}), got {x.shape}")
        leads = [x.shape[: x.ndim - len(port.shape)] for port, x in zip(self.inputs, values, strict=True)]
        lead = np.broadcast_shapes(*leads)
        read = [
            np.ascontiguousarray(np.broadcast_to(x, (*lead, *port.shape)) if own else x, dtype)
            for port, x, own in zip(self.inputs, values, leads, strict=True)
        ]
        results = [np.empty((*lead, *port.shape), dtype) for port in self.outputs]
        self._run(index, dtype.itemsize, math.prod(lead), [bool(own) for own in leads], read, results)
        if out is not None:
            for target, result in zip(out, results, strict=True):
                if target is not None:
                    np.copyto(target, result, casting="same_kind")
            results = [result if target is None else target for target, result in zip(out, results, strict=True)]
        values = [x[()] if x.ndim == 0 else x for x in results]
        return values[0] if len(values) == 1 else tuple(values)

    def _run(
        self, index: int, size: int, count: int, varies: Sequence[bool], read: list[Any], results: list[Any]
    ) -> None:
        """Call the loop of a type with contiguous arrays of ``count`` samples, or of one where they do not vary."""
        ports, arrays = (*self.inputs, *self.outputs), [*read, *results]
        moves = [*varies, *[True] * len(results)]
        steps = [size * port.size if move else 0 for port, move in zip(ports, moves, strict=True)]
        sizes = [count]
        for port in ports:
            sizes += port.shape
            steps += [size * math.prod(port.shape[d + 1 :]) for d in range(len(port.shape))]
        addresses = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
        numbers = [(ctypes.c_ssize_t * len(row))(*row) for row in (sizes, steps)]
        if count:
            _LOOP(self._table[index] or 0)(addresses, *numbers, ctypes.addressof(self._state))
