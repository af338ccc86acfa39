"""Tasks for the pose, position or orientation of a frame relative to any frame.

Errors are displacements from the target T to the frame B.  They are in the axes of B itself (the cheapest choice), of
T, of the frame A to which both are relative, or of any other frame.  In B's own axes, the Jacobian is that of B's
twist.  Away from the target it is not the exact derivative of the errors, but it gives the exact gradient of the sum of
squares if all axes have the same weight.  If an axis is free, or weights differ, the Jacobian is
exact.

Rates along a path are in axes that do not rotate with the frame: velocities of the point, and angular velocities.
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
from linkwork.expr.autodiff.dual_numbers import SparseTangent, parts, seeded
from linkwork.ik.tasks.arguments import TOLERANCE, Axes, named, pose_tolerance
from linkwork.ik.tasks.task import (
    AimedTask,
    Scalars,
    Task,
    TaskKinematics,
    TaskRows,
    TaskTarget,
    time_differences,
)
from linkwork.spatial import Motion, Pose, Quaternion, Rotation, Vec3
from linkwork.spatial.quaternion import translation_of_twist, twist_of_translation

__all__ = ["OrientationTask", "PoseTask", "PositionTask", "moves"]

Exact = Literal["no", "way", "yes"]  # where the Jacobian is exact away from the target: nowhere, position, all
_AXES = ("frame", "target", "reference")
_XYZ = ("x", "y", "z")


@dataclass(frozen=True)
class _FrameTask(AimedTask):
    """Base class of tasks for the pose, position or orientation of a frame B relative to a frame A."""

    frame: str  # B
    _: KW_ONLY
    relative_to: str = "world"  # A
    axes: Axes = "frame"
    free: bool = field(default=False, repr=False)  # True if tolerances of a call free some errors

    _named_axes: ClassVar[tuple[str, ...]] = _AXES  # axes other than those of a named frame

    def __post_init__(self) -> None:
        kind = type(self).__name__
        named(self, "frame", "relative_to")
        if not isinstance(self.axes, str) or not self.axes:
            raise ValueError(f"{kind}: axes: expected {self._axes}, got {self.axes!r}")
        self.settle(self.frame)

    @property
    def _axes(self) -> str:
        return f"{', '.join(map(repr, self._named_axes))} or a frame's name"

    @property
    def references(self) -> References:
        return References(frames=(self.frame, self.relative_to))

    @property
    def _depends_on(self) -> References:
        references = self.references
        axes = () if self.axes in self._named_axes else (self.axes,)
        return replace(references, frames=(*references.frames, *axes))

    @property
    def between(self) -> tuple[str, str]:
        return self.frame, self.relative_to

    def checked(self, robot: Any) -> Iterable[str]:
        if self.axes not in self._named_axes:
            try:
                robot.frame(self.axes)
            except UnknownNameError as error:
                yield f"axes: expected {self._axes}: {error}"

    @property
    def exact(self) -> bool:
        return self.axes != "frame" or self._needs_exact_jacobian

    @property
    def _needs_exact_jacobian(self) -> bool:
        """True if errors may stay nonzero, or if weights differ between axes."""
        if self.free or any(map(math.isinf, self.tolerances)):
            return True
        return len(set(zip(self.row_units, self.weights, strict=True))) > len(set(self.row_units))

    def freed(self) -> Self:
        return self if self._needs_exact_jacobian else replace(self, free=True)

    def rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self._at(state, target, "yes" if self.exact else "no")

    def exact_jacobian(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        return self._at(state, target, "yes")

    def curved_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute errors and a Jacobian whose derivatives are the second derivatives of the errors.

        ``state`` and ``target`` are arguments of `errors`.  With equal weights, the rows of the rotation are the
        Jacobian of the angular velocity, which is accurate enough for small angles.
        """
        return self._at(state, target, "yes" if self._needs_exact_jacobian else "way")

    @abstractmethod
    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows: ...

    @property
    def moved(self) -> Task | None:
        return None

    def rates(self, states: Sequence[TaskKinematics], steps: Sequence[Any], target: Scalars) -> list[Any]:
        """Return finite differences in time of the position and rotation of B relative to A, from several states.

        ``states`` are in order from the newest, with ``steps`` [s] between them; n + 1 states give the n-th time
        derivative. For rotations it is the (n − 1)-th derivative of the angular velocity. The result does not depend on
        the target. It is in A's axes, unless the task names axes other than B's own.
        """
        R, result = self._axes_of(states[0], target), []
        for vectors in self._motion_vectors(states, steps):
            rate = Vec3(*time_differences(vectors, steps))
            result += [*(rate if R is None else R @ rate)]
        return result

    def _motion_vectors(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        """Return the vectors whose time differences are the `rates`: a sequence each for rotation and position.

        For the rotation they are angular velocities between states, so one fewer than states.
        """
        raise NotImplementedError

    def _turning(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[Vec3]:
        """Return the angular velocities between consecutive states, in A's axes."""
        R = [k.between(self.frame, self.relative_to).pose.rotation for k in states]
        rotation_vectors = [before @ Quaternion.of(before.T @ now).log() for now, before in pairwise(R)]
        return [Vec3(*(x / step for x in phi)) for phi, step in zip(rotation_vectors, steps, strict=True)]

    def _positions(self, states: Sequence[TaskKinematics]) -> list[Vec3]:
        """Return the positions of B's origin, or of a point, in A."""
        frame, r = states[0].locate(self.frame)
        return [k.between(frame, self.relative_to).pose.point(r) for k in states]

    def _axes_of(self, state: TaskKinematics, target: Scalars) -> Rotation | None:
        """Return the rotation from A's axes to the axes of the task's rates; None if these are A's axes."""
        if self.axes in ("frame", "reference", self.relative_to):
            return None
        if self.axes == "target":
            return self._target_axes(target).T
        return state.between(self.relative_to, self.axes).pose.rotation

    def _target_axes(self, target: Scalars) -> Rotation:
        raise NotImplementedError

    def _rotation_error(self, state: TaskKinematics, R_T: Rotation, exact: Exact) -> tuple[list[Any], list[Vec3]]:
        """Return the rotation vector from the target's orientation R_T to that of B, and its Jacobian columns."""
        between = state.between(self.frame, self.relative_to)
        phi = Quaternion.of(R_T.T @ between.pose.rotation).log()  # identical in T's and in B's axes
        rates = [C.angular for C in between.columns]
        if exact == "yes":
            rates = _column_rates(between.columns, lambda C: twist_of_translation(-phi, C.angular))
        if self.axes in ("frame", "target"):
            return [*phi], rates
        return self._in_task_axes(state, R_T @ phi, [R_T @ w for w in rates])

    def _translation_error(
        self, state: TaskKinematics, p_T: Vec3, R_T: Rotation | None, exact: Exact
    ) -> tuple[list[Any], list[Vec3]]:
        """Return the vector from the target's position p_T to B's origin, or to a point, and its Jacobian columns."""
        frame, r = state.locate(self.frame)
        between = state.between(frame, self.relative_to)
        R, columns, at_origin = between.pose.rotation, between.columns, _is_zero(r)
        translation = between.pose.translation - p_T if at_origin else between.pose.point(r) - p_T
        rates = (
            [C.linear for C in columns]
            if at_origin
            else _column_rates(columns, lambda C: C.linear + C.angular.cross(r))
        )
        if self.axes == "frame":
            e = R.inv_act(translation)
            if exact == "no":
                return [*e], rates
            return [*e], [v - C.angular.cross(e) if moves(C) else v for C, v in zip(columns, rates, strict=True)]
        rates = [R @ v if moves(C) else v for C, v in zip(columns, rates, strict=True)]
        if self.axes == "target" and R_T is not None:
            return [*R_T.inv_act(translation)], [
                R_T.inv_act(v) if moves(C) else v for C, v in zip(columns, rates, strict=True)
            ]
        return self._in_task_axes(state, translation, rates)

    def _in_task_axes(self, state: TaskKinematics, e: Vec3, rates: list[Vec3]) -> tuple[list[Any], list[Vec3]]:
        """Transform an error vector and its Jacobian columns from A's axes to the axes of the task's errors.

        ``e`` is the error and ``rates`` are the columns.
        """
        if self.axes in ("reference", self.relative_to):
            return [*e], rates
        between = state.between(self.relative_to, self.axes)
        R = between.pose.rotation
        return [*(R @ e)], [
            R @ (rate + C.angular.cross(e)) if moves(C) else R @ rate
            for C, rate in zip(between.columns, rates, strict=True)
        ]


def _turning(phi: Vec3, w: Vec3, ahead: Vec3, gains: tuple[float, float]) -> Vec3:
    """Return the angular acceleration ω̇ for which the rotation vector φ obeys φ̈ + k_d φ̇ + k_p φ = 0.

    ``w`` is the angular velocity relative to the target, in the frame's own axes, with φ̇ = V(−φ)⁻¹ w.  ``ahead`` is
    the target's angular acceleration, and ``gains`` are (k_p, k_d).
    """
    rate = twist_of_translation(-phi, w)
    moving = seeded([*phi], [SparseTangent({0: x}) for x in rate])
    bent = [parts(x, moving[0].level)[1] for x in twist_of_translation(-Vec3.of(moving), w)]
    drift = Vec3.of([x.get(0) if isinstance(x, SparseTangent) else 0.0 for x in bent])
    return ahead + translation_of_twist(-phi, -(rate * gains[1]) - phi * gains[0] - drift)


def _is_zero(r: Vec3) -> bool:
    return all(x.__class__ is float and x == 0.0 for x in r)


def _column_rates(columns: list[Motion], rate: Callable[[Motion], Vec3]) -> list[Vec3]:
    return [rate(C) if moves(C) else C.linear for C in columns]


def moves(C: Motion) -> bool:
    """Return True unless all elements of a Jacobian column are the constant 0."""
    return not all(x.__class__ is float and x == 0.0 for x in C.elements())


def _split_twist(twist: Scalars) -> tuple[Vec3, Vec3]:
    """Split a twist into its angular and linear parts."""
    return Vec3.of(twist[:3]), Vec3.of(twist[3:6])


def _rows(*columns: list[Vec3]) -> list[list[Any]]:
    return [[getattr(column, axis) for column in part] for part in columns for axis in _XYZ]


@public_constructor
@dataclass(frozen=True)
class PoseTask(_FrameTask):
    """Task: a frame has a pose X_AT (4, 4) relative to another.

    Errors are (rotation vector; position) [rad, m].  ``position_tolerance`` [m] and ``orientation_tolerance`` [rad] are
    numbers, or one each for x, y and z, infinite for a free coordinate.  Alternatively, ``tolerance`` specifies all six
    errors, rotation first.

    A is ``relative_to``, by default the world.  ``axes`` names the frame in whose axes errors are.  ``weight``,
    ``level``, ``tolerance``, ``target`` and ``name`` are those of every `Task`.
    """

    _: KW_ONLY
    position_tolerance: Any = None
    orientation_tolerance: Any = None

    def __post_init__(self) -> None:
        position, orientation = self.position_tolerance, self.orientation_tolerance
        if position is not None or orientation is not None:
            if not np.array_equal(self.tolerance, TOLERANCE):
                raise ValueError(
                    "PoseTask: tolerance: expected tolerance= (six values), or position_tolerance= and "
                    f"orientation_tolerance=, got both: {self.tolerance!r}"
                )
            tolerances = (TOLERANCE if tolerance is None else tolerance for tolerance in (position, orientation))
            object.__setattr__(self, "tolerance", pose_tolerance("PoseTask", *tolerances))
            object.__setattr__(self, "position_tolerance", None)
            object.__setattr__(self, "orientation_tolerance", None)
        super().__post_init__()

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((4, 4), "pose", f"pose of {self.frame!r} in {self.relative_to!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: {kind} {axis}" for kind in ("rotation", "position") for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * 3 + ("m",) * 3

    def _motion_vectors(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        return [self._turning(states, steps), self._positions(states)]

    def _target_axes(self, target: Scalars) -> Rotation:
        return Pose.of_elements(target).rotation

    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        X_T = Pose.of_elements(target)
        rotation, turning = self._rotation_error(state, X_T.rotation, exact)
        translation, moving = self._translation_error(state, X_T.translation, X_T.rotation, exact)
        return TaskRows(rotation + translation, _rows(turning, moving))

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute errors and the Jacobian that feedback controllers use.

        ``state`` and ``target`` are arguments of `errors`.  For errors in the frame's own axes this is the Jacobian of
        the frame's twist, which is cheaper than that of the errors.  It is the exact Jacobian of the errors if some
        errors are free, or if weights differ between axes.
        """
        return self.rows(state, target)

    @property
    def rates_follow_jacobian(self) -> bool:
        return self.exact

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        if self.exact:
            return super().settling(errors, moved, led, ahead, gains)
        (phi, e), (w, v), (angular_lead, linear_lead) = _split_twist(errors), _split_twist(moved), _split_twist(led)
        angular_ahead, linear_ahead = _split_twist(ahead)
        turning = _turning(phi, w - angular_lead, angular_ahead, gains)
        rate = v - linear_lead - w.cross(e)
        moving = linear_ahead + turning.cross(e) + w.cross(rate) - rate * gains[1] - e * gains[0]
        return [*turning, *moving]


@public_constructor
@dataclass(frozen=True)
class PositionTask(_FrameTask):
    """Task: a frame's origin, or a point of the robot, is at a position p (3,) of a frame [m].

    Errors are in the axes of the frame, of ``relative_to``, or of another frame, since a target position has no axes.

    ``relative_to`` is the frame of p, by default the world. ``free`` is set for a call whose tolerances free some
    errors. ``weight``, ``level``, ``tolerance``, ``target`` and ``name`` are those of every `Task`.
    """

    _named_axes: ClassVar[tuple[str, ...]] = ("frame", "reference")

    def __post_init__(self) -> None:
        if self.axes == "target":
            raise ValueError(f"PositionTask: axes: expected {self._axes}, got 'target'; a position has no axes")
        super().__post_init__()

    @property
    def references(self) -> References:
        return References(frames=(self.relative_to,), points=(self.frame,))

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3,), "place", f"position of {self.frame!r} in {self.relative_to!r} [m]")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: position {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("m",) * 3

    @property
    def moved(self) -> Task | None:
        return replace(self, axes="reference") if self.axes in ("frame", "reference", self.relative_to) else None

    def _motion_vectors(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        return [self._positions(states)]

    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        translation, moving = self._translation_error(state, Vec3(*target), None, exact)
        return TaskRows(translation, _rows(moving))


@public_constructor
@dataclass(frozen=True)
class OrientationTask(_FrameTask):
    """Task: a frame has the orientation R_AT (3, 3), at any position; errors are the rotation vector [rad].

    A is ``relative_to``, by default the world. ``axes`` names the frame in whose axes errors are. ``free`` is set for a
    call whose tolerances free some errors. ``weight``, ``level``, ``tolerance``, ``target`` and ``name`` are those of
    every `Task`.
    """

    @property
    def target_of(self) -> TaskTarget:
        return TaskTarget((3, 3), "rotation", f"orientation of {self.frame!r} in {self.relative_to!r}")

    @property
    def component_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}: rotation {axis}" for axis in _XYZ)

    @property
    def row_units(self) -> tuple[str, ...]:
        return ("rad",) * 3

    def _motion_vectors(self, states: Sequence[TaskKinematics], steps: Sequence[Any]) -> list[list[Vec3]]:
        return [self._turning(states, steps)]

    def _target_axes(self, target: Scalars) -> Rotation:
        return Rotation(*(Vec3(*target[3 * i : 3 * i + 3]) for i in range(3)))

    def _at(self, state: TaskKinematics, target: Scalars, exact: Exact) -> TaskRows:
        R_T = self._target_axes(target)
        rotation, turning = self._rotation_error(state, R_T, exact)
        return TaskRows(rotation, _rows(turning))

    def moving_rows(self, state: TaskKinematics, target: Scalars) -> TaskRows:
        """Compute errors and the Jacobian that feedback controllers use.

        ``state`` and ``target`` are arguments of `errors`.  For errors in the frame's own axes this is the Jacobian of
        the frame's angular velocity. It is the exact Jacobian of the errors if some errors are free, if weights differ
        between axes, or if errors are in other axes.
        """
        return self.rows(state, target)

    @property
    def rates_follow_jacobian(self) -> bool:
        return self.exact

    def settling(
        self, errors: Scalars, moved: Scalars, led: Scalars, ahead: Scalars, gains: tuple[float, float]
    ) -> list[Any]:
        if self.exact:
            return super().settling(errors, moved, led, ahead, gains)
        angular_lead = Vec3.of(moved) - Vec3.of(led)
        return [*_turning(Vec3.of(errors), angular_lead, Vec3.of(ahead), gains)]
