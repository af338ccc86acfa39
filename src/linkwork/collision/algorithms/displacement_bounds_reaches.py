"""How far points of a robot can be from where its joints turn.

A point p that a joint carries, at r in the joint's moving frame, moves by the twist (ω; v) there by ω × r + v, so no
farther than |ω| |r| + |v| by a unit of the joint's number, as long as the twist stays: on the whole of a straight
segment Σ_k (|ω_k| r_k + |v_k|) |Δq_k| bounds the way.  r is bounded by the lengths from frame to frame, and by how far
joints slide within their limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import constant_twist
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.tree import Tree

__all__ = ["joint_reaches"]


def joint_reaches(tree: Tree, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """By number of v (nv,): how far any point of a collision shape moves at most by a unit of it [m/rad, m/m], between
    limits (nq,).

    Raises TypeError for joints whose twists do not stay, or whose configurations are no plain numbers, ValueError where
    a shape, or a joint that slides, has no end.
    """
    far = np.full(len(tree.bodies), -math.inf)  # from the body's origin, of what it carries: of nothing, −∞
    for one in link_shapes(tree):
        if one.body != WORLD:
            reach = math.inf if one.shape.reach is None else one.shape.reach
            far[one.body] = max(far[one.body], _size(one.placement.translation) + reach)
    found = np.zeros(tree.nv)
    for i in reversed(range(len(tree.bodies))):  # children come after their parents
        body = tree.bodies[i]
        joint = body.joint
        if joint.nq != joint.nv or not (joint.has_fixed_subspaces or (joint.nv == 1 and constant_twist(joint))):
            raise TypeError(f"joint {body.joint_name!r} ({joint.type_name()}): nothing bounds how far it takes points")
        own = far[i] + _size(body.rotor.translation)  # from the moving frame's origin
        slide = _size(joint.X(joint.zero()).translation)
        ratio, offset = (1.0, 0.0) if body.coupling is None else (body.coupling.ratio, body.coupling.offset)
        low, high = lower[tree.q_slices[i]], upper[tree.q_slices[i]]
        for k, column in enumerate(joint.S(joint.zero()).columns):
            turning, sliding = _size(column.angular), _size(column.linear)
            if own > -math.inf:
                found[tree.v_slices[i].start + k] += abs(ratio) * (sliding + (turning * own if turning > 0.0 else 0.0))
            if sliding > 0.0:
                slide += sliding * (abs(ratio) * max(abs(low[k]), abs(high[k])) + abs(offset))
        if body.parent != WORLD:
            far[body.parent] = max(far[body.parent], own + slide + _size(body.placement.translation))
    if not np.isfinite(found).all():
        raise ValueError("a shape, or a joint that slides, has no end, so nothing bounds how far points move")
    return found


def _size(v: Iterable[Any]) -> float:
    return math.hypot(*(float(x) for x in v))
