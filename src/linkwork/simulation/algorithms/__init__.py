"""Time stepping methods over any scalar, on the manifold of configurations."""

from linkwork.simulation.algorithms.event_location import (
    StepSegments,
    WatchedFunction,
    adaptive_segments,
    located_step,
    shorter_steps,
)
from linkwork.simulation.algorithms.ode_system import MotionSystem
from linkwork.simulation.algorithms.step_methods import METHODS, StepMethod

__all__ = [
    "METHODS",
    "MotionSystem",
    "StepMethod",
    "StepSegments",
    "WatchedFunction",
    "adaptive_segments",
    "located_step",
    "shorter_steps",
]
