"""Features of motion: configurations and their differences in time; decision variables as features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from linkwork._util.checked_arguments import public_constructor
from linkwork.ik.tasks.task import TaskTarget
from linkwork.optimal.features.arguments import text
from linkwork.optimal.features.feature import Feature, Scalars, Window, with_fields

__all__ = [
    "AccelerationFeature",
    "ConfigurationFeature",
    "JerkFeature",
    "MotionFeature",
    "ParameterFeature",
    "VariableFeature",
    "VelocityFeature",
    "minus_target",
]


@dataclass(frozen=True)
class MotionFeature(Feature):
    """Base class of features with a component for each coordinate of v: velocities, accelerations and others."""

    name: str = ""
    velocities: tuple[tuple[str, str], ...] = field(init=False, default=(), repr=False)  # names, units: set by `bind`

    kind: ClassVar[str]
    per: ClassVar[str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", text(type(self).__name__, "name", self.name) or self.kind)

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(joint for joint, _ in self.velocities)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(unit + self.per for _, unit in self.velocities)

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget(("nv",), "numbers", f"the desired {self.kind}")

    @property
    def needs_target(self) -> bool:
        return False

    def bind(self, robot: Any, w: Window) -> Self:
        return with_fields(self, velocities=tuple(zip(*velocities_of(w.tree), strict=True)))


def velocities_of(tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the components of v, and the units "rad" or "m" of the coordinates with these rates."""
    names: list[str] = []
    units: list[str] = []
    for _, body in tree.stacked():
        nv = body.joint.nv
        names += [body.joint_name] if nv == 1 else [f"{body.joint_name}[{k}]" for k in range(nv)]
        units += [unit.removesuffix("/s") for unit in body.joint.v_units]
    return tuple(names), tuple(units)


def minus_target(values: Sequence[Any], target: Scalars) -> list[Any]:
    """Return values minus a target, if there is one."""
    return [x - y for x, y in zip(values, target, strict=True)] if len(target) else list(values)


@public_constructor
@dataclass(frozen=True)
class ConfigurationFeature(MotionFeature):
    """Difference q_t ⊖ target of the configuration from a target [rad, m], in the target's tangent space.

    The default target is the neutral configuration.

    ``name`` is the name of the values in results.
    """

    kind, per, depth = "configuration", "", 0

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget(("nq",), "configuration", "the desired configuration")

    def values(self, w: Window, target: Scalars) -> list[Any]:
        q = w.configuration()
        return [
            x
            for i, body in w.tree.stacked()
            for x in body.call_joint("difference", target[w.tree.q_slices[i]], q[w.tree.q_slices[i]])
        ]


@public_constructor
@dataclass(frozen=True)
class VelocityFeature(MotionFeature):
    """Velocity v_t at the end of step t minus a target [rad/s, m/s].

    ``name`` is the name of the values in results.
    """

    kind, per, depth = "velocity", "/s", 1

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return minus_target(w.velocity(), target)


@public_constructor
@dataclass(frozen=True)
class AccelerationFeature(MotionFeature):
    """Acceleration a_t = (v_t − v_{t−1})/τ_t in step t minus a target [rad/s², m/s²].

    ``name`` is the name of the values in results.
    """

    kind, per, depth = "acceleration", "/s²", 2

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return minus_target(w.acceleration(), target)


@public_constructor
@dataclass(frozen=True)
class JerkFeature(MotionFeature):
    """Jerk minus a target [rad/s³, m/s³]: (a_t − a_{t−1})/g, with the mean g of τ_t and τ_{t−1}.

    ``name`` is the name of the values in results.
    """

    kind, per, depth = "jerk", "/s³", 3

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return minus_target(w.jerk(), target)


@dataclass(frozen=True)
class _DecisionFeature(Feature):
    """Base class of features whose values are the decision variables with the feature's name."""

    name: str
    count: int = field(init=False, default=0, compare=False, repr=False)  # set by `bind`

    depth = 0

    def __post_init__(self) -> None:
        text(type(self).__name__, "name", self.name, empty=False)

    @property
    def component_names(self) -> tuple[str, ...]:
        return (self.name,) if self.count == 1 else tuple(f"{self.name}[{k}]" for k in range(self.count))

    def bind(self, robot: Any, w: Window) -> Self:
        return with_fields(self, count=len(self.values(w, ())))


@public_constructor
@dataclass(frozen=True)
class VariableFeature(_DecisionFeature):
    """Values, at each step, of the decision variable that has the feature's name."""

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return w.variables(self.name)


@public_constructor
@dataclass(frozen=True)
class ParameterFeature(_DecisionFeature):
    """Values of the path parameter that has the feature's name."""

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return w.parameter(self.name)
