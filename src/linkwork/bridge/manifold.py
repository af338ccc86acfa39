"""Configurations that are off their joints' manifolds, or where a joint's coordinates are singular."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ConfigurationWarning
from ..joints import JointType
from ..model.tree import Tree
from .kernels import INPUTS, Port

__all__ = ["on_manifold", "telling_of_singularities"]

_SINGULAR = 1e-7  # regularity below which accelerations have lost half of their digits, and soon all


def on_manifold(tree: Tree, function: str, ports: Sequence[Port], arguments: Sequence[Any]) -> list[Any]:
    """The arguments, numbers in configurations that should have length 1 (a quaternion's) normalised.

    With a warning where a length is off by more than rounding; raises ValueError, with the joint's name and the value,
    where it is off by more than 1e-3.
    """
    if function == "normalize":
        return list(arguments)
    joints = [(i, body) for i, body in tree.stacked() if body.joint.unit_length]
    found = []
    for port, x in zip(ports, arguments, strict=True):
        if INPUTS[port.name].shape == "nq" and joints:
            x = np.array(x)
            for i, body in joints:
                place = tree.q_slices[i]
                x[..., place] = body.joint.checked(x[..., place], body.joint_name)
        found.append(x)
    return found


def telling_of_singularities(
    tree: Tree, array_of: Callable[[Any], Any], call: Callable[..., Any]
) -> Callable[..., Any]:
    """A call of forward dynamics that warns where a joint's coordinates are singular (Euler angles at gimbal lock).

    ``array_of`` makes an array of a configuration as users give it.
    """
    joints = [(i, body) for i, body in tree.stacked() if type(body.joint).regularity is not JointType.regularity]
    if not joints:
        return call

    def told(q: Any, *arguments: Any, out: Any = None) -> Any:
        result = call(q, *arguments) if out is None else call(q, *arguments, out=out)
        numbers = np.asarray(array_of(q), dtype=float)
        for i, body in joints:
            part = numbers[..., tree.q_slices[i]]
            regular = np.asarray(body.joint.regularity([part[..., k] for k in range(body.joint.nq)]), dtype=float)
            if regular.size and regular.min() < _SINGULAR:
                worst = part[np.unravel_index(np.argmin(regular), regular.shape)]
                warnings.warn(
                    f"forward_dynamics: joint {body.joint_name!r} ({body.joint.type_name()}): its coordinates are "
                    f"singular at {worst.tolist()}, where accelerations mean nothing",
                    ConfigurationWarning,
                    stacklevel=3,
                )
        return result

    return told
