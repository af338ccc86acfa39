"""Clearance along a path: distances between links, and from links to the obstacles of a scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import reduce
from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import integer
from linkwork.expr.linalg.sparse_dot import product
from linkwork.expr.scalar.functions import exp, fmin, log, lt, where
from linkwork.geometry.scene import Scene
from linkwork.geometry.solids import SolidKind
from linkwork.ik.tasks.clearance_task import scene_array, scene_rows
from linkwork.ik.tasks.task import TaskKinematics, TaskTarget
from linkwork.optimal.features.arguments import one_of, text
from linkwork.optimal.features.feature import Feature, FeatureJacobian, Scalars, Window, with_fields

__all__ = ["Clearance"]

_PER = ("pair", "link", "robot")
_CUTOFF = 40.0  # terms of a smooth minimum below e^−40 are omitted


@public_constructor
@dataclass(frozen=True)
class Clearance(Feature):
    """Violation at_least − d of a minimum distance between shapes at distance d [m], for an inequality.

        problem.add(lw.optimal.Clearance(scene, 0.02), "inequality")
        problem.add(lw.optimal.Clearance(scene=scene, pairs=[("hand", "table")], at_least=0.1), "inequality")

    The default pairs are all of the robot's shapes with the scene's obstacles, and the pairs of
    `Robot.collision_pairs`. ``pairs`` selects pairs by names.  ``per`` determines the components.  "pair" has a
    component for each pair.  "link" has a component for each link, its smallest distance; a pair of two links counts
    for the link farther from the root. "robot" has a single component: the smooth minimum −log(Σ exp(−k d))/k of all
    distances, a lower bound of their minimum, with ``sharpness`` k [1/m].

    Pairs whose bounding spheres are farther apart than ``at_least`` + ``near`` use the distance of these spheres, a
    lower bound at a tenth of the cost; ``near=inf`` computes all distances.

    With ``between`` = k, distances are also evaluated at k configurations between the previous step and this step, at
    the fractions 1/(k + 1), 2/(k + 1), ... of the shortest path between them.  At the first step of a path without a
    start, distances are evaluated only at the step's own configuration.

    The scene is the feature's target, so a call may pass another scene of the same capacities, as an array that
    `target_for` returns.

    ``name`` is the name of the values in results.
    """

    scene: Scene | None = field(default=None, compare=False)
    at_least: float = 0.0
    _: KW_ONLY
    pairs: Any = None
    per: str = "pair"
    near: float = 0.1
    sharpness: float = 100.0
    between: int = 0
    name: str = "clearance"
    capacities: tuple[tuple[SolidKind, int], ...] = field(init=False, default=(), repr=False)
    target: Any = field(init=False, default=None, compare=False, repr=False)
    own: tuple[tuple[int, int], ...] = field(init=False, default=(), repr=False)  # this and the rest: set by `bind`
    shapes: tuple[int, ...] = field(init=False, default=(), repr=False)
    kept: tuple[int, ...] = field(init=False, default=(), repr=False)
    names: tuple[tuple[str, str], ...] = field(init=False, default=(), repr=False, compare=False)
    links: tuple[str, ...] = field(init=False, default=(), repr=False)  # by pair in use: the link that it belongs to

    @property
    def depth(self) -> int:  # type: ignore[override]
        return 1 if self.between else 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.scene is not None and not isinstance(self.scene, Scene):
            raise TypeError(f"Clearance: scene: expected a linkwork.Scene, got {self.scene!r}")
        self._check("at_least", "a finite number [m]", math.isfinite)
        self._check("near", "a number >= 0 [m]", lambda x: x >= 0.0)
        self._check("sharpness", "a finite positive number [1/m]", lambda x: 0.0 < x < math.inf)
        put(self, "between", integer("Clearance", "between", self.between, least=0))
        one_of("Clearance", "per", self.per, _PER)
        text("Clearance", "name", self.name, empty=False)
        if self.pairs is not None and not isinstance(self.pairs, str):
            put(self, "pairs", tuple(tuple(pair) if not isinstance(pair, str) else pair for pair in self.pairs))
        if self.scene is not None:
            put(self, "capacities", self.scene.capacities)
            if self.capacities and self.target is None:
                put(self, "target", tuple(self.target_for(self.scene).tolist()))

    def _check(self, argument: str, expected: str, is_valid: Callable[[float], bool]) -> None:
        x = getattr(self, argument)
        if isinstance(x, bool) or not isinstance(x, (int, float, np.integer, np.floating)) or not is_valid(float(x)):
            raise ValueError(f"Clearance: {argument}: expected {expected}, got {x!r}")
        object.__setattr__(self, argument, float(x))

    def target_for(self, scene: Scene) -> np.ndarray:
        """Return another scene as a target of this feature, a flat array.

        Raises ValueError unless the scene has the same capacities (maximum numbers of obstacles by kind) as the
        feature's.
        """
        return scene_array(f"feature {self.name!r}", scene, self.capacities)

    @property
    def target_of(self) -> TaskTarget | None:
        size = sum(capacity * kind.size for kind, capacity in self.capacities)
        return TaskTarget((size,), "numbers", "the numbers of a scene") if size else None

    @property
    def needs_target(self) -> bool:
        return False

    @property
    def has_curvature(self) -> bool:
        return False

    @property
    def component_names(self) -> tuple[str, ...]:
        at = tuple(f", {k}/{self.between + 1} of the way" for k in range(1, self.between + 1))
        return tuple(f"{name}{where}" for where in ("", *at) for name in self._names)

    @property
    def rows_without_past(self) -> int:
        return len(self._names)

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the distances at one configuration: of pairs, of links, or of the feature, depending on ``per``."""
        if self.per == "pair":
            return tuple(f"{a} - {b}" for a, b in self.names)
        return tuple(dict.fromkeys(self.links)) if self.per == "link" else (self.name,)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * len(self.component_names)

    def bind(self, robot: Any, w: Window) -> Self:
        pairs = w.state().select_pairs(f"feature {self.name!r}", self.scene or Scene(), self.pairs)
        return with_fields(
            self, own=pairs.own, shapes=pairs.shapes, kept=pairs.selected, names=pairs.names, links=pairs.links
        )

    def values(self, w: Window, target: Scalars) -> list[Any]:
        errors = self._values_and_rows(w.state(), target)[0]
        for share in self._shares:
            errors = errors + self._values_and_rows(w.interpolated_state(share).state, target)[0]
        return errors

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        more = [0.0] * (w.width - w.nv)
        values, distance_rows = self._values_and_rows(w.state(), target)
        steps = [[[*row, *more] for row in distance_rows]]
        if self.between:
            steps.append([[0.0] * w.width for _ in distance_rows])
        for share in self._shares:
            midpoint = w.interpolated_state(share)
            distances, distance_rows = self._values_and_rows(midpoint.state, target)
            values = values + distances
            for rows, derivative in zip(steps, (midpoint.by_end, midpoint.by_begin), strict=True):
                rows += [[*row, *more] for row in product(distance_rows, derivative)]
        return FeatureJacobian(values, steps, [[0.0] * w.parameter_count for _ in values])

    @property
    def _shares(self) -> list[float]:
        return [k / (self.between + 1) for k in range(1, self.between + 1)]

    def _values_and_rows(self, state: TaskKinematics, target: Scalars) -> tuple[list[Any], list[list[Any]]]:
        near = max(self.near, _CUTOFF / self.sharpness) if self.per == "robot" else self.near
        scene = scene_rows(target if len(target) else (self.target or ()), self.capacities)
        all_pairs = state.nearby(self.own, self.shapes, scene, min(self.at_least + near, 1e6))
        distances = [all_pairs.errors[k] for k in self.kept]
        rows = [all_pairs.rows[k] for k in self.kept]
        if self.per == "link":
            distances, rows = self._by_link(distances, rows)
        elif self.per == "robot":
            distances, rows = self._smooth_minimum(distances, rows)
        return [self.at_least - d for d in distances], [[-x for x in row] for row in rows]

    def _by_link(self, distances: Sequence[Any], rows: Sequence[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
        best: dict[str, tuple[Any, list[Any]]] = {}
        for link, d, row in zip(self.links, distances, rows, strict=True):
            if link in best:
                old, old_row = best[link]
                nearer = lt(d, old)
                d, row = where(nearer, d, old), [where(nearer, x, y) for x, y in zip(row, old_row, strict=True)]
            best[link] = d, row
        return [d for d, _ in best.values()], [row for _, row in best.values()]

    def _smooth_minimum(self, distances: Sequence[Any], rows: Sequence[list[Any]]) -> tuple[list[Any], list[list[Any]]]:
        smallest: Any = reduce(fmin, distances)
        shares = [exp((smallest - d) * self.sharpness) for d in distances]
        total = sum(shares[1:], shares[0])
        weights = [share / total for share in shares]
        mean = [sum((x * y for x, y in zip(weights, column, strict=True)), 0.0) for column in zip(*rows, strict=True)]
        return [smallest - log(total) / self.sharpness], [mean]
