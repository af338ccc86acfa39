"""Joint limits as inequalities (values <= 0): positions, velocities, accelerations, jerks and torques.

An infinite limit has no component; a continuous joint has no position limits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork._util.validation import scalar_or_tuple
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.mechanisms.algorithms.constraint_rows import KinematicState
from linkwork.model.limited_coordinates import LimitedCoordinate, LoopSpeed, limited_coordinates, loop_speeds
from linkwork.optimal.features.arguments import choice, text
from linkwork.optimal.features.dynamics_features import force_units, without_inertias
from linkwork.optimal.features.feature import Feature, FeatureJacobian, Scalars, Window, with_fields
from linkwork.optimal.features.motion_features import velocities_of

__all__ = ["AccelerationLimits", "JerkLimits", "PositionLimits", "TorqueLimits", "VelocityLimits"]


@dataclass(frozen=True)
class _Bound:
    """One limit of the coordinate x with index ``index``: x ≤ bound for ``sign`` 1, x ≥ bound for ``sign`` −1.

    The feature's component is sign · (x − bound), which must be at most 0.
    """

    index: int
    sign: float
    bound: float
    name: str
    unit: str


@dataclass(frozen=True)
class _Limits(Feature):
    """Base class of limits on values along a path, as inequalities.

    ``lower`` and ``upper`` are numbers, or arrays with a number for each coordinate.
    """

    lower: Any = None
    upper: Any = None
    _: KW_ONLY
    name: str = ""
    bounds: tuple[_Bound, ...] = field(init=False, default=(), repr=False)  # set by `bind`

    kind: ClassVar[str]
    depth = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "name", text(type(self).__name__, "name", self.name) or f"{self.kind} limits")
        for side in ("lower", "upper"):
            put(self, side, self._read(side, getattr(self, side)))

    def _read(self, side: str, value: Any) -> Any:
        if value is None:
            return None
        return scalar_or_tuple(type(self).__name__, side, value, each="for each coordinate")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(bound.name for bound in self.bounds)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(bound.unit for bound in self.bounds)

    def bind(self, robot: Any, w: Window) -> Self:
        names, units = self._coordinates(w.tree)
        low, high = (None, None) if None not in (self.lower, self.upper) else self._robot_limits(robot)
        lower = self._sized("lower", self.lower, low, len(names))
        upper = self._sized("upper", self.upper, high, len(names))
        bounds = []
        for k, (name, unit) in enumerate(zip(names, units, strict=True)):
            if lower[k] > upper[k]:
                raise ValueError(
                    f"{type(self).__name__}: {name!r}: expected lower <= upper, got {lower[k]:g} > {upper[k]:g}"
                )
            for sign, bound, which in ((-1.0, lower[k], "lower"), (1.0, upper[k], "upper")):
                if np.isfinite(bound):
                    bounds.append(_Bound(k, sign, float(bound), f"{name}: {which}", unit))
        return with_fields(self, bounds=tuple(bounds))

    def _sized(self, side: str, value: Any, default: Any, count: int) -> np.ndarray:
        result = np.array(default if value is None else value, dtype=float)
        if result.ndim and len(result) != count:
            raise ValueError(f"{type(self).__name__}: {side}: expected a number, or {count}, got {len(result)}")
        return np.broadcast_to(result, count)

    @abstractmethod
    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return names and units of the limited coordinates."""

    @abstractmethod
    def _robot_limits(self, robot: Any) -> tuple[Any, Any]:
        """Return the robot's own limits (lower, upper)."""

    @abstractmethod
    def _limited_values(self, w: Window) -> Sequence[Any]:
        """Return the values of the limited coordinates."""

    def values(self, w: Window, target: Scalars) -> list[Any]:
        return self._excess(self._limited_values(w))

    def _excess(self, values: Sequence[Any]) -> list[Any]:
        return [(values[bound.index] - bound.bound) * bound.sign for bound in self.bounds]


@dataclass(frozen=True)
class _RateLimits(_Limits):
    """Base class of limits on quantities with a component for each velocity, such as accelerations or forces.

    A single ``upper`` without ``lower`` bounds the absolute value.
    """

    per: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower is None and self.upper is not None:
            upper = self.upper
            lower = tuple(-x for x in upper) if isinstance(upper, tuple) else -upper
            object.__setattr__(self, "lower", lower)

    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names, units = velocities_of(tree)
        return names, tuple(unit + self.per for unit in units)

    def _robot_limits(self, robot: Any) -> tuple[Any, Any]:
        most = getattr(robot, f"{self.kind}_limits")
        return -most, most


@public_constructor
@dataclass(frozen=True)
class PositionLimits(_Limits):
    """Position limits lower ≤ q_t ≤ upper, by coordinate of q [rad, m]; default: the robot's own limits.

    The robot's own limits include those of joints that close loops.

    ``name`` is the name of the values in results.
    """

    kind = "position"

    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        names, units = [], []
        for _, body in tree.stacked():
            nq = body.joint.nq
            names += [body.joint_name] if nq == 1 else [f"{body.joint_name}[{k}]" for k in range(nq)]
            units += body.joint.q_units
        loops = self._loops(tree)
        return (*names, *(loop.name for loop in loops)), (*units, *(loop.unit for loop in loops))

    def _loops(self, tree: Any) -> list[LimitedCoordinate]:
        is_default = self.lower is None and self.upper is None
        return [limit for limit in limited_coordinates(tree) if limit.loop is not None] if is_default else []

    def _robot_limits(self, robot: Any) -> tuple[Any, Any]:
        loops = self._loops(robot.tree)
        return [*robot.lower, *(loop.lower for loop in loops)], [*robot.upper, *(loop.upper for loop in loops)]

    def _limited_values(self, w: Window) -> Sequence[Any]:
        q, loops = w.configuration(), self._loops(w.tree)
        return [*q, *(loop.rate(KinematicState(w.tree, q))[0] for loop in loops)] if loops else q


@public_constructor
@dataclass(frozen=True)
class VelocityLimits(_RateLimits):
    """Velocity limits lower ≤ v_t ≤ upper [rad/s, m/s]; default: the robot's own limits.

    The robot's own limits include those of joints that close loops.

    ``name`` is the name of the values in results.
    """

    kind, per, depth = "velocity", "/s", 1

    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        (names, units), loops = super()._coordinates(tree), self._loops(tree)
        return (*names, *(x.name for x in loops)), (*units, *(x.loop.joint.v_units[x.index] for x in loops))

    def _loops(self, tree: Any) -> tuple[LoopSpeed, ...]:
        return loop_speeds(tree) if self.lower is None and self.upper is None else ()

    def _robot_limits(self, robot: Any) -> tuple[Any, Any]:
        most = np.array([*robot.velocity_limits, *(x.bound for x in self._loops(robot.tree))], dtype=float)
        return -most, most

    def _limited_values(self, w: Window) -> Sequence[Any]:
        v, loops = w.velocity(), self._loops(w.tree)
        return [*v, *(dot(x.row(KinematicState(w.tree, w.configuration())), v) for x in loops)] if loops else v


@public_constructor
@dataclass(frozen=True)
class AccelerationLimits(_RateLimits):
    """Acceleration limits lower ≤ a_t ≤ upper [rad/s², m/s²]; default: the robot's own limits.

    ``name`` is the name of the values in results.
    """

    kind, per, depth = "acceleration", "/s²", 2

    def _limited_values(self, w: Window) -> Sequence[Any]:
        return w.acceleration()


@public_constructor
@dataclass(frozen=True)
class JerkLimits(_RateLimits):
    """Jerk limits lower ≤ (a_t − a_{t−1})/g ≤ upper [rad/s³, m/s³], with the mean g of τ_t and τ_{t−1}.

    Default: the robot's own limits.

    ``name`` is the name of the values in results.
    """

    kind, per, depth = "jerk", "/s³", 3

    def _limited_values(self, w: Window) -> Sequence[Any]:
        return w.jerk()


@public_constructor
@dataclass(frozen=True)
class TorqueLimits(_RateLimits):
    """Limits lower ≤ τ ≤ upper of joint forces τ by `Window.torque` [N·m, N]; default: the robot's effort limits.

    ``passive`` is an option of `TorqueFeature`.

    ``name`` is the name of the values in results.
    """

    passive: bool | None = field(default=None, kw_only=True)

    kind, per, depth = "torque", "", 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "passive", choice("TorqueLimits", "passive", self.passive))

    @property
    def needs_forces(self) -> bool:
        return True

    def _coordinates(self, tree: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return velocities_of(tree)[0], force_units(tree)

    def _robot_limits(self, robot: Any) -> tuple[Any, Any]:
        return -robot.effort_limits, robot.effort_limits

    def checked(self, robot: Any) -> Iterable[str]:
        return without_inertias(robot, "TorqueLimits")

    def _limited_values(self, w: Window) -> Sequence[Any]:
        return w.torque(self.passive)

    def jacobian(self, w: Window, target: Scalars) -> FeatureJacobian:
        torque = w.torque_jacobian(self.passive)

        def signed(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
            return [[x * bound.sign for x in rows[bound.index]] for bound in self.bounds]

        return FeatureJacobian(
            self._excess(torque.values), [signed(rows) for rows in torque.rows], signed(torque.parameters)
        )
