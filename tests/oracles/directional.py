"""Exact directional derivatives of a tree's functions: the algorithms on dual numbers, one direction a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.kernels.owners import shape_of
from linkwork.model.function_spec import QUANTITIES
from linkwork.model.tree import Tree
from linkwork.robot.robot_table import ROBOT, robot_owner

from .rates import scalars
from .scalars import Direct

__all__ = ["along"]


def along(
    tree: Tree, name: str, arrays: Sequence[np.ndarray], directions: Sequence[np.ndarray], **options: Any
) -> np.ndarray:
    """d/dt of a function's first result as its inputs change along directions (samples, nv); of q, a tangent vector."""
    row = ROBOT[name]
    rates = [
        Direct(tree).velocity_to_configuration_derivative(x, d) if QUANTITIES[key].configuration else d
        for key, x, d in zip(row.inputs, arrays, directions, strict=True)
    ]
    ends = np.cumsum([x.shape[-1] for x in arrays])
    moving = seeded([*np.concatenate(arrays, axis=-1).T], [*np.concatenate(rates, axis=-1).T])
    shape = shape_of(robot_owner(tree), row.outputs[0].shape)
    size = len(arrays[0])
    if not moving:
        return np.zeros((size, *shape))
    inputs = [moving[end - x.shape[-1] : end] for end, x in zip(ends, arrays, strict=True)]
    result = scalars(row.compute(tree, *inputs, **options))
    tangents = [np.broadcast_to(parts(x, moving[0].level)[1], size) for x in result]
    return np.stack(tangents, axis=-1).astype(float).reshape(size, *shape)
