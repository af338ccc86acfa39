"""Axes of matplotlib for pictures and plots."""

from __future__ import annotations

from typing import Any

__all__ = ["new_axes", "pyplot"]


def pyplot() -> Any:
    """matplotlib.pyplot.  Raises ImportError where matplotlib is not installed."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plot needs matplotlib: pip install "linkwork[figures]"') from None
    return plt


def new_axes(rows: int, size: tuple[float, float], columns: int = 1) -> Any:
    """A figure's axes, some below the other: (rows,), or (rows, columns)."""
    shape = {"sharex": True, "figsize": size, "layout": "constrained"}
    return pyplot().subplots(rows, columns, **shape)[1]
