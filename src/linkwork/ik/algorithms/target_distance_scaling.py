"""Scaling of steps of length coordinates (prismatic joints and bases) with the distance of the target.

Angles have a natural unit, the radian.  Lengths have none: a target may be a link away or a kilometre.  Where position
errors exceed a characteristic length L, steps of these coordinates are therefore computed for δ' = δ/s with

    s = max(1, |e| min(|e|/L, 10))   [m/rad].

With damping μ ‖δ'‖² and a largest entry of L, one step of a linear problem then covers nearly the whole distance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt, where
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.tree import Tree

__all__ = ["length_dofs", "length_scale", "scaled_lengths"]

Scalars = Sequence[Any]

_MAX_SCALE = 10.0  # maximum of s relative to the distance


def length_dofs(stack: Stack) -> list[int]:
    """Return the indices in v of movable length coordinates."""
    return [k for k, unit in enumerate(_units(stack.tree)) if not unit.startswith("rad") and k not in stack.locked_dofs]


def length_scale(stack: Stack, beyond: Scalars, weights: Scalars) -> Any:
    """Return the factor s ≥ 1 [m/rad] by which steps of length coordinates are enlarged, from the remaining errors.

    The errors outside their ranges, ``beyond``, are those that are not in rad and have a positive weight.
    """
    lengths = [
        x * where(lt(0.0, w), 1.0, 0.0)
        for x, w, unit in zip(beyond, weights, stack.units, strict=True)
        if unit != "rad"
    ]
    lengths = [x for x in lengths if not is_zero(x)]
    if not lengths:
        return 1.0
    distance = sqrt(dot(lengths, lengths))
    return fmax(1.0, distance * fmin(distance * (1.0 / characteristic_length(stack.tree)), _MAX_SCALE))


def scaled_lengths(vector: Scalars, scale: Mapping[int, Any]) -> list[Any]:
    """Return a vector (nv) whose entries k of ``scale`` are multiplied by scale[k]."""
    return [x if k not in scale or is_zero(x) else x * scale[k] for k, x in enumerate(vector)]


def _units(tree: Tree) -> list[str]:
    return [unit for _, body in tree.stacked() for unit in body.joint.v_units]
