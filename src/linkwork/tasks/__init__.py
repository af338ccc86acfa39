"""Tasks: what inverse kinematics is asked for, a kind or a family a file."""

from .contract import Task as Task
from .contract import TaskRows as TaskRows
from .contract import TaskTarget as TaskTarget
from .frames import OrientationTask as OrientationTask
from .frames import PoseTask as PoseTask
from .frames import PositionTask as PositionTask

__all__ = [
    "OrientationTask",
    "PoseTask",
    "PositionTask",
    "Task",
    "TaskRows",
    "TaskTarget",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
