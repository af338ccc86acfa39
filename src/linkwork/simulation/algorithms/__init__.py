"""Time stepping methods over any scalar, on the manifold of configurations."""

from linkwork.simulation.algorithms.event_location import (
    StepPieces,
    WatchedFunction,
    adaptive_pieces,
    located_step,
    shorter_steps,
)
from linkwork.simulation.algorithms.ode_system import MotionSystem
from linkwork.simulation.algorithms.step_methods import METHODS, StepMethod

__all__ = [
    "METHODS",
    "MotionSystem",
    "StepMethod",
    "StepPieces",
    "WatchedFunction",
    "adaptive_pieces",
    "located_step",
    "shorter_steps",
]
