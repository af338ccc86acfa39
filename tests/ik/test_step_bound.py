"""Bound of differential inverse kinematics for what a linear model of the errors misses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linkwork as lw
from invariants.changes import in_other_units
from linkwork.ik.algorithms.differential_step import costs
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.joints import Prismatic, Revolute
from linkwork.model.random_tree import random_tree


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


def test_bound_of_a_step_of_arms_with_lengths_does_not_depend_on_the_unit_of_length() -> None:
    """It covers the difference for slides before and after hinges, and scales with the squared error."""
    rng = np.random.default_rng(3)
    tree = random_tree(rng, 4, types=(Prismatic, Revolute), shape="chain")
    steps, bounds = 0.05 * rng.normal(size=(500, tree.nv)), []
    q = np.full(tree.nv, 0.3)
    for unit in (1.0, 1024.0):
        scaled, s_q, s_v = in_other_units(tree, unit, 1.0)
        robot: Any = lw.Robot(scaled)
        target = robot.pose(s_q * (q + 0.1), "tool3")[:3, 3]
        task = lw.ik.PositionTask("tool3", weight=1.0)
        stack = Stack(scaled, (task,), ([*target],), [1e-6] * 3, [0.7 / unit] * 3)

        def reductions(q: Any, step: Any, stack: Stack = stack) -> Any:
            model = costs(stack, q, stack.at(q), range(3), [0.4] * 3, 0.0).model([])
            return np.array([model.promise(step), model.actual(step), model.most(step)])

        bounds.append(lw.compile(reductions, q=robot.nq, step=robot.nv)(s_q * q, s_v * steps))
        promised, actual, most = bounds[-1].T
        assert 0.02 < ((promised - actual) / most).max() < 1.0
    np.testing.assert_allclose(bounds[1], bounds[0], rtol=1e-12, atol=1e-13)
