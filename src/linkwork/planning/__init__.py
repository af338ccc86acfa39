"""Collision-free path planning: results of `Robot.plan`, pose regions as goals, and roadmaps."""

from linkwork.planning.goals import PoseRegion
from linkwork.planning.result import CostSoFar, PlanResult, PlanTree
from linkwork.planning.roadmap import Roadmap

__all__ = ["CostSoFar", "PlanResult", "PlanTree", "PoseRegion", "Roadmap"]


def __dir__() -> list[str]:
    """Return the names that `dir` lists for `linkwork.planning`: the documented ones."""
    return sorted(__all__)
