"""Signed distances of all pairs of shapes, with witness points and gradients in the tangent space.

By the envelope theorem, ∂d/∂q = n · (v_B − v_A) with the velocities of the current witness points.  The normal n acts
like a force at either point.  Both points lie on a line along n, so (p × n; n) is the same wrench for both; its power
along a joint's axis is the derivative with respect to that joint's velocity.

Source: Danskin, The Theory of Max-Min, 1967 (the derivative of a minimum).

`nearby_distances` computes exact distances for near pairs only.  Two solids whose bounding spheres are farther apart
than ``within`` get the distance of these spheres with its own gradient, for a tenth of the work.  The spheres' distance
is a lower bound, so a limit below ``within`` is satisfied by these values exactly where the distances satisfy it.

A pair is skipped when all samples of a SIMD vector agree that it is far, as neighbours along a path mostly do.

Source: Ericson, Real-Time Collision Detection, 2005, section 4.3 (bounding spheres).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.collision.algorithms.pair_loops import listed, over_own_pairs, over_scene
from linkwork.collision.algorithms.shape_placement import PlacedShape, by_kind, by_kinds, placed_shapes
from linkwork.expr.arrays.symbol_array import object_array
from linkwork.expr.control import cond, scan
from linkwork.expr.scalar.functions import and_, le, lt, sqrt, where
from linkwork.geometry.cores import SignedDistance
from linkwork.geometry.pairs import signed_distance_once
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.kinematics.algorithms.forward_kinematics import ancestors, fork, forward_kinematics
from linkwork.model.body import WORLD
from linkwork.model.tree import Tree
from linkwork.spatial import Force, Motion, Pose, Vec3

__all__ = [
    "FAR",
    "PAIR_SIZE",
    "Motions",
    "PairDistances",
    "gradient",
    "nearby_distances",
    "pair_distances",
    "pair_values",
    "wrench",
]


Scalars = Sequence[Any]
PAIR_SIZE = 11  # values of a pair: distance, normal, point on a, point on b, unique
_MAX_UNROLLED = 300  # joints between pairs, summed over all pairs
FAR = 1e30  # [m] distance of an unused row of a scene


@dataclass(frozen=True, slots=True)
class PairDistances:
    """Distance, normal and witness points of each pair (`pair_values`), with gradients if they were requested."""

    self_pairs: list[list[Any]]  # of the robot's own pairs
    scene: list[list[list[Any]]]  # by moving shape and row of the scene
    own_gradient: list[list[Any]]
    scene_gradient: list[list[list[Any]]]


def pair_values(result: SignedDistance) -> list[Any]:
    """Return the `PAIR_SIZE` values of a pair: distance, normal, point on a, point on b, and uniqueness."""
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
    """Compute the values of all pairs, with gradients if ``derivatives``.

    ``pairs`` are those of the robot's own shapes, by indices; ``shapes`` are paired with every row of a scene.  Unused
    rows have the distance `FAR`.
    """
    X = forward_kinematics(tree, q)
    placed = placed_shapes(tree, q, X)

    def self_pair(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
        return state, pair_values(signed_distance_once(a.solid, b.solid))

    result = over_own_pairs(self_pair, (), placed, pairs)[1]
    motions = Motions(tree, q, X) if derivatives else None
    bodies = [(placed[i].body, placed[j].body) for i, j in pairs]
    own_gradient = [] if motions is None else motions.gradients(result, bodies)

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, index: Any, columns: Scalars = ()) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            values = pair_values(signed_distance_once(a.solid, b.solid))
            return (*values, *gradient(values, columns))

        def unused() -> tuple[Any, ...]:
            return (FAR, 0.0, 0.0, 1.0, *([0.0] * (PAIR_SIZE - 4 + len(columns) // 6)))

        return state, list(cond(lt(0.0, b.exists), measured, unused))

    moving = [placed[k] for k in shapes]
    extra = {shape.index: motions.of_body(shape.body) for shape in moving} if motions is not None else None
    _, _, rows = over_scene(with_obstacle, (), moving, scene, extra)
    return PairDistances(
        result,
        [[values[:PAIR_SIZE] for values in row] for row in rows],
        own_gradient,
        [[values[PAIR_SIZE:] for values in row] for row in rows],
    )


class Motions:
    """Jacobian columns of all bodies: their twists at the world's origin, in the world's axes, each computed once."""

    def __init__(self, tree: Tree, q: Scalars, X: Sequence[Pose]) -> None:
        self.tree = tree
        split = tree.split_q(q)
        self.columns: list[list[Motion]] = [
            [X[i] @ column for column in body.S(split[i]).columns] for i, _, body in tree.outward()
        ]

    def of_body(self, body: int) -> list[Any]:
        """Return the columns (6 nv,) of a body's Jacobian, one after the other."""
        result = [Motion.zero()] * self.tree.nv
        for i in ancestors(self.tree, body):
            for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                result[k] += column
        return [x for motion in result for x in motion.elements()]

    def gradients(self, pairs: Sequence[Scalars], bodies: Sequence[tuple[int, int]]) -> list[list[Any]]:
        """Return the gradient of the distance (nv) of many pairs, from their values and the indices of their bodies.

        Long computations are in a loop.
        """
        joints = sum(len(step) + len(to_b) for _, step, to_b in (fork(self.tree, a, b) for a, b in bodies))
        if joints <= _MAX_UNROLLED:
            return [self.gradient(values, a, b) for values, (a, b) in zip(pairs, bodies, strict=True)]
        rows = [
            [*wrench(values).elements(), *(x for motion in self.between(a, b) for x in motion.elements())]
            for values, (a, b) in zip(pairs, bodies, strict=True)
        ]

        def step(state: Any, row: Any) -> tuple[Any, Any]:
            values = listed(row)
            F, columns = Force.of(values[:6]), values[6:]
            rates = [Motion.of(columns[k : k + 6]).dot(F) for k in range(0, len(columns), 6)]
            return state, object_array((len(rates),), rates)

        _, results = scan(step, (), object_array((len(rows), len(rows[0])), [x for row in rows for x in row]))
        return [listed(result) for result in results]

    def between(self, a: int, b: int) -> list[Motion]:
        """Return the Jacobian columns of the twist of body b relative to body a."""
        result = [Motion.zero()] * self.tree.nv
        _, to_a, to_b = fork(self.tree, a, b)
        for chain, inward in ((to_b, False), (to_a, True)):
            for i in chain:
                for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                    result[k] += -column if inward else column
        return result

    def gradient(self, values: Scalars, a: int, b: int) -> list[Any]:
        """Return the gradient (nv) of the distance of a shape of body ``a`` and a shape of body ``b``.

        ``values`` are the pair's distance, normal and witness points (`pair_values`). Joints that move both bodies do
        not contribute.
        """
        F = wrench(values)
        return [column.dot(F) for column in self.between(a, b)]

    def generalized_force(self, wrenches: Mapping[int, Force]) -> list[Any]:
        """Return Σ Jᵀ F (nv,) of wrenches F on bodies, in the world's axes at its origin."""
        result = [0.0] * self.tree.nv
        total: dict[int, Force] = dict(wrenches)
        for i, p, _ in self.tree.inward():
            if i not in total:
                continue
            for k, column in enumerate(self.columns[i], start=self.tree.v_slices[i].start):
                result[k] = result[k] + column.dot(total[i])
            total[p] = total[p] + total[i] if p in total else total[i]
        return result


def wrench(values: Scalars) -> Force:
    """Return the wrench (p × n; n) of a unit force along a pair's normal n at the witness point p on its first shape.

    It is about the world's origin.  ``values`` are the pair's distance, normal and witness points (`pair_values`).
    """
    n, p = Vec3(*values[1:4]), Vec3(*values[4:7])
    return Force(p.cross(n), n)


def gradient(values: Scalars, columns: Scalars) -> list[Any]:
    """Return the gradient of the distance from a shape of body A to a stationary obstacle: −n · v_A for each velocity.

    n is the normal, and v_A the velocity of A's witness point for a unit of that velocity. ``values`` are the pair's
    distance, normal and witness points (`pair_values`), and ``columns`` the Jacobian columns of A, one after the
    other.
    """
    F = wrench(values)
    return [-Motion.of(columns[k : k + 6]).dot(F) for k in range(0, len(columns), 6)]


ABSENT = 1e3  # [m] distance of an unused row of a scene, small enough to square in float32


def nearby_distances(
    tree: Tree,
    q: Scalars,
    pairs: Sequence[tuple[int, int]],
    shapes: Sequence[int],
    scene: Mapping[SolidKind, Any],
    within: Any,
) -> tuple[list[Any], list[list[Any]]]:
    """Compute distances [m] and gradients (nv,) of all pairs, exact for pairs nearer than ``within`` [m].

    The robot's own pairs come first, then each of the ``shapes`` with every row of a scene.  Unused rows have the
    distance `ABSENT`.
    """
    X = forward_kinematics(tree, q)
    placed, motions = placed_shapes(tree, q, X), Motions(tree, q, X)

    def step(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
        return state, list(_distance_or_bound(a, b, within))

    bodies = [(placed[i].body, placed[j].body) for i, j in pairs]
    moving = [placed[k] for k in shapes]
    if _are_batches(placed, scene):
        result, of_scene = _nearby_of_batches(placed, pairs, moving, scene, within)
    else:
        result = over_own_pairs(step, (), placed, pairs)[1]
        of_scene = over_scene(step, (), moving, scene)[2]
    for shape, met in zip(moving, of_scene, strict=True):
        result += met
        bodies += [(shape.body, WORLD)] * len(met)
    return [values[0] for values in result], motions.gradients(result, bodies)


def _are_batches(placed: Sequence[PlacedShape], scene: Mapping[SolidKind, Any]) -> bool:
    """Return True if shapes have numeric values, some of them batches, and obstacles have single numbers."""
    values = [x for shape in placed for x in shape.values]
    obstacles = [x for rows in scene.values() for row in rows for x in listed(row)]
    batches = [x for x in values if isinstance(x, np.ndarray) and x.ndim and x.dtype == float]
    plain = all(isinstance(x, (float, int)) for x in obstacles)
    return plain and bool(batches) and len(batches) + sum(isinstance(x, (float, int)) for x in values) == len(values)


def _nearby_of_batches(
    placed: Sequence[PlacedShape],
    pairs: Sequence[tuple[int, int]],
    moving: Sequence[PlacedShape],
    scene: Mapping[SolidKind, Any],
    within: Any,
) -> tuple[list[list[Any]], list[list[list[Any]]]]:
    """Return distance, normal and witness point of the robot's own pairs, and of each shape with each obstacle.

    Shapes and obstacles are arrays of numbers. All pairs of two kinds of shapes are one batch for NumPy, instead of
    one step of a loop for each. Pairs farther apart than ``within`` have a bound on the distance.
    """
    self_pairs: list[list[Any]] = [[] for _ in pairs]
    for kinds, members in by_kinds(placed, pairs).items():
        rows = _distances_or_bounds(kinds, [(a.values, b.values) for _, a, b in members], within)
        for (index, _, _), row in zip(members, rows, strict=True):
            self_pairs[index] = row
    of_scene: dict[int, list[list[Any]]] = {shape.index: [] for shape in moving}
    for kind_b, table in scene.items():
        obstacles = [listed(row) for row in table]
        for kind_a, shapes in by_kind(moving).items():
            both = [(shape.values, row) for shape in shapes for row in obstacles]
            values = iter(_distances_or_bounds((kind_a, kind_b), both, within))
            for shape in shapes:
                of_scene[shape.index] += [next(values) for _ in obstacles]
    return self_pairs, [of_scene[shape.index] for shape in moving]


def _distances_or_bounds(
    kinds: tuple[SolidKind, SolidKind], rows: Sequence[tuple[Scalars, Scalars]], within: Any
) -> list[list[Any]]:
    """Return distance, normal and witness point of each pair of two kinds; ``rows`` have both solids' values."""
    if len(rows) == 1 or not all(kind.in_loops for kind in kinds):
        solids = [(kinds[0].solid(row_a), kinds[1].solid(row_b)) for row_a, row_b in rows]
        return [list(_distance_or_bound(a, b, within)) for a, b in solids]
    lead = np.broadcast_shapes(*(np.shape(x) for both in rows for values in both for x in values))

    def together(values: Sequence[Any]) -> Any:
        """Return the values of all pairs as one array (pairs, ...), or as a number if they are equal numbers."""
        if all(isinstance(x, (float, int)) and x == values[0] for x in values):
            return values[0]
        return np.stack([np.broadcast_to(np.asarray(x, dtype=float), lead) for x in values])

    rows_a, rows_b = zip(*rows, strict=True)
    a = kinds[0].solid([together(column) for column in zip(*rows_a, strict=True)])
    b = kinds[1].solid([together(column) for column in zip(*rows_b, strict=True)])
    columns = [np.broadcast_to(x, (len(rows), *lead)) for x in _distance_or_bound(a, b, within)]
    return [list(row) for row in zip(*columns, strict=True)]


def _distance_or_bound(a: SolidRow, b: SolidRow, within: Any) -> tuple[Any, ...]:
    """Return distance, normal and a witness point, of two near solids or of their bounding spheres."""
    offset = b.anchor - a.anchor
    square, reach = offset.dot(offset), a.reach + b.reach
    far = within + reach
    near = and_(le(0.0, far), le(square, far * far))
    absent = not (isinstance(b.exists, float) and b.exists == 1.0)
    if absent:
        near = and_(lt(0.0, b.exists), near)

    def measured() -> tuple[Any, ...]:
        result = signed_distance_once(a.solid, b.solid)
        return result.distance, *result.normal, *result.on_a

    def spheres() -> tuple[Any, ...]:
        apart = lt(0.0, square)
        length = sqrt(where(apart, square, 1.0))
        n = offset * (1.0 / length)
        if not absent:
            return where(apart, length, 0.0) - reach, *n, *a.anchor
        exists = lt(0.0, b.exists)
        return where(exists, length - reach, ABSENT), *(where(exists, x, 0.0) for x in n), *a.anchor

    return cond(near, measured, spheres)  # type: ignore[no-any-return]
