"""Views of a robot's joints, links and limits, as `linkwork.Robot` and `linkwork.Joint` return them."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.model.tree import Report
    from linkwork.parts.actuation_methods import NamedConfiguration
    from linkwork.parts.comparison.robot_comparison import ComparedQuantity, RobotComparison, RobotDifference
    from linkwork.parts.joint.joint import Bounds
    from linkwork.parts.joint.link_methods import LinkMotion, LinkVelocityAcceleration, ScrewAxes
    from linkwork.parts.joint.loop_joint_view import LoopJointView
    from linkwork.parts.joint.methods import LocalCoordinates, SplitWrench
    from linkwork.parts.placed_link import PlacedLink
    from linkwork.parts.plausibility.model_check import ModelCheck, ModelFinding

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
            "linkwork.parts.actuation_methods": "NamedConfiguration",
            "linkwork.parts.comparison.robot_comparison": "ComparedQuantity RobotComparison RobotDifference",
            "linkwork.parts.joint.joint": "Bounds",
            "linkwork.parts.joint.link_methods": "LinkMotion LinkVelocityAcceleration ScrewAxes",
            "linkwork.parts.joint.loop_joint_view": "LoopJointView",
            "linkwork.parts.joint.methods": "LocalCoordinates SplitWrench",
            "linkwork.parts.placed_link": "PlacedLink",
            "linkwork.parts.plausibility.model_check": "ModelCheck ModelFinding",
        },
    )
