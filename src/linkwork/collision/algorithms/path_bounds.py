"""Bounds on the relative motion of bodies and shapes along a segment of configurations.

`shape_bounds` gives the bounds of each shape and the body that carries it.  The core of a shape is within a radius of
the convex hull of some points of its body.  Robots of usual size use `motion_bounds`; large ones use sums along the
tree.

`motion_bounds` needs n² values for a chain of n joints: one for each body and each of its ancestors.  `path_sums` needs
six values for each body, and the bounds of any pair follow from them.

Joint k has the moving frame M_k.  On the segment, of unit time, let |ω_k| ≤ τ_k and |v_k| ≤ u_k bound its twist in M_k,
and |ω̇_k| ≤ α_k and |v̇_k| ≤ β_k the twist's rate.  The distance from each frame's origin to the next is bounded; D_k is
the sum of these bounds from the world to M_k.  A point within e of the origin of M_j is within R − D_k of the origin of
every M_k between the world and the point, at any configuration, where R = D_j + e.  So joint k moves the point by at
most

    l_k = τ_k (R − D_k) + u_k,

and the bounds of `motion_bounds` relative to a body f that carries j are

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
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import fabs, fmax
from linkwork.geometry.cores import SegmentCore
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.solids import anchor, reach_of, solid
from linkwork.joints.straight_motion import StraightJoint
from linkwork.model.body import WORLD, Body
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Vec3

__all__ = [
    "Bounded",
    "PathSums",
    "Summed",
    "body_twists",
    "bound_between",
    "motion_between",
    "path_sums",
    "point_velocity",
    "shape_bounds",
]


Scalars = Sequence[Any]
_ROUNDING = by_type(1e-13)  # relative to the sums' terms; exceeds the cancellation error in chains of 10⁴ joints


class PathSums(NamedTuple):
    """Sums over the joints from the world to a body, from which motion bounds relative to any ancestor follow."""

    T: Any  # [rad]
    D: Any  # [m]
    P: Any  # [m]
    B: Any  # [m]
    A: Any  # [rad]
    H: Any  # [m]


def path_sums(tree: Tree, middle: Scalars, phi: Scalars) -> list[PathSums]:
    """Return `PathSums` of each body, then of the world, for motion along φ with the midpoint ``middle``."""
    q, v = tree.split_q(middle), tree.split_v(phi)
    result = {WORLD: PathSums(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)}
    for i, parent, body in tree.outward():
        result[i] = _after(result[parent], None if parent == WORLD else tree.bodies[parent], body, q[i], v[i])
    return [*(result[i] for i in range(len(tree.bodies))), result[WORLD]]


def bound_between(reach: Any, outer: Scalars, shared: Scalars) -> MotionBound:
    """Return bounds on the motion of points of a body relative to a body that carries it.

    ``outer`` and ``shared`` are the `PathSums` of the first and the second body. ``reach`` [m] is the sum D of
    ``outer`` plus the largest distance of the points from the origin of the body's joint.
    """
    far, near = PathSums(*outer), PathSums(*shared)
    speed = reach * (far.T - near.T) + (far.P - near.P)
    speed = fmax(speed, 0.0) + _ROUNDING * (reach * far.T + fabs(far.P))
    turned = far.T * far.T - near.T * near.T + far.A - near.A
    acceleration = reach * turned + (far.B - near.B) + (far.H - near.H) - 2.0 * near.T * speed
    lost = reach * (far.T * far.T + far.A) + fabs(far.B) + fabs(far.H) + 2.0 * far.T * speed
    return MotionBound(speed, fmax(acceleration, 0.0) + _ROUNDING * lost)


def _after(before: PathSums, parent: Body | None, body: Body, q: Scalars, phi: Scalars) -> PathSums:
    """Return the sums of a body: the sums ``before`` of its parent, and the terms of the body's joint."""
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
    change = sliding - turning * D
    return PathSums(
        T, D, before.P + change, before.B + change * (T + before.T), before.A + turned, before.H + (slid - turned * D)
    )


def _rates(body: Body, q: Scalars, phi: Scalars) -> tuple[Any, Any, Any, Any]:
    """Return bounds on |ω|, |v|, |ω̇| and |v̇| of a joint's twist in its moving frame."""
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


_MAX_BOUNDS = 3000  # of bodies relative to bodies that carry them; above, sums along the tree are used


class Bounded(NamedTuple):
    """Motion bounds for each shape relative to each body that carries it."""

    bounds: Sequence[Mapping[int, MotionBound]]

    def of(self, shape: int, shared: int) -> MotionBound:
        return self.bounds[shape][shared]


class Summed(NamedTuple):
    """Motion bounds of a large robot: `PathSums` of each body, then of the world, and the reach [m] of each shape.

    The reach bounds the distance from the world to the shape's points, measured along the joints' origins.
    """

    sums: Sequence[PathSums]
    reaches: Sequence[Any]

    def to_world(self, shape: int, body: int) -> MotionBound:
        return bound_between(self.reaches[shape], self.sums[body], self.sums[WORLD])


def shape_bounds(tree: Tree, middle: Scalars, phi: Scalars, pairs: Sequence[tuple[int, int]]) -> Bounded | Summed:
    """Return motion bounds of all shapes on the segment with midpoint ``middle`` (nq,) along φ (nv,)."""
    return _summed(tree, middle, phi) if _is_large(tree, pairs) else Bounded(_bounds(tree, middle, phi))


def _bounds(tree: Tree, middle: Scalars, phi: Scalars) -> list[dict[int, MotionBound]]:
    """Return the bounds for the core of each shape relative to each body that carries it."""
    result = []
    for shape in link_shapes(tree):
        if shape.body == WORLD:
            result.append({WORLD: MotionBound(0.0, 0.0)})
            continue
        points, radius = _hull(shape)
        result.append(motion_bounds(tree, middle, phi, shape.body, points, radius))
    return result


def _is_large(tree: Tree, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return True if a robot is so large that its motion bounds are computed from sums along the tree."""
    depth = {WORLD: 0}
    for i, parent, _ in tree.outward():
        depth[i] = depth[parent] + 1
    return are_many(pairs) or sum(depth[shape.body] for shape in link_shapes(tree)) > _MAX_BOUNDS


def _summed(tree: Tree, middle: Scalars, phi: Scalars) -> Summed:
    """Return the bounds of a large robot as sums along the tree."""
    sums = path_sums(tree, middle, phi)
    reaches = []
    for shape in link_shapes(tree):
        if shape.body == WORLD:
            reaches.append(0.0)
            continue
        points, radius = _hull(shape)
        rotor = tree.bodies[shape.body].rotor
        in_joint = points if rotor.is_identity else [rotor.point(p) for p in points]
        far = max(float(length(p)) for p in in_joint) + radius
        reaches.append(sums[shape.body].D + far)
    return Summed(sums, reaches)


def _hull(s: LinkShape) -> tuple[tuple[Vec3, ...], float]:
    """Return points on a body and a radius [m]: the shape's core is within it of the points' convex hull."""
    if type(s.shape) in FIELDS:
        return (s.placement.translation,), FIELDS[type(s.shape)].reach(s.shape)
    placed = solid(s.shape, s.placement)
    core = placed.core
    if isinstance(core, SegmentCore):
        return (core.center + core.half, core.center - core.half), 0.0
    return (anchor(core),), reach_of(solid(s.shape, Pose.identity())) - placed.radius


def motion_between(motion_a: Scalars, motion_b: Scalars, shared: Scalars) -> list[Any]:
    """Return speed and acceleration bounds of a pair of shapes, and the (v; ω) of each, relative to a shared body.

    The arguments are the table rows of both shapes and of the last body that carries both.
    """
    size = len(PathSums._fields)
    sums, origin, w = shared[:size], Vec3.of(shared[size : size + 3]), Vec3.of(shared[size + 3 :])
    bound, motions = MotionBound(0.0, 0.0), []
    for reach, *values in (motion_a, motion_b):
        center, v, turning = (Vec3.of(values[k : k + 3]) for k in range(size, size + 9, 3))
        bound = bound + bound_between(reach, values[:size], sums)
        motions += [*(v - origin - w.cross(center)), *(turning - w)]
    return [bound.speed, bound.acceleration, *motions]


def body_twists(tree: Tree, q: Scalars, phi: Scalars, X: Sequence[Pose]) -> list[Motion]:
    """Return (ω; velocity of the origin) of all bodies at the velocity φ, in the world's axes, the world's last."""
    of_q, of_phi = tree.split_q(q), tree.split_v(phi)
    V = {WORLD: Motion.zero()}
    for i, p, body in tree.outward():
        V_J: Motion = body.S(of_q[i]) @ of_phi[i]
        R = X[i].rotation
        V[i] = Motion(V[p].angular + R @ V_J.angular, point_velocity(V[p], X[p], X[i].translation) + R @ V_J.linear)
    return [*(V[i] for i, _, _ in tree.outward()), V[WORLD]]


def point_velocity(V: Motion, X: Pose, point: Vec3) -> Vec3:
    """Return the velocity of a point of a body with twist V and pose X, in the world's axes."""
    v: Vec3 = V.linear + V.angular.cross(point - X.translation)
    return v
