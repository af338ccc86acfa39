"""Bounds on the displacement of collision shapes' points per unit of each coordinate, at any configuration.

A point at r in a joint's moving frame moves at the rate ω × r + v by the twist (ω; v) = S q̇, so by at most |ω| |r| +
|v| per unit of the joint's coordinate.  While the coordinates k run along any curve from time t₀ to t₁,

    Σ_k l_k ∫ |q̇_k| dt,    l_k = |ω_k| r_k + |v_k|,

bounds the displacement of the point.  r_k is bounded by the lengths from frame to frame and by the displacements of the
joints between.  Two bodies of a robot move relative to the last body that carries both, so l is 0 for the joints of
that body.

Source: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from linkwork.collision.algorithms.displacement_bounds import Enclosure, constant_twist, largest
from linkwork.kinematics.algorithms.forward_kinematics import fork
from linkwork.model.body import WORLD, Body
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.tree import Tree

__all__ = ["joint_reaches", "pair_levers", "twist_sizes"]


def pair_levers(tree: Tree, pairs: Sequence[tuple[int, int | None]], slides: Sequence[float]) -> np.ndarray:
    """Return bounds (pairs, nv) on the relative displacement of two shapes per unit of each coordinate [m/rad, m/m].

    ``pairs`` are indices of `link_shapes`; None is an obstacle, which rests in the world.  ``slides`` (bodies) [m] are
    the largest distances from the frame before each joint to the frame after it.  Raises TypeError for a joint whose
    twist has no bound, and ValueError for a shape that moves and is unbounded.
    """
    shapes, sizes = link_shapes(tree), [twist_sizes(body) for body in tree.bodies]
    result = np.zeros((len(pairs), tree.nv))
    for row, (a, b) in zip(result, pairs, strict=True):
        on = [WORLD if k is None else shapes[k].body for k in (a, b)]
        _, *chains = fork(tree, *on)
        for k, chain in zip((a, b), chains, strict=True):
            if k is not None:
                row += _levers(tree, shapes[k], chain, slides, sizes)
    if not np.isfinite(result).all():
        raise ValueError("a shape or a prismatic joint is unbounded, so the displacement of points is unbounded")
    return result


def joint_reaches(tree: Tree, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return bounds on the displacement of collision shapes' points per unit of each coordinate (nv,) [m/rad, m/m].

    ``lower`` and ``upper`` (nq,) are the joint limits.

    Raises TypeError for a joint whose twist is not constant or whose configuration is not a vector space, ValueError
    for an unbounded shape or an unbounded prismatic joint.
    """
    slides = []
    for i, body in enumerate(tree.bodies):
        joint = body.joint
        if joint.nq != joint.nv or not (joint.has_fixed_subspaces or (joint.nv == 1 and constant_twist(joint))):
            raise TypeError(
                f"joint {body.joint_name!r} ({joint.type_name()}): no bound is known for its points' displacement"
            )
        ratio, offset = (1.0, 0.0) if body.coupling is None else (body.coupling.ratio, body.coupling.offset)
        far = np.maximum(np.abs(lower[tree.q_slices[i]]), np.abs(upper[tree.q_slices[i]]))
        moved = [(sliding, x) for (_, sliding), x in zip(twist_sizes(body), far.tolist(), strict=True) if sliding]
        slides.append(
            _size(joint.X(joint.zero()).translation) + sum(s * (abs(ratio) * x + abs(offset)) for s, x in moved)
        )
    moving = [(k, None) for k, shape in enumerate(link_shapes(tree)) if shape.body != WORLD]
    result: np.ndarray = pair_levers(tree, moving, slides).max(axis=0, initial=0.0)
    return result


def _levers(
    tree: Tree, shape: LinkShape, chain: Sequence[int], slides: Sequence[float], sizes: Sequence[Any]
) -> np.ndarray:
    """Return the bounds (nv,) for points of a shape relative to the parent of the ``chain`` of bodies to its body."""
    result = np.zeros(tree.nv)
    radius = shape.shape.origin_radius
    arm = _size(shape.placement.translation) + (math.inf if radius is None else radius)
    for i in reversed(chain):
        body = tree.bodies[i]
        arm += _size(body.rotor.translation)  # from the moving frame's origin
        ratio = 1.0 if body.coupling is None else abs(body.coupling.ratio)
        for k, (turning, sliding) in enumerate(sizes[i]):
            lever = sliding + (turning * arm if turning > 0.0 else 0.0)
            result[tree.v_slices[i].start + k] += ratio * lever
        arm += slides[i] + _size(body.placement.translation)
    return result


def twist_sizes(body: Body) -> list[tuple[float, float]]:
    """Return bounds on |ω| and |v| of a joint's twist per unit of each of its velocities, at any configuration."""
    joint = body.joint
    if joint.has_fixed_subspaces or (joint.nv == 1 and constant_twist(joint)):
        columns = joint.S(joint.zero()).columns
        return [(_size(column.angular), _size(column.linear)) for column in columns]
    within = {k for indices in joint.unit_length for k in indices}
    anywhere = [Enclosure(0.0, 1.0 if k in within else math.inf) for k in range(joint.nq)]
    try:
        columns = joint.S(anywhere).columns
        result = [(_size(map(largest, x.angular)), _size(map(largest, x.linear))) for x in columns]
    except TypeError:
        result = [(math.inf, math.inf)] * joint.nv
    if not np.isfinite(result).all():
        raise TypeError(
            f"joint {body.joint_name!r} ({joint.type_name()}): no bound is known for its points' displacement"
        )
    return result


def _size(v: Iterable[Any]) -> float:
    return math.hypot(*(float(x) for x in v))
