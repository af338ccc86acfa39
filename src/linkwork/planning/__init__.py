"""Collision-free path planning: results of `Robot.plan`, pose regions as goals, and roadmaps."""

from typing import TYPE_CHECKING

from linkwork._util.lazy_imports import public_names

if TYPE_CHECKING:
    from linkwork.planning.goals import PoseRegion as PoseRegion
    from linkwork.planning.result import CostSoFar as CostSoFar
    from linkwork.planning.result import PlanResult as PlanResult
    from linkwork.planning.result import PlanTree as PlanTree
    from linkwork.planning.roadmap import Roadmap as Roadmap


if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = public_names(
        __name__,
        {
            "linkwork.planning.goals": "PoseRegion",
            "linkwork.planning.result": "CostSoFar PlanResult PlanTree",
            "linkwork.planning.roadmap": "Roadmap",
        },
    )
