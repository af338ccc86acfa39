"""Coordinates whose full revolutions change no pose of a robot, and the revolutions between two angles."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from linkwork.joints import JointType
from linkwork.model.tree import Tree

__all__ = ["PeriodicCoordinates", "periodic_coordinates", "revolutions"]

_SAME_POSE = 1e-12  # tolerance of equal elements of a transform, relative to its size


class PeriodicCoordinates(NamedTuple):
    """Masks of v (nv,) and of q (nq,) for the same angles: those whose full revolutions change no pose."""

    in_v: np.ndarray
    in_q: np.ndarray


def revolutions(angle: np.ndarray) -> np.ndarray:
    """Return the number of full revolutions to subtract from angles, so that these are at most half a revolution.

    Half a revolution stays as it is, and odd multiples of it become ±π such that opposite angles stay opposite.
    """
    return np.asarray(np.round(angle / math.tau))


@lru_cache(256)
def periodic_coordinates(tree: Tree, counted: frozenset[str] = frozenset()) -> PeriodicCoordinates:
    """Return the angles of a tree whose full revolutions change no pose and no error of a constraint.

    The angle of a screw is not periodic, nor is that of a joint which others follow, unless their ratios are integers.
    The joints named in ``counted`` are not periodic either.
    """
    named = counted.union(*(constraint.references.joints for constraint in tree.constraints))
    in_v, in_q = np.zeros(tree.nv, dtype=bool), np.zeros(tree.nq, dtype=bool)
    for i, body in tree.stacked():
        joint = body.joint
        if joint.nq != joint.nv or type(joint).difference is not JointType.difference or body.joint_name in named:
            continue
        mask = _periodic_angles(joint)
        for follower in tree.bodies:
            coupling = follower.coupling
            if coupling is not None and coupling.joint == body.joint_name and coupling.ratio != 0.0:
                mask = mask & _periodic_angles(follower.joint) & float(coupling.ratio).is_integer()
        in_v[tree.v_slices[i]] = in_q[tree.q_slices[i]] = mask
    in_v.flags.writeable = in_q.flags.writeable = False
    return PeriodicCoordinates(in_v, in_q)


@lru_cache(256)
def _periodic_angles(joint: JointType) -> np.ndarray:
    """Return a mask (nq,) of the angles of a joint whose full revolutions do not change its transform."""
    q = np.random.default_rng(0).uniform(-1.0, 1.0, joint.nq)
    result = np.zeros(joint.nq, dtype=bool)
    for k, unit in enumerate(joint.q_units):
        if unit == "rad":
            turned = q + math.tau * (np.arange(joint.nq) == k)
            X, Y = (np.array([*joint.X(x.tolist()).elements()], dtype=float) for x in (q, turned))
            result[k] = (np.abs(X - Y) <= _SAME_POSE * (1.0 + np.abs(X))).all()
    return result
