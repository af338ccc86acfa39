"""Proofs that limits prevent every solution of an IK problem, and that two of its tasks contradict each other.

For a six-axis arm, the closed form has all configurations of a pose; if each exceeds a limit, limits prevent every
solution.  For a joint task, its target proves it.  Two tasks are contradictory if they require different values of one
quantity.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.ik.arguments import wide_tolerances
from linkwork.ik.kernels import ProblemView
from linkwork.ik.tasks.frame_tasks import OrientationTask, PoseTask, PositionTask
from linkwork.ik.tasks.joint_tasks import JointTask
from linkwork.ik.tasks.task import Task

__all__ = ["are_contradictory", "limits_prevent"]

_REGULAR = 1e-3  # smallest singular value, relative to the largest, of a branch that is isolated
_MARGIN = 10.0  # factor of the joint motions within tolerance by which a branch must exceed limits


def limits_prevent(problem: ProblemView, targets: Mapping[str, np.ndarray], tolerances: np.ndarray) -> bool:
    """Return True if it is proved that no configuration within limits satisfies all hard tasks of one state."""
    return any(
        _joint_out_of_limits(problem, task, targets, left) for task, left in _parts(problem, tolerances) if task.hard
    ) or _branches_out_of_limits(problem, targets, tolerances)


def _parts(problem: ProblemView, tolerances: np.ndarray) -> list[tuple[Task, np.ndarray]]:
    ends = np.cumsum([len(task.component_names) for task in problem.tasks])
    return list(zip(problem.tasks, np.split(tolerances, ends[:-1]), strict=True))


def _joint_out_of_limits(
    problem: ProblemView, task: Task, targets: Mapping[str, np.ndarray], tolerances: np.ndarray
) -> bool:
    if type(task) is not JointTask or len(tolerances) != 1:
        return False
    tree = problem.robot.tree
    index = tree.joint_index(task.joint)
    span = tree.q_slices[index]
    if span.stop - span.start != 1 or tree.bodies[index].coupling is not None:
        return False
    x = float(np.ravel(targets[task.name])[0])
    return bool(x + tolerances[0] < problem.lower[span.start] or x - tolerances[0] > problem.upper[span.start])


def _branches_out_of_limits(problem: ProblemView, targets: Mapping[str, np.ndarray], tolerances: np.ndarray) -> bool:
    """Return True if it is proved that all IK solutions of a six-axis arm for a pose exceed position limits.

    The solutions must be isolated, and each must exceed a limit by more than the tolerance.
    """
    form = problem.form
    if form is None or (tolerances > wide_tolerances(problem.robot.tree, problem.tasks)).any():
        return False
    (target,) = targets.values()
    result = form.branches(target, position_limits=False, q_init=problem.midrange)
    q = result.q[result.valid]
    if not len(q):
        return False
    both = np.isfinite(problem.lower) & np.isfinite(problem.upper)
    q = q - 2.0 * np.pi * np.round((q - np.where(both, problem.midrange, 0.0)) / (2.0 * np.pi))
    excess = np.where(both, np.maximum(problem.lower - q, q - problem.upper), -np.inf).max(axis=1)
    result = problem.residual_kernel(q, np.broadcast_to(target, (len(q), 4, 4)))
    scales = np.array(problem.scales)
    sizes = np.linalg.svd(result.rows * scales[:, None], compute_uv=False)
    motion = np.linalg.norm(tolerances * scales) / np.maximum(sizes[:, 5], 1e-300)  # to first order, within tolerance
    return bool((sizes[:, 5] > _REGULAR * sizes[:, 0]).all() and (excess > _MARGIN * motion).all())


def are_contradictory(
    problem: ProblemView, names: Sequence[str], targets: Mapping[str, np.ndarray], tolerances: np.ndarray
) -> bool:
    """Return True if two named tasks of a state require values of the same quantity that are too far apart."""
    parts = [(task, left) for task, left in _parts(problem, tolerances) if task.name in names and task.name in targets]
    for (a, tolerances_a), (b, tolerances_b) in itertools.combinations(parts, 2):
        required = _required(a, targets[a.name], tolerances_a)
        for key, (value, reach) in _required(b, targets[b.name], tolerances_b).items():
            if key in required and _apart(required[key][0], value) > required[key][1] + reach:
                return True
    return False


def _required(task: Task, target: np.ndarray, tolerances: np.ndarray) -> dict[object, tuple[np.ndarray, float]]:
    """Return the quantities whose values a task prescribes: a dict from quantity to (value, norm of the tolerances).

    A quantity is a joint, or a frame's rotation or position relative to another frame. Other tasks give an empty dict.
    """
    if type(task) is JointTask and target.size == 1:
        return {("joint", task.joint): (target.ravel(), float(np.linalg.norm(tolerances)))}
    if type(task) not in (PoseTask, PositionTask, OrientationTask):
        return {}
    result: dict[object, tuple[np.ndarray, float]] = {}
    frame, relative_to = task.between  # type: ignore[misc]
    if not isinstance(task, PositionTask):
        result["turned", frame, relative_to] = target[:3, :3], float(np.linalg.norm(tolerances[:3]))
    if not isinstance(task, OrientationTask):
        position = target if isinstance(task, PositionTask) else target[:3, 3]
        result["placed", frame, relative_to] = position, float(np.linalg.norm(tolerances[-3:]))
    return result


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """Return the distance of two values, or the angle between two rotations."""
    if a.ndim == 2:
        return float(np.arccos(np.clip(0.5 * (np.trace(a.T @ b) - 1.0), -1.0, 1.0)))
    return float(np.linalg.norm(a - b))
