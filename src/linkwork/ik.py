"""Inverse kinematics: tasks and constraints that compose, and what solves them.

`Robot.inverse_kinematics` answers the simple question, a pose for a frame; `Robot.ik_problem` takes tasks of this
module, and constraints of `linkwork.constraints`, one or many.  `Robot.closed_form` gives all branches of arms by
formulas.
"""

from .facade.ik.answers import IKNumbers
from .facade.ik.closed import ArmBranches, ClosedForm
from .facade.ik.differential import DifferentialIK
from .facade.ik.judging import LimitInTheWay, Singularity
from .facade.ik.path_result import JointJump, PathResult
from .facade.ik.problem import IKProblem
from .facade.ik.reach import ReachProof
from .facade.ik.result import IKResult
from .facade.ik.velocity_result import VelocityResult
from .tasks import AlignTask as AlignTask
from .tasks import BoxTask as BoxTask
from .tasks import CenterOfMassTask as CenterOfMassTask
from .tasks import ClearanceTask as ClearanceTask
from .tasks import ConstraintTask as ConstraintTask
from .tasks import DistanceTask as DistanceTask
from .tasks import FunctionTask as FunctionTask
from .tasks import JointTask as JointTask
from .tasks import JointVelocityTask as JointVelocityTask
from .tasks import LookAtTask as LookAtTask
from .tasks import ManipulabilityTask as ManipulabilityTask
from .tasks import MomentumTask as MomentumTask
from .tasks import OrientationTask as OrientationTask
from .tasks import PoseTask as PoseTask
from .tasks import PositionTask as PositionTask
from .tasks import PostureTask as PostureTask
from .tasks import Soft as Soft
from .tasks import SupportPolygonTask as SupportPolygonTask
from .tasks import Task as Task
from .tasks import TaskKinematics as TaskKinematics
from .tasks import TaskRows as TaskRows
from .tasks import TaskTarget as TaskTarget
from .tasks import Within as Within

__all__ = [
    "AlignTask",
    "ArmBranches",
    "BoxTask",
    "CenterOfMassTask",
    "ClearanceTask",
    "ClosedForm",
    "ConstraintTask",
    "DifferentialIK",
    "DistanceTask",
    "FunctionTask",
    "IKNumbers",
    "IKProblem",
    "IKResult",
    "JointJump",
    "JointTask",
    "JointVelocityTask",
    "LimitInTheWay",
    "LookAtTask",
    "ManipulabilityTask",
    "MomentumTask",
    "OrientationTask",
    "PathResult",
    "PoseTask",
    "PositionTask",
    "PostureTask",
    "ReachProof",
    "Singularity",
    "Soft",
    "SupportPolygonTask",
    "Task",
    "TaskKinematics",
    "TaskRows",
    "TaskTarget",
    "VelocityResult",
    "Within",
]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
