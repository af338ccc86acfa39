"""Steps of velocities that are lengths, of slides and of bases, scaled with how far targets are.

Angles have a size of their own, a radian.  Lengths have none: a target may be a link away or a kilometre.  So where
position errors are longer than a characteristic length L, steps are those of δ' = δ/s for these velocities, with

    s = max(1, |e| min(|e|/L, 10))   [m/rad],

whose damping μ ‖δ'‖² and largest part, L, let one step of a linear problem go all but all the way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import fmax, fmin, lt, sqrt, where
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.tree import Tree

__all__ = ["multiplied", "sliding", "stretch"]

Scalars = Sequence[Any]

_FARTHER = 10.0  # of how far a target is, which angles move by as much a radian at most


def sliding(stack: Stack) -> list[int]:
    """The velocities that are lengths by time and may move."""
    return [k for k, unit in enumerate(_units(stack.tree)) if not unit.startswith("rad") and k not in stack.locked_dofs]


def stretch(stack: Stack, beyond: Scalars, weights: Scalars) -> Any:
    """s of errors beyond their ranges, of rows that count: of all but angles, as a function may be of lengths."""
    lengths = [
        x * where(lt(0.0, w), 1.0, 0.0)
        for x, w, unit in zip(beyond, weights, stack.units, strict=True)
        if unit != "rad"
    ]
    lengths = [x for x in lengths if not is_zero(x)]
    if not lengths:
        return 1.0
    far = sqrt(dot(lengths, lengths))
    return fmax(1.0, far * fmin(far * (1.0 / characteristic_length(stack.tree)), _FARTHER))


def multiplied(numbers: Scalars, scale: Mapping[int, Any]) -> list[Any]:
    """Numbers by velocity, those of lengths times s."""
    return [x if k not in scale or is_zero(x) else x * scale[k] for k, x in enumerate(numbers)]


def _units(tree: Tree) -> list[str]:
    return [unit for _, body in tree.stacked() for unit in body.joint.v_units]
