"""The distances of all pairs, where they are measured, and how they change with the configuration.

∂d/∂q by the envelope theorem: n · (v_B − v_A) of the points that are on the two surfaces now, whatever points will be
nearest then.  With the normal n as a force at either point, (p × n; n) is one wrench for both, since the points lie on
one line along n; what it works along a joint's axis is the derivative by that joint's velocity.

Source: Danskin, The Theory of Max-Min, 1967 (the derivative of a minimum).

The distances of all pairs with their gradients, where only those matter that are near.

Two solids whose bounding spheres are farther apart than ``within`` get the distance of these spheres, which is no more
than theirs, with its own gradient: that takes a tenth of the work.  So a limit below ``within`` is kept by these
numbers where it is kept by distances, and broken by these where it is broken by those.

Where many samples side by side agree that a pair is far, it is not measured: along a path, neighbours mostly do.

Source: Ericson, Real-Time Collision Detection, 2005, section 4.3 (bounding spheres).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.collision.algorithms.pair_loops import listed, over_own_pairs, over_scene
from linkwork.collision.algorithms.shape_placement import placed_shapes
from linkwork.expr.control import cond, scan
from linkwork.expr.scalar.functions import and_, le, lt, sqrt, where
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.pairs import signed_distance_once
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.kinematics.algorithms.relative_kinematics import ancestors, fork
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, Vec3

__all__ = [
    "FAR",
    "NUMBERS",
    "Motions",
    "PairDistances",
    "gradient",
    "nearby_distances",
    "numbers_of",
    "pair_distances",
    "wrench",
]


Scalars = Sequence[Any]
NUMBERS = 11  # of a pair: distance, normal, point on a, point on b, unique
_LONG = 300  # joints between pairs, of all together, that are written out
FAR = 1e30  # the distance of what is not there [m]


@dataclass(frozen=True, slots=True)
class PairDistances:
    """Numbers by pair, and the gradient by velocities where it was asked for."""

    own: list[list[Any]]  # of the robot's own pairs
    scene: list[list[list[Any]]]  # by moving shape and row of the scene
    own_gradient: list[list[Any]]
    scene_gradient: list[list[list[Any]]]


def numbers_of(result: SignedDistance) -> list[Any]:
    """distance, normal, point on a, point on b, unique."""
    return [result.distance, *result.normal, *result.on_a, *result.on_b, result.unique]


def pair_distances(
    tree: Tree,
    q: Scalars,
    pairs: Sequence[tuple[int, int]],
    shapes: Sequence[int],
    scene: Mapping[SolidKind, Any],
    *,
    derivatives: bool = False,
) -> PairDistances:
    """Of pairs of the robot's own shapes, by their places, and of shapes with every row of a scene.

    Rows that are not there are at `FAR`.
    """
    X = forward_kinematics(tree, q)
    placed = placed_shapes(tree, q, X)

    def own(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        return state, numbers_of(signed_distance_once(a.solid, b.solid))

    result = over_own_pairs(own, (), placed, pairs)[1]
    motions = Motions(tree, q, X) if derivatives else None
    bodies = [(placed[i].body, placed[j].body) for i, j in pairs]
    own_gradient = [] if motions is None else motions.gradients(result, bodies)

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, place: Any, columns: Scalars = ()) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            numbers = numbers_of(signed_distance_once(a.solid, b.solid))
            return (*numbers, *gradient(numbers, columns))

        def nothing() -> tuple[Any, ...]:
            return (FAR, 0.0, 0.0, 1.0, *([0.0] * (NUMBERS - 4 + len(columns) // 6)))

        return state, list(cond(lt(0.0, b.there), measured, nothing))

    some = [placed[k] for k in shapes]
    extra = {shape.index: motions.of_body(shape.body) for shape in some} if motions is not None else None
    _, _, rows = over_scene(with_obstacle, (), some, scene, extra)
    return PairDistances(
        result,
        [[numbers[:NUMBERS] for numbers in row] for row in rows],
        own_gradient,
        [[numbers[NUMBERS:] for numbers in row] for row in rows],
    )


class Motions:
    """How bodies move with the velocities: twists at the world's origin, in its axes, each once."""

    def __init__(self, tree: Tree, q: Scalars, X: Sequence[Pose]) -> None:
        self.tree = tree
        split = tree.split_q(q)
        self.columns: list[list[Motion]] = [
            [X[i] @ column for column in body.S(split[i]).columns] for i, _, body in tree.outward()
        ]

    def of_body(self, body: int) -> list[Any]:
        """The six numbers of a body's twist for each velocity, side by side."""
        result = [Motion.zero()] * self.tree.nv
        for i in ancestors(self.tree, body):
            for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                result[k] += column
        return [x for motion in result for x in motion.elements()]

    def gradients(self, found: Sequence[Scalars], bodies: Sequence[tuple[int, int]]) -> list[list[Any]]:
        """∂d/∂q of many pairs on bodies: written out, or, where that would be long, in a loop."""
        many = sum(len(one) + len(other) for _, one, other in (fork(self.tree, a, b) for a, b in bodies))
        if many <= _LONG:
            return [self.gradient(numbers, a, b) for numbers, (a, b) in zip(found, bodies, strict=True)]
        rows = [
            [*wrench(numbers).elements(), *(x for motion in self.between(a, b) for x in motion.elements())]
            for numbers, (a, b) in zip(found, bodies, strict=True)
        ]

        def one(state: Any, row: Any) -> tuple[Any, Any]:
            numbers = listed(row)
            F, columns = Force.of(numbers[:6]), numbers[6:]
            rates = [Motion.of(columns[k : k + 6]).dot(F) for k in range(0, len(columns), 6)]
            return state, np.array(rates, dtype=object)

        _, results = scan(one, (), np.array(rows, dtype=object))
        return [listed(result) for result in results]

    def between(self, a: int, b: int) -> list[Motion]:
        """By velocity: the twist of body b relative to body a."""
        result = [Motion.zero()] * self.tree.nv
        _, to_a, to_b = fork(self.tree, a, b)
        for chain, inward in ((to_b, False), (to_a, True)):
            for i in chain:
                for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                    result[k] += -column if inward else column
        return result

    def gradient(self, numbers: Scalars, a: int, b: int) -> list[Any]:
        """∂d/∂q of a pair on two bodies; joints that carry both change nothing."""
        F = wrench(numbers)
        return [column.dot(F) for column in self.between(a, b)]

    def pulled(self, wrenches: Mapping[int, Force]) -> list[Any]:
        """What wrenches on bodies, in the world's axes at its origin, do along the velocities."""
        result = [0.0] * self.tree.nv
        total: dict[int, Force] = dict(wrenches)
        for i, p, _ in self.tree.inward():
            if i not in total:
                continue
            for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                result[k] = result[k] + column.dot(total[i])
            total[p] = total[p] + total[i] if p in total else total[i]
        return result


def wrench(numbers: Scalars) -> Force:
    """(p × n; n): what the normal does as a force at the witness points, about the world's origin."""
    n, p = Vec3(*numbers[1:4]), Vec3(*numbers[4:7])
    return Force(p.cross(n), n)


def gradient(numbers: Scalars, columns: Scalars) -> list[Any]:
    """∂d/∂q of a body with these columns and something that stands still: −n · v_A."""
    F = wrench(numbers)
    return [-Motion.of(columns[k : k + 6]).dot(F) for k in range(0, len(columns), 6)]


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

    result = over_own_pairs(step, (), placed, pairs)[1]
    bodies = [(placed[i].body, placed[j].body) for i, j in pairs]
    some = [placed[k] for k in shapes]
    for shape, met in zip(some, over_scene(step, (), some, scene)[2], strict=True):
        result += met
        bodies += [(shape.body, WORLD)] * len(met)
    return [numbers[0] for numbers in result], motions.gradients(result, bodies)


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
        result = signed_distance_once(a.solid, b.solid)
        return result.distance, *result.normal, *result.on_a

    def spheres() -> tuple[Any, ...]:
        apart = lt(0.0, square)
        length = sqrt(where(apart, square, 1.0))
        n = way * (1.0 / length)
        if not absent:
            return where(apart, length, 0.0) - reach, *n, *a.anchor
        there = lt(0.0, b.there)
        return where(there, length - reach, ABSENT), *(where(there, x, 0.0) for x in n), *a.anchor

    return cond(near, measured, spheres)  # type: ignore[no-any-return]
