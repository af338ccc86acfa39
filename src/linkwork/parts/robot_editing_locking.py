"""Which joints to lock, and where: what users say, looked at, with all that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork.kernels.array_arguments import real_array
from linkwork.model.body import Body
from linkwork.model.coupled_joints import coupling_text
from linkwork.model.tree import Tree

__all__ = ["held_configurations"]

_ROUNDING = 1e-9  # [rad, m] how far beyond a limit, or off what it follows, a locked joint may be


def held_configurations(tree: Tree, joints: Mapping[str, Any] | Iterable[str]) -> dict[int, list[float]]:
    """By body: the configurations of the joints to lock, followers of these included: see `Robot.locked`."""
    if isinstance(joints, str) or not isinstance(joints, Iterable):
        raise TypeError(f"locked: expected a dict of configurations by joint, or a list of joints, got {joints!r}")
    given = list(joints.items()) if isinstance(joints, Mapping) else [(name, None) for name in joints]
    for name, _ in given:
        if not isinstance(name, str):
            raise TypeError(f"locked: expected names of joints, got {name!r}")
        if name in tree.fixed_joints:
            raise ValueError(f"locked: joint {name!r} is a fixed joint already")
    values = {tree.joint_index(name): value for name, value in given}
    held = {i: _held(tree.bodies[i], x) for i, x in values.items() if tree.bodies[i].coupling is None}
    for i, body in enumerate(tree.bodies):
        if body.coupling is None:
            continue
        master = tree.joint_index(body.coupling.joint)
        equation = coupling_text(body.joint_name, body.coupling)
        if master in held:
            held[i] = _within(body, body.coupling.q(held[master]))
        elif i in values:
            raise ValueError(f"locked: joint {body.joint_name!r} follows another, {equation}: lock that one")
        if values.get(i) is not None and np.max(np.abs(np.subtract(_held(body, values[i]), held[i]))) > _ROUNDING:
            raise ValueError(
                f"locked: joint {body.joint_name!r} cannot be at {values[i]!r}, because {equation} is {held[i]}"
            )
    return held


def _held(body: Body, value: Any) -> list[float]:
    """The configuration that a joint is locked at: None stands for its zero."""
    if value is None:
        return _within(body, body.asked("zero"))
    array = real_array(f"locked: joint {body.joint_name!r}: expected {body.joint.nq} numbers", value)
    numbers = array[np.newaxis] if array.ndim == 0 else array
    if numbers.shape != (body.joint.nq,):
        expected = "a number" if body.joint.nq == 1 else f"{body.joint.nq} numbers"
        raise ValueError(f"locked: joint {body.joint_name!r}: expected {expected}, got shape {array.shape}")
    return _within(body, body.joint.checked(numbers, body.joint_name).tolist())


def _within(body: Body, q: Sequence[float]) -> list[float]:
    for x, low, high in zip(q, *body.limits.positions, strict=True):
        if not low - _ROUNDING <= x <= high + _ROUNDING:
            raise ValueError(
                f"locked: joint {body.joint_name!r} at {x:.6g} is outside of its limits [{low:.6g}, {high:.6g}]; "
                f"joint.with_position_limits_enabled(False) switches them off"
            )
    return list(q)
