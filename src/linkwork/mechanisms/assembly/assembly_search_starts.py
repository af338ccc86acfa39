"""Starts that fill a space evenly, the same ones always: those of inverse kinematics' sequence, in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from linkwork.ik.algorithms.restarts import sequence_steps
from linkwork.mechanisms.algorithms.weighted_projection import characteristic_length
from linkwork.model.tree import Tree

__all__ = ["around", "everywhere"]


def _points(count: int, dimensions: int, first: int = 1) -> np.ndarray:
    """Points in the cube from −1 to 1, (count, dimensions)."""
    steps = np.array(sequence_steps(dimensions))
    found: np.ndarray = 2.0 * np.mod(0.5 + np.arange(first, first + count)[:, np.newaxis] * steps, 1.0) - 1.0
    return found


def _reach(tree: Tree) -> np.ndarray:
    """Half a turn, or two characteristic lengths, by velocity."""
    length = 2.0 * characteristic_length(tree)
    units = [unit for _, body in tree.stacked() for unit in body.joint.v_units]
    return np.array([math.pi if unit.startswith("rad") else length for unit in units])


def around(robot: Any, q: np.ndarray, k: int) -> np.ndarray:
    """The k-th start, k = 1, 2 ..., around configurations: an eighth of the way round away at first, then anywhere."""
    tree = robot.tree
    (point,) = _points(1, tree.nv, k)
    moved: np.ndarray = robot.integrate(q, min(1.0, 0.125 * 2.0 ** ((k - 1) // 2)) * _reach(tree) * point)
    return moved


def everywhere(robot: Any, count: int, limits: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Configurations that fill all there is, (count, nq); coordinates within their limits, where they have any."""
    tree = robot.tree
    points = _points(count, tree.nv)
    found: np.ndarray = robot.integrate(robot.neutral(), _reach(tree) * points)
    lower, upper = limits
    for i, body in tree.stacked():
        if body.joint.nq == body.joint.nv:
            numbers = zip(range(tree.nq)[tree.q_slices[i]], range(tree.nv)[tree.v_slices[i]], strict=True)
            for number, k in numbers:
                low, high = lower[number], upper[number]
                if math.isfinite(low) and math.isfinite(high):
                    found[:, number] = low + (high - low) * 0.5 * (points[:, k] + 1.0)
    return found
