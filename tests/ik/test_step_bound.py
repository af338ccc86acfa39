"""Bound of differential inverse kinematics for what a linear model of the errors misses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.ik.algorithms.differential_step import costs
from linkwork.ik.algorithms.task_stack import Stack


@pytest.mark.parametrize(("axes", "gain"), [("frame", 1.0), ("frame", 0.3), ("world", 1.0), ("world", 0.6)])
def test_bound_of_a_step_covers_the_difference_of_promised_and_actual_reduction(axes: str, gain: float) -> None:
    """It is 0 without a step, and of the order of the difference."""
    rng = np.random.default_rng(0)
    for name, kind, sharpest in (("double_pendulum", "PoseTask", 0.2), ("arm6", "PositionTask", 0.1)):
        robot = lw.load(name)
        q = robot.random_configuration(seed=1)
        task = getattr(lw.ik, kind)(robot.frames[-1], weight=1.0, axes=axes)
        X = robot.pose(robot.integrate(q, 0.3 * rng.normal(size=robot.nv)), task.frame)
        target, count = (X if kind == "PoseTask" else X[:3, 3]).ravel(), len(task.component_names)
        stack = Stack(robot.tree, (task,), ([*target],), [1e-6] * count, [0.7] * count)

        def reductions(q: Any, step: Any, stack: Stack = stack, count: int = count) -> Any:
            model = costs(stack, q, stack.at(q), range(count), [gain] * count, 0.0).model([])
            return np.array([model.promise(step), model.actual(step), model.most(step)])

        kernel = lw.compile(reductions, q=robot.nq, step=robot.nv)
        np.testing.assert_allclose(kernel(q, np.zeros(robot.nv)), 0.0, atol=1e-15)
        for size in (1e-3, 1e-2, 0.1):
            promised, actual, bound = kernel(q, size * rng.normal(size=(1000, robot.nv))).T
            shares = (promised - actual) / bound
            assert sharpest < shares.max() < 1.0, (name, size)
