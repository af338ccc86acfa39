"""Kernels of timing, by how much is looked at: made once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....algorithms.motion.timing import PathLimits, PathValues, fastest
from ....bridge.machine import Kernel, compile
from ....bridge.once import Once
from .limits import PathRows

__all__ = ["solved"]

_KERNELS: Once[Kernel] = Once(64)


def solved(
    rates: np.ndarray,
    velocity: tuple[np.ndarray, np.ndarray],
    rows: PathRows,
    steps: np.ndarray,
    caps: np.ndarray,
    start: float,
    end: float,
) -> tuple[np.ndarray, np.ndarray, int]:
    """x at the ends of segments, u on them, and the segment that cannot be passed, or −1."""
    rest = 0.0 if rows.rest is None else rows.rest
    low, high = (x if x.ndim == 1 else x[:, None] for x in (rows.lower, rows.upper))  # of each segment
    may_rest = bool((low <= rest).all() and (rest <= high).all())
    given: dict[str, Any] = {"rates": rates, "second": rows.second, "slowest": velocity[0], "highest": velocity[1]}
    if rows.first is not rates:
        given["first"] = rows.first
    if rows.rest is not None:
        given["rest"] = rows.rest
    if rows.speeds is not None:
        given |= {"speeds": rows.speeds, "speed_limits": rows.fastest}
    given |= {"lower": rows.lower, "upper": rows.upper, "steps": steps, "caps": caps, "start": start, "end": end}
    shapes = {name: np.shape(x) for name, x in given.items()}
    key = (may_rest, *shapes.items())

    def traced(**x: Any) -> Any:
        along = PathValues(x["rates"], x.get("first", x["rates"]), x["second"], x.get("rest"), x.get("speeds"))
        limits = PathLimits(x["slowest"], x["highest"], x["lower"], x["upper"], x.get("speed_limits"))
        return tuple(fastest(along, limits, x["steps"], x["caps"], x["start"], x["end"], may_rest=may_rest))

    kernel = _KERNELS.get(key, lambda: compile(traced, name="time_optimal", **shapes))
    x, u, blocked = kernel(**given)
    return x, u, int(blocked)
