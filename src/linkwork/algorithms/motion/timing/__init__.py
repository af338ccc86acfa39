"""Timing along a path: the fastest within limits of velocity and of second order."""

from .laying import Laid, laid, laid_anew
from .reachability import PathTiming, Reachable, sweep_backward, sweep_forward
from .resting import fastest_resting
from .rows import NODES
from .segment_lines import PathLimits, PathValues
from .smooth import (
    CARRIED,
    STAGE,
    SmoothLimits,
    SmoothValues,
    last_stage,
    rooms_left,
    rooms_left_at_end,
    stage_of,
    sweep_gains,
    sweep_steps,
)

__all__ = [
    "CARRIED",
    "NODES",
    "STAGE",
    "Laid",
    "PathLimits",
    "PathTiming",
    "PathValues",
    "Reachable",
    "SmoothLimits",
    "SmoothValues",
    "fastest_resting",
    "laid",
    "laid_anew",
    "last_stage",
    "rooms_left",
    "rooms_left_at_end",
    "stage_of",
    "sweep_backward",
    "sweep_forward",
    "sweep_gains",
    "sweep_steps",
]
