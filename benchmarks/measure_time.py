"""Seconds as text."""

from __future__ import annotations

__all__ = ["shown_time"]


def shown_time(seconds: float | None) -> str:
    """In the unit that fits: "3.2 ns", "-" for none."""
    if seconds is None:
        return "-"
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{1e9 * seconds:.3g} ns"
