"""Proofs by branch and bound that two links never touch, in NumPy on bodies that contain the shapes.

The ranges of the joints between the links are split into boxes.  Let a point of a link be at m in the frame of the
body that joint i moves, at the center of a box.  Let D bound its displacement in that frame as the joints beyond i
move within the box.  Joint i has the twist (ω; v) and moves by up to h.  In the frame before joint i, the point and all
points within ρ of it are displaced by at most

    D + h (|ω × m + v| + |ω| (D + ρ)).

Displacements are relative to the last body that carries both links.  A box is collision-free if the distance at its
center exceeds the sum of both links' displacements.  Other boxes are split along the joint with the largest
displacement.

Distances are measured between points, segments and boxes, which have closed forms.  A cylinder is contained in a
capsule and in a box, other shapes in a box.  The proofs are therefore sound, but not complete.

Source: Schwarzer, Saha and Latombe, Adaptive dynamic collision checking for single and multiple articulated robots in
complex environments, 2005 (how far points move).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
from linkwork.kinematics.algorithms.forward_kinematics import chain_pose, fork
from linkwork.model.body import Body
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.coupled_joints import bounds
from linkwork.model.tree import Tree
from linkwork.shapes import HalfSpace
from linkwork.spatial import Pose, Vec3

__all__ = ["JointRanges", "SeparationProof", "is_simple", "never_touch", "prove_on_boxes"]

_MAX_BOXES = 65_536  # of a proof
_MAX_DOUBTS = 8  # configurations in which the links may touch that are returned
_MAX_JOINTS = 8  # between the links of a proof
_SLACK = 1e-9  # [m] minimum distance that counts as separated
_HALF_REVOLUTION = math.pi  # [rad]


@dataclass(frozen=True, slots=True)
class JointRanges:
    """Joints between two links, as the bodies that they move, with their ranges.

    The bodies are in order from the last shared body to each link.
    """

    to_a: tuple[int, ...]
    to_b: tuple[int, ...]
    lower: np.ndarray
    upper: np.ndarray

    @staticmethod
    def between(tree: Tree, a: str, b: str) -> JointRanges | None:
        """Return the joints between links ``a`` and ``b`` with their ranges, or None if one has no finite range.

        A joint has a finite range if it has one coordinate, a fixed twist, and limits; without limits, if one
        revolution covers all of its positions.
        """
        _, to_a, to_b = fork(tree, tree.frame(a).body, tree.frame(b).body)
        limits, result = bounds(tree), []
        for i in (*to_a, *to_b):
            body = tree.bodies[i]
            master = i if body.coupling is None else tree.joint_index(body.coupling.joint)
            if not is_simple(body):
                return None
            low, high = limits[master][0][0], limits[master][1][0]
            if not (math.isfinite(low) and math.isfinite(high)):
                if not _covers_revolution(body):
                    return None
                low, high = -_HALF_REVOLUTION, _HALF_REVOLUTION
            result.append((low, high))
        lower, upper = (np.array(side) for side in zip(*result, strict=True))
        return JointRanges(tuple(to_a), tuple(to_b), lower, upper)


def is_simple(body: Body) -> bool:
    """Return True if the body's joint has one coordinate, which moves it along a fixed twist."""
    joint = body.joint
    return (joint.nq, joint.nv) == (1, 1) and joint.has_fixed_subspaces


def _covers_revolution(body: Body) -> bool:
    """Return True if one revolution covers all positions of an unbounded joint."""
    S = body.S([0.0]).columns[0]
    return body.coupling is None and not any(S.linear) and abs(math.hypot(*S.angular) - 1.0) < 1e-12


class SeparationProof(NamedTuple):
    """Result of `never_touch`: True if proved, and configurations (k, nq) in which the links may touch otherwise."""

    proved: bool
    doubts: np.ndarray


def never_touch(tree: Tree, a: str, b: str, nearest: np.ndarray, max_boxes: int = _MAX_BOXES) -> SeparationProof:
    """Try to prove that two links touch in no configuration within the joint limits.

    The proof is not tried if the containing bodies overlap at the configuration ``nearest`` (nq).
    """
    unproved = SeparationProof(False, np.empty((0, len(nearest))))
    ranges = JointRanges.between(tree, a, b)
    if ranges is None or not 0 < len(ranges.lower) <= _MAX_JOINTS:
        return unproved
    links = [[shape for shape in link_shapes(tree) if shape.link == name] for name in (a, b)]
    if any(type(shape.shape) not in SOLIDS or isinstance(shape.shape, HalfSpace) for shape in (*links[0], *links[1])):
        return unproved
    columns = [tree.q_slices[_coordinate_body(tree, i)].start for i in (*ranges.to_a, *ranges.to_b)]
    coupled = len({*columns}) < len(columns) or any(tree.bodies[i].coupling for i in (*ranges.to_a, *ranges.to_b))

    def evaluate(centers: np.ndarray, halves: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        result = _evaluated(tree, links, ranges, centers, halves)
        return ~(result.distance > _SLACK), ~(result.gap > _SLACK), result.shares  # NaN proves nothing

    with np.errstate(all="ignore"):
        known = nearest[columns][np.newaxis]
        if evaluate(known, np.zeros_like(known))[0].any():
            return unproved
        verdict, overlapping = prove_on_boxes(ranges.lower, ranges.upper, evaluate, max_boxes)
    doubts = np.tile(nearest, (0 if coupled else min(_MAX_DOUBTS, len(overlapping)), 1))
    doubts[:, columns] = overlapping[: len(doubts)]
    return SeparationProof(verdict is True, doubts)


def _coordinate_body(tree: Tree, i: int) -> int:
    """Return the index of the body whose joint has the coordinate that moves body i.

    It is i, or for a coupled joint the body of the joint that it follows.
    """
    coupling = tree.bodies[i].coupling
    return i if coupling is None else tree.joint_index(coupling.joint)


class BoxProof(NamedTuple):
    """Result of `prove_on_boxes`: proved, refuted or undecided, with the configurations that refute the property."""

    verdict: bool | None  # True if proved, False if refuted, None if undecided
    refuting: np.ndarray  # (k, n): centers of boxes that refute the property


def prove_on_boxes(
    lower: np.ndarray,
    upper: np.ndarray,
    evaluate: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
    max_boxes: int,
) -> BoxProof:
    """Prove or refute a property on a box (n,) by branch and bound over at most ``max_boxes`` boxes.

    ``evaluate`` (centers (k, n), half widths (k, n)) returns two masks (k,), of the boxes whose centers refute the
    property and of the undecided boxes, and the contribution of each dimension to the uncertainty (k, n). A box is
    halved along the dimension with the largest contribution.
    """
    centers, halves = 0.5 * (lower + upper)[np.newaxis], 0.5 * (upper - lower)[np.newaxis]
    no_boxes, count = np.empty((0, len(lower))), 0
    while len(centers):
        count += len(centers)
        if count > max_boxes:
            return BoxProof(None, no_boxes)
        refuting, undecided, shares = evaluate(centers, halves)
        if refuting.any():
            return BoxProof(False, centers[refuting])
        centers, halves = _halved(centers[undecided], halves[undecided], shares[undecided])
    return BoxProof(True, no_boxes)


def _halved(centers: np.ndarray, halves: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split each box in two along the joint with the largest value in ``shares``; return centers and half widths."""
    rows, widest = np.arange(len(centers)), np.argmax(shares, axis=-1)
    halves = halves.copy()
    halves[rows, widest] *= 0.5
    step = np.zeros_like(centers)
    step[rows, widest] = halves[rows, widest]
    return np.concatenate([centers - step, centers + step]), np.concatenate([halves, halves])


class _BoxBounds(NamedTuple):
    """Bounds on the distance of two links for boxes (n,) of configurations."""

    distance: np.ndarray  # (n,): lower bound at the box's center [m]
    gap: np.ndarray  # (n,): lower bound in the whole box [m]
    shares: np.ndarray  # (n, joints): of the displacement, by joint [m]


def _evaluated(
    tree: Tree, links: Sequence[Sequence[LinkShape]], ranges: JointRanges, centers: np.ndarray, halves: np.ndarray
) -> _BoxBounds:
    first = len(ranges.to_a)
    sides = []
    for shapes, chain, columns in zip(
        links, (ranges.to_a, ranges.to_b), (slice(first), slice(first, None)), strict=True
    ):
        q: Any = dict(zip(chain, ([x] for x in centers[:, columns].T), strict=True))
        X, h = chain_pose(tree, q, chain), halves[:, columns]
        sides.append([(solid(s.shape, X @ s.placement), *_displacement(tree, s, chain, q, h)) for s in shapes])
    minimum, gap, shares = np.full(len(centers), np.inf), np.full(len(centers), np.inf), np.zeros_like(centers)
    for solid_a, displacement_a, shares_a in sides[0]:
        for solid_b, displacement_b, shares_b in sides[1]:
            distance = _distance_bound(solid_a, solid_b)
            minimum = np.minimum(minimum, distance)
            gap = np.minimum(gap, distance - (displacement_a + displacement_b) * (1.0 + 1e-12))
            shares = np.maximum(shares, np.concatenate([shares_a, shares_b], axis=1))
    return _BoxBounds(minimum, gap, shares)


def _displacement(
    tree: Tree, shape: LinkShape, chain: Sequence[int], q: Any, halves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds on the displacement of a shape's core from its position at the box centers, for boxes (n,) [m].

    The second result is each joint's contribution to the bound (n, joints).
    """
    points, radius = _hull_points(solid(shape.shape, shape.placement), reach_of(solid(shape.shape, Pose.identity())))
    largest, shares = np.zeros(len(halves)), np.zeros_like(halves)
    for point in points:
        m, D = point, np.zeros(len(halves))
        for k in range(len(chain) - 1, -1, -1):
            S = tree.bodies[chain[k]].S(q[chain[k]]).columns[0]
            lever = S.angular.cross(m) + S.linear
            turning = math.hypot(*S.angular)
            share = halves[:, k] * (sqrt(lever.dot(lever)) + turning * (D + radius))
            shares[:, k] = np.maximum(shares[:, k], share)
            D = D + share
            m = tree.bodies[chain[k]].X(q[chain[k]]).point(m)
        largest = np.maximum(largest, D)
    return largest, shares


def _hull_points(placed: Solid, reach: float) -> tuple[tuple[Vec3, ...], float]:
    """Return points and a radius [m] such that a solid's core is within the radius of the points' convex hull."""
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


def _distance_bound(a: Solid, b: Solid) -> Any:
    """Return a lower bound on the distance of two solids that are apart [m]; it is at most 0 if they overlap."""
    best: Any = None
    for part_a in _containing(a):
        for part_b in _containing(b):
            if isinstance(part_a.core, BoxCore) and isinstance(part_b.core, BoxCore):
                result = box_box_gap(part_a.core, part_b.core) - part_a.radius - part_b.radius
            else:
                result = signed_distance(part_a, part_b).distance
            best = result if best is None else fmax(best, result)
    return best


def _containing(a: Solid) -> Iterator[Solid]:
    """Yield solids that contain the solid and whose distances have closed forms."""
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
