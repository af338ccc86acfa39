"""Where a frame is to be: its pose, its position, its orientation, relative to any frame.

Errors lead from the target T to the frame B.  They are in the axes of one of three: the frame itself, which is the
cheapest, its target, or the frame that both are relative to.  In the frame's own axes rows are its twist, the error
taken to be fixed in them: that is not the exact derivative away from the target, but has the exact gradient of the sum
of squares where all axes count alike.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

from ..constraints.contract import References
from ..spatial import Motion, Pose, Quaternion, Rotation, Vec3
from ..spatial.quaternion import twist_of_translation
from .contract import TOLERANCE, Scalars, Task, TaskKinematics, TaskRows, TaskTarget

__all__ = ["Axes", "OrientationTask", "PoseTask", "PositionTask"]

Axes = Literal["frame", "target", "reference"]
Exact = Literal["no", "way", "yes"]  # whether rows are derivatives away from the target, too
_AXES = ("frame", "target", "reference")
_XYZ = ("x", "y", "z")


@dataclass(frozen=True)
class _FrameTask(Task):
    """What is said of a frame B relative to a frame A."""

    frame: str  # B
    _: KW_ONLY
    relative_to: str = "world"  # A
    axes: Axes = "frame"
    target: Any = None
    weight: Any = None
    level: int = 0
    tolerance: Any = TOLERANCE
    name: str = ""

    def __post_init__(self) -> None:
        kind = type(self).__name__
        for what in ("frame", "relative_to"):
            if not isinstance(getattr(self, what), str):
                raise TypeError(f"{kind}: {what}: expected a frame's name, got {getattr(self, what)!r}")
        if self.axes not in _AXES:
            raise ValueError(f"{kind}: axes: expected one of {', '.join(map(repr, _AXES))}, got {self.axes!r}")
        self.settle(self.frame)

    @property
    def exact(self) -> bool:
        return self.axes != "frame"

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.relative_to))

    @property
    def between(self) -> tuple[str, str]:
        return self.frame, self.relative_to

    def rows(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        return self._at(k, target, "no")

    def exact_rows(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        return self._at(k, target, "yes")

    def curved_rows(self, k: TaskKinematics, target: Scalars) -> TaskRows:
        return self._at(k, target, "way")  # of a small angle second derivatives along velocities are those of its rate

    @abstractmethod
    def _at(self, k: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows: ...

    def _turn(self, k: TaskKinematics, R_T: Rotation, exact: Exact = "no") -> tuple[list[Any], list[Vec3]]:
        """The rotation vector from T to B, and its rate by velocity."""
        between = k.between(self.frame, self.relative_to)
        phi = Quaternion.of(R_T.T @ between.pose.rotation).log()
        if self.axes == "frame" and exact == "no":
            return [*phi], [C.angular for C in between.columns]
        if exact == "way":
            rates = [C.angular for C in between.columns]
        else:
            rates = [twist_of_translation(-phi, C.angular) if _moves(C) else C.angular for C in between.columns]
        if self.axes in ("target", "frame"):  # phi is the same in both
            return [*phi], rates
        return [*(R_T @ phi)], [
            R_T @ rate if _moves(C) else rate for C, rate in zip(between.columns, rates, strict=True)
        ]

    def _way(
        self, k: TaskKinematics, p_T: Vec3, R_T: Rotation | None, exact: Exact = "no"
    ) -> tuple[list[Any], list[Vec3]]:
        """The way from T's origin to B's, and its rate by velocity."""
        between = k.between(self.frame, self.relative_to)
        R, way = between.pose.rotation, between.pose.translation - p_T
        rates = [C.linear for C in between.columns]
        if self.axes == "frame":
            own = R.inv_act(way)
            if exact != "no":
                rates = [C.linear - C.angular.cross(own) if _moves(C) else C.linear for C in between.columns]
            return [*own], rates
        rates = [R @ v if _moves(C) else v for C, v in zip(between.columns, rates, strict=True)]
        if self.axes == "target" and R_T is not None:
            return [*R_T.inv_act(way)], [
                R_T.inv_act(v) if _moves(C) else v for C, v in zip(between.columns, rates, strict=True)
            ]
        return [*way], rates


def _moves(C: Motion) -> bool:
    """Whether a velocity has any part in it."""
    return not all(x.__class__ is float and x == 0.0 for x in C.elements())


def _rows(*columns: list[Vec3]) -> list[list[Any]]:
    return [[getattr(column, axis) for column in part] for part in columns for axis in _XYZ]


@dataclass(frozen=True)
class PoseTask(_FrameTask):
    """A frame has a pose X_AT (4, 4) relative to another: errors are (rotation vector; way) from there [rad, m]."""

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((4, 4), "pose", f"where {self.frame!r} is to be in {self.relative_to!r}")

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {kind} {axis}" for kind in ("rotation", "position") for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * 3 + ("m",) * 3

    def _at(self, k: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        X_T = Pose.of_elements(target)
        turn, turning = self._turn(k, X_T.rotation, exact)
        way, moving = self._way(k, X_T.translation, X_T.rotation, exact)
        return TaskRows(turn + way, _rows(turning, moving))


@dataclass(frozen=True)
class PositionTask(_FrameTask):
    """A frame's origin is at a place p (3,) of another [m], whichever way it is turned.

    There is no target's axes, so errors are in those of the frame, or of the one that it is relative to.
    """

    def __post_init__(self) -> None:
        if self.axes == "target":
            raise ValueError("PositionTask: axes: a place has none: expected 'frame' or 'reference'")
        super().__post_init__()

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3,), "place", f"where {self.frame!r} is to be in {self.relative_to!r}")

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: position {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * 3

    def _at(self, k: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        way, moving = self._way(k, Vec3(*target), None, exact)
        return TaskRows(way, _rows(moving))


@dataclass(frozen=True)
class OrientationTask(_FrameTask):
    """A frame is turned as R_AT (3, 3) says, wherever it is: errors are the rotation vector from there [rad]."""

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3, 3), "rotation", f"how {self.frame!r} is to be turned in {self.relative_to!r}")

    @property
    def row_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: rotation {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * 3

    def _at(self, k: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        R_T = Rotation(*(Vec3(*target[3 * i : 3 * i + 3]) for i in range(3)))
        turn, turning = self._turn(k, R_T, exact)
        return TaskRows(turn, _rows(turning))
