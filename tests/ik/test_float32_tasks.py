"""Errors and Jacobians of tasks in float32, at met, opposite and coincident targets: near those of float64."""

from __future__ import annotations

from typing import Any

import numpy as np

import linkwork as lw
from linkwork.ik.algorithms.task_stack import TaskState
from linkwork.ik.arguments import check_tasks

ARM = lw.load("arm7")
Q = np.array([0.1, 0.5, 0.0, -1.5, 0.0, 1.8, 0.0], dtype=np.float32)
POSE = ARM.pose(Q.astype(float), "hand")
AIM, POSITION, MASS = POSE[:3, 2], POSE[:3, 3], ARM.center_of_mass(Q.astype(float))
AROUND = [MASS[:2] + offset for offset in np.array([(0.0, 0.0), (0.1, 0.0), (0.0, 0.1)])]

TASKS: dict[str, Any] = {
    "pose": lw.ik.PoseTask("hand", target=POSE),
    "align": lw.ik.AlignTask("hand.z", target=AIM),
    "align, opposite": lw.ik.AlignTask("hand.z", target=-AIM),
    "align, cone": lw.ik.AlignTask("hand.z", target=AIM, cone=0.1),
    "align, opposite cone": lw.ik.AlignTask("hand.z", target=-AIM, cone=0.1),
    "look": lw.ik.LookAtTask("hand.z", target=POSITION + 0.5 * AIM),
    "look back": lw.ik.LookAtTask("hand.z", target=POSITION - 0.5 * AIM),
    "look at itself": lw.ik.LookAtTask("hand.z", target=POSITION),
    "manipulability": lw.ik.ManipulabilityTask("hand", target=0.1),
    "corner of a support polygon": lw.ik.SupportPolygonTask(AROUND),
}


def test_float32_errors_and_jacobians_of_ik_tasks_are_close_to_float64() -> None:
    for name, task_spec in TASKS.items():
        (task,) = check_tasks("test", ARM, [task_spec], velocities=True)
        target = [] if task.target is None else np.ravel(task.target).tolist()

        def rows(q: Any, task: Any = task, target: Any = target) -> Any:
            result = task.rows(TaskState(ARM.tree, q.tolist(), 0.0), target)
            return lw.expr.array(result.errors), lw.expr.array(result.rows)

        kernel = lw.compile(rows, q=7)
        for q in (Q, Q + np.float32(0.2), Q - np.float32(0.3)):
            for approximate, exact in zip(kernel(q), kernel(q.astype(float)), strict=True):
                assert approximate.dtype == np.float32, name
                assert np.abs(approximate - exact).max() <= 1e-3 * (1.0 + np.abs(exact).max()), (
                    name,
                    approximate,
                    exact,
                )
