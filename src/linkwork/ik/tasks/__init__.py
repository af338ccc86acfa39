"""Tasks of inverse kinematics: errors and Jacobians, one family of tasks per file."""

from linkwork.ik.tasks.center_of_mass_tasks import CenterOfMassTask as CenterOfMassTask
from linkwork.ik.tasks.center_of_mass_tasks import SupportPolygonTask as SupportPolygonTask
from linkwork.ik.tasks.clearance_task import ClearanceTask as ClearanceTask
from linkwork.ik.tasks.frame_tasks import OrientationTask as OrientationTask
from linkwork.ik.tasks.frame_tasks import PoseTask as PoseTask
from linkwork.ik.tasks.frame_tasks import PositionTask as PositionTask
from linkwork.ik.tasks.function_task import FunctionTask as FunctionTask
from linkwork.ik.tasks.joint_tasks import JointTask as JointTask
from linkwork.ik.tasks.joint_tasks import PostureTask as PostureTask
from linkwork.ik.tasks.manipulability_task import ManipulabilityTask as ManipulabilityTask
from linkwork.ik.tasks.modifiers import ConstraintTask as ConstraintTask
from linkwork.ik.tasks.modifiers import Soft as Soft
from linkwork.ik.tasks.modifiers import Within as Within
from linkwork.ik.tasks.point_and_direction_tasks import AlignTask as AlignTask
from linkwork.ik.tasks.point_and_direction_tasks import BoxTask as BoxTask
from linkwork.ik.tasks.point_and_direction_tasks import DistanceTask as DistanceTask
from linkwork.ik.tasks.point_and_direction_tasks import LookAtTask as LookAtTask
from linkwork.ik.tasks.task import Task as Task
from linkwork.ik.tasks.task import TaskKinematics as TaskKinematics
from linkwork.ik.tasks.task import TaskRows as TaskRows
from linkwork.ik.tasks.task import TaskTarget as TaskTarget
from linkwork.ik.tasks.velocity_tasks import JointVelocityTask as JointVelocityTask
from linkwork.ik.tasks.velocity_tasks import MomentumTask as MomentumTask

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
