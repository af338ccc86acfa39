"""Limits of joints, as inequalities: positions, velocities, accelerations, jerks and torques, values at most 0.

A limit that is infinite has no row, so a joint that turns without end has none of positions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.optimal.features.arguments import switch, text
from linkwork.optimal.features.dynamics_features import force_units, without_inertias
from linkwork.optimal.features.feature import Feature, FeatureRows, Scalars, Window
from linkwork.optimal.features.motion_features import velocities_of

__all__ = ["AccelerationLimits", "JerkLimits", "PositionLimits", "TorqueLimits", "VelocityLimits"]


@dataclass(frozen=True)
class _Bound:
    """A row of limits: sign · (x − bound) ≤ 0 of the number at a place."""

    place: int
    sign: float
    bound: float
    name: str
    unit: str


@dataclass(frozen=True)
class _Limits(Feature):
    """Between ``lower`` and ``upper``, each a number, or one for each coordinate."""

    lower: Any = None
    upper: Any = None
    _: KW_ONLY
    name: str = ""
    bounds: tuple[_Bound, ...] = field(default=(), repr=False)  # known once it is a robot's

    kind: ClassVar[str]
    depth = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "name", text(type(self).__name__, "name", self.name) or f"{self.kind} limits")
        for side in ("lower", "upper"):
            put(self, side, self._read(side, getattr(self, side)))

    def _read(self, side: str, given: Any) -> Any:
        if given is None:
            return None
        caller = f"{type(self).__name__}: {side}"
        try:
            found = np.array(given, dtype=float)
        except (TypeError, ValueError):
            found = np.array(np.nan)
        if found.ndim > 1 or np.isnan(found).any():
            raise ValueError(f"{caller}: expected a number, or one for each coordinate, got {given!r}")
        return tuple(found.tolist()) if found.ndim else float(found)

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(bound.name for bound in self.bounds)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(bound.unit for bound in self.bounds)

    def settled(self, robot: Any, w: Window) -> Self:
        names, units = self._coordinates(w.tree)
        low, high = (None, None) if None not in (self.lower, self.upper) else self._of_robot(robot)
        lower = self._sized("lower", self.lower, low, len(names))
        upper = self._sized("upper", self.upper, high, len(names))
        found = []
        for k, (name, unit) in enumerate(zip(names, units, strict=True)):
            if lower[k] > upper[k]:
                raise ValueError(
                    f"{type(self).__name__}: {name!r}: its limits leave nothing: from {lower[k]:g} to {upper[k]:g}"
                )
            for sign, bound, which in ((-1.0, lower[k], "lower"), (1.0, upper[k], "upper")):
                if np.isfinite(bound):
                    found.append(_Bound(k, sign, float(bound), f"{name}: {which}", unit))
        return replace(self, bounds=tuple(found))

    def _sized(self, side: str, given: Any, own: Any, count: int) -> np.ndarray:
        found = np.array(own if given is None else given, dtype=float)
        if found.ndim and len(found) != count:
            raise ValueError(f"{type(self).__name__}: {side}: expected a number, or {count}, got {len(found)}")
        return np.broadcast_to(found, count)

    @abstractmethod
    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names and units of what is limited."""

    @abstractmethod
    def _of_robot(self, robot: Any) -> tuple[Any, Any]:
        """The robot's own limits."""

    @abstractmethod
    def _numbers(self, w: Window) -> Sequence[Any]:
        """What is limited."""

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return self._beyond(self._numbers(w))

    def _beyond(self, numbers: Sequence[Any]) -> list[Any]:
        return [(numbers[one.place] - one.bound) * one.sign for one in self.bounds]


@dataclass(frozen=True)
class _RateLimits(_Limits):
    """The same of what belongs to velocities: one number stands for both sides."""

    per: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower is None and self.upper is not None:
            most = self.upper
            below = tuple(-x for x in most) if isinstance(most, tuple) else -most
            object.__setattr__(self, "lower", below)

    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names, units = velocities_of(tree)
        return names, tuple(unit + self.per for unit in units)

    def _of_robot(self, robot: Any) -> tuple[Any, Any]:
        raise ValueError(
            f"{type(self).__name__}: robots have no limits of {self.kind}: give upper= (and lower=), a number or one "
            f"for each velocity"
        )


@public_constructor
@dataclass(frozen=True)
class PositionLimits(_Limits):
    """lower ≤ q_t ≤ upper, by the numbers of q [rad, m]; the robot's own where none are said."""

    kind = "position"

    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names, units = [], []
        for _, body in tree.stacked():
            nq = body.joint.nq
            names += [body.joint_name] if nq == 1 else [f"{body.joint_name}[{k}]" for k in range(nq)]
            units += body.joint.q_units
        return tuple(names), tuple(units)

    def _of_robot(self, robot: Any) -> tuple[Any, Any]:
        return robot.lower, robot.upper

    def _numbers(self, w: Window) -> Sequence[Any]:
        return w.configuration()


@public_constructor
@dataclass(frozen=True)
class VelocityLimits(_RateLimits):
    """lower ≤ v_t ≤ upper [rad/s, m/s]; ± the robot's own where none are said."""

    kind, per, depth = "velocity", "/s", 1

    def _of_robot(self, robot: Any) -> tuple[Any, Any]:
        return -robot.velocity_limits, robot.velocity_limits

    def _numbers(self, w: Window) -> Sequence[Any]:
        return w.velocity()


@public_constructor
@dataclass(frozen=True)
class AccelerationLimits(_RateLimits):
    """lower ≤ a_t ≤ upper [rad/s², m/s²]."""

    kind, per, depth = "acceleration", "/s²", 2

    def _numbers(self, w: Window) -> Sequence[Any]:
        return w.acceleration()


@public_constructor
@dataclass(frozen=True)
class JerkLimits(_RateLimits):
    """lower ≤ (a_t − a_{t−1})/τ ≤ upper [rad/s³, m/s³]."""

    kind, per, depth = "jerk", "/s³", 3

    def _numbers(self, w: Window) -> Sequence[Any]:
        return w.jerk()


@public_constructor
@dataclass(frozen=True)
class TorqueLimits(_RateLimits):
    """lower ≤ τ ≤ upper [N·m, N], by `Window.torque`; ± the robot's limits of effort where none are said."""

    passive: bool = field(default=False, kw_only=True)

    kind, per, depth = "torque", "", 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "passive", switch("TorqueLimits", "passive", self.passive))

    @property
    def needs_forces(self) -> bool:
        return True

    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return velocities_of(tree)[0], force_units(tree)

    def _of_robot(self, robot: Any) -> tuple[Any, Any]:
        return -robot.effort_limits, robot.effort_limits

    def checked(self, robot: Any) -> Iterable[str]:
        return without_inertias(robot, "TorqueLimits")

    def _numbers(self, w: Window) -> Sequence[Any]:
        return w.torque(self.passive)

    def rows(self, w: Window, target: Scalars) -> FeatureRows:
        found = w.torque_rows(self.passive)

        def of(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
            return [[x * one.sign for x in rows[one.place]] for one in self.bounds]

        return FeatureRows(self._beyond(found.values), [of(rows) for rows in found.rows], of(found.parameters))
