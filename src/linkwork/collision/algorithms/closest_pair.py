"""Minimum distance, nearest pair and smooth minimum over many pairs.

A pair whose bounding spheres are farther apart than the minimum so far cannot change the result.  It is skipped when
all samples of a SIMD vector agree on that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.collision.algorithms.collision_check import spheres_are_near
from linkwork.collision.algorithms.pair_loops import Near, Step, are_many, over_many_pairs, over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR, PAIR_SIZE, Motions, pair_values, wrench
from linkwork.collision.algorithms.shape_placement import PlacedShape, placed_shapes
from linkwork.expr.control import cond
from linkwork.expr.scalar.functions import and_, exp, fmin, log, lt, where
from linkwork.geometry.pairs import distance_once, signed_distance_once
from linkwork.geometry.solids import SolidKind, SolidRow
from linkwork.kinematics.algorithms.forward_kinematics import forward_kinematics
from linkwork.model.collision_pairs import link_shapes
from linkwork.model.tree import Tree
from linkwork.spatial import Force

__all__ = [
    "NearestPair",
    "SmoothMinimum",
    "link_clearances",
    "minimum_distance",
    "nearest_pair",
    "smooth_minimum",
    "smooth_minimum_distance",
]

Scalars = Sequence[Any]
SceneRows = Mapping[SolidKind, Any]
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class NearestPair:
    """Distance, normal and witness points of the nearest pair of shapes, with its index.

    The robot's own pairs come first, then the pairs with obstacles.
    """

    values: list[Any]
    index: Any


@dataclass(frozen=True, slots=True)
class SmoothMinimum:
    """Smooth minimum −log(Σ exp(−k d))/k of the distances d of all pairs, and its gradient in the tangent space."""

    value: Any
    gradient: list[Any]


def minimum_distance(tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows) -> Any:
    """Return the minimum distance [m] of all pairs; `FAR` if there are no pairs."""

    def near(state: Any, a: SolidRow, b: SolidRow) -> Any:
        return _near(a, b, state[0])

    def step(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
        (least,) = state
        nearer = near(state, a, b)
        result = cond(nearer, lambda: fmin(least, distance_once(a.solid, b.solid)), lambda: least)
        return (result,), []

    return _over_all(step, (FAR,), tree, q, pairs, shapes, scene, near)[0]


def nearest_pair(tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows) -> NearestPair:
    """Return the distance, normal and witness points of the nearest pair of shapes, and the index of that pair.

    ``pairs`` are pairs of the robot's own shapes; ``shapes`` are paired with each obstacle of the scene.
    """
    offset, count = float(len(pairs)), float(len(shapes))

    def near(state: Any, a: SolidRow, b: SolidRow, extra: Any = None) -> Any:
        return _near(a, b, state[0])

    def step(state: Any, a: SolidRow, b: SolidRow, index: Any, extra: Any = None) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            result = (
                *_values(a, b),
                index if extra is None else extra[0] + count * index,
            )
            nearer = lt(result[0], state[0])
            return tuple(where(nearer, x, y) for x, y in zip(result, state, strict=True))

        return cond(near(state, a, b), measured, lambda: state), []

    placed = placed_shapes(tree, q)
    start = (FAR, 0.0, 0.0, 1.0, *([0.0] * 7), -1.0)
    state = _over_own(step, near, start, placed, pairs)
    extra = {k: [offset + float(i)] for i, k in enumerate(shapes)}
    state, _, _ = over_scene(step, state, [placed[k] for k in shapes], scene, extra, near=near)
    return NearestPair(list(state[:-1]), state[-1])


def smooth_minimum(
    tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows, sharpness: Any
) -> SmoothMinimum:
    """Compute the smooth minimum of all distances d and its gradient, the mean of the pairs' gradients.

    The weights of the mean are proportional to exp(−k d), with the ``sharpness`` k [1/m].
    """
    X = forward_kinematics(tree, q)
    placed, motions = placed_shapes(tree, q, X), Motions(tree, q, X)
    moving = [placed[k] for k in shapes] if scene else []
    least, self_pairs, after = _exponentials(placed, pairs, moving, scene, sharpness, lambda x: wrench(x).elements())
    count: Any = 0.0
    wrenches: dict[int, Force] = {}

    def apply(body: int, F: Force) -> None:
        wrenches[body] = wrenches[body] + F if body in wrenches else F

    for sums, (i, j) in zip(self_pairs, pairs, strict=True):
        share = exp(sharpness * (least - sums[0]))
        count = count + share
        F = Force.of(sums[2:]) * share
        apply(placed[j].body, F)
        apply(placed[i].body, -F)
    for shape, sums in zip(moving, after, strict=True):
        share = exp(sharpness * (least - sums[0]))
        count = count + sums[1] * share
        apply(shape.body, Force.of(sums[2:]) * -share)
    some_pair = lt(0.5, count)
    total = where(some_pair, count, 1.0)
    rates = [where(some_pair, x / total, 0.0) for x in motions.generalized_force(wrenches)]
    return SmoothMinimum(_smooth(least, count, sharpness), rates)


def smooth_minimum_distance(
    tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows, sharpness: Any
) -> Any:
    """Return the smooth minimum −log(Σ exp(−k d))/k of the distances d of all pairs [m].

    k is the ``sharpness`` [1/m].
    """
    placed = placed_shapes(tree, q)
    moving = [placed[k] for k in shapes] if scene else []
    least, self_pairs, after = _exponentials(placed, pairs, moving, scene, sharpness, lambda _: [])
    count: Any = 0.0
    for sums in (*self_pairs, *after):
        count = count + sums[1] * exp(sharpness * (least - sums[0]))
    return _smooth(least, count, sharpness)


def _exponentials(
    placed: Sequence[PlacedShape],
    pairs: Pairs,
    moving: Sequence[PlacedShape],
    scene: SceneRows,
    sharpness: Any,
    terms: Callable[[Scalars], Sequence[Any]],
) -> tuple[Any, list[Any], list[Any]]:
    """Return the minimum distance m [m] of all pairs, and the weighted sums of which the smooth minimum consists.

    They are two lists: sums of the robot's own pairs, one for each pair, and sums of the pairs with obstacles, one for
    each shape. An entry is (m', Σ w, Σ w x), with the minimum distance m' of its pairs, the weights w = exp(−k (d −
    m')) and the values x of ``terms``; k is the ``sharpness``.
    """

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            values = _values(a, b)
            least = fmin(state[0], values[0])
            old, new = exp(sharpness * (least - state[0])), exp(sharpness * (least - values[0]))
            more = (1.0, *terms(values))
            return (least, *(x * old + y * new for x, y in zip(state[1:], more, strict=True)))

        return cond(lt(0.0, b.exists), measured, lambda: state), []

    def own_pair(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
        values = _values(a, b)
        return state, [values[0], 1.0, *terms(values)]

    _, self_pairs = over_own_pairs(own_pair, (), placed, pairs)
    empty = (FAR, 0.0, *(0.0 for _ in terms([0.0] * PAIR_SIZE)))
    _, after, _ = over_scene(with_obstacle, empty, moving, scene, restart=True)
    least: Any = FAR
    for sums in (*self_pairs, *after):
        least = fmin(least, sums[0])
    return least, self_pairs, after


def _smooth(least: Any, count: Any, sharpness: Any) -> Any:
    """Return the smooth minimum from the minimum distance and the sum of exponentials relative to it.

    It is `FAR` if there are no pairs.
    """
    some_pair = lt(0.5, count)
    return where(some_pair, least - log(where(some_pair, count, 1.0)) / sharpness, FAR)


def link_clearances(
    tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows
) -> dict[str, tuple[Any, list[Any]]]:
    """Return the minimum distance [m] of each link's shapes to all others, and its gradient in the tangent space.

    A pair of two links is assigned to the second link, which is farther from the base.
    """
    X = forward_kinematics(tree, q)
    placed, motions = placed_shapes(tree, q, X), Motions(tree, q, X)
    links = [shape.link for shape in link_shapes(tree)]
    best: dict[str, tuple[Any, list[Any]]] = {}

    def keep(link: str, d: Any, rates: list[Any]) -> None:
        if link not in best:
            best[link] = d, rates
            return
        old, old_rates = best[link]
        nearer = lt(d, old)
        best[link] = where(nearer, d, old), [where(nearer, x, y) for x, y in zip(rates, old_rates, strict=True)]

    def near(state: Any, a: SolidRow, b: SolidRow) -> Any:
        return _near(a, b, state[0])

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, index: Any) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            values = _values(a, b)
            nearer = lt(values[0], state[0])
            new = (values[0], *(-wrench(values)).elements())
            return tuple(where(nearer, x, y) for x, y in zip(new, state, strict=True))

        return cond(near(state, a, b), measured, lambda: state), []

    _, result = over_own_pairs(lambda state, a, b, _: (state, _values(a, b)), (), placed, pairs)
    gradients = motions.gradients(result, [(placed[i].body, placed[j].body) for i, j in pairs])
    for values, (_, j), rates in zip(result, pairs, gradients, strict=True):
        keep(links[j], values[0], rates)
    moving = [placed[k] for k in shapes]
    _, after, _ = over_scene(with_obstacle, (FAR, *([0.0] * 6)), moving, scene, restart=True, near=near)
    for shape, clearance in zip(moving if scene else (), after, strict=False):
        keep(links[shape.index], clearance[0], motions.generalized_force({shape.body: Force.of(clearance[1:])}))
    return best


def _values(a: SolidRow, b: SolidRow) -> list[Any]:
    return pair_values(signed_distance_once(a.solid, b.solid))


def _over_all(
    step: Step, state: Any, tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows, near: Near
) -> Any:
    """Apply ``step`` to the state once for each pair, first the pairs with the scene; return the final state."""
    placed = placed_shapes(tree, q)
    distal_first = [placed[k] for k in reversed(shapes)]  # they are near obstacles more often
    state, _, _ = over_scene(step, state, distal_first, scene, near=near)
    return _over_own(step, near, state, placed, pairs)


def _over_own(step: Step, near: Near, state: Any, placed: Sequence[PlacedShape], pairs: Pairs) -> Any:
    """Apply ``step`` to the state once for each pair of the robot's own shapes; return the final state."""
    if are_many(pairs):
        return over_many_pairs(step, lambda state, a, b, index: near(state, a, b), state, placed, pairs)
    return over_own_pairs(step, state, placed, pairs)[0]


def _near(a: SolidRow, b: SolidRow, distance: Any) -> Any:
    """Return True if both solids exist and may be nearer than a distance, by their bounding spheres."""
    near = spheres_are_near(a, b, distance)
    return near if isinstance(b.exists, float) else and_(lt(0.0, b.exists), near)
