"""Exact time derivatives of a tree's functions along a motion: the algorithms, on dual numbers of batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.kernels.owners import shape_of
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import ROBOT, robot_owner

from .scalars import Direct

__all__ = ["rate_of", "scalars"]


def rate_of(tree: Tree, name: str, q: Any, v: Any, a: Any = None, **options: Any) -> Any:
    """d/dt of a function of q, or of q and v, along q̇(q, v) and v̇ = a (none: 0): (samples, *shape)."""
    row = ROBOT[name]
    q_dot = Direct(tree).velocity_to_configuration_derivative(q, v)
    rates = np.concatenate([q_dot, np.zeros_like(v) if a is None else a], axis=-1)
    moving = seeded([*np.concatenate([q, v], axis=-1).T], [*rates.T])
    if not moving:
        return np.zeros((len(q), *shape_of(robot_owner(tree), row.outputs[0].shape)))
    inputs = {"q": moving[: tree.nq], "v": moving[tree.nq :]}
    result = scalars(row.compute(tree, *(inputs[key] for key in row.inputs), **options))
    tangents = [np.broadcast_to(parts(x, moving[0].level)[1], len(q)) for x in result]
    return np.stack(tangents, axis=-1).astype(float).reshape(len(q), *shape_of(robot_owner(tree), row.outputs[0].shape))


def scalars(result: Any) -> list[Any]:
    """The scalars of a result, row by row."""
    if hasattr(result, "elements"):
        return list(result.elements())
    if isinstance(result, (list, tuple)):
        return [x for part in result for x in scalars(part)]
    return [result]
