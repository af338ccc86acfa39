"""Scaling of steps of length coordinates (prismatic joints and bases) with the distance of the target.

Angles have a natural unit, the radian.  Lengths have none: a target may be a link away or a kilometre.  Where position
errors exceed a characteristic length L, steps of these coordinates are therefore computed for δ' = δ/s with

    s = max(3 L, |e| min(|e|/L, 10))   [m/rad].

With damping μ ‖δ'‖² and entries of δ' up to 0.4 rad, one step of a linear problem then covers nearly the whole
distance, and a search is the same in all units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt, where
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.tree import Tree

__all__ = ["length_dofs", "length_scale", "longest_steps", "scaled_lengths"]

Scalars = Sequence[Any]

_MIN_SCALE = 3.0  # minimum of s relative to L
_MAX_SCALE = 10.0  # maximum of s relative to the distance
_LONGEST = 0.4  # [rad] maximum of δ'


def length_dofs(stack: Stack) -> list[int]:
    """Return the indices in v of movable length coordinates."""
    return [k for k, unit in enumerate(_units(stack.tree)) if not unit.startswith("rad") and k not in stack.locked_dofs]


def length_scale(stack: Stack, beyond: Scalars, weights: Scalars) -> Any:
    """Return the factor s [m/rad] by which steps of length coordinates are enlarged, from the remaining errors.

    The errors outside their ranges, ``beyond``, are those that are not in rad and have a positive weight.
    """
    lengths = [
        x * where(lt(0.0, w), 1.0, 0.0)
        for x, w, unit in zip(beyond, weights, stack.units, strict=True)
        if unit != "rad"
    ]
    lengths = [x for x in lengths if not is_zero(x)]
    length = characteristic_length(stack.tree)
    if not lengths:
        return _MIN_SCALE * length
    distance = sqrt(dot(lengths, lengths))
    return fmax(_MIN_SCALE * length, distance * fmin(distance * (1.0 / length), _MAX_SCALE))


def longest_steps(units: Sequence[float], scale: Mapping[int, Any]) -> list[Any]:
    """Return the maximum step of each velocity [rad, m]: that of ``units``, but of length coordinates by their s."""
    return [_LONGEST * scale[k] if k in scale else unit for k, unit in enumerate(units)]


def scaled_lengths(vector: Scalars, scale: Mapping[int, Any]) -> list[Any]:
    """Return a vector (nv) whose entries k of ``scale`` are multiplied by scale[k]."""
    return [x if k not in scale or is_zero(x) else x * scale[k] for k, x in enumerate(vector)]


def _units(tree: Tree) -> list[str]:
    return [unit for _, body in tree.stacked() for unit in body.joint.v_units]
