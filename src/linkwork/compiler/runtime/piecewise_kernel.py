"""Calls of a program along a table of rows: see `along`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork._util.thread_pool import run
from linkwork.compiler.backend import table_entry
from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.kernel import Kernel, made_from
from linkwork.compiler.runtime.buffer_pool import empty
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.threads import get_num_threads
from linkwork.compiler.trace.trace import trace

__all__ = ["PiecewiseKernel", "compile_along"]

_SHARE = 1 << 17  # places between two looks at signals, and the least that are worth a thread
_LINE = 64  # bytes
_SIZES = ctypes.c_int64 * 2
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def compile_along(function: Callable[..., Any], name: str, common: int, column: int) -> Kernel:
    """A kernel for `PiecewiseKernel`, of a function ``(t, start, common, column)`` of one column that returns
    numbers.
    """
    program = trace(function, name, {"t": (), "start": (), "common": (common,), "column": (column,)})
    return Kernel(program, later=True)


class PiecewiseKernel:
    """A kernel's function along a table of rows, each of which begins at a number and holds until the next begins.

    The kernel's inputs are a place ``t`` (), where its row begins (), numbers that all rows share (c,), and one column
    of a row (m,); its outputs are single numbers.  ``starts`` (rows,) grow, and ``table`` is (rows, columns, m).
    """

    def __init__(self, kernel: Kernel, starts: np.ndarray, table: np.ndarray, common: np.ndarray) -> None:
        ports = [port.shape for port in kernel.inputs]
        single = all(port.shape == () for port in kernel.outputs)
        assert ports == [(), (), common.shape, table.shape[2:]] and single and len(starts) == len(table), kernel
        source, self._code = made_from(kernel)
        self._outputs, self.columns = len(kernel.outputs), table.shape[1]
        lanes = source.backend.lanes(DOUBLE)
        self._levels = max(len(starts) - 1, 0).bit_length()
        breaks = np.full((1 << self._levels) + 1, np.inf)
        breaks[: len(starts)] = starts
        breaks[0] = -np.inf
        rows = _aligned((len(table), table.shape[2], -(-self.columns // lanes) * lanes))
        rows[...] = 0.0
        rows[:, :, : self.columns] = table.swapaxes(1, 2)
        self._given = [breaks, np.array(starts, np.float64), rows, np.array(common, np.float64)]
        self._places = [x.ctypes.data for x in self._given]

    def __call__(self, t: np.ndarray, s: np.ndarray) -> list[np.ndarray]:
        """The outputs (n, columns) at places t (n,), whose rows are those in which the numbers s (n,) lie."""
        entry = _ENTRY(self._code.entry(table_entry(self.columns)).address)
        t, s = np.ascontiguousarray(t, np.float64), np.ascontiguousarray(s, np.float64)
        result = [empty((len(t), self.columns)) for _ in range(self._outputs)]
        inputs, outputs = [t.ctypes.data, s.ctypes.data], [x.ctypes.data for x in result]
        several = ctypes.c_void_p * (2 + len(self._places) + len(outputs))

        def some(first: int, stop: int) -> None:
            for begin in range(first, stop, _SHARE):
                results = [x + 8 * self.columns * begin for x in outputs]
                sizes = _SIZES(min(begin + _SHARE, stop) - begin, self._levels)
                entry(several(*(x + 8 * begin for x in inputs), *self._places, *results), sizes)

        threads = min(get_num_threads(), len(t) // _SHARE)
        if threads < 2 or not in_main_interpreter():
            some(0, len(t))
        else:
            cuts = [len(t) * k // threads for k in range(threads + 1)]
            run([partial(some, b, e) for b, e in pairwise(cuts)])
        return result


def _aligned(shape: Sequence[int]) -> np.ndarray:
    """An array that begins with a line of the cache, so that no vector in it is in two."""
    size = 8 * int(np.prod(shape))
    memory = np.empty(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(np.float64).reshape(shape)
