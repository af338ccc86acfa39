"""Pictures of workspace maps: what `draw.py` draws of an arm that ships inside."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt

import linkwork as lw

__all__ = ["ALL"]

VALUES = ("orientation_coverage", "mean_manipulability")


def arm() -> Any:
    """Directions and manipulability of a hand in three planes through the shoulder, from ten million samples."""
    result = lw.load("arm7").workspace_map("hand", samples=10_000_000, voxel_size=0.04)
    figure = plt.figure(figsize=(9.0, 6.0), layout="constrained")
    for value, part in zip(VALUES, figure.subfigures(2, 1), strict=True):
        result.plot(value, point=(0.0, 0.0, 0.34), axes=part.subplots(1, 3))
    return figure


ALL = (arm,)
