"""Timing along a path: the fastest within limits of velocity and of second order."""

from .laying import Laid, laid, laid_anew
from .reachability import PathTiming, Reachable, sweep_backward, sweep_forward
from .resting import fastest_resting
from .rows import NODES
from .segment_lines import PathLimits, PathValues
from .smooth import SmoothLimits, SmoothTiming, SmoothValues, smoothest

__all__ = [
    "NODES",
    "Laid",
    "PathLimits",
    "PathTiming",
    "PathValues",
    "Reachable",
    "SmoothLimits",
    "SmoothTiming",
    "SmoothValues",
    "fastest_resting",
    "laid",
    "laid_anew",
    "smoothest",
    "sweep_backward",
    "sweep_forward",
]
