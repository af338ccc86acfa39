"""Proofs that two links never touch: nothing is compiled, and bodies that contain the shapes are measured.

The ranges of the joints between the links are split into boxes.  Let a point of a link be at m in the frame of the
body that joint i moves, at the middle of a box, and let it be displaced there by no more than D as the joints beyond i
move in the box.  Then in the frame before joint i, whose twist is (ω; v) and which moves by up to h, it is displaced by
no more than

    D + h (|ω × m + v| + |ω| (D + ρ)),

for all points within ρ of it too.  A box is free where the distance at its middle is more than what the points of both
links are displaced by, relative to the last body that carries both.  Others are split, along the joint that moves the
points most.

Distances are those of points, segments and boxes, which have closed forms: a cylinder is in a capsule and in a box, and
what has vertices or curves in a box.  So what is proved holds, but not all that holds is proved.

Source: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005 (how far points move).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.scalar.functions import fmax, sqrt
from linkwork.geometry.cores import (
    BoxCore,
    ConeCore,
    CylinderCore,
    EllipsoidCore,
    PointCore,
    PolytopeCore,
    SegmentCore,
    Solid,
)
from linkwork.geometry.pairs import signed_distance
from linkwork.geometry.pairs.closed_form.box_box import box_box_gap
from linkwork.geometry.solids import SOLIDS, anchor, reach_of, solid
from linkwork.kinematics.algorithms.relative_kinematics import chain_pose, fork
from linkwork.model.body import Body
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.coupled_joints import bounds
from linkwork.model.tree import Tree
from linkwork.shapes import HalfSpace
from linkwork.spatial import Pose, Vec3

__all__ = ["MOST_BOXES", "Ranges", "Tried", "in_two", "is_simple", "never_touch"]

MOST_BOXES = 65_536  # that a proof may look at
_DOUBTS = 8  # configurations in which links may touch that are given
_DEEPEST = 8  # joints between links, of more of which nothing is tried
_SLACK = 1e-9  # [m]: what is nearer is not proved
_WHOLE_TURN = math.pi


@dataclass(frozen=True, slots=True)
class Ranges:
    """The joints between two links: the bodies that they move, from the last shared one to either, and their ranges."""

    to_a: tuple[int, ...]
    to_b: tuple[int, ...]
    lower: np.ndarray
    upper: np.ndarray

    @staticmethod
    def between(tree: Tree, a: str, b: str) -> Ranges | None:
        """Nothing where the joints are not all of one number, along a fixed twist, within bounds."""
        _, to_a, to_b = fork(tree, tree.frame(a).body, tree.frame(b).body)
        limits, result = bounds(tree), []
        for i in (*to_a, *to_b):
            body = tree.bodies[i]
            master = i if body.coupling is None else tree.joint_index(body.coupling.joint)
            if not is_simple(body):
                return None
            low, high = limits[master][0][0], limits[master][1][0]
            if not (math.isfinite(low) and math.isfinite(high)):
                if not _turns(body):
                    return None
                low, high = -_WHOLE_TURN, _WHOLE_TURN
            result.append((low, high))
        lower, upper = (np.array(side) for side in zip(*result, strict=True))
        return Ranges(tuple(to_a), tuple(to_b), lower, upper)


def is_simple(body: Body) -> bool:
    """Whether its joint has one number, which moves it along one fixed twist."""
    joint = body.joint
    return (joint.nq, joint.nv) == (1, 1) and joint.has_fixed_subspaces


def _turns(body: Body) -> bool:
    """Whether a whole turn is all there is."""
    S = body.S([0.0]).columns[0]
    return body.coupling is None and not any(S.linear) and abs(math.hypot(*S.angular) - 1.0) < 1e-12


class Tried(NamedTuple):
    """Whether it is proved; and configurations (k, nq), where it is not: there, the links may touch."""

    proved: bool
    doubts: np.ndarray


def never_touch(tree: Tree, a: str, b: str, nearest: np.ndarray, max_iterations: int = MOST_BOXES) -> Tried:
    """Whether two links touch in no configuration within limits, by a look at so many boxes at most.

    Where what contains the shapes overlaps at the configuration ``nearest`` (nq), nothing is tried.
    """
    nothing = Tried(False, np.empty((0, len(nearest))))
    ranges = Ranges.between(tree, a, b)
    if ranges is None or not 0 < len(ranges.lower) <= _DEEPEST:
        return nothing
    links = [[shape for shape in link_shapes(tree) if shape.link == name] for name in (a, b)]
    if any(type(shape.shape) not in SOLIDS or isinstance(shape.shape, HalfSpace) for shape in (*links[0], *links[1])):
        return nothing
    own = [tree.q_slices[_numbered(tree, i)].start for i in (*ranges.to_a, *ranges.to_b)]
    followed = len({*own}) < len(own) or any(tree.bodies[i].coupling for i in (*ranges.to_a, *ranges.to_b))
    with np.errstate(all="ignore"):
        known = nearest[own][np.newaxis]
        if not (_looked(tree, links, ranges, known, np.zeros_like(known)).apart > _SLACK).all():
            return nothing
        centers = 0.5 * (ranges.lower + ranges.upper)[np.newaxis]
        halves = 0.5 * (ranges.upper - ranges.lower)[np.newaxis]
        looked = 0
        while len(centers):
            looked += len(centers)
            if looked > max_iterations:
                return nothing
            result = _looked(tree, links, ranges, centers, halves)
            overlap = ~(result.apart > _SLACK)  # what is no number proves nothing
            if overlap.any():
                doubts = np.tile(nearest, (0 if followed else min(_DOUBTS, int(overlap.sum())), 1))
                doubts[:, own] = centers[overlap][: len(doubts)]
                return Tried(False, doubts)
            open_ = ~(result.gap > _SLACK)
            centers, halves = in_two(centers[open_], halves[open_], result.shares[open_])
    return Tried(True, nothing.doubts)


def _numbered(tree: Tree, i: int) -> int:
    """The body whose number of q a body's joint has."""
    coupling = tree.bodies[i].coupling
    return i if coupling is None else tree.joint_index(coupling.joint)


def in_two(centers: np.ndarray, halves: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes in two, along the joint with the largest share."""
    rows, widest = np.arange(len(centers)), np.argmax(shares, axis=-1)
    halves = halves.copy()
    halves[rows, widest] *= 0.5
    step = np.zeros_like(centers)
    step[rows, widest] = halves[rows, widest]
    return np.concatenate([centers - step, centers + step]), np.concatenate([halves, halves])


class _Looked(NamedTuple):
    """Of boxes (n): how far apart links are in the middle at least, by how much that is more than what they are
    displaced by, and how much of that is each joint's (n, joints).
    """

    apart: np.ndarray
    gap: np.ndarray
    shares: np.ndarray


def _looked(
    tree: Tree, links: Sequence[Sequence[LinkShape]], ranges: Ranges, centers: np.ndarray, halves: np.ndarray
) -> _Looked:
    first = len(ranges.to_a)
    sides = []
    for shapes, chain, columns in zip(
        links, (ranges.to_a, ranges.to_b), (slice(first), slice(first, None)), strict=True
    ):
        q: Any = dict(zip(chain, ([x] for x in centers[:, columns].T), strict=True))
        X, most = chain_pose(tree, q, chain), halves[:, columns]
        sides.append([(solid(one.shape, X @ one.placement), *_displaced(tree, one, chain, q, most)) for one in shapes])
    least, gap, shares = np.full(len(centers), np.inf), np.full(len(centers), np.inf), np.zeros_like(centers)
    for one, moved, by_joint in sides[0]:
        for other, also, by_others in sides[1]:
            apart = _at_least(one, other)
            least = np.minimum(least, apart)
            gap = np.minimum(gap, apart - (moved + also) * (1.0 + 1e-12))
            shares = np.maximum(shares, np.concatenate([by_joint, by_others], axis=1))
    return _Looked(least, gap, shares)


def _displaced(
    tree: Tree, shape: LinkShape, chain: Sequence[int], q: Any, halves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far points of a shape's core are displaced in boxes (n), and of that each joint's part (n, joints)."""
    points, radius = _ends(solid(shape.shape, shape.placement), reach_of(solid(shape.shape, Pose.identity())))
    most, shares = np.zeros(len(halves)), np.zeros_like(halves)
    for point in points:
        m, D = point, np.zeros(len(halves))
        for k in range(len(chain) - 1, -1, -1):
            S = tree.bodies[chain[k]].S(q[chain[k]]).columns[0]
            lever = S.angular.cross(m) + S.linear
            turning = math.hypot(*S.angular)
            part = halves[:, k] * (sqrt(lever.dot(lever)) + turning * (D + radius))
            shares[:, k] = np.maximum(shares[:, k], part)
            D = D + part
            m = tree.bodies[chain[k]].X(q[chain[k]]).point(m)
        most = np.maximum(most, D)
    return most, shares


def _ends(placed: Solid, reach: float) -> tuple[tuple[Vec3, ...], float]:
    """Points and a radius: the core is within that of the points' hull."""
    core = placed.core
    if isinstance(core, PointCore):
        return (core.point,), 0.0
    if isinstance(core, SegmentCore):
        return (core.center + core.half, core.center - core.half), 0.0
    if isinstance(core, (CylinderCore, ConeCore)):
        axis = core.pose.rotation @ Vec3(0.0, 0.0, core.half)
        return (core.pose.translation + axis, core.pose.translation - axis), core.radius
    if isinstance(core, BoxCore):
        longest = max(range(3), key=lambda k: float(tuple(core.half)[k]))
        axis = Vec3(*(x if k == longest else 0.0 for k, x in enumerate(core.half)))
        axis, across = core.pose.rotation @ axis, (x for k, x in enumerate(core.half) if k != longest)
        return (core.pose.translation + axis, core.pose.translation - axis), math.hypot(*across)
    return (anchor(core),), reach


def _at_least(a: Solid, b: Solid) -> Any:
    """A number that is no more than the distance."""
    best: Any = None
    for one in _containing(a):
        for other in _containing(b):
            if isinstance(one.core, BoxCore) and isinstance(other.core, BoxCore):
                result = box_box_gap(one.core, other.core) - one.radius - other.radius
            else:
                result = signed_distance(one, other).distance
            best = result if best is None else fmax(best, result)
    return best


def _containing(a: Solid) -> Iterator[Solid]:
    """Solids with closed forms that contain one."""
    core = a.core
    if isinstance(core, (PointCore, SegmentCore, BoxCore)):
        yield a
    elif isinstance(core, (CylinderCore, ConeCore)):
        yield Solid(BoxCore(core.pose, Vec3(core.radius, core.radius, core.half)), a.radius)
        axis = core.pose.rotation @ Vec3(0.0, 0.0, core.half)
        yield Solid(SegmentCore(core.pose.translation, axis), a.radius + core.radius)
    elif isinstance(core, EllipsoidCore):
        yield Solid(BoxCore(core.pose, core.radii), a.radius)
    elif isinstance(core, PolytopeCore):
        sides = [(min(side), max(side)) for side in zip(*map(tuple, core.vertices), strict=True)]
        middle, half = (Vec3(*(0.5 * (high + sign * low) for low, high in sides)) for sign in (1.0, -1.0))
        yield Solid(BoxCore(Pose(core.pose.rotation, core.pose.point(middle)), half), a.radius)
