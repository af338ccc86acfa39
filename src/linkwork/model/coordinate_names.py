"""Names and units of the coordinates of q and v, and the indices of coordinates by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.joints import JointType
from linkwork.model.body import Body
from linkwork.model.tree import Tree

__all__ = ["coordinates_of", "index_of", "joint_of", "names_in", "names_of", "units_of"]


def names_of(tree: Tree, which: Literal["q", "v"]) -> tuple[str, ...]:
    """Return the name of each coordinate of q or v.

    It is the joint's name, followed by a suffix of the joint's type if the joint has several coordinates.
    """
    return tuple(name for _, names in _by_joint(tree, which) for name in names)


def units_of(tree: Tree, which: Literal["q", "v", "a", "jerk"]) -> tuple[str, ...]:
    """Return the unit of each coordinate of q, v, v̇ or v̈."""
    if which == "q":
        return tuple(unit for _, body in tree.stacked() for unit in body.joint.q_units)
    power = {"v": "", "a": "²", "jerk": "³"}[which]
    return tuple(unit + power for _, body in tree.stacked() for unit in body.joint.v_units)


def index_of(tree: Tree, which: Literal["q", "v"], names: Iterable[str]) -> np.ndarray:
    """Return the indices (n,) in q or v of the named coordinates or joints: see `Robot.q_index`."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{which}_index: expected a list of names, got {names!r}")
    indices: dict[str, list[int]] = {}
    count = 0
    for joint, coordinates in _by_joint(tree, which):
        indices[joint] = list(range(count, count + len(coordinates)))
        indices |= {name: [count + k] for k, name in enumerate(coordinates)}
        count += len(coordinates)
    result: list[int] = []
    for name in names:
        if not isinstance(name, str) or name not in indices:
            raise UnknownNameError(f"joint or coordinate of {which}", name, indices)
        if set(indices[name]) & set(result):
            raise ValueError(f"{which}_index: a coordinate of {name!r} is listed twice")
        result += indices[name]
    return np.array(result, dtype=np.intp)


def joint_of(tree: Tree, k: int) -> str:
    """Return the name of the joint with the coordinate v[k]."""
    for i, body in tree.stacked():
        if k in range(tree.nv)[tree.v_slices[i]]:
            return body.joint_name
    raise AssertionError(k)


def _by_joint(tree: Tree, which: Literal["q", "v"]) -> Iterable[tuple[str, list[str]]]:
    for _, body in tree.stacked():
        yield body.joint_name, names_in(body, which)


def names_in(body: Body, which: Literal["q", "v"]) -> list[str]:
    """Return the names of the coordinates of one body's joint."""
    return coordinates_of(body.joint_name, body.joint, which)


def coordinates_of(name: str, joint: JointType, which: Literal["q", "v"]) -> list[str]:
    """Return the names of the coordinates of a joint with a name."""
    count, names = (joint.nq, joint.q_names) if which == "q" else (joint.nv, joint.v_names)
    parts = names if len(names) == count else tuple(str(k) for k in range(count))
    return [name] if count == 1 else [f"{name}.{part}" for part in parts]
