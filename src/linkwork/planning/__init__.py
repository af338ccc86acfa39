"""Collision-free paths: results of `Robot.plan`, goals that are regions of poses, and roadmaps for many queries."""

from linkwork.planning.goals import PoseRegion
from linkwork.planning.result import CostSoFar, PlanResult, PlanTree
from linkwork.planning.roadmap import Roadmap

__all__ = ["CostSoFar", "PlanResult", "PlanTree", "PoseRegion", "Roadmap"]


def __dir__() -> list[str]:
    """The documented names."""
    return sorted(__all__)
