"""Motion by time: a file a method, over any scalar, on the manifold of configurations."""

from .system import MotionSystem
from .table import METHODS, StepMethod

__all__ = ["METHODS", "MotionSystem", "StepMethod"]
