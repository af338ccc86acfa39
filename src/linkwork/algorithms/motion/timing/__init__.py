"""Timing along a path: the fastest within limits of velocity and of second order."""

from .reachability import PathLimits, PathTiming, PathValues, fastest
from .rows import NODES
from .smooth import SmoothLimits, SmoothTiming, SmoothValues, smoothest

__all__ = [
    "NODES",
    "PathLimits",
    "PathTiming",
    "PathValues",
    "SmoothLimits",
    "SmoothTiming",
    "SmoothValues",
    "fastest",
    "smoothest",
]
