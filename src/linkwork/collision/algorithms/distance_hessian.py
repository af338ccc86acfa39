"""Hessians of the distances of all pairs in the tangent space.

A pair's derivative with respect to joint k is F · S_k, with the wrench F = (p × n; n) of the normal at the witness
points and the joint's twist S_k, of B relative to A.  A twist ξ of B relative to A changes F at the rate K ξ
(`linkwork.geometry.pairs.distance_derivatives`).  Along the joints from A to B, a joint moves everything after it, and
its own axis does not move with the joints after it.  So for joint k before joint l

    ∂²d/∂q_k∂q_l = S_k · K S_l.

Within one joint, the entry is the mean of both orders.  If the joint's axes rotate with it, F · (∂_l S_k + ∂_k S_l)/2
is added.  The result is the second derivative of d(q ⊕ φ) with respect to φ, which is symmetric.

Source: Hourtash, The kinematic Hessian and higher derivatives, 2005, for the rule of columns. K follows from the
implicit-function theorem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.collision.algorithms.pair_loops import listed, over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR, PAIR_SIZE, Motions, pair_values, wrench
from linkwork.collision.algorithms.shape_placement import placed_shapes
from linkwork.expr.control import cond, scan
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import lt
from linkwork.geometry.pairs import motion_response, signed_distance_once
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.forward_kinematics import fork, forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion

__all__ = ["PairHessians", "pair_hessians"]

Scalars = Sequence[Any]

_MAX_UNROLLED = 400  # products of twists, summed over all pairs


@dataclass(frozen=True, slots=True)
class PairHessians:
    """Distances with gradients and Hessians: of the robot's own pairs, and by moving shape and obstacle."""

    self_pairs: list[_OfPair]
    scene: list[list[_OfPair]]


@dataclass(frozen=True, slots=True)
class _OfPair:
    values: Scalars
    gradient: list[Any]
    hessian: list[list[Any]]
    exists: Any  # 1 where the Hessian exists, else 0


@dataclass(frozen=True, slots=True)
class _Column:
    """Jacobian column of a body's joint: its index among the columns of all bodies, and that of its velocity in v."""

    index: int
    velocity: int
    body: int


def pair_hessians(
    tree: Tree,
    q: Scalars,
    pairs: Sequence[tuple[int, int]],
    shapes: Sequence[int],
    scene: Mapping[SolidKind, Any],
) -> PairHessians:
    """Compute the Hessians of the distances of all pairs.

    ``pairs`` are those of the robot's own shapes, by indices; ``shapes`` are paired with every row of a scene.  Unused
    rows have the distance `FAR`.
    """
    X = forward_kinematics(tree, q)
    placed = placed_shapes(tree, q, X)
    columns_of = _JointColumns(tree, q, X)

    def measured(a: SolidRow, b: SolidRow) -> list[Any]:
        result = signed_distance_once(a.solid, b.solid)
        K, exists = motion_response(a.solid, b.solid, result)
        return [*pair_values(result), exists, *(x for row in K for x in row)]

    def self_pair(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
        return state, measured(a, b)

    result = over_own_pairs(self_pair, (), placed, pairs)[1]
    bodies = [(placed[i].body, placed[j].body) for i, j in pairs]
    products = _products_of_all(columns_of, result, bodies)

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, index: Any, columns: Scalars) -> tuple[Any, list[Any]]:
        def used() -> tuple[Any, ...]:
            values = measured(a, b)
            return (*values[: PAIR_SIZE + 1], *_products(values, columns))

        def unused() -> tuple[Any, ...]:
            return (FAR, 0.0, 0.0, 1.0, *([0.0] * (PAIR_SIZE - 3 + (len(columns) // 6) ** 2)))

        return state, list(cond(lt(0.0, b.exists), used, unused))

    moving = [placed[k] for k in shapes]
    extra = {shape.index: columns_of.path_columns(shape.body, WORLD) for shape in moving}
    _, _, rows = over_scene(with_obstacle, (), moving, scene, extra)
    return PairHessians(
        [
            columns_of.of_pair(pair[: PAIR_SIZE + 1], T, a, b)
            for pair, T, (a, b) in zip(result, products, bodies, strict=True)
        ],
        [
            [columns_of.of_pair(pair[: PAIR_SIZE + 1], pair[PAIR_SIZE + 1 :], shape.body, WORLD) for pair in row]
            for shape, row in zip(moving, rows, strict=True)
        ],
    )


def _products_of_all(
    columns_of: _JointColumns, pairs: Sequence[Scalars], bodies: Sequence[tuple[int, int]]
) -> list[Scalars]:
    """Return for each of many pairs S_k · K S_l of all columns S, with the pair's stiffness-like matrix K.

    K is the change of the normal's wrench with a relative twist.  Long computations are in a loop.
    """
    rows = [[*step, *columns_of.path_columns(a, b)] for step, (a, b) in zip(pairs, bodies, strict=True)]
    size = PAIR_SIZE + 37
    if sum(columns_of.count_between(a, b) ** 2 for a, b in bodies) <= _MAX_UNROLLED:
        return [_products(row[:size], row[size:]) for row in rows]

    def step(state: Any, row: Any) -> tuple[Any, Any]:
        values = listed(row)
        return state, np.array(_products(values[:size], values[size:]), dtype=object)

    _, results = scan(step, (), np.array(rows, dtype=object))
    return [listed(result) for result in results]


def _products(values: Scalars, columns: Scalars) -> list[Any]:
    """Return S_k · K S_l for all columns k and l, row-major; K (6 × 6) is the last part of a pair's ``values``."""
    K = values[PAIR_SIZE + 1 :]
    twists = [Motion.of(columns[k : k + 6]) for k in range(0, len(columns), 6)]
    changes = [Force.of([dot(K[6 * i : 6 * i + 6], twist.elements()) for i in range(6)]) for twist in twists]
    return [twist.dot(change) for twist in twists for change in changes]


class _JointColumns:
    """Jacobian columns of all bodies' joints in the world frame, and their derivatives along their own joint."""

    def __init__(self, tree: Tree, q: Scalars, X: Sequence[Any]) -> None:
        self.tree, self.q, self.X = tree, tree.split_q(q), X
        self.motions = Motions(tree, q, X)
        self.columns: list[list[_Column]] = []
        self.count = 0
        for i, _, _ in tree.outward():
            velocities = range(tree.nv)[tree.v_slices[i]]
            indices = range(self.count, self.count + len(self.motions.columns[i]))
            self.columns.append([_Column(k, v, i) for k, v in zip(indices, velocities, strict=True)])
            self.count += len(indices)
        self._derivatives: dict[int, list[list[Motion]]] = {}

    def path(self, a: int, b: int) -> list[tuple[int, bool]]:
        """Return the bodies whose joints are between a and b, from a to b; the flag is True for joints that carry a."""
        _, to_a, to_b = fork(self.tree, a, b)
        return [*((i, True) for i in reversed(to_a)), *((i, False) for i in to_b)]

    def count_between(self, a: int, b: int) -> int:
        """Return the number of Jacobian columns of the joints on the path from body a to body b."""
        return sum(len(self.columns[i]) for i, _ in self.path(a, b))

    def path_columns(self, a: int, b: int) -> list[Any]:
        """Return the twist of body b relative to body a per unit of each velocity, six elements for each column."""
        result = [Motion.zero()] * self.count
        for i, inward in self.path(a, b):
            for column, S in zip(self.columns[i], self.motions.columns[i], strict=True):
                result[column.index] = -S if inward else S
        return [x for motion in result for x in motion.elements()]

    def derivatives(self, body: int) -> list[list[Motion]]:
        """Return the derivative of each column k of a joint along each velocity l of the same joint, by l and k.

        The derivatives are those for an observer in the joint's moving frame, in the world's axes.
        """
        if body not in self._derivatives:
            joint = self.tree.bodies[body]
            count = len(self.columns[body])
            rates = [joint.S_dot(self.q[body], unit) for unit in unit_vectors(count)]
            self._derivatives[body] = [[self.X[body] @ column for column in rate.columns] for rate in rates]
        return self._derivatives[body]

    def of_pair(self, values: Scalars, products: Scalars, a: int, b: int) -> _OfPair:
        """Return the distance, gradient and Hessian of a pair of shapes on bodies a and b.

        ``values`` has the pair's distance, normal and witness points, and whether the Hessian exists. ``products`` are
        S_k · K S_l for the Jacobian columns S of the joints between a and b; K is the change of the normal's wrench by
        a relative twist.
        """
        *measured, exists = values
        F = wrench(measured)
        path = self.path(a, b)
        order = [column for i, _ in path for column in self.columns[i]]
        nv = self.tree.nv
        hessian: list[list[Any]] = [[0.0] * nv for _ in range(nv)]

        def add(first: _Column, second: _Column, x: Any) -> None:
            k, l = first.velocity, second.velocity
            hessian[k][l] = hessian[k][l] + x
            if first is not second:
                hessian[l][k] = hessian[l][k] + x

        for m, first in enumerate(order):
            for second in order[m:]:
                x = products[first.index * self.count + second.index]
                if first.body == second.body and first is not second:
                    x = (x + products[second.index * self.count + first.index]) * 0.5
                add(first, second, x)
        for i, inward in path:
            columns, rates = self.columns[i], self.derivatives(i)
            for k, first in enumerate(columns):
                for l, second in enumerate(columns[k:], start=k):
                    x = (rates[l][k] + rates[k][l]).dot(F) * 0.5
                    add(first, second, -x if inward else x)
        gradient = self.motions.gradient(measured, a, b)
        return _OfPair(measured, gradient, hessian, exists)
