"""Motion by time: a file a method, over any scalar, on the manifold of configurations."""

from .located import WatchedFunction, located_step
from .pieces import StepPieces, adaptive_pieces, shorter_steps
from .system import MotionSystem
from .table import METHODS, StepMethod

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
