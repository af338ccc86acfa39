"""Tasks: what inverse kinematics is asked for, a kind or a family a file."""

from .around import ConstraintTask as ConstraintTask
from .around import Soft as Soft
from .around import Within as Within
from .clearance import ClearanceTask as ClearanceTask
from .contract import Task as Task
from .contract import TaskKinematics as TaskKinematics
from .contract import TaskRows as TaskRows
from .contract import TaskTarget as TaskTarget
from .directions import AlignTask as AlignTask
from .directions import LookAtTask as LookAtTask
from .frames import OrientationTask as OrientationTask
from .frames import PoseTask as PoseTask
from .frames import PositionTask as PositionTask
from .function import FunctionTask as FunctionTask
from .joints import JointTask as JointTask
from .joints import PostureTask as PostureTask
from .manipulability import ManipulabilityTask as ManipulabilityTask
from .mass import CenterOfMassTask as CenterOfMassTask
from .mass import SupportPolygonTask as SupportPolygonTask
from .places import BoxTask as BoxTask
from .places import DistanceTask as DistanceTask
from .velocities import JointVelocityTask as JointVelocityTask
from .velocities import MomentumTask as MomentumTask

ALL: tuple[type[Task], ...] = (
    PoseTask,
    PositionTask,
    OrientationTask,
    AlignTask,
    LookAtTask,
    BoxTask,
    DistanceTask,
    ClearanceTask,
    CenterOfMassTask,
    SupportPolygonTask,
    PostureTask,
    JointTask,
    ManipulabilityTask,
    JointVelocityTask,
    MomentumTask,
    FunctionTask,
    ConstraintTask,
    Soft,
    Within,
)

__all__ = ["ALL", "Task", "TaskKinematics", "TaskRows", "TaskTarget", *(kind.__name__ for kind in ALL)]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
