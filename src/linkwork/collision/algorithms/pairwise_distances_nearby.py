"""The distances of all pairs with their gradients, where only those matter that are near.

Two solids whose bounding spheres are farther apart than ``within`` get the distance of these spheres, which is no more
than theirs, with its own gradient: that takes a tenth of the work.  So a limit below ``within`` is kept by these
numbers where it is kept by distances, and broken by these where it is broken by those.

Where many samples side by side agree that a pair is far, it is not measured: along a path, neighbours mostly do.

Source: Ericson, Real-Time Collision Detection, 2005, section 4.3 (bounding spheres).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.collision.algorithms.pair_loops import over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import Motions
from linkwork.collision.algorithms.shape_placement import placed_shapes
from linkwork.expr.control import cond
from linkwork.expr.scalar.functions import and_, le, lt, sqrt, where
from linkwork.geometry.pairs import signed_distance_once
from linkwork.geometry.solids_rows import SolidKind, SolidRow
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree

__all__ = ["ABSENT", "nearby_distances"]

Scalars = Sequence[Any]

ABSENT = 1e3  # the distance of what is not there, that squares of it are finite [m]


def nearby_distances(
    tree: Tree,
    q: Scalars,
    pairs: Sequence[tuple[int, int]],
    shapes: Sequence[int],
    scene: Mapping[SolidKind, Any],
    within: Any,
) -> tuple[list[Any], list[list[Any]]]:
    """By pair: a distance [m] and its gradient by velocities (nv).

    First the robot's own pairs, then of each of the ``shapes`` those with every row of a scene; rows that are not
    there are at `ABSENT`.
    """
    X = forward_kinematics(tree, q)
    placed, motions = placed_shapes(tree, q, X), Motions(tree, q, X)

    def step(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        return state, list(_measured(a, b, within))

    found = over_own_pairs(step, (), placed, pairs)[1]
    bodies = [(placed[i].body, placed[j].body) for i, j in pairs]
    some = [placed[k] for k in shapes]
    for shape, met in zip(some, over_scene(step, (), some, scene)[2], strict=True):
        found += met
        bodies += [(shape.body, WORLD)] * len(met)
    return [numbers[0] for numbers in found], motions.gradients(found, bodies)


def _measured(a: SolidRow, b: SolidRow, within: Any) -> tuple[Any, ...]:
    """The distance, its normal and a point of the line along it: of the two solids, or of their spheres."""
    way = b.anchor - a.anchor
    square, reach = way.dot(way), a.reach + b.reach
    far = within + reach
    near = and_(le(0.0, far), le(square, far * far))
    absent = not isinstance(b.there, float)
    if absent:
        near = and_(lt(0.0, b.there), near)

    def measured() -> tuple[Any, ...]:
        found = signed_distance_once(a.solid, b.solid)
        return found.distance, *found.normal, *found.on_a

    def spheres() -> tuple[Any, ...]:
        apart = lt(0.0, square)
        length = sqrt(where(apart, square, 1.0))
        n = way * (1.0 / length)
        if not absent:
            return where(apart, length, 0.0) - reach, *n, *a.anchor
        there = lt(0.0, b.there)
        return where(there, length - reach, ABSENT), *(where(there, x, 0.0) for x in n), *a.anchor

    return cond(near, measured, spheres)  # type: ignore[no-any-return]
