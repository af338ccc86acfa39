"""Second derivatives of the distances of all pairs by the configuration, in its tangent space.

A pair's gradient by joint k is F · S_k, with the wrench F = (p × n; n) of the normal at the nearest points and the
joint's twist S_k, of B relative to A.  F answers to a twist of B relative to A by K
(`linkwork.geometry.pairs.distance_derivatives`).  Along the joints from A to B, what a joint moves is all that comes
after it, and the joint's own axis does not move with those after it.  So for joint k before joint l

    ∂²d/∂q_k∂q_l = S_k · K S_l.

Within one joint it is the mean of both orders, and, where its axes turn with it, F · (∂_l S_k + ∂_k S_l)/2 more: the
second derivative of d(q ⊕ φ) by φ, which is symmetric.

Source: the rule of columns is that of the kinematic Hessian (Hourtash, The kinematic Hessian and higher derivatives,
2005); K is of the implicit-function theorem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.collision.algorithms.pair_loops import listed, over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR, NUMBERS, Motions, numbers_of, wrench
from linkwork.collision.algorithms.shape_placement import placed_shapes
from linkwork.expr.control import cond, scan
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import lt
from linkwork.geometry.pairs import motion_response, signed_distance_once
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.kinematics.algorithms.relative_kinematics import fork
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion

__all__ = ["PairHessians", "pair_hessians"]

Scalars = Sequence[Any]

_LONG = 400  # products of twists, of all pairs together, that are written out


@dataclass(frozen=True, slots=True)
class PairHessians:
    """Numbers by pair; gradient and Hessian by velocities, and whether the latter exists: of the robot's own pairs, and
    by moving shape and row of the scene.
    """

    own: list[_OfPair]
    scene: list[list[_OfPair]]


@dataclass(frozen=True, slots=True)
class _OfPair:
    numbers: Scalars
    gradient: list[Any]
    hessian: list[list[Any]]
    exists: Any


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a body's joint, by its place among those of all bodies, and the velocity that it belongs to."""

    place: int
    velocity: int
    body: int


def pair_hessians(
    tree: Tree,
    q: Scalars,
    pairs: Sequence[tuple[int, int]],
    shapes: Sequence[int],
    scene: Mapping[SolidKind, Any],
) -> PairHessians:
    """Of pairs of the robot's own shapes, by their places, and of shapes with every row of a scene.

    Rows that are not there are at `FAR`.
    """
    X = forward_kinematics(tree, q)
    placed = placed_shapes(tree, q, X)
    turning = _Turning(tree, q, X)

    def measured(a: SolidRow, b: SolidRow) -> list[Any]:
        result = signed_distance_once(a.solid, b.solid)
        K, exists = motion_response(a.solid, b.solid, result)
        return [*numbers_of(result), exists, *(x for row in K for x in row)]

    def own(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        return state, measured(a, b)

    result = over_own_pairs(own, (), placed, pairs)[1]
    bodies = [(placed[i].body, placed[j].body) for i, j in pairs]
    products = _products_of_all(turning, result, bodies)

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, place: Any, columns: Scalars) -> tuple[Any, list[Any]]:
        def there() -> tuple[Any, ...]:
            numbers = measured(a, b)
            return (*numbers[: NUMBERS + 1], *_products(numbers, columns))

        def nothing() -> tuple[Any, ...]:
            return (FAR, 0.0, 0.0, 1.0, *([0.0] * (NUMBERS - 3 + (len(columns) // 6) ** 2)))

        return state, list(cond(lt(0.0, b.there), there, nothing))

    some = [placed[k] for k in shapes]
    extra = {shape.index: turning.along(shape.body, WORLD) for shape in some}
    _, _, rows = over_scene(with_obstacle, (), some, scene, extra)
    return PairHessians(
        [turning.of_pair(one[: NUMBERS + 1], T, a, b) for one, T, (a, b) in zip(result, products, bodies, strict=True)],
        [
            [turning.of_pair(one[: NUMBERS + 1], one[NUMBERS + 1 :], shape.body, WORLD) for one in row]
            for shape, row in zip(some, rows, strict=True)
        ],
    )


def _products_of_all(turning: _Turning, found: Sequence[Scalars], bodies: Sequence[tuple[int, int]]) -> list[Scalars]:
    """S_k · K S_l of many pairs: written out, or, where that would be long, in a loop."""
    rows = [[*one, *turning.along(a, b)] for one, (a, b) in zip(found, bodies, strict=True)]
    size = NUMBERS + 37
    if sum(turning.length(a, b) ** 2 for a, b in bodies) <= _LONG:
        return [_products(row[:size], row[size:]) for row in rows]

    def one(state: Any, row: Any) -> tuple[Any, Any]:
        numbers = listed(row)
        return state, np.array(_products(numbers[:size], numbers[size:]), dtype=object)

    _, results = scan(one, (), np.array(rows, dtype=object))
    return [listed(result) for result in results]


def _products(numbers: Scalars, columns: Scalars) -> list[Any]:
    """S_k · K S_l, row by row."""
    K = numbers[NUMBERS + 1 :]
    twists = [Motion.of(columns[k : k + 6]) for k in range(0, len(columns), 6)]
    answers = [Force.of([dot(K[6 * i : 6 * i + 6], twist.elements()) for i in range(6)]) for twist in twists]
    return [twist.dot(answer) for twist in twists for answer in answers]


class _Turning:
    """The columns of all bodies' joints, in the world, and how they turn with their own joint."""

    def __init__(self, tree: Tree, q: Scalars, X: Sequence[Any]) -> None:
        self.tree, self.q, self.X = tree, tree.split_q(q), X
        self.motions = Motions(tree, q, X)
        self.columns: list[list[_Column]] = []
        self.count = 0
        for i, _, _ in tree.outward():
            numbers = range(tree.nv)[tree.v_slices[i]]
            places = range(self.count, self.count + len(self.motions.columns[i]))
            self.columns.append([_Column(p, v, i) for p, v in zip(places, numbers, strict=True)])
            self.count += len(places)
        self._turned: dict[int, list[list[Motion]]] = {}

    def path(self, a: int, b: int) -> list[tuple[int, bool]]:
        """The bodies whose joints lie between two bodies, from the first to the second, and whether they carry it."""
        _, to_a, to_b = fork(self.tree, a, b)
        return [*((i, True) for i in reversed(to_a)), *((i, False) for i in to_b)]

    def length(self, a: int, b: int) -> int:
        """How many columns lie between."""
        return sum(len(self.columns[i]) for i, _ in self.path(a, b))

    def along(self, a: int, b: int) -> list[Any]:
        """The six numbers of the twist of b relative to a, for each column."""
        result = [Motion.zero()] * self.count
        for i, inward in self.path(a, b):
            for column, S in zip(self.columns[i], self.motions.columns[i], strict=True):
                result[column.place] = -S if inward else S
        return [x for motion in result for x in motion.elements()]

    def turned(self, body: int) -> list[list[Motion]]:
        """∂_l S_k of a joint's own columns in the world, by l and k, but for turning along with it."""
        if body not in self._turned:
            joint = self.tree.bodies[body]
            count = len(self.columns[body])
            rates = [joint.S_dot(self.q[body], unit) for unit in unit_vectors(count)]
            self._turned[body] = [[self.X[body] @ column for column in rate.columns] for rate in rates]
        return self._turned[body]

    def of_pair(self, numbers: Scalars, products: Scalars, a: int, b: int) -> _OfPair:
        """Of a pair on two bodies: S_k · K S_l by the order of the joints between them."""
        *measured, exists = numbers
        F = wrench(measured)
        path = self.path(a, b)
        order = [column for i, _ in path for column in self.columns[i]]
        nv = self.tree.nv
        hessian: list[list[Any]] = [[0.0] * nv for _ in range(nv)]

        def add(one: _Column, other: _Column, x: Any) -> None:
            k, l = one.velocity, other.velocity
            hessian[k][l] = hessian[k][l] + x
            if one is not other:
                hessian[l][k] = hessian[l][k] + x

        for m, one in enumerate(order):
            for other in order[m:]:
                x = products[one.place * self.count + other.place]
                if one.body == other.body and one is not other:
                    x = (x + products[other.place * self.count + one.place]) * 0.5
                add(one, other, x)
        for i, inward in path:
            own, turned = self.columns[i], self.turned(i)
            for k, one in enumerate(own):
                for l, other in enumerate(own[k:], start=k):
                    x = (turned[l][k] + turned[k][l]).dot(F) * 0.5
                    add(one, other, -x if inward else x)
        gradient = self.motions.gradient(measured, a, b)
        return _OfPair(measured, gradient, hessian, exists)
