"""Where a frame is to be: its pose, its position, its orientation, relative to any frame.

Errors lead from the target T to the frame B.  They are in the axes of the frame itself, which is the cheapest, of its
target, of the frame A that both are relative to, or of any other.  In the frame's own axes rows are its twist, the
error taken to be fixed in them: that is not the exact derivative away from the target, but has the exact gradient of
the sum of squares where all axes count alike.  Where an axis is free, or counts more than others, rows are exact.

How fast they change along a path is told in axes that do not turn with the frame: velocities of the point, and angular
velocities.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import References
from linkwork.errors import UnknownNameError
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.autodiff.sparse_tangent import SparseTangent
from linkwork.ik.tasks.pose_tolerance import pose_tolerance
from linkwork.ik.tasks.task import (
    TOLERANCE,
    AimedTask,
    Scalars,
    Task,
    TaskKinematics,
    TaskRows,
    TaskTarget,
    named,
    time_differences,
)
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = ["Axes", "OrientationTask", "PoseTask", "PositionTask", "moves"]

Axes = Literal["frame", "target", "reference"] | str
Exact = Literal["no", "way", "yes"]  # whether rows are derivatives away from the target, too
_AXES = ("frame", "target", "reference")
_XYZ = ("x", "y", "z")


@dataclass(frozen=True)
class _FrameTask(AimedTask):
    """What is said of a frame B relative to a frame A."""

    frame: str  # B
    _: KW_ONLY
    relative_to: str = "world"  # A
    axes: Axes = "frame"
    free: bool = field(default=False, repr=False)  # whether rows are free by tolerances that come with calls

    _own: ClassVar[tuple[str, ...]] = _AXES  # axes that are not those of a frame by its name

    def __post_init__(self) -> None:
        kind = type(self).__name__
        named(self, "frame", "relative_to")
        if not isinstance(self.axes, str) or not self.axes:
            raise ValueError(f"{kind}: axes: expected {self._axes}, got {self.axes!r}")
        self.settle(self.frame)

    @property
    def _axes(self) -> str:
        return f"{', '.join(map(repr, self._own))} or a frame's name"

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.relative_to))

    @property
    def between(self) -> tuple[str, str]:
        return self.frame, self.relative_to

    def checked(self, robot: Any) -> Iterable[str]:
        if self.axes not in self._own:
            try:
                robot.frame(self.axes)
            except UnknownNameError as error:
                yield f"axes: expected {self._axes}: {error}"

    @property
    def exact(self) -> bool:
        return self.axes != "frame" or self._far

    @property
    def _far(self) -> bool:
        """Whether errors may stay that do not vanish, or some count more than others."""
        if self.free or any(map(math.isinf, self.tolerances)):
            return True
        return len(set(zip(self.row_units, self.weights, strict=True))) > len(set(self.row_units))

    def freed(self) -> Self:
        return self if self._far else replace(self, free=True)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self._at(state, target, "yes" if self.exact else "no")

    def exact_jacobian(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self._at(state, target, "yes")

    def curved_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Of a small angle second derivatives along velocities are those of its rate."""
        return self._at(state, target, "yes" if self._far else "way")

    def _told(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Exact rows; in the frame's own axes with those of its turning, which `_led` asks for."""
        result = self.exact_jacobian(state, target)
        if self.axes != "frame":
            return result
        columns = state.between(state.place_of(self.frame)[0], self.relative_to).columns
        return TaskRows(result.errors, [*result.rows, *_rows([C.angular for C in columns])])

    def _led(self, result: list[Any], moved: Scalars, led: Scalars) -> list[Any]:
        """What a way's rates are to be, where axes turn with the frame and what the way leads to moves."""
        if self.axes != "frame" or all(x.__class__ is float and x == 0.0 for x in led):
            return result
        return [x - y for x, y in zip(result, Vec3.of(moved[-3:]).cross(Vec3.of(led)), strict=True)]

    @abstractmethod
    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows: ...

    @property
    def moved(self) -> Task | None:
        return None

    def rates(self, states: Sequence[TaskKinematics], steps: Sequence[Any], target: Scalars) -> list[Any]:
        """Of what B does relative to A, whatever it aims at: in A's axes, unless others are named than B's own."""
        R, result = self._axes_of(states[0], target), []
        for vectors in self._moving(states, steps):
            rate = Vec3(*time_differences(vectors, steps))
            result += [*(rate if R is None else R @ rate)]
        return result

    def _moving(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        """By part of the errors: what its rates are the differences of, one less where it is a velocity already."""
        raise NotImplementedError

    def _turning(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[Vec3]:
        """The angular velocities from state to state, in A's axes."""
        R = [k.between(self.frame, self.relative_to).pose.rotation for k in states]
        ways = [before @ Quaternion.of(before.T @ now).log() for now, before in pairwise(R)]
        return [Vec3(*(x / step for x in way)) for way, step in zip(ways, steps, strict=True)]

    def _places(self, states: Sequence[TaskKinematics]) -> list[Vec3]:
        """Where B's origin, or a point, is in A."""
        frame, r = states[0].place_of(self.frame)
        return [k.between(frame, self.relative_to).pose.point(r) for k in states]

    def _axes_of(self, state: TaskKinematics, target: Scalars) -> Rotation | None:
        """What turns a vector in A's axes into those that rates are to be in; nothing where they are A's."""
        if self.axes in ("frame", "reference", self.relative_to):
            return None
        if self.axes == "target":
            return self._target_axes(target).T
        return state.between(self.relative_to, self.axes).pose.rotation

    def _target_axes(self, target: Scalars) -> Rotation:
        raise NotImplementedError

    def _turn(self, state: TaskKinematics, R_T: Rotation, exact: Exact) -> tuple[list[Any], list[Vec3]]:
        """The rotation vector from T to B, and its rate by velocity."""
        between = state.between(self.frame, self.relative_to)
        phi = Quaternion.of(R_T.T @ between.pose.rotation).log()  # the same in T's axes and in B's
        rates = [C.angular for C in between.columns]
        if exact == "yes":
            rates = _each(between.columns, lambda C: twist_of_translation(-phi, C.angular))
        if self.axes in ("frame", "target"):
            return [*phi], rates
        return self._seen(state, R_T @ phi, [R_T @ w for w in rates])

    def _way(
        self, state: TaskKinematics, p_T: Vec3, R_T: Rotation | None, exact: Exact
    ) -> tuple[list[Any], list[Vec3]]:
        """The way from T's origin to B's, or to a point, and its rate by velocity."""
        frame, r = state.place_of(self.frame)
        between = state.between(frame, self.relative_to)
        R, columns, at_origin = between.pose.rotation, between.columns, _is_zero(r)
        way = between.pose.translation - p_T if at_origin else between.pose.point(r) - p_T
        rates = [C.linear for C in columns] if at_origin else _each(columns, lambda C: C.linear + C.angular.cross(r))
        if self.axes == "frame":
            e = R.inv_act(way)
            if exact == "no":
                return [*e], rates
            return [*e], [v - C.angular.cross(e) if moves(C) else v for C, v in zip(columns, rates, strict=True)]
        rates = [R @ v if moves(C) else v for C, v in zip(columns, rates, strict=True)]
        if self.axes == "target" and R_T is not None:
            return [*R_T.inv_act(way)], [R_T.inv_act(v) if moves(C) else v for C, v in zip(columns, rates, strict=True)]
        return self._seen(state, way, rates)

    def _seen(self, state: TaskKinematics, e: Vec3, rates: list[Vec3]) -> tuple[list[Any], list[Vec3]]:
        """An error in A's axes, and its rates, in those that it is to be in."""
        if self.axes in ("reference", self.relative_to):
            return [*e], rates
        between = state.between(self.relative_to, self.axes)
        R = between.pose.rotation
        return [*(R @ e)], [
            R @ (rate + C.angular.cross(e)) if moves(C) else R @ rate
            for C, rate in zip(between.columns, rates, strict=True)
        ]


def _turning(phi: Vec3, w: Vec3, ahead: Vec3, gains: tuple[float, float]) -> Vec3:
    """ω̇ − ahead for a rotation vector φ that obeys φ̈ + k_d φ̇ + k_p φ = 0, φ̇ = V(−φ)⁻¹ w, in the frame's own axes."""
    rate = twist_of_translation(-phi, w)
    moving = seeded([*phi], [SparseTangent({0: x}) for x in rate])
    bent = [parts(x, moving[0].level)[1] for x in twist_of_translation(-Vec3.of(moving), w)]
    drift = Vec3.of([x.get(0) if isinstance(x, SparseTangent) else 0.0 for x in bent])
    return ahead + translation_of_twist(-phi, -(rate * gains[1]) - phi * gains[0] - drift)


def _is_zero(r: Vec3) -> bool:
    return all(x.__class__ is float and x == 0.0 for x in r)


def _each(columns: list[Motion], rate: Callable[[Motion], Vec3]) -> list[Vec3]:
    return [rate(C) if moves(C) else C.linear for C in columns]


def moves(C: Motion) -> bool:
    """Whether a velocity has any part in it."""
    return not all(x.__class__ is float and x == 0.0 for x in C.elements())


def _halves(numbers: Scalars) -> tuple[Vec3, Vec3]:
    """Of rotations and of ways."""
    return Vec3.of(numbers[:3]), Vec3.of(numbers[3:6])


def _rows(*columns: list[Vec3]) -> list[list[Any]]:
    return [[getattr(column, axis) for column in part] for part in columns for axis in _XYZ]


@public_constructor
@dataclass(frozen=True)
class PoseTask(_FrameTask):
    """A frame has a pose X_AT (4, 4) relative to another: errors are (rotation vector; position) from there [rad, m].

    ``position_tolerance`` [m] and ``orientation_tolerance`` [rad] are numbers or one each for x, y and z, infinite
    where a coordinate is free; ``tolerance`` gives all six rows, rotation first, and is left out then.
    """

    _: KW_ONLY
    position_tolerance: Any = None
    orientation_tolerance: Any = None

    def __post_init__(self) -> None:
        position, orientation = self.position_tolerance, self.orientation_tolerance
        if position is not None or orientation is not None:
            if not np.array_equal(self.tolerance, TOLERANCE):
                raise ValueError(
                    "PoseTask: tolerance: expected either tolerance= of six rows, or position_tolerance= and "
                    f"orientation_tolerance=, got both: {self.tolerance!r}"
                )
            given = (TOLERANCE if one is None else one for one in (position, orientation))
            object.__setattr__(self, "tolerance", tuple(pose_tolerance("PoseTask", *given)))
            object.__setattr__(self, "position_tolerance", None)
            object.__setattr__(self, "orientation_tolerance", None)
        super().__post_init__()

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((4, 4), "pose", f"where {self.frame!r} is to be in {self.relative_to!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {kind} {axis}" for kind in ("rotation", "position") for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * 3 + ("m",) * 3

    def _moving(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        return [self._turning(states, steps), self._places(states)]

    def _target_axes(self, target: Scalars) -> Rotation:
        return Pose.of_elements(target).rotation

    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        X_T = Pose.of_elements(target)
        turn, turning = self._turn(state, X_T.rotation, exact)
        way, moving = self._way(state, X_T.translation, X_T.rotation, exact)
        return TaskRows(turn + way, _rows(turning, moving))

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """In the frame's own axes its twist, which takes less, unless some rows are free."""
        return self._told(state, target) if self.exact else self.rows(state, target)

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        if self.exact:
            result = super().settling(errors, moved, led, ahead, gains)
            return [*result[:3], *self._led(result[3:], moved, led[3:])]
        (phi, e), (w, v), (turned, gone) = _halves(errors), _halves(moved), _halves(led)
        ahead_turned, ahead_gone = _halves(ahead)
        turning = _turning(phi, w - turned, ahead_turned, gains)
        rate = v - gone - w.cross(e)
        moving = ahead_gone + turning.cross(e) + w.cross(rate) - rate * gains[1] - e * gains[0]
        return [*turning, *moving]


@public_constructor
@dataclass(frozen=True)
class PositionTask(_FrameTask):
    """A frame's origin, or a point of the robot by its name, is at a place p (3,) of a frame [m].

    There are no target's axes, so errors are in those of the frame, of the one that it is relative to, or of another.
    """

    _own: ClassVar[tuple[str, ...]] = ("frame", "reference")

    def __post_init__(self) -> None:
        if self.axes == "target":
            raise ValueError(f"PositionTask: axes: a place has none: expected {self._axes}")
        super().__post_init__()

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,), points=(self.frame,))

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3,), "place", f"where {self.frame!r} is to be in {self.relative_to!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: position {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * 3

    @property
    def moved(self) -> Task | None:
        return replace(self, axes="reference") if self.axes in ("frame", "reference", self.relative_to) else None

    def _moving(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        return [self._places(states)]

    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        way, moving = self._way(state, Vec3(*target), None, exact)
        return TaskRows(way, _rows(moving))

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self._told(state, target)

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        return self._led(super().settling(errors, moved, led, ahead, gains), moved, led)


@public_constructor
@dataclass(frozen=True)
class OrientationTask(_FrameTask):
    """A frame is turned as R_AT (3, 3) says, wherever it is: errors are the rotation vector from there [rad]."""

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3, 3), "rotation", f"how {self.frame!r} is to be turned in {self.relative_to!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: rotation {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * 3

    def _moving(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        return [self._turning(states, steps)]

    def _target_axes(self, target: Scalars) -> Rotation:
        return Rotation(*(Vec3(*target[3 * i : 3 * i + 3]) for i in range(3)))

    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        R_T = self._target_axes(target)
        turn, turning = self._turn(state, R_T, exact)
        return TaskRows(turn, _rows(turning))

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """In the frame's own axes its angular velocity, unless some rows are free."""
        return self.rows(state, target)

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        if self.exact:
            return super().settling(errors, moved, led, ahead, gains)
        turned = Vec3.of(moved) - Vec3.of(led)
        return [*_turning(Vec3.of(errors), turned, Vec3.of(ahead), gains)]
