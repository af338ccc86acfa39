"""Collision-free paths: results of `Robot.plan`, goals that are regions of poses, and roadmaps for many queries."""

from linkwork.planning.goals import PoseRegion
from linkwork.planning.result import PlanResult, PlanTree
from linkwork.planning.roadmap import Roadmap

__all__ = ["PlanResult", "PlanTree", "PoseRegion", "Roadmap"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
