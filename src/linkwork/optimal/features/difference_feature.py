"""Rates of features: finite differences by time of the values of any feature."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

from linkwork._util.validation import integer
from linkwork.constraints.constraint import References
from linkwork.ik.tasks.task import TaskTarget
from linkwork.optimal.features.feature import DEEPEST, Feature, Scalars, Window
from linkwork.optimal.features.motion_features import (
    AccelerationFeature,
    ConfigurationFeature,
    JerkFeature,
    MotionFeature,
    VelocityFeature,
)

__all__ = ["DifferenceFeature", "difference_of"]

_MOTIONS: tuple[type[MotionFeature], ...] = (
    ConfigurationFeature,
    VelocityFeature,
    AccelerationFeature,
    JerkFeature,
)


def difference_of(feature: Feature, order: int) -> Feature:
    """Return the finite difference of a feature by time, of the given order; order 0 returns the feature itself.

    The differences of configurations are velocities, accelerations and jerks of the robot, computed on the manifolds
    of its joints.

    Raises ValueError if the difference depends on too many earlier steps.
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
class DifferenceFeature(Feature):
    """Finite difference by time of another feature's values, of order ``order``."""

    feature: Feature
    order: int

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.feature.name

    @property
    def depth(self) -> int:  # type: ignore[override]
        return self.feature.depth + self.order

    @property
    def references(self) -> References:
        return self.feature.references

    @property
    def component_names(self) -> tuple[str, ...]:
        return self.feature.component_names

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

    @property
    def needs_forces(self) -> bool:
        return self.feature.needs_forces

    def bind(self, robot: Any, w: Window) -> Self:
        bound = replace(self, feature=self.feature.bind(robot, w))
        if bound.depth > DEEPEST:
            raise ValueError(
                f"feature {self.name!r}: order: expected at most {DEEPEST - bound.feature.depth}, as the feature "
                f"depends on {bound.feature.depth} earlier steps and at most {DEEPEST} are possible, got {self.order}"
            )
        return bound

    def checked(self, robot: Any) -> Iterable[str]:
        return self.feature.checked(robot)

    def values(self, w: Window, target: Scalars) -> list[Any]:
        own = self.feature.depth
        w = w if own else w.with_equal_steps(self.order)
        rows = [self.feature.values(w.earlier(back, own) if back else w, target) for back in range(self.order + 1)]
        for order in range(own + 1, self.depth + 1):
            rows = [
                [(x - y) / w.step_of(back, order) for x, y in zip(*pair, strict=True)]
                for back, pair in enumerate(pairwise(rows))
            ]
        return rows[0]
