"""Distance kernels of a robot, for its pairs and the capacities of its scenes, shared by equal robots.

`select_pairs` looks up names and returns the pairs that kernels evaluate.  Pairs may be split between several kernels;
`minimum_of`, `smooth_minimum_of` and the others combine their results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from linkwork.collision import algorithms
from linkwork.collision.algorithms import PairMargins
from linkwork.collision.algorithms.shape_placement import named_pairs
from linkwork.expr.arrays.symbol_array import array, is_traced
from linkwork.expr.scalar.functions import exp, fmax, fmin, log
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SolidKind
from linkwork.kernels.compiler_api import Kernel, Space, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.model.collision_pairs import LinkShape
from linkwork.model.tree import Tree

__all__ = [
    "EACH",
    "DistanceSpec",
    "PairSelection",
    "distance_kernel",
    "evaluate_distances",
    "maximum_of",
    "minimum_of",
    "select_pairs",
    "smooth_minimum_gradient_of",
    "smooth_minimum_of",
    "worst_edge",
]


Scalars = Sequence[Any]
_KERNELS: LazyCache[Kernel] = LazyCache(128)
EACH = "each"
"""A word in the names of kernels that take a margin for each pair."""


@dataclass(frozen=True, slots=True)
class DistanceSpec:
    """Specification of a distance kernel: pairs of shapes, shapes checked against a scene, and capacities.

    ``pairs`` and ``shapes`` are indices of `link_shapes`; ``capacities`` the number of rows of each kind of obstacle.
    """

    tree: Tree
    pairs: tuple[tuple[int, int], ...]
    shapes: tuple[int, ...]
    capacities: tuple[tuple[SolidKind, int], ...]

    @property
    def count(self) -> int:
        """Number of pairs that the kernel evaluates, including pairs with unused rows of the scene's arrays."""
        return len(self.pairs) + len(self.shapes) * sum(capacity for _, capacity in self.capacities)

    @property
    def rows(self) -> dict[str, Any]:
        """Shapes (capacity, values) of the kernel inputs that describe a scene's obstacles, by input name.

        There is one input for each kind of obstacle, with a row for each obstacle.
        """
        return {kind.name: (capacity, kind.size) for kind, capacity in self.capacities}

    @property
    def margins(self) -> dict[str, Any]:
        """Array shapes of the kernel inputs that hold margins of pairs, by name.

        One is of the robot's own pairs (pairs,), the others are tables by kind of obstacle (capacity, shapes).
        """
        pairs = {"margins_of_own": (len(self.pairs),)} if self.pairs else {}
        return pairs | {f"margins_of_{kind.name}": (capacity, len(self.shapes)) for kind, capacity in self.capacities}

    def pair_margins(self, inputs: Mapping[str, Any]) -> PairMargins:
        """Return the margins of pairs among a kernel's inputs by name."""
        self_pairs = inputs["margins_of_own"] if self.pairs else ()
        return PairMargins([*self_pairs], {kind: inputs[f"margins_of_{kind.name}"] for kind, _ in self.capacities})

    def scene(self, inputs: Mapping[str, Any]) -> dict[SolidKind, Any]:
        """Return the arrays that describe a scene's obstacles, by kind of obstacle, from a kernel's inputs by name."""
        return {kind: inputs[kind.name] for kind, _ in self.capacities}


def _all(spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.pair_distances(spec.tree, q, spec.pairs, spec.shapes, scene)
    return array([*result.self_pairs, *_by_obstacle(result.scene)])


def _derivatives(spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.pair_distances(spec.tree, q, spec.pairs, spec.shapes, scene, derivatives=True)
    pairs = [*result.self_pairs, *_by_obstacle(result.scene)]
    gradient = [*result.own_gradient, *_by_obstacle(result.scene_gradient)]
    return array([values[0] for values in pairs]), array(gradient)


def _hessian(spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.pair_hessians(spec.tree, q, spec.pairs, spec.shapes, scene)
    pairs = [*result.self_pairs, *_by_obstacle(result.scene)]
    outputs = [[pair.values[0], pair.gradient, pair.hessian, pair.exists] for pair in pairs]
    return tuple(array(list(output)) for output in zip(*outputs, strict=True))


def _by_obstacle(by_shape: Sequence[Sequence[Any]]) -> list[Any]:
    """Return results by shape and obstacle as one list ordered by obstacle, then shape."""
    return [x for row in zip(*by_shape, strict=True) for x in row]


def _minimum(spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    return algorithms.minimum_distance(spec.tree, q, spec.pairs, spec.shapes, scene)


def _collision(
    spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], margin: Any, margins: PairMargins | None = None
) -> Any:
    return algorithms.in_collision(spec.tree, q, spec.pairs, spec.shapes, scene, margin, margins=margins)


def _deeper(
    spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], margin: Any, margins: PairMargins | None = None
) -> Any:
    return algorithms.in_collision(spec.tree, q, spec.pairs, spec.shapes, scene, margin, depths=True, margins=margins)


def _nearest(spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any]) -> Any:
    result = algorithms.nearest_pair(spec.tree, q, spec.pairs, spec.shapes, scene)
    return array([*result.values, result.index])


def _smooth(spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], sharpness: Any) -> Any:
    return algorithms.smooth_minimum_distance(spec.tree, q, spec.pairs, spec.shapes, scene, sharpness)


def _smooth_gradient(spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], sharpness: Any) -> Any:
    result = algorithms.smooth_minimum(spec.tree, q, spec.pairs, spec.shapes, scene, sharpness)
    return array(result.gradient)


_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "distances": (_all, ()),
    "distance_derivatives": (_derivatives, ()),
    "distance_hessian": (_hessian, ()),
    "minimum_distance": (_minimum, ()),
    "in_collision": (_collision, ("margin",)),
    "in_collision deeper": (_deeper, ("margin",)),
    "in_collision each": (_collision, ("margin",)),
    "in_collision each deeper": (_deeper, ("margin",)),
    "nearest_pair": (_nearest, ()),
    "smooth_minimum_distance": (_smooth, ("sharpness",)),
    "smooth_minimum_distance_gradient": (_smooth_gradient, ("sharpness",)),
}
"""By method and variant ("each", "deeper"): the function over any scalar, and the names of its scalar arguments."""


def evaluate_distances(
    name: str, spec: DistanceSpec, q: Scalars, scene: Mapping[SolidKind, Any], arguments: Scalars
) -> Any:
    """Return the result of a distance function (a kernel's ``name``) over any scalar."""
    return _FUNCTIONS[name][0](spec, q, scene, *arguments)


def distance_kernel(name: str, spec: DistanceSpec, space: Space) -> Kernel:
    """Return the kernel of a distance function.

    Its inputs are q, the function's scalar arguments, margins of pairs (for names with "each") and a scene's rows by
    kind.
    """
    function, arguments = _FUNCTIONS[name]
    each = EACH in name.split()

    def traced(*, q: Any, **inputs: Any) -> Any:
        margins = [spec.pair_margins(inputs)] if each else []
        return function(spec, [*q], spec.scene(inputs), *(inputs[argument] for argument in arguments), *margins)

    def compiled() -> Kernel:
        scalars: dict[str, Any] = dict.fromkeys(arguments, ())
        margins = spec.margins if each else {}
        return compile(traced, name=name.split()[0], q=space, **scalars, **margins, **spec.rows)

    return _KERNELS.get((name, spec), compiled)


_NO_OBSTACLES = Scene()


@dataclass(frozen=True)
class PairSelection:
    """Selected pairs of a robot and a scene, with the specification of the kernel that evaluates them."""

    spec: DistanceSpec
    scene: Scene
    indices: np.ndarray | slice  # of the selected pairs among the kernel's
    names: tuple[tuple[str, str], ...]
    is_all: bool = False  # True if all of the kernel's pairs are selected, in their order
    parts: tuple[PairSelection, ...] = ()  # groups of shapes with the same obstacles, if shapes differ in theirs
    kernels: dict[str, Kernel] = field(default_factory=dict, compare=False, repr=False)
    calls: dict[str, Callable[..., Any]] = field(default_factory=dict, compare=False, repr=False)  # for this scene

    @property
    def blocks(self) -> tuple[PairSelection, ...]:
        """Selections that are evaluated by a kernel each: the parts of this selection, or the selection itself."""
        return self.parts or (self,)

    def name_index(self, index: int) -> int:
        """Return the index in ``names`` of the pair with this index in the kernel."""
        return index if isinstance(self.indices, slice) else int(np.flatnonzero(self.indices == index)[0])

    def inputs(self, rows: Mapping[SolidKind, np.ndarray]) -> list[np.ndarray]:
        """Return the arrays of a scene in the order of a kernel's inputs."""
        return [rows[kind] for kind, _ in self.spec.capacities]

    def kernel(self, name: str, space: Space) -> Kernel:
        """Return the kernel of a distance function, compiled at the first call."""
        result = self.kernels.get(name)
        if result is None:
            result = self.kernels[name] = distance_kernel(name, self.spec, space)
        return result


def select_pairs(
    tree: Tree, caller: str, scene: Any, pairs: Iterable[tuple[str, str]] | str | None, link: str | None
) -> PairSelection:
    """Return the pairs of shapes to evaluate: all pairs, or those that ``pairs`` or ``link`` selects.

    ``pairs`` are pairs of names, "self" for the robot's own pairs, or "scene" for pairs with obstacles; ``link``
    selects the pairs of one link. Without a scene there are no obstacles. Raises ValueError, TypeError,
    UnknownNameError.
    """
    if scene is not None and not isinstance(scene, Scene):
        remedy = "; linkwork.load_scene(path) reads a file" if isinstance(scene, (str, os.PathLike)) else ""
        raise TypeError(f"{caller}: scene: expected a linkwork.Scene, got {scene!r}{remedy}")
    scene = _NO_OBSTACLES if scene is None else scene
    shapes, self_pairs, with_scene = named_pairs(tree, caller, scene, pairs, link)
    obstacles: dict[int, set[str]] = {}
    for k, name in with_scene:
        obstacles.setdefault(k, set()).add(name)
    result = _selection(tree, scene, shapes, self_pairs, with_scene)
    distinct = list(dict.fromkeys(frozenset(names) for names in obstacles.values()))
    if len(distinct) < 2:
        return result
    groups = [[pair for pair in with_scene if obstacles[pair[0]] == names] for names in distinct]
    parts = [_selection(tree, scene, shapes, self_pairs if k == 0 else [], pairs) for k, pairs in enumerate(groups)]
    return replace(result, parts=tuple(parts))


def _selection(
    tree: Tree,
    scene: Scene,
    shapes: Sequence[LinkShape],
    pairs: list[tuple[int, int]],
    with_scene: list[tuple[int, str]],
) -> PairSelection:
    """Return the selection of the robot's own pairs and of pairs of shapes and obstacles."""
    used = {name for _, name in with_scene}
    if len(used) < len(scene):
        scene = scene.only(used)
    row = dict(zip(scene.names, scene.row_indices, strict=True))
    indices = tuple(sorted({k for k, _ in with_scene}))
    spec = DistanceSpec(tree, tuple(pairs), indices, scene.capacities if indices else ())
    columns = [
        *range(len(pairs)),
        *(len(pairs) + indices.index(k) + row[name] * len(indices) for k, name in with_scene),
    ]
    names = [(shapes[i].name, shapes[j].name) for i, j in pairs] + [(shapes[k].name, name) for k, name in with_scene]
    in_order = columns == [*range(len(columns))]
    is_all = in_order and len(columns) == spec.count
    selected = slice(0, len(columns)) if in_order else np.array(columns)
    return PairSelection(spec, scene, selected, tuple(names), is_all)


_FREE, _COLLIDING = 0.0, 1.0


def minimum_of(values: Sequence[Any]) -> Any:
    """Return the element-wise minimum of arrays or symbols."""
    return values[0] if len(values) == 1 else reduce(fmin if is_traced(values) else np.minimum, values)


def maximum_of(values: Sequence[Any]) -> Any:
    """Return the element-wise maximum of arrays or symbols."""
    return values[0] if len(values) == 1 else reduce(fmax if is_traced(values) else np.maximum, values)


def smooth_minimum_of(values: Sequence[Any], sharpness: Any) -> Any:
    """Return −log(Σ exp(−k m_i))/k of smooth minima m_i: the smooth minimum over the pairs of all kernels."""
    minimum = minimum_of(values)
    total: Any = sum((_exp(sharpness * (minimum - m)) for m in values), start=0.0 * minimum)
    return minimum - (log(total) if is_traced(total) else np.log(total)) / sharpness


def smooth_minimum_gradient_of(values: Sequence[Any], gradients: Sequence[Any], sharpness: Any) -> Any:
    """Return the gradient Σ exp(k (m − m_i)) g_i (..., nv) of m = `smooth_minimum_of`; m_i has gradient g_i."""
    total = smooth_minimum_of(values, sharpness)
    weights = [np.asarray(_exp(sharpness * (total - m)))[..., np.newaxis] for m in values]
    return sum((w * g for w, g in zip(weights[1:], gradients[1:], strict=True)), start=weights[0] * gradients[0])


def worst_edge(result: Sequence[np.ndarray]) -> np.ndarray:
    """Combine the results (..., 4 + nq) of several edge kernels for the same edges into one.

    "Colliding" takes precedence over "undecided", and that over "free"; the clearance is the minimum, and the number of
    checks the sum.
    """
    best = np.array(result[0])
    for further in result[1:]:
        clearance, checks = np.minimum(best[..., 2], further[..., 2]), best[..., 3] + further[..., 3]
        worse = (best[..., 0] == _FREE) | ((further[..., 0] == _COLLIDING) & (best[..., 0] != _COLLIDING))
        best = np.where(worse[..., np.newaxis], further, best)
        best[..., 2], best[..., 3] = clearance, checks
    return best


def _exp(x: Any) -> Any:
    return exp(x) if is_traced(x) else np.exp(x)
