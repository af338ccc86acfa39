"""Views of a robot's joints, links and limits, as `linkwork.Robot` and `linkwork.Joint` return them."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names
from linkwork._util.moved_modules import find_moved_modules

if TYPE_CHECKING:
    from linkwork.compare.plausibility.model_check import ModelCheck, ModelFinding
    from linkwork.compare.robot_comparison import ComparedQuantity, RobotComparison, RobotDifference
    from linkwork.model.tree import Report
    from linkwork.robot.actuation_methods import NamedConfiguration
    from linkwork.robot.joint.joint import Bounds
    from linkwork.robot.joint.link_methods import LinkMotion, LinkVelocityAcceleration, ScrewAxes
    from linkwork.robot.joint.loop_joint_view import LoopJointView
    from linkwork.robot.joint.methods import LocalCoordinates, SplitWrench
    from linkwork.robot.placed_link import PlacedLink

__all__ = [
    "Bounds",
    "ComparedQuantity",
    "LinkMotion",
    "LinkVelocityAcceleration",
    "LocalCoordinates",
    "LoopJointView",
    "ModelCheck",
    "ModelFinding",
    "NamedConfiguration",
    "PlacedLink",
    "Report",
    "RobotComparison",
    "RobotDifference",
    "ScrewAxes",
    "SplitWrench",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
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
