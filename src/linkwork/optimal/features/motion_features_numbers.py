"""Decision variables themselves as features: those of each step, and parameters of the whole path."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.optimal.features.arguments import text
from linkwork.optimal.features.feature import Feature, Scalars, Window

__all__ = ["ParameterFeature", "VariableFeature"]


@dataclass(frozen=True)
class _NumbersFeature(Feature):
    """Decision variables by name."""

    name: str
    count: int = field(default=0, compare=False, repr=False)  # known once it is a problem's

    depth = 0

    def __post_init__(self) -> None:
        text(type(self).__name__, "name", self.name, empty=False)

    @property
    def row_names(self) -> tuple[str, ...]:
        return (self.name,) if self.count == 1 else tuple(f"{self.name}[{k}]" for k in range(self.count))

    def settled(self, robot: Any, w: Window) -> Self:
        return replace(self, count=len(self.values(w, ())))


@public_constructor
@dataclass(frozen=True)
class VariableFeature(_NumbersFeature):
    """The variables of a step that are called so."""

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return w.variables(self.name)


@public_constructor
@dataclass(frozen=True)
class ParameterFeature(_NumbersFeature):
    """A parameter of the whole path."""

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return w.parameter(self.name)
