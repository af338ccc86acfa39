"""Controllers and linear models."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from recorded_results.case import case


@case()
def linear_model_of_an_arm_with_dampers_and_gravity(_: Any) -> Any:
    robot = lw.load("arm6").with_joint_dynamics(damping=0.3, armature=0.02)
    rng = np.random.default_rng(1)
    q = robot.random_configuration(rng)
    model = lw.control.linear_model(robot, q)
    sampled = model.discretized(0.013)
    return {"A": model.A, "B": model.B, "poles": np.sort(np.abs(model.poles())), "sampled": [sampled.A, sampled.B]}
