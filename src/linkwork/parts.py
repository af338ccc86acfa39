"""Views of a robot's joints, links and limits, as `linkwork.Robot` and `linkwork.Joint` return them."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names
from linkwork._util.moved_modules import find_moved_modules

if TYPE_CHECKING:
    from linkwork.compare.plausibility.model_check import ModelCheck as ModelCheck
    from linkwork.compare.plausibility.model_check import ModelFinding as ModelFinding
    from linkwork.compare.robot_comparison import ComparedQuantity as ComparedQuantity
    from linkwork.compare.robot_comparison import RobotComparison as RobotComparison
    from linkwork.compare.robot_comparison import RobotDifference as RobotDifference
    from linkwork.model.tree import Report as Report
    from linkwork.robot.actuation_methods import NamedConfiguration as NamedConfiguration
    from linkwork.robot.joint.joint import Bounds as Bounds
    from linkwork.robot.joint.link_methods import LinkMotion as LinkMotion
    from linkwork.robot.joint.link_methods import LinkVelocityAcceleration as LinkVelocityAcceleration
    from linkwork.robot.joint.link_methods import ScrewAxes as ScrewAxes
    from linkwork.robot.joint.loop_joint_view import LoopJointView as LoopJointView
    from linkwork.robot.joint.methods import LocalCoordinates as LocalCoordinates
    from linkwork.robot.joint.methods import SplitWrench as SplitWrench
    from linkwork.robot.placed_link import PlacedLink as PlacedLink


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.model.tree": "Report",
            "linkwork.robot.actuation_methods": "NamedConfiguration",
            "linkwork.compare.robot_comparison": "ComparedQuantity RobotComparison RobotDifference",
            "linkwork.robot.joint.joint": "Bounds",
            "linkwork.robot.joint.link_methods": "LinkMotion LinkVelocityAcceleration ScrewAxes",
            "linkwork.robot.joint.loop_joint_view": "LoopJointView",
            "linkwork.robot.joint.methods": "LocalCoordinates SplitWrench",
            "linkwork.robot.placed_link": "PlacedLink",
            "linkwork.compare.plausibility.model_check": "ModelCheck ModelFinding",
        },
    )
    __path__ = find_moved_modules(
        __name__,
        {
            "actuation_methods": "linkwork.robot.actuation_methods",
            "comparison": "linkwork.compare",
            "construction": "linkwork.robot.construction",
            "joint": "linkwork.robot.joint",
            "placed_link": "linkwork.robot.placed_link",
            "plausibility": "linkwork.compare.plausibility",
        },
    )
