"""Polynomials of plain numbers at many times: all coordinates of a time side by side, from the row of its piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linkwork.kernels.compiler_api import Along, Kernel, compile_along
from linkwork.kernels.kernel_cache import Once
from linkwork.motion.algorithms.curves import KINDS, Clock, CurveSpace, curve_motion

__all__ = ["along_pieces"]

_KERNELS: Once[Kernel] = Once(64)


def along_pieces(arrays: Mapping[str, np.ndarray], clock: Clock | None, order: int) -> Along:
    """q and so many derivatives along a polynomial curve, whose clock runs evenly."""
    numbers = [] if clock is None else [clock.starts[0], *clock.coefficients[0]]
    kernel = _kernel(arrays["coefficients"].shape[2], len(numbers), order)
    return Along(kernel, arrays["starts"], arrays["coefficients"], np.array(numbers))


def _kernel(terms: int, clocks: int, order: int) -> Kernel:
    """What evaluates one coordinate, made once."""
    one, kind = CurveSpace(1, 1), KINDS["polynomial"]

    def coordinate(*, t: Any, start: Any, common: Any, column: Any) -> Any:
        clock = Clock([common[0]], [[*common[1:]]]) if clocks else None
        arrays = {"starts": [start], "coefficients": [[[*column]]]}
        return tuple(x for (x,) in curve_motion(one, kind, arrays, clock, None, t, order))

    return _KERNELS.get((terms, clocks, order), lambda: compile_along(coordinate, "plain_curve", clocks, terms))
