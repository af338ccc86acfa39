"""What is least over many pairs: the minimum, where it is, and a smooth minimum.

A pair whose bounding spheres are farther apart than what is least so far cannot matter; where all samples side by side
agree on that, it is not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.collision.algorithms.collision_check import spheres_are_near
from linkwork.collision.algorithms.pair_loops import Near, Step, are_many, over_many_pairs, over_own_pairs, over_scene
from linkwork.collision.algorithms.pairwise_distances import FAR, NUMBERS, Motions, numbers_of, wrench
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
    "LeastDistance",
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
class LeastDistance:
    """The numbers of the pair that is nearest, and its place: own pairs come first, then those with obstacles."""

    numbers: list[Any]
    place: Any


@dataclass(frozen=True, slots=True)
class SmoothMinimum:
    """−log(Σ exp(−k d))/k over all pairs, and its gradient by velocities."""

    value: Any
    gradient: list[Any]


def minimum_distance(tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows) -> Any:
    """The least distance [m] of all pairs; `FAR` where there are none."""

    def near(state: Any, a: SolidRow, b: SolidRow) -> Any:
        return _near(a, b, state[0])

    def step(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        (least,) = state
        nearer = near(state, a, b)
        result = cond(nearer, lambda: fmin(least, distance_once(a.solid, b.solid)), lambda: least)
        return (result,), []

    return _over_all(step, (FAR,), tree, q, pairs, shapes, scene, near)[0]


def nearest_pair(tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows) -> LeastDistance:
    """Of all pairs the one that is nearest: numbers as of `pair_distances`."""
    offset, many = float(len(pairs)), float(len(shapes))

    def near(state: Any, a: SolidRow, b: SolidRow, extra: Any = None) -> Any:
        return _near(a, b, state[0])

    def step(state: Any, a: SolidRow, b: SolidRow, place: Any, extra: Any = None) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            result = (
                *_measured(a, b),
                place if extra is None else extra[0] + many * place,
            )
            nearer = lt(result[0], state[0])
            return tuple(where(nearer, x, y) for x, y in zip(result, state, strict=True))

        return cond(near(state, a, b), measured, lambda: state), []

    placed = placed_shapes(tree, q)
    start = (FAR, 0.0, 0.0, 1.0, *([0.0] * 7), -1.0)
    state = _over_own(step, near, start, placed, pairs)
    extra = {k: [offset + float(at)] for at, k in enumerate(shapes)}
    state, _, _ = over_scene(step, state, [placed[k] for k in shapes], scene, extra, near=near)
    return LeastDistance(list(state[:-1]), state[-1])


def smooth_minimum(
    tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows, sharpness: Any
) -> SmoothMinimum:
    """Of all pairs, with the gradient: the mean of those of the pairs, by weights exp(−k d)."""
    X = forward_kinematics(tree, q)
    placed, motions = placed_shapes(tree, q, X), Motions(tree, q, X)
    some = [placed[k] for k in shapes] if scene else []
    least, own, after = _exponentials(placed, pairs, some, scene, sharpness, lambda x: wrench(x).elements())
    count: Any = 0.0
    pulling: dict[int, Force] = {}

    def pull(body: int, F: Force) -> None:
        pulling[body] = pulling[body] + F if body in pulling else F

    for one, (i, j) in zip(own, pairs, strict=True):
        share = exp(sharpness * (least - one[0]))
        count = count + share
        F = Force.of(one[2:]) * share
        pull(placed[j].body, F)
        pull(placed[i].body, -F)
    for shape, one in zip(some, after, strict=True):
        share = exp(sharpness * (least - one[0]))
        count = count + one[1] * share
        pull(shape.body, Force.of(one[2:]) * -share)
    there = lt(0.5, count)
    total = where(there, count, 1.0)
    rates = [where(there, x / total, 0.0) for x in motions.pulled(pulling)]
    return SmoothMinimum(_smooth(least, count, sharpness), rates)


def smooth_minimum_distance(
    tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows, sharpness: Any
) -> Any:
    """The same without the gradient."""
    placed = placed_shapes(tree, q)
    some = [placed[k] for k in shapes] if scene else []
    least, own, after = _exponentials(placed, pairs, some, scene, sharpness, lambda _: [])
    count: Any = 0.0
    for one in (*own, *after):
        count = count + one[1] * exp(sharpness * (least - one[0]))
    return _smooth(least, count, sharpness)


def _exponentials(
    placed: Sequence[PlacedShape],
    pairs: Pairs,
    some: Sequence[PlacedShape],
    scene: SceneRows,
    sharpness: Any,
    weighed: Callable[[Scalars], Sequence[Any]],
) -> tuple[Any, list[Any], list[Any]]:
    """The least distance; by own pair, and by shape with all obstacles: (least, Σ exp(−k (d − least)), such sums of
    what is to be weighed).
    """

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            numbers = _measured(a, b)
            least = fmin(state[0], numbers[0])
            old, new = exp(sharpness * (least - state[0])), exp(sharpness * (least - numbers[0]))
            more = (1.0, *weighed(numbers))
            return (least, *(x * old + y * new for x, y in zip(state[1:], more, strict=True)))

        return cond(lt(0.0, b.there), measured, lambda: state), []

    def own_pair(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        numbers = _measured(a, b)
        return state, [numbers[0], 1.0, *weighed(numbers)]

    _, own = over_own_pairs(own_pair, (), placed, pairs)
    nothing = (FAR, 0.0, *(0.0 for _ in weighed([0.0] * NUMBERS)))
    _, after, _ = over_scene(with_obstacle, nothing, some, scene, anew=True)
    least: Any = FAR
    for one in (*own, *after):
        least = fmin(least, one[0])
    return least, own, after


def _smooth(least: Any, count: Any, sharpness: Any) -> Any:
    """The smooth minimum of so many exponentials; `FAR` where there are none."""
    there = lt(0.5, count)
    return where(there, least - log(where(there, count, 1.0)) / sharpness, FAR)


def link_clearances(
    tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows
) -> dict[str, tuple[Any, list[Any]]]:
    """By link: the least distance [m] of its shapes to anything, and the gradient of that by velocities.

    A pair of two links counts for the second of them, which is farther out.
    """
    X = forward_kinematics(tree, q)
    placed, motions = placed_shapes(tree, q, X), Motions(tree, q, X)
    links = [shape.link for shape in link_shapes(tree)]
    best: dict[str, tuple[Any, list[Any]]] = {}

    def keep(link: str, d: Any, rates: list[Any]) -> None:
        if link not in best:
            best[link] = d, rates
            return
        old, others = best[link]
        nearer = lt(d, old)
        best[link] = where(nearer, d, old), [where(nearer, x, y) for x, y in zip(rates, others, strict=True)]

    def near(state: Any, a: SolidRow, b: SolidRow) -> Any:
        return _near(a, b, state[0])

    def with_obstacle(state: Any, a: SolidRow, b: SolidRow, place: Any) -> tuple[Any, list[Any]]:
        def measured() -> tuple[Any, ...]:
            numbers = _measured(a, b)
            nearer = lt(numbers[0], state[0])
            mine = (numbers[0], *(-wrench(numbers)).elements())
            return tuple(where(nearer, x, y) for x, y in zip(mine, state, strict=True))

        return cond(near(state, a, b), measured, lambda: state), []

    _, result = over_own_pairs(lambda state, a, b, _: (state, _measured(a, b)), (), placed, pairs)
    gradients = motions.gradients(result, [(placed[i].body, placed[j].body) for i, j in pairs])
    for numbers, (_, j), rates in zip(result, pairs, gradients, strict=True):
        keep(links[j], numbers[0], rates)
    some = [placed[k] for k in shapes]
    _, after, _ = over_scene(with_obstacle, (FAR, *([0.0] * 6)), some, scene, anew=True, near=near)
    for shape, one in zip(some if scene else (), after, strict=False):
        keep(links[shape.index], one[0], motions.pulled({shape.body: Force.of(one[1:])}))
    return best


def _measured(a: SolidRow, b: SolidRow) -> list[Any]:
    return numbers_of(signed_distance_once(a.solid, b.solid))


def _over_all(
    step: Step, state: Any, tree: Tree, q: Scalars, pairs: Pairs, shapes: Sequence[int], scene: SceneRows, near: Near
) -> Any:
    """The state after all pairs, those with the scene first."""
    placed = placed_shapes(tree, q)
    hands_first = [placed[k] for k in reversed(shapes)]  # they meet more
    state, _, _ = over_scene(step, state, hands_first, scene, near=near)
    return _over_own(step, near, state, placed, pairs)


def _over_own(step: Step, near: Near, state: Any, placed: Sequence[PlacedShape], pairs: Pairs) -> Any:
    """The state after all pairs of the robot's own shapes."""
    if are_many(pairs):
        return over_many_pairs(step, lambda state, a, b, place: near(state, a, b), state, placed, pairs)
    return over_own_pairs(step, state, placed, pairs)[0]


def _near(a: SolidRow, b: SolidRow, distance: Any) -> Any:
    """Whether two solids are there and may be nearer than this, by their bounding spheres."""
    near = spheres_are_near(a, b, distance)
    return near if isinstance(b.there, float) else and_(lt(0.0, b.there), near)
