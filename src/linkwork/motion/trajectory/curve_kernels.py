"""Kernels that evaluate curves of a kind and size, and their arrays padded so that few kernels suffice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.curves import CurveKind, CurveSpace, TimeScaling, curve_motion
from linkwork.motion.algorithms.curves.curve_kinds import FAR

__all__ = ["CLOCK", "array_shapes", "curve_kernel", "filled"]

_KERNELS: LazyCache[Kernel] = LazyCache(256)
CLOCK = "clock_starts", "clock", "clock_segments"  # ports of kernels: the arrays of a time scaling


def filled(x: Any, axis: int | None, name: str) -> Any:
    """Return an array padded to 2^k segments; unused segments begin at `FAR`."""
    if axis is None:
        return x
    count = x.shape[axis]
    missing = (1 << max(count - 1, 0).bit_length()) - count
    if not missing:
        return x
    last = np.take(np.asarray(x), [-1] * missing, axis=axis)
    if name == "starts":
        last = np.full(last.shape, FAR)
    return np.concatenate([np.asarray(x), last], axis=axis)


def array_shapes(kind: CurveKind, arrays: Mapping[str, np.ndarray]) -> tuple[tuple[int, ...], ...]:
    return tuple(arrays[name].shape[arrays[name].ndim - len(shape) :] for name, shape in kind.arrays)


def curve_kernel(
    space: CurveSpace, kind: CurveKind, shapes: tuple[Any, ...], clocks: tuple[Any, ...], order: int
) -> Kernel:
    """Return the kernel that evaluates curves of a kind and size."""
    names = [name for name, _ in kind.arrays]
    more = CLOCK[: len(clocks)]

    def traced(*, t: Any, **arrays: Any) -> Any:
        clock = TimeScaling(*(arrays[name] for name in more)) if clocks else None
        curve_arrays = {name: arrays[name] for name in names}
        return tuple(array(x) for x in curve_motion(space, kind, curve_arrays, clock, None, t, order))

    def build() -> Kernel:
        sizes = dict(zip([*names, *more], [*shapes, *clocks], strict=True))
        return compile(traced, name=f"{kind.name}_curve", t=(), **sizes)

    return _KERNELS.get((space, kind.name, shapes, clocks, order), build)
