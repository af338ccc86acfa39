"""Coordinates whose full revolutions change no pose of a robot, and the revolutions between two angles."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from linkwork.joints import JointType
from linkwork.model.tree import Tree

__all__ = [
    "PeriodicCoordinates",
    "counting_angles",
    "double_covers",
    "is_same_pose",
    "periodic_coordinates",
    "revolutions",
]

_SAME = 1e-12  # tolerance of equal elements of a transform or a difference, relative to their size


class PeriodicCoordinates(NamedTuple):
    """Masks of v (nv,) and of q (nq,) that select the same angles in the same order."""

    in_v: np.ndarray
    in_q: np.ndarray


def revolutions(angle: Any) -> Any:
    """Return the number of full turns to subtract from angles, so that the results are at most half a turn.

    Odd multiples of half a turn become ±π, such that opposite angles stay opposite.
    """
    return np.round(angle / math.tau)


@lru_cache(256)
def periodic_coordinates(tree: Tree, counted: frozenset[str] = frozenset()) -> PeriodicCoordinates:
    """Return masks of the angles of a tree whose full turns change no pose and no constraint error.

    The angle of a screw is not periodic, nor is the angle of a joint that other joints follow, unless their ratios are
    integers. The joints named in ``counted`` are not periodic either.
    """
    named = counted.union(*(constraint.references.joints for constraint in tree.constraints))
    in_v, in_q = np.zeros(tree.nv, dtype=bool), np.zeros(tree.nq, dtype=bool)
    for i, body in tree.stacked():
        if body.joint_name in named:
            continue
        angles = counting_angles(body.joint, periodic=True)
        in_v[tree.v_slices[i]], in_q[tree.q_slices[i]] = angles
        for follower in tree.bodies:
            coupling = follower.coupling
            if coupling is not None and coupling.joint == body.joint_name and coupling.ratio != 0.0:
                followed = counting_angles(follower.joint, periodic=True)
                in_v[tree.v_slices[i]] &= followed.in_v & float(coupling.ratio).is_integer()
                in_q[tree.q_slices[i]] &= followed.in_q & float(coupling.ratio).is_integer()
    in_v.flags.writeable = in_q.flags.writeable = False
    return PeriodicCoordinates(in_v, in_q)


@lru_cache(256)
def counting_angles(joint: JointType, *, periodic: bool = False) -> PeriodicCoordinates:
    """Return masks of a joint's angles for which a full turn changes a single component of ``difference``.

    That component is the difference of the angles. Composite and reversed joints have the angles of the joints that
    they consist of. ``periodic`` selects the angles whose full revolutions do not change the transform.
    """
    in_v, in_q = np.zeros(joint.nv, dtype=bool), np.zeros(joint.nq, dtype=bool)
    q, second = joint.random(np.random.default_rng(0), [-math.inf] * joint.nq, [math.inf] * joint.nq, (2,))
    first = 0  # component of the difference at which the search begins: the order is that of q
    for k, unit in enumerate(joint.q_units):
        if unit != "rad":
            continue
        turned = second + math.tau * (np.arange(joint.nq) == k)
        before, after = (np.array(joint.difference(q.tolist(), x.tolist()), dtype=float) for x in (second, turned))
        changed = np.flatnonzero(np.abs(after - before) > _SAME * (1.0 + np.abs(before)))
        counts = len(changed) == 1 and changed[0] >= first and after[changed[0]] == turned[k] - q[k]
        if counts and (not periodic or is_same_pose(joint, second, turned)):
            first = changed[0] + 1
            in_v[changed[0]] = in_q[k] = True
    in_v.flags.writeable = in_q.flags.writeable = False
    return PeriodicCoordinates(in_v, in_q)


@lru_cache(256)
def double_covers(joint: JointType) -> tuple[tuple[int, ...], ...]:
    """Return groups of coordinates, such as quaternions, for which q and −q have the same transform."""
    q = joint.random(np.random.default_rng(0), [-math.inf] * joint.nq, [math.inf] * joint.nq, ())
    signs = [np.where(np.isin(np.arange(joint.nq), group), -1.0, 1.0) for group in joint.unit_length]
    return tuple(
        group for group, sign in zip(joint.unit_length, signs, strict=True) if is_same_pose(joint, q, sign * q)
    )


def is_same_pose(joint: JointType, q: np.ndarray, second: np.ndarray) -> bool:
    """Return True if a joint has the same transform in two configurations, up to rounding."""
    X, Y = (np.array([*joint.X(x.tolist()).elements()], dtype=float) for x in (q, second))
    return bool((np.abs(X - Y) <= _SAME * (1.0 + np.abs(X))).all())
