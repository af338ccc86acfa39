"""Plans, roadmaps and timed paths."""

from __future__ import annotations

from typing import Any

import linkwork as lw
from helpers.gantry import gantry
from recorded_results.case import case


@case(1e-4)
def plan_around_two_obstacles(_: Any) -> Any:
    scene = lw.Scene().with_box("box", (0.9, 1.2, 1.0), (0.1, -0.05, 0.02)).with_sphere("ball", 0.23, (0.13, 0.9, 0.0))
    plan = gantry().plan([-1.5, 0.1], [1.4, -0.2], scene, seed=3)
    return {"path": plan.path, "cost": plan.cost, "status": str(plan.status)}
