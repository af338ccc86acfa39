"""Inverse kinematics: tasks and constraints that compose, and what solves them.

`Robot.inverse_kinematics` answers the simple question, a pose for a frame; `Robot.ik_problem` takes tasks of this
module, and constraints of `linkwork.constraints`, one or many.
"""

from .facade.ik.problem import IKProblem
from .facade.ik.result import IKResult
from .tasks import OrientationTask, PoseTask, PositionTask, Task, TaskRows, TaskTarget

__all__ = [
    "IKProblem",
    "IKResult",
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
