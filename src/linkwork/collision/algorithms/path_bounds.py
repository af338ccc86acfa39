"""Bounds of the relative motion of bodies and shapes along a segment of configurations.

`shape_bounds` gives the bounds of each shape and the body that carries it.  The core of a shape is within a radius of
the convex hull of some points of its body.  Robots of usual size use `motion_bounds`; large ones use sums along the
tree.

`motion_bounds` needs n² numbers for a chain of n joints: one for each body and each of its ancestors.  With
`path_sums` each body has six numbers, and the bounds of any pair follow from them.

Joint k has its moving frame M_k.  On the segment, of unit time, let |ω_k| ≤ τ_k and |v_k| ≤ u_k bound its twist
there, |ω̇_k| ≤ α_k and |v̇_k| ≤ β_k its rate.  From M_k's origin to the next it is never farther than a length, and
D_k is the sum of these from the world on.  A point that is within e of the origin of M_j is no farther than R − D_k,
R = D_j + e, from that of any M_k between the world and it, whatever the configuration.  So joint k moves it by no
more than

    l_k = τ_k (R − D_k) + u_k,

and the bounds of `motion_bounds`, from a body f that carries j outward, are

    s = Σ l_k,    a = Σ τ_k (l_k + 2 Σ_{i>k} l_i) + α_k (R − D_k) + β_k        (f < k ≤ j).

With T_k = Σ τ up to k, the double sum is Σ l_k (2 T_k − τ_k − 2 T_f), and τ_k (2 T_k − τ_k) = T_k² − T_{k−1}².  So

    s = R (T_j − T_f) + P_j − P_f,
    a = R (T_j² − T_f²) + B_j − B_f − 2 T_f s + R (A_j − A_f) + H_j − H_f,

with the sums P of u − τ D, B of (u − τ D)(2 T − τ), A of α and H of β − α D.  For a straight chain these equal the
bounds of `motion_bounds`.  For a folded chain they are larger, since R − D_k is measured along the links.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from linkwork.collision.algorithms.displacement_bounds import (
    MotionBound,
    constant_twist,
    largest_twist,
    length,
    motion_bounds,
)
from linkwork.collision.algorithms.pair_loops import are_many
from linkwork.expr.scalar.functions import fabs, fmax
from linkwork.geometry.cores import SegmentCore
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.solids import anchor, reach_of, solid
from linkwork.joints.straight_motion import StraightJoint
from linkwork.model.body import WORLD, Body
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Vec3

__all__ = ["Bounded", "PathSums", "Summed", "bound_between", "path_sums", "shape_bounds"]


Scalars = Sequence[Any]
_ROUNDING = 1e-13  # of what sums consist of: more than differences of them lose in chains of 10⁴ joints


class PathSums(NamedTuple):
    """The sums of a body's joints from the world on."""

    T: Any  # [rad]
    D: Any  # [m]
    P: Any  # [m]
    B: Any  # [m]
    A: Any  # [rad]
    H: Any  # [m]


def path_sums(tree: Tree, middle: Scalars, phi: Scalars) -> list[PathSums]:
    """The sums by body, the world's last, of the segment whose middle is a configuration (nq), along φ (nv)."""
    q, v = tree.split_q(middle), tree.split_v(phi)
    result = {WORLD: PathSums(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)}
    for i, parent, body in tree.outward():
        result[i] = _after(result[parent], None if parent == WORLD else tree.bodies[parent], body, q[i], v[i])
    return [*(result[i] for i in range(len(tree.bodies))), result[WORLD]]


def bound_between(reach: Any, outer: Scalars, shared: Scalars) -> MotionBound:
    """The bounds of points of a body relative to one that carries it, from the `PathSums` of both.

    ``reach`` is R of the points: D of the body's joint, and how far the farthest is from its moving frame's origin.
    """
    far, near = PathSums(*outer), PathSums(*shared)
    speed = reach * (far.T - near.T) + (far.P - near.P)
    speed = fmax(speed, 0.0) + _ROUNDING * (reach * far.T + fabs(far.P))
    turned = far.T * far.T - near.T * near.T + far.A - near.A
    acceleration = reach * turned + (far.B - near.B) + (far.H - near.H) - 2.0 * near.T * speed
    lost = reach * (far.T * far.T + far.A) + fabs(far.B) + fabs(far.H) + 2.0 * far.T * speed
    return MotionBound(speed, fmax(acceleration, 0.0) + _ROUNDING * lost)


def _after(before: PathSums, parent: Body | None, body: Body, q: Scalars, phi: Scalars) -> PathSums:
    """The sums with one more joint."""
    joint = body.joint
    if body.coupling is not None:
        q, phi = body.coupling.q(q), body.coupling.v(phi)
    turning, sliding, turned, slid = _rates(body, q, phi)
    base = body.placement if parent is None or parent.rotor.is_identity else parent.rotor @ body.placement
    D = before.D + length(base.translation)
    if joint.nv:
        D = D + length(body.call_joint("X", q).translation) + 0.5 * sliding
    else:
        D = D + length(joint.X([]).translation)
    T = before.T + turning
    own = sliding - turning * D
    return PathSums(
        T,
        D,
        before.P + own,
        before.B + own * (T + before.T),
        before.A + turned,
        before.H + (slid - turned * D),
    )


def _rates(body: Body, q: Scalars, phi: Scalars) -> tuple[Any, Any, Any, Any]:
    """The largest |ω|, |v|, |ω̇| and |v̇| of a joint's twist in its moving frame."""
    joint = body.joint
    if joint.nv == 0:
        return 0.0, 0.0, 0.0, 0.0
    if isinstance(joint, StraightJoint):
        omega, p_dot = joint.rates(phi)
        return length(omega), length(p_dot), 0.0, 0.0
    if constant_twist(joint):
        twist: Motion = body.call_joint("S", q) @ phi
        return length(twist.angular), length(twist.linear), 0.0, 0.0
    return largest_twist(joint, q, phi)


_MANY_BOUNDS = 3000  # of a body relative to each that carries it: beyond, they follow from sums along the tree


class Bounded(NamedTuple):
    """Bounds by shape and ancestor."""

    bounds: Sequence[Mapping[int, MotionBound]]

    def of(self, shape: int, shared: int) -> MotionBound:
        return self.bounds[shape][shared]


class Summed(NamedTuple):
    """Sums by body, the world's last, and by shape how far from joints its points can be."""

    sums: Sequence[PathSums]
    reaches: Sequence[Any]

    def to_world(self, shape: int, body: int) -> MotionBound:
        return bound_between(self.reaches[shape], self.sums[body], self.sums[WORLD])


def shape_bounds(tree: Tree, middle: Scalars, phi: Scalars, pairs: Sequence[tuple[int, int]]) -> Bounded | Summed:
    """Return the bounds on the segment whose middle is a configuration (nq), along φ (nv)."""
    return _summed(tree, middle, phi) if _is_large(tree, pairs) else Bounded(_bounds(tree, middle, phi))


def _bounds(tree: Tree, middle: Scalars, phi: Scalars) -> list[dict[int, MotionBound]]:
    """By shape and ancestor: how its core moves."""
    result = []
    for one in link_shapes(tree):
        if one.body == WORLD:
            result.append({WORLD: MotionBound(0.0, 0.0)})
            continue
        points, radius = _hull(one)
        result.append(motion_bounds(tree, middle, phi, one.body, points, radius))
    return result


def _is_large(tree: Tree, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return True where bounds of each body relative to all that carry it are too many numbers to be written out."""
    depth = {WORLD: 0}
    for i, parent, _ in tree.outward():
        depth[i] = depth[parent] + 1
    return are_many(pairs) or sum(depth[one.body] for one in link_shapes(tree)) > _MANY_BOUNDS


def _summed(tree: Tree, middle: Scalars, phi: Scalars) -> Summed:
    """The same of large robots, by sums along the tree."""
    sums = path_sums(tree, middle, phi)
    reaches = []
    for one in link_shapes(tree):
        if one.body == WORLD:
            reaches.append(0.0)
            continue
        points, radius = _hull(one)
        rotor = tree.bodies[one.body].rotor
        own = points if rotor.is_identity else [rotor.point(p) for p in points]
        far = max(float(length(p)) for p in own) + radius
        reaches.append(sums[one.body].D + far)
    return Summed(sums, reaches)


def _hull(one: LinkShape) -> tuple[tuple[Vec3, ...], float]:
    """Points on the body and a radius: the core is within that of the points' convex hull."""
    if type(one.shape) in FIELDS:
        return (one.placement.translation,), FIELDS[type(one.shape)].reach(one.shape)
    placed = solid(one.shape, one.placement)
    core = placed.core
    if isinstance(core, SegmentCore):
        return (core.center + core.half, core.center - core.half), 0.0
    return (anchor(core),), reach_of(solid(one.shape, Pose.identity())) - placed.radius
