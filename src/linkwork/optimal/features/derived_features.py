"""Features derived from other features: finite differences of values in time, and values minus a target."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

from linkwork._util.validation import integer
from linkwork.constraints.constraint import References
from linkwork.ik.tasks.task import TaskTarget
from linkwork.optimal.features.feature import DEEPEST, Feature, FeatureJacobian, Scalars, Window
from linkwork.optimal.features.motion_features import (
    AccelerationFeature,
    ConfigurationFeature,
    JerkFeature,
    MotionFeature,
    VelocityFeature,
)

__all__ = ["DifferenceFeature", "OffsetFeature", "difference_of"]

_MOTIONS: tuple[type[MotionFeature], ...] = (
    ConfigurationFeature,
    VelocityFeature,
    AccelerationFeature,
    JerkFeature,
)


def difference_of(feature: Feature, order: int) -> Feature:
    """Return the finite difference in time, of order ``order``, of a feature's values, as a feature.

    Order 0 returns the feature itself. The differences of configurations are velocities, accelerations and jerks of the
    robot, computed on the manifolds of its joints. Raises ValueError if the difference depends on too many earlier
    steps.
    """
    order = integer(repr(feature.name), "order", order, least=0, most=DEEPEST)
    if not order:
        return feature
    kind = type(feature)
    if kind in _MOTIONS:
        index = _MOTIONS.index(kind) + order
        if index < len(_MOTIONS):
            return _MOTIONS[index](feature.name if feature.name != kind.kind else "")
    return DifferenceFeature(feature, order)


@dataclass(frozen=True)
class DerivedFeature(Feature):
    """Base class of features whose values are computed, component by component, from another feature's values."""

    feature: Feature

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.feature.name

    @property
    def references(self) -> References:
        return self.feature.references

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.feature.component_names

    @property
    def needs_forces(self) -> bool:
        return self.feature.needs_forces

    def bind(self, robot: Any, w: Window) -> Self:
        return replace(self, feature=self.feature.bind(robot, w))

    def checked(self, robot: Any) -> Iterable[str]:
        return self.feature.checked(robot)


@dataclass(frozen=True)
class DifferenceFeature(DerivedFeature):
    """Finite difference in time of another feature's values, of order ``order``."""

    order: int

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.feature.depth + self.order

    @property
    def row_units(self) -> tuple[str, ...]:
        per = ("", "/s", "/s²", "/s³")[self.order]
        return tuple(unit + per for unit in self.feature.row_units)

    @property
    def target_of(self) -> TaskTarget | None:
        return self.feature.target_of

    @property
    def target(self) -> Any:
        return self.feature.target

    @property
    def needs_target(self) -> bool:
        return self.feature.needs_target

    def bind(self, robot: Any, w: Window) -> Self:
        bound = super().bind(robot, w)
        if bound.depth > DEEPEST:
            raise ValueError(
                f"feature {self.name!r}: order: expected at most {DEEPEST - bound.feature.depth}, as the feature "
                f"depends on {bound.feature.depth} earlier steps and at most {DEEPEST} are possible, got {self.order}"
            )
        return bound

    def values(self, w: Window, target: Scalars) -> list[Any]:
        depth = self.feature.depth
        w = w if depth else w.with_equal_steps(self.order)
        rows = [self.feature.values(w.earlier(back, depth) if back else w, target) for back in range(self.order + 1)]
        for order in range(depth + 1, self.depth + 1):
            rows = [
                [(x - y) / w.step_of(back, order) for x, y in zip(*pair, strict=True)]
                for back, pair in enumerate(pairwise(rows))
            ]
        return rows[0]


@dataclass(frozen=True)
class OffsetFeature(DerivedFeature):
    """The values of another feature minus a target: a number for each component, or one number for all.

    ``shape`` is the shape of the target, (components,) or ().
    """

    shape: tuple[int, ...]

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.feature.depth

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.feature.row_units

    @property
    def rows_without_past(self) -> int:
        return self.feature.rows_without_past

    @property
    def has_curvature(self) -> bool:
        return self.feature.has_curvature

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget(self.shape, "numbers", "subtracted from the values")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return self._less(self.feature.values(w, ()), target)

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        # The feature's own values are not small, so the terms that vanish with them are needed.
        exact = self.feature.exact_jacobian(w, ())
        return replace(exact, values=self._less(exact.values, target))

    def _less(self, values: list[Any], target: Scalars) -> list[Any]:
        return [x - (target[k] if self.shape else target[0]) for k, x in enumerate(values)]
