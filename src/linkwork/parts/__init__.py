"""Views of a robot's joints, links and limits, as `linkwork.Robot` and `linkwork.Joint` return them."""

from linkwork.model.tree import Report
from linkwork.parts.actuation_methods import NamedConfiguration
from linkwork.parts.joint.joint import Bounds
from linkwork.parts.joint.link_methods import LinkMotion, LinkVelocityAcceleration, ScrewAxes
from linkwork.parts.joint.loop_joint_view import LoopJointView
from linkwork.parts.joint.methods import LocalCoordinates, SplitWrench
from linkwork.parts.placed_link import PlacedLink

__all__ = [
    "Bounds",
    "LinkMotion",
    "LinkVelocityAcceleration",
    "LocalCoordinates",
    "LoopJointView",
    "NamedConfiguration",
    "PlacedLink",
    "Report",
    "ScrewAxes",
    "SplitWrench",
]


def __dir__() -> list[str]:
    """Return the names that `dir` lists for `linkwork.parts`: the documented ones."""
    return sorted(__all__)
