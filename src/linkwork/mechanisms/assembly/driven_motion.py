"""Driven motion of a mechanism by predictor–corrector continuation on one assembly branch.

The predictor follows the derivative of the configuration by the drivers, q ⊕ K δy; the corrector projects onto the
constraints.  A step is accepted if the correction is small relative to the step, and halved otherwise.  The motion ends
at turning points of the drivers and where the mechanism cannot be closed any further.

Source: Allgower and Georg, Introduction to Numerical Continuation Methods, SIAM 2003, chapter 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.result import Result
from linkwork.errors import AssemblyError, Status
from linkwork.joints.base.plain_coordinates import moved_alone
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.assembly.assembly_search import assemble, check_tolerance, run_kernel
from linkwork.mechanisms.assembly.result import Assembly, sign_of, slack_of
from linkwork.mechanisms.assembly.targets import (
    ClosedMechanism,
    FixedJoints,
    check_limits,
    read_joints,
    read_time,
    read_weights,
    timed,
    varied_robot,
)
from linkwork.spatial.arguments import checked_array
from linkwork.viewer.output import Output, check_output, show_document

__all__ = ["DrivenMotion", "drive"]

_MAX_CORRECTION = 0.1  # largest correction of an accepted step, relative to the step
_MAX_STEP = 0.5  # largest component of a step [rad, characteristic lengths]
_MIN_SHARE = 2.0**-24  # smallest step, relative to the distance between two states
_SINGULAR_SLACK = 1e-5  # slack below which K is not determined


@dataclass(frozen=True, eq=False, init=False)
class DrivenMotion(Result):
    """Motion of a mechanism whose drivers go through a sequence of values: one configuration for each state."""

    q: np.ndarray  # (n, nq); NaN for states not reached
    reached: np.ndarray  # (n,): True for states that were reached
    status: Status  # "solved", or the reason of the end: "turning_point", "singular" or "at_limits"
    slack: np.ndarray  # (n,): smallest relative singular value of the free columns of G; 0 in singular states
    sign: np.ndarray  # (n,): sign of the determinant of the free columns of G; 0 if these are not square
    singular: tuple[int, ...]  # states at or just after which the drivers do not determine the mechanism
    v: np.ndarray  # (n, nv): velocities for those of the drivers; NaN where they are not determined
    a: np.ndarray  # (n, nv): accelerations for those of the drivers
    last: np.ndarray  # (nq,): the last configuration of the motion, perhaps between two states
    iterations: int  # number of steps, including rejected ones
    _drivers: FixedJoints = field(repr=False)
    _mechanism: ClosedMechanism = field(repr=False)

    def __str__(self) -> str:
        return self.explain()

    @property
    def success(self) -> bool:
        """True if the mechanism went through all values of its drivers."""
        return self.status is Status.SOLVED

    @public
    def show(
        self,
        *,
        rate: float = 50.0,
        ghosts: int = 0,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the mechanism in the states that were reached, ``rate`` of them a second.

        ``ghosts`` is the number of transparent copies along the motion.  Returns the `linkwork.viewer.View` of a live
        page, or the path of a file; see `Robot.show` for the other arguments and the errors.
        """
        check_output("show", output, self.show)
        document = self._scene_document(rate=rate, ghosts=ghosts, meshes=meshes, title=title)
        return show_document(document, **output)

    def _repr_html_(self) -> str:
        from linkwork.viewer.notebook import result_html

        return result_html(self)

    def _scene_document(self, **options: Any) -> Any:
        from linkwork.mechanisms.assembly.assembly_scene import driven_motion_document

        return driven_motion_document(self, **options)

    def _sentence(self, index: tuple[int, ...]) -> str:
        name, n, reached = self._mechanism.robot.name, len(self.q), int(self.reached.sum())
        names = ", ".join(self._drivers.names)
        text = f"{name!r} followed {names} through {reached} of {n} states, in {self.iterations} steps"
        if self.singular:
            text += f"; passed singular configurations at or before states {', '.join(map(str, self.singular))}"
        return text if self.success else f"{text}; {self._why()}"

    def _why(self) -> str:
        tree = self._mechanism.tree
        slices = {name: tree.q_slices[tree.joint_index(name)] for name in self._drivers.names}
        at = ", ".join(f"{name} = {', '.join(f'{x:.6g}' for x in self.last[part])}" for name, part in slices.items())
        words = {
            Status.TURNING_POINT: f"turning point of the mechanism at {at}: the drivers cannot move farther",
            Status.SINGULAR: f"branches meet at {at}, and the continuation is not determined",
            Status.AT_LIMITS: f"joint limits reached at {at}",
        }
        return words[self.status]


def drive(
    robot: Any,
    drivers: Any,
    start: Any,
    position_limits: bool,
    tolerance: float,
    time: Any,
    check: bool,
    rates: tuple[Any, Any] = (None, None),
    parameters: Any = None,
) -> DrivenMotion:
    """Return the driven motion of a mechanism; arguments and errors are those of `Robot.drive_mechanism`."""
    caller = "drive_mechanism"
    plain, robot = robot, varied_robot(robot, caller, parameters)
    mechanism = ClosedMechanism(robot, caller)
    tolerance = check_tolerance(caller, tolerance)
    driven = _read_drivers(robot, caller, drivers)
    n = len(next(iter(driven.values.values())))
    moving = [_read_rates(robot, name, values, driven, n) for name, values in zip(_RATES, rates, strict=True)]
    if position_limits:
        check_limits(mechanism, driven)
    when = read_time(caller, time)
    if when is not None and when.shape:
        raise ValueError(f"{caller}: time: expected one time [s], got shape {when.shape}")
    at_rest = _is_at_rest(robot, moving)
    first = {name: value[0] if value.shape[-1] > 1 else value[0, 0] for name, value in driven.values.items()}
    begun: Assembly = assemble(
        plain, start, first, None, None, position_limits, tolerance, 16, when, True, parameters, caller
    )
    motion = _Continuation(mechanism, driven, position_limits, tolerance, when, np.array(begun.q))
    q, slack, sign = np.full((n, robot.nq), np.nan), np.full(n, np.nan), np.zeros(n, dtype=int)
    status, singular = Status.SOLVED, []
    for i in range(n):
        before = motion.sign, motion.slack
        status = motion.to(i) if i else Status.SOLVED
        if status is not Status.SOLVED:
            break
        q[i], slack[i], sign[i] = motion.q, motion.slack, motion.sign
        if motion.slack < _SINGULAR_SLACK or (i and before[0] * motion.sign < 0) or motion.passed:
            singular.append(i)
    reached = np.asarray(np.isfinite(q).all(axis=-1))
    determined = reached & (slack >= _SINGULAR_SLACK)
    v, a = (
        np.where(determined[:, None], moving, np.nan)
        if at_rest
        else _motions(robot, driven, q, determined, moving[0], moving[1], when)
    )
    passed, last = tuple(singular), np.array(motion.q)
    result = DrivenMotion._make(q, reached, status, slack, sign, passed, v, a, last, motion.steps, driven, mechanism)
    if check and not result.success:
        raise AssemblyError(f"{caller}: {result.explain()}", result)
    return result


def _is_at_rest(robot: Any, rates: Sequence[np.ndarray]) -> bool:
    """Return True if all joints are at rest when the drivers have these velocities and accelerations."""
    holonomic = all(one.holonomic and not one.time_dependent for one in robot.constraints)
    return holonomic and not any(x.any() for x in rates)


def _velocity_names(robot: Any, joints: Sequence[str]) -> list[str]:
    """Return the names of the joints' coordinates of v."""
    slices = [robot.tree.v_slices[robot.tree.joint_index(name)] for name in joints]
    return [robot.v_names[k] for part in slices for k in range(part.start, part.stop)]


_RATES = ("velocity", "acceleration")


def _read_rates(robot: Any, name: str, values: Any, driven: FixedJoints, n: int) -> np.ndarray:
    """Return the drivers' velocities or accelerations in all states, (n, nv), 0 by default.

    Raises TypeError, UnknownNameError for unknown joints, and ValueError for wrong shapes and for joints that are not
    drivers.
    """
    result = np.zeros((n, robot.nv))
    if values is not None and not isinstance(values, Mapping):
        raise TypeError(f'drive_mechanism: {name}: expected a dict by joint, as in {{"crank": 2.0}}, got {values!r}')
    for joint, value in (values or {}).items():
        columns = robot.tree.v_slices[robot.tree.joint_index(joint)]
        if joint not in driven.names:
            raise ValueError(
                f"drive_mechanism: {name}: joint {joint!r} is not one of the drivers: {', '.join(driven.names)}"
            )
        count = columns.stop - columns.start
        shapes = ((), (n,), (n, 1)) if count == 1 else ((count,), (n, count))
        expected = f"drive_mechanism: {name}: joint {joint!r}: expected numbers of one of the shapes {shapes}"
        result[:, columns] = checked_array(value, expected, *shapes).reshape((-1, count))
    return result


def _motions(
    robot: Any, driven: FixedJoints, q: np.ndarray, determined: np.ndarray, v: np.ndarray, a: np.ndarray, time: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and accelerations of all joints (n, nv), NaN in states where drivers do not determine them."""
    result = np.full((2, len(q), robot.nv), np.nan)
    if determined.any():
        names = _velocity_names(robot, driven.names)
        result[0][determined] = robot.explicit_velocity(q[determined], v[determined], names, **timed(time))
        result[1][determined] = robot.explicit_acceleration(
            q[determined], result[0][determined], a[determined], names, **timed(time)
        )
    return result[0], result[1]


class _Continuation:
    """Continuation of an assembled configuration along the driver values, by predicted and corrected steps."""

    def __init__(
        self, mechanism: ClosedMechanism, driven: FixedJoints, limits: bool, tolerance: float, time: Any, q: np.ndarray
    ) -> None:
        self.mechanism, self.driven, self.limits, self.tolerance, self.time = mechanism, driven, limits, tolerance, time
        self.robot, self.steps, self.passed = mechanism.robot, 0, False
        self.fixed = FixedJoints(driven.names, {})
        self.weights = read_weights(self.robot, mechanism.caller)
        self.units = np.array(unit_steps(self.robot.tree))
        self.rate: np.ndarray | None = None  # last accepted step, per share of the distance between states
        tree = self.robot.tree
        self.coordinates = [n for name in driven.names for n in range(tree.nq)[tree.q_slices[tree.joint_index(name)]]]
        self.columns = [k for name in driven.names for k in range(tree.nv)[tree.v_slices[tree.joint_index(name)]]]
        self.values = np.concatenate([driven.values[name] for name in driven.names], axis=-1)
        self.q, (self.slack, self.sign) = q, self._regular(q)

    def _regular(self, q: np.ndarray) -> tuple[float, int]:
        block = self.mechanism.dependent_block(q, self.driven.names, self.time)
        return float(slack_of(block)), int(sign_of(block))

    def to(self, i: int) -> Status:
        """Move the configuration from state i − 1 to state i; return SOLVED, or the status of the failure."""
        begin, change = self.values[i - 1], self.values[i] - self.values[i - 1]
        share, length, self.passed = 0.0, 1.0, False
        while share < 1.0:
            length = min(length, 1.0 - share)
            after = share + length if share + length < 1.0 - 1e-12 else 1.0
            target = self.values[i] if after == 1.0 else begin + after * change
            failed = self._step(target, length)
            if failed is None:
                share, length = after, 2.0 * length
            else:
                length *= 0.5
                if length < _MIN_SHARE:
                    return failed
        return Status.SOLVED

    def _step(self, target: np.ndarray, length: float) -> Status | None:
        """Try one step to driver values ``target``; return None if it is accepted, or the reason of the rejection."""
        self.steps += 1
        robot = self.robot
        moved = target - self.q[self.coordinates]
        K = robot.assembly_derivatives(self.q, hold=self.driven.names, **timed(self.time))[:, self.columns]
        delta = K @ moved
        if self.slack < _SINGULAR_SLACK and self.rate is not None:  # continue in the previous direction
            delta = self.rate * length
            delta[self.columns] = moved
        blocked = Status.TURNING_POINT if self.slack < 1e-2 else Status.SINGULAR
        size = float(np.abs(delta / self.units).max(initial=0.0))
        if size > _MAX_STEP:
            return blocked
        predicted = robot.integrate(self.q, delta)
        predicted[self.coordinates] = target
        result = run_kernel(self.mechanism, predicted, predicted, self.weights, self.fixed, False, self.time)
        if not self.mechanism.open_by(result.error) <= self.tolerance:
            return blocked
        correction = float(np.abs(robot.difference(predicted, result.q) / self.units).max(initial=0.0))
        if correction > _MAX_CORRECTION * size + 1e-12:
            return blocked
        if self.limits and self.mechanism.beyond(result.q).any():
            return Status.AT_LIMITS
        slack, sign = self._regular(result.q)
        if self.sign * sign < 0:  # beyond a singular configuration: continue only straight on
            rate = (
                robot.assembly_derivatives(result.q, hold=self.driven.names, **timed(self.time))[:, self.columns]
                @ moved
            )
            if np.abs((rate - delta) / self.units).max() > 0.3 * size:
                return Status.SINGULAR
            self.passed = True
        self.rate = robot.difference(self.q, result.q) / length
        self.q, self.slack, self.sign = result.q, slack, sign
        return None


def _read_drivers(robot: Any, caller: str, drivers: Any) -> FixedJoints:
    """Return the drivers' values, for each joint an array (n, nq of the joint).

    Raises the errors of `read_joints`, and ValueError for no drivers, different lengths and joints whose coordinates
    cannot be interpolated.
    """
    driven = read_joints(robot, caller, "drivers", drivers)
    if not driven.names:
        raise ValueError(f'{caller}: drivers: expected a dict by joint, as in {{"crank": angles}}, got {drivers!r}')
    sizes = {}
    for name, value in driven.values.items():
        joint = robot.tree.bodies[robot.tree.joint_index(name)].joint
        if joint.nq != joint.nv or None in moved_alone(joint):
            raise ValueError(
                f"{caller}: drivers: joint {name!r} ({joint.type_name()}) has no coordinates that can be interpolated "
                f"linearly: drive joints whose coordinates are angles or lengths"
            )
        if value.ndim != 2 or not len(value):
            raise ValueError(
                f"{caller}: drivers: joint {name!r}: expected one value per state, got shape {value.shape[:-1]}"
            )
        sizes[name] = len(value)
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{caller}: drivers: different numbers of states: {sizes}")
    return driven
