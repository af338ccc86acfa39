"""Time-optimal path timing within limits of first and second order, over any scalar."""

from linkwork.motion.algorithms.timing.jerk_interior_point import (
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
from linkwork.motion.algorithms.timing.path_discretization import Laid, laid, laid_anew
from linkwork.motion.algorithms.timing.segment_constraints import NODES, PathLimits, PathValues
from linkwork.motion.algorithms.timing.toppra_sweeps import (
    PathTiming,
    Reachable,
    fastest_resting,
    sweep_backward,
    sweep_forward,
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
