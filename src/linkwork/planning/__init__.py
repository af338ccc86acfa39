"""Collision-free path planning: results of `Robot.plan`, pose regions as goals, and roadmaps."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.planning.goals import PoseRegion
    from linkwork.planning.result import CostSoFar, PlanResult, PlanTree
    from linkwork.planning.roadmap import Roadmap

__all__ = ["CostSoFar", "PlanResult", "PlanTree", "PoseRegion", "Roadmap"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_names(
        __name__,
        __all__,
        {
            "linkwork.planning.goals": "PoseRegion",
            "linkwork.planning.result": "CostSoFar PlanResult PlanTree",
            "linkwork.planning.roadmap": "Roadmap",
        },
    )
