"""How the shapes of a robot move along a segment: bounds by shape and body that carries it, or sums along the tree.

Each shape's core is within a radius of the convex hull of some points of its body.  Of robots of usual size the bounds
are those of `motion_bounds`; of large ones they follow from `path_bounds`, as they are too many to be written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from linkwork.collision.algorithms.displacement_bounds import MotionBound, length, motion_bounds
from linkwork.collision.algorithms.many_pairs import are_many
from linkwork.collision.algorithms.path_bounds import PathSums, bound_between, path_sums
from linkwork.geometry.cores import SegmentCore
from linkwork.geometry.fields import FIELDS
from linkwork.geometry.solids import anchor, reach_of, solid
from linkwork.model.body import WORLD
from linkwork.model.collision_pairs import LinkShape, link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Pose, Vec3

__all__ = ["Bounded", "Summed", "shape_bounds"]

Scalars = Sequence[Any]

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
    found = []
    for one in link_shapes(tree):
        if one.body == WORLD:
            found.append({WORLD: MotionBound(0.0, 0.0)})
            continue
        points, radius = _hull(one)
        found.append(motion_bounds(tree, middle, phi, one.body, points, radius))
    return found


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
