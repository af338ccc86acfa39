"""Seconds: measured, and as text."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

__all__ = ["median_seconds", "shown_time"]


def median_seconds(call: Callable[[], Any], rounds: int = 7) -> float:
    """Return the median time of `rounds` calls [s], after an untimed one."""
    call()
    results = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        results.append(time.perf_counter() - begin)
    return statistics.median(results)


def shown_time(seconds: float | None) -> str:
    """Return a time with a suitable unit, such as "3.2 ns"; "-" for None."""
    if seconds is None:
        return "-"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{1e9 * seconds:.3g} ns"
