"""Inverse kinematics: problems of tasks and constraints, their solvers and results.

`Robot.inverse_kinematics` computes configurations for a pose of a frame.  `Robot.ik_problem` takes one or several tasks
of this module and constraints of `linkwork.constraints`.  `Robot.closed_form` computes all branches of an arm by
formulas.
"""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.ik.closed_form import ClosedForm as ClosedForm
    from linkwork.ik.closed_form import IKBranches as IKBranches
    from linkwork.ik.differential import DifferentialIK as DifferentialIK
    from linkwork.ik.failure_analysis import BlockingLimit as BlockingLimit
    from linkwork.ik.failure_analysis import Singularity as Singularity
    from linkwork.ik.ik_problem import IKProblem as IKProblem
    from linkwork.ik.path_ik import IKPathResult as IKPathResult
    from linkwork.ik.path_ik import JointDiscontinuity as JointDiscontinuity
    from linkwork.ik.reach_bounds import UnreachableCertificate as UnreachableCertificate
    from linkwork.ik.result import IKResult as IKResult
    from linkwork.ik.task_contract import check_task as check_task
    from linkwork.ik.tasks import AlignTask as AlignTask
    from linkwork.ik.tasks import BoxTask as BoxTask
    from linkwork.ik.tasks import CenterOfMassTask as CenterOfMassTask
    from linkwork.ik.tasks import ClearanceTask as ClearanceTask
    from linkwork.ik.tasks import ConstraintTask as ConstraintTask
    from linkwork.ik.tasks import DistanceTask as DistanceTask
    from linkwork.ik.tasks import FunctionTask as FunctionTask
    from linkwork.ik.tasks import JointTask as JointTask
    from linkwork.ik.tasks import JointVelocityTask as JointVelocityTask
    from linkwork.ik.tasks import LookAtTask as LookAtTask
    from linkwork.ik.tasks import ManipulabilityTask as ManipulabilityTask
    from linkwork.ik.tasks import MomentumTask as MomentumTask
    from linkwork.ik.tasks import OrientationTask as OrientationTask
    from linkwork.ik.tasks import PoseTask as PoseTask
    from linkwork.ik.tasks import PositionTask as PositionTask
    from linkwork.ik.tasks import PostureTask as PostureTask
    from linkwork.ik.tasks import Soft as Soft
    from linkwork.ik.tasks import SupportPolygonTask as SupportPolygonTask
    from linkwork.ik.tasks import Task as Task
    from linkwork.ik.tasks import TaskKinematics as TaskKinematics
    from linkwork.ik.tasks import TaskRows as TaskRows
    from linkwork.ik.tasks import TaskTarget as TaskTarget
    from linkwork.ik.tasks import Within as Within
    from linkwork.ik.traced_ik import IKArrays as IKArrays
    from linkwork.ik.velocity_result import VelocityResult as VelocityResult


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.ik.task_contract": "check_task",
            "linkwork.ik.closed_form": "ClosedForm IKBranches",
            "linkwork.ik.differential": "DifferentialIK",
            "linkwork.ik.failure_analysis": "BlockingLimit Singularity",
            "linkwork.ik.ik_problem": "IKProblem",
            "linkwork.ik.path_ik": "IKPathResult JointDiscontinuity",
            "linkwork.ik.reach_bounds": "UnreachableCertificate",
            "linkwork.ik.result": "IKResult",
            "linkwork.ik.tasks": (
                "AlignTask BoxTask CenterOfMassTask ClearanceTask ConstraintTask DistanceTask FunctionTask "
                "JointTask JointVelocityTask LookAtTask ManipulabilityTask MomentumTask OrientationTask "
                "PoseTask PositionTask PostureTask Soft SupportPolygonTask Task TaskKinematics TaskRows "
                "TaskTarget Within"
            ),
            "linkwork.ik.traced_ik": "IKArrays",
            "linkwork.ik.velocity_result": "VelocityResult",
        },
    )
