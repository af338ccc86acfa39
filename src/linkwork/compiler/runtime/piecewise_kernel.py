"""Evaluation of a program on a table of piecewise functions, such as the segments of a trajectory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork._util.thread_tasks import run
from linkwork.compiler.backend import table_entry
from linkwork.compiler.codegen.float_type import DOUBLE
from linkwork.compiler.kernel import Kernel, source_and_code
from linkwork.compiler.runtime.buffer_pool import empty
from linkwork.compiler.runtime.cpython import in_main_interpreter
from linkwork.compiler.runtime.threads import get_num_threads
from linkwork.compiler.trace.trace import compile_later

__all__ = ["PiecewiseKernel", "compile_piecewise"]

_CHUNK = 1 << 17  # positions between two checks for signals, and the minimum for a thread
_LINE = 64  # [bytes] cache line
_SIZES = ctypes.c_int64 * 2
_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


def compile_piecewise(function: Callable[..., Any], name: str, common: int, column: int) -> Kernel:
    """Compile a kernel for `PiecewiseKernel` from a function ``(t, start, common, column)`` of one column.

    The function is linkwork's own and returns scalars; ``common`` and ``column`` are the sizes of these arguments.
    """
    return compile_later(function, name=name, t=(), start=(), common=(common,), column=(column,))


class PiecewiseKernel:
    """A kernel evaluated on a table of segments, each valid from its start to the next segment's start.

    The kernel's inputs are a position ``t`` (), the start of its segment (), values common to all segments (c,), and
    one column of a segment (m,); its outputs are scalars. ``starts`` (segments,) increase, and ``table`` is (segments,
    columns, m).
    """

    def __init__(self, kernel: Kernel, starts: np.ndarray, table: np.ndarray, common: np.ndarray) -> None:
        ports = [port.shape for port in kernel.inputs]
        single = all(port.shape == () for port in kernel.outputs)
        assert ports == [(), (), common.shape, table.shape[2:]] and single and len(starts) == len(table), kernel
        source, self._code = source_and_code(kernel)
        self._outputs, self.columns = len(kernel.outputs), table.shape[1]
        lanes = source.backend.lanes(DOUBLE)
        self._levels = max(len(starts) - 1, 0).bit_length()
        breaks = np.full((1 << self._levels) + 1, np.inf)
        breaks[: len(starts)] = starts
        breaks[0] = -np.inf
        rows = _aligned((len(table), table.shape[2], -(-self.columns // lanes) * lanes))
        rows[...] = 0.0
        rows[:, :, : self.columns] = table.swapaxes(1, 2)
        self._arrays = [breaks, np.array(starts, np.float64), rows, np.array(common, np.float64)]
        self._addresses = [x.ctypes.data for x in self._arrays]

    def __call__(self, t: np.ndarray, s: np.ndarray) -> list[np.ndarray]:
        """Return the outputs (n, columns) at positions t (n,), in the segments that contain s (n,)."""
        entry = _ENTRY(self._code.entry(table_entry(self.columns)).address)
        t, s = np.ascontiguousarray(t, np.float64), np.ascontiguousarray(s, np.float64)
        result = [empty((len(t), self.columns)) for _ in range(self._outputs)]
        inputs, outputs = [t.ctypes.data, s.ctypes.data], [x.ctypes.data for x in result]
        pointers = ctypes.c_void_p * (2 + len(self._addresses) + len(outputs))

        def evaluate(first: int, stop: int) -> None:
            for begin in range(first, stop, _CHUNK):
                results = [x + 8 * self.columns * begin for x in outputs]
                sizes = _SIZES(min(begin + _CHUNK, stop) - begin, self._levels)
                entry(pointers(*(x + 8 * begin for x in inputs), *self._addresses, *results), sizes)

        threads = min(get_num_threads(), len(t) // _CHUNK)
        if threads < 2 or not in_main_interpreter():
            evaluate(0, len(t))
        else:
            cuts = [len(t) * k // threads for k in range(threads + 1)]
            run([partial(evaluate, b, e) for b, e in pairwise(cuts)])
        return result


def _aligned(shape: Sequence[int]) -> np.ndarray:
    """Return an array aligned to a cache line, so that no vector crosses lines."""
    size = 8 * int(np.prod(shape))
    memory = np.empty(size + _LINE, np.uint8)
    first = -memory.ctypes.data % _LINE
    return memory[first : first + size].view(np.float64).reshape(shape)
