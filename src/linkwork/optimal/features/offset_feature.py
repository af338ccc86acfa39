"""Features minus a target, for features that have no target of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

from linkwork.constraints.constraint import References
from linkwork.ik.tasks.task import TaskTarget
from linkwork.optimal.features.feature import Feature, FeatureJacobian, Scalars, Window

__all__ = ["OffsetFeature"]


@dataclass(frozen=True)
class OffsetFeature(Feature):
    """Values of another feature minus a target: one number for each component, or one number for all.

    ``shape`` is that of the target, (components,) or ().
    """

    feature: Feature
    shape: tuple[int, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.feature.name

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.feature.depth

    @property
    def references(self) -> References:
        return self.feature.references

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.feature.component_names

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

    @property
    def needs_forces(self) -> bool:
        return self.feature.needs_forces

    def bind(self, robot: Any, w: Window) -> Self:
        return replace(self, feature=self.feature.bind(robot, w))

    def checked(self, robot: Any) -> Iterable[str]:
        return self.feature.checked(robot)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return self._less(self.feature.values(w, ()), target)

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        # Values of the feature need not be small, so terms proportional to them are included.
        exact = self.feature.exact_jacobian(w, ())
        return replace(exact, values=self._less(exact.values, target))

    def _less(self, values: list[Any], target: Scalars) -> list[Any]:
        return [x - (target[k] if self.shape else target[0]) for k, x in enumerate(values)]
