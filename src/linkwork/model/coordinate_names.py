"""Names and units of the coordinates of q and v, and the indices of coordinates by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from linkwork.errors import UnknownNameError
from linkwork.joints import JointType
from linkwork.model.body import Body
from linkwork.model.tree import Tree

__all__ = ["index_of", "joint_of", "names_in", "names_of", "units_of"]


def names_of(tree: Tree, which: Literal["q", "v"]) -> tuple[str, ...]:
    """The joint's name, or, where it has several numbers, with the type's name for each."""
    return tuple(name for _, names in _by_joint(tree, which) for name in names)


def units_of(tree: Tree, which: Literal["q", "v", "a", "jerk"]) -> tuple[str, ...]:
    """Return the unit of each coordinate of q, v, v̇ or v̈."""
    if which == "q":
        return tuple(unit for _, body in tree.stacked() for unit in body.joint.q_units)
    power = {"v": "", "a": "²", "jerk": "³"}[which]
    return tuple(unit + power for _, body in tree.stacked() for unit in body.joint.v_units)


def index_of(tree: Tree, which: Literal["q", "v"], names: Iterable[str]) -> np.ndarray:
    """The places (n,) of these numbers in q or v: see `Robot.q_index`."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{which}_index: expected a list of names, got {names!r}")
    places: dict[str, list[int]] = {}
    count = 0
    for joint, own in _by_joint(tree, which):
        places[joint] = list(range(count, count + len(own)))
        places |= {name: [count + k] for k, name in enumerate(own)}
        count += len(own)
    result: list[int] = []
    for name in names:
        if not isinstance(name, str) or name not in places:
            raise UnknownNameError(f"joint or number of {which}", name, places)
        if set(places[name]) & set(result):
            raise ValueError(f"{which}_index: a number of {name!r} comes twice")
        result += places[name]
    return np.array(result, dtype=np.intp)


def joint_of(tree: Tree, k: int) -> str:
    """Return the name of the joint that coordinate k of v belongs to."""
    for i, body in tree.stacked():
        if k in range(tree.nv)[tree.v_slices[i]]:
            return body.joint_name
    raise AssertionError(k)


def _by_joint(tree: Tree, which: Literal["q", "v"]) -> Iterable[tuple[str, list[str]]]:
    for _, body in tree.stacked():
        yield body.joint_name, names_in(body, which)


def names_in(body: Body, which: Literal["q", "v"]) -> list[str]:
    """Those of the numbers of one body's joint."""
    count, own = _said(body.joint, which)
    return [body.joint_name] if count == 1 else [f"{body.joint_name}.{name}" for name in own]


def _said(joint: JointType, which: Literal["q", "v"]) -> tuple[int, tuple[str, ...]]:
    count, names = (joint.nq, joint.q_names) if which == "q" else (joint.nv, joint.v_names)
    return count, names if len(names) == count else tuple(str(k) for k in range(count))
