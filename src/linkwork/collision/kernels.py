"""Distance kernels of a robot, for its pairs and the capacities of its scenes, shared by equal robots.

Pairs may be split between several kernels; `least_of`, `smooth_of` and the others combine their results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from linkwork.collision import algorithms
from linkwork.collision.algorithms import PairMargins
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.scalar.functions import exp, fmax, fmin, log
from linkwork.geometry.solids import SolidKind
from linkwork.kernels.compiler_api import Kernel, Space, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.tree import Tree

__all__ = [
    "EACH",
    "DistanceSpec",
    "computed_distances",
    "distance_kernel",
    "least_of",
    "most_of",
    "smooth_gradient_of",
    "smooth_of",
    "worst_edge",
]


Scalars = Sequence[Any]
_KERNELS: LazyCache[Kernel] = LazyCache(128)
EACH = "each"
"""A word in the names of kernels that take a margin of each pair."""


@dataclass(frozen=True, slots=True)
class DistanceSpec:
    """What distances are asked of a robot: pairs of its shapes, shapes that meet a scene, and the scene's sizes."""

    tree: Tree
    pairs: tuple[tuple[int, int], ...]
    shapes: tuple[int, ...]
    capacities: tuple[tuple[SolidKind, int], ...]

    @property
    def count(self) -> int:
        """How many pairs there are, with rows that are not there."""
        return len(self.pairs) + len(self.shapes) * sum(capacity for _, capacity in self.capacities)

    @property
    def rows(self) -> dict[str, Any]:
        """The shapes of a kernel's inputs that are a scene's rows, by name."""
        return {kind.name: (capacity, kind.size) for kind, capacity in self.capacities}

    @property
    def margins(self) -> dict[str, Any]:
        """The shapes of a kernel's inputs that are margins of pairs, by name: those of the robot's own, and tables by
        kind of obstacle (capacity, shapes).
        """
        own = {"margins_of_own": (len(self.pairs),)} if self.pairs else {}
        return own | {f"margins_of_{kind.name}": (capacity, len(self.shapes)) for kind, capacity in self.capacities}

    def pair_margins(self, given: Mapping[str, Any]) -> PairMargins:
        """Those margins, of a kernel's inputs by name."""
        own = given["margins_of_own"] if self.pairs else ()
        return PairMargins([*own], {kind: given[f"margins_of_{kind.name}"] for kind, _ in self.capacities})

    def scene(self, given: Mapping[str, Any]) -> dict[SolidKind, Any]:
        """A scene's rows by kind, of a kernel's inputs by name."""
        return {kind: given[kind.name] for kind, _ in self.capacities}


def _all(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.pair_distances(asked.tree, q, asked.pairs, asked.shapes, scene)
    return array([*result.own, *_by_obstacle(result.scene)])


def _derivatives(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.pair_distances(asked.tree, q, asked.pairs, asked.shapes, scene, derivatives=True)
    numbers = [*result.own, *_by_obstacle(result.scene)]
    gradient = [*result.own_gradient, *_by_obstacle(result.scene_gradient)]
    return array([one[0] for one in numbers]), array(gradient)


def _hessian(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.pair_hessians(asked.tree, q, asked.pairs, asked.shapes, scene)
    every = [*result.own, *_by_obstacle(result.scene)]
    parts = [[one.numbers[0], one.gradient, one.hessian, one.exists] for one in every]
    return tuple(array(list(part)) for part in zip(*parts, strict=True))


def _by_obstacle(by_shape: Sequence[Sequence[Any]]) -> list[Any]:
    """Row by row of the scene, each with all shapes: what is not there comes last."""
    return [one for row in zip(*by_shape, strict=True) for one in row]


def _minimum(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    return algorithms.minimum_distance(asked.tree, q, asked.pairs, asked.shapes, scene)


def _collision(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], margin: Any) -> Any:
    return algorithms.in_collision(asked.tree, q, asked.pairs, asked.shapes, scene, margin)


def _deeper(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], margin: Any) -> Any:
    return algorithms.in_collision(asked.tree, q, asked.pairs, asked.shapes, scene, margin, depths=True)


def _collision_each(
    asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], margin: Any, margins: PairMargins
) -> Any:
    return algorithms.in_collision(asked.tree, q, asked.pairs, asked.shapes, scene, margin, margins=margins)


def _deeper_each(
    asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], margin: Any, margins: PairMargins
) -> Any:
    return algorithms.in_collision(
        asked.tree, q, asked.pairs, asked.shapes, scene, margin, depths=True, margins=margins
    )


def _nearest(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.nearest_pair(asked.tree, q, asked.pairs, asked.shapes, scene)
    return array([*result.numbers, result.place])


def _smooth(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], sharpness: Any) -> Any:
    return algorithms.smooth_minimum_distance(asked.tree, q, asked.pairs, asked.shapes, scene, sharpness)


def _smooth_gradient(asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], sharpness: Any) -> Any:
    result = algorithms.smooth_minimum(asked.tree, q, asked.pairs, asked.shapes, scene, sharpness)
    return array(result.gradient)


_COMPUTED: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "distances": (_all, ()),
    "distance_derivatives": (_derivatives, ()),
    "distance_hessian": (_hessian, ()),
    "minimum_distance": (_minimum, ()),
    "in_collision": (_collision, ("margin",)),
    "in_collision deeper": (_deeper, ("margin",)),
    "in_collision each": (_collision_each, ("margin",)),
    "in_collision each deeper": (_deeper_each, ("margin",)),
    "nearest_pair": (_nearest, ()),
    "smooth_minimum_distance": (_smooth, ("sharpness",)),
    "smooth_minimum_distance_gradient": (_smooth_gradient, ("sharpness",)),
}
"""By name, and another word where there are several: what computes it, and the numbers that it takes besides."""


def computed_distances(
    what: str, asked: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], numbers: Scalars
) -> Any:
    """The same as the kernel, over any scalar."""
    return _COMPUTED[what][0](asked, q, scene, *numbers)


def distance_kernel(what: str, asked: DistanceSpec, space: Space) -> Kernel:
    """The kernel of q, further numbers, margins of pairs where "each" has its own, and a scene's rows by kind."""
    function, more = _COMPUTED[what]
    each = EACH in what.split()

    def traced(*, q: Any, **given: Any) -> Any:
        margins = [asked.pair_margins(given)] if each else []
        return function(asked, [*q], asked.scene(given), *(given[name] for name in more), *margins)

    def made() -> Kernel:
        numbers: dict[str, Any] = dict.fromkeys(more, ())
        margins = asked.margins if each else {}
        return compile(traced, name=what.split()[0], q=space, **numbers, **margins, **asked.rows)

    return _KERNELS.get((what, asked), made)


_FREE, _COLLIDING = 0.0, 1.0


def least_of(values: Sequence[Any]) -> Any:
    """Return the element-wise minimum of arrays, or of symbols."""
    return values[0] if len(values) == 1 else reduce(fmin if is_traced(values) else np.minimum, values)


def most_of(values: Sequence[Any]) -> Any:
    """Return the element-wise maximum of arrays, or of symbols."""
    return values[0] if len(values) == 1 else reduce(fmax if is_traced(values) else np.maximum, values)


def smooth_of(values: Sequence[Any], sharpness: Any) -> Any:
    """Return −log(Σ exp(−k m_i))/k of smooth minima m_i: the smooth minimum over all of their pairs."""
    least = least_of(values)
    total: Any = sum((_exp(sharpness * (least - m)) for m in values), start=0.0 * least)
    return least - (log(total) if is_traced(total) else np.log(total)) / sharpness


def smooth_gradient_of(values: Sequence[Any], gradients: Sequence[Any], sharpness: Any) -> Any:
    """Return Σ exp(k (m − m_i)) g_i, m the smooth minimum of all: its gradient (..., nv)."""
    whole = smooth_of(values, sharpness)
    weights = [np.asarray(_exp(sharpness * (whole - m)))[..., np.newaxis] for m in values]
    return sum((w * g for w, g in zip(weights[1:], gradients[1:], strict=True)), start=weights[0] * gradients[0])


def worst_edge(result: Sequence[np.ndarray]) -> np.ndarray:
    """Return one result (..., 4 + nq) of an edge kernel's results for the same edges: not free where one of them is
    not, at what collides rather than what is undecided, with the least clearance and all checks.
    """
    best = np.array(result[0])
    for other in result[1:]:
        clearance, checks = np.minimum(best[..., 2], other[..., 2]), best[..., 3] + other[..., 3]
        worse = (best[..., 0] == _FREE) | ((other[..., 0] == _COLLIDING) & (best[..., 0] != _COLLIDING))
        best = np.where(worse[..., np.newaxis], other, best)
        best[..., 2], best[..., 3] = clearance, checks
    return best


def _exp(x: Any) -> Any:
    return exp(x) if is_traced(x) else np.exp(x)
