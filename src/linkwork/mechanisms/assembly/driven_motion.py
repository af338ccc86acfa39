"""A mechanism that follows its drivers from state to state, without leaving its branch.

A step goes along the map from drivers to all, q ⊕ K δy, and back to where the constraints hold.  It is taken if the way
back is short beside the step, and halved if it is not.  Where the mechanism does not go on, since its drivers turn back
or it cannot be closed any further, that is where it ends.

Source: Allgower and Georg, Introduction to Numerical Continuation Methods, SIAM 2003, chapter 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linkwork._util.result import Result
from linkwork.errors import AssemblyError, Status
from linkwork.joints import JointType
from linkwork.mechanisms.assembly.assembly_search import assembled, check_tolerance, solved
from linkwork.mechanisms.assembly.result import Assembly, sign_of, slack_of
from linkwork.mechanisms.assembly.targets import (
    ClosedMechanism,
    HeldJoints,
    check_limits,
    read_joints,
    read_time,
    timed,
    varied_robot,
)
from linkwork.spatial.arguments import checked_array

__all__ = ["DrivenMotion", "followed"]

_BACK = 0.1  # the way back, beside a step, up to which a step is taken
_LONGEST = 0.5  # a step's largest number [rad, m]
_LEAST = 2.0**-24  # a step's part of the way from state to state
_SINGULAR = 1e-5  # slack below which K says nothing


@dataclass(frozen=True, eq=False, init=False)
class DrivenMotion(Result):
    """The configurations of a mechanism whose drivers went through given values."""

    q: np.ndarray  # (n, nq); NaN where it did not get
    reached: np.ndarray  # (n,): whether it got there
    status: Status  # "solved", or why it went no further: "turning_point", "singular" or "at_limits"
    slack: np.ndarray  # (n,): how far the drivers are from not determining all, from 1 to 0
    sign: np.ndarray  # (n,): of the determinant of the free columns of G; 0 where these are not square
    singular: tuple[int, ...]  # states before which, or at which, it passed where drivers do not determine all
    v: np.ndarray  # (n, nv): velocities, by those of the drivers; NaN where these do not determine them
    a: np.ndarray  # (n, nv): accelerations, by those of the drivers
    last: np.ndarray  # (nq,): the last configuration that it got to, between states too
    iterations: int  # steps that were taken or tried
    _drivers: HeldJoints = field(repr=False)
    _mechanism: ClosedMechanism = field(repr=False)

    def __str__(self) -> str:
        return self.explain()

    @property
    def success(self) -> bool:
        """True if the mechanism went through all states."""
        return self.status is Status.SOLVED

    def _sentence(self, place: tuple[int, ...]) -> str:
        name, n, reached = self._mechanism.robot.name, len(self.q), int(self.reached.sum())
        names = ", ".join(self._drivers.names)
        said = f"{name!r} followed {names} through {reached} of {n} states, in {self.iterations} steps"
        if self.singular:
            said += f"; past singular positions at or before states {', '.join(map(str, self.singular))}"
        return said if self.success else f"{said}; {self._why()}"

    def _why(self) -> str:
        tree = self._mechanism.tree
        places = {name: tree.q_slices[tree.joint_index(name)] for name in self._drivers.names}
        at = ", ".join(f"{name} = {', '.join(f'{x:.6g}' for x in self.last[place])}" for name, place in places.items())
        words = {
            Status.TURNING_POINT: f"a turning point of the mechanism is at {at}: the drivers cannot go on",
            Status.SINGULAR: f"branches meet at {at}, and which one goes on is not determined",
            Status.AT_LIMITS: f"limits of joints are met at {at}",
        }
        return words[self.status]


def followed(
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
    """Raises as `Robot.drive_mechanism` does."""
    caller = "drive_mechanism"
    plain, robot = robot, varied_robot(robot, caller, parameters)
    mechanism = ClosedMechanism(robot, caller)
    tolerance = check_tolerance(caller, tolerance)
    driven = _read_drivers(robot, caller, drivers)
    n = len(next(iter(driven.values.values())))
    moving = [_read_rates(robot, name, given, driven, n) for name, given in zip(_RATES, rates, strict=True)]
    if position_limits:
        check_limits(mechanism, driven)
    when = read_time(caller, time)
    if when is not None and when.shape:
        raise ValueError(f"{caller}: time: expected one time [s], got shape {when.shape}")
    first = {name: value[0] if value.shape[-1] > 1 else value[0, 0] for name, value in driven.values.items()}
    begun: Assembly = assembled(
        plain, start, first, None, None, position_limits, tolerance, 16, when, True, parameters, caller
    )
    way = _Way(mechanism, driven, position_limits, tolerance, when, np.array(begun.q))
    q, slack, sign = np.full((n, robot.nq), np.nan), np.full(n, np.nan), np.zeros(n, dtype=int)
    status, singular = Status.SOLVED, []
    for i in range(n):
        before = way.sign, way.slack
        status = way.to(i) if i else Status.SOLVED
        if status is not Status.SOLVED:
            break
        q[i], slack[i], sign[i] = way.q, way.slack, way.sign
        if way.slack < _SINGULAR or (i and before[0] * way.sign < 0) or way.passed:
            singular.append(i)
    reached = np.asarray(np.isfinite(q).all(axis=-1))
    v, a = _motions(robot, driven, q, reached & (slack >= _SINGULAR), moving[0], moving[1], when)
    passed, last = tuple(singular), np.array(way.q)
    result = DrivenMotion._make(q, reached, status, slack, sign, passed, v, a, last, way.steps, driven, mechanism)
    if check and not result.success:
        raise AssemblyError(f"{caller}: {result.explain()}", result)
    return result


_RATES = ("velocity", "acceleration")


def _read_rates(robot: Any, what: str, given: Any, driven: HeldJoints, n: int) -> np.ndarray:
    """Return the drivers' velocities or accelerations in all states, (n, nv), 0 where none are given.

    Raises TypeError and ValueError for what are none, UnknownNameError, and ValueError for a joint that is no driver.
    """
    result = np.zeros((n, robot.nv))
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f'drive_mechanism: {what}: expected a dict by joint, as in {{"crank": 2.0}}, got {given!r}')
    for name, value in (given or {}).items():
        place = robot.tree.v_slices[robot.tree.joint_index(name)]
        if name not in driven.names:
            raise ValueError(
                f"drive_mechanism: {what}: joint {name!r} is none of the drivers: {', '.join(driven.names)}"
            )
        count = place.stop - place.start
        shapes = ((), (n,), (n, 1)) if count == 1 else ((count,), (n, count))
        expected = f"drive_mechanism: {what}: joint {name!r}: expected numbers of one of the shapes {shapes}"
        result[:, place] = checked_array(value, expected, *shapes).reshape((-1, count))
    return result


def _motions(
    robot: Any, driven: HeldJoints, q: np.ndarray, told: np.ndarray, v: np.ndarray, a: np.ndarray, time: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and accelerations of all joints (n, nv), NaN in states where drivers do not determine them."""
    result = np.full((2, len(q), robot.nv), np.nan)
    if told.any():
        places = [robot.tree.v_slices[robot.tree.joint_index(name)] for name in driven.names]
        names = [robot.v_names[k] for place in places for k in range(place.start, place.stop)]
        result[0][told] = robot.explicit_velocity(q[told], v[told], names, **timed(time))
        result[1][told] = robot.explicit_acceleration(q[told], result[0][told], a[told], names, **timed(time))
    return result[0], result[1]


class _Way:
    """Where a mechanism is on its way."""

    def __init__(
        self, mechanism: ClosedMechanism, driven: HeldJoints, limits: bool, tolerance: float, time: Any, q: np.ndarray
    ) -> None:
        self.mechanism, self.driven, self.limits, self.tolerance, self.time = mechanism, driven, limits, tolerance, time
        self.robot, self.steps, self.passed = mechanism.robot, 0, False
        self.still = HeldJoints(driven.names, {})
        self.weights = np.ones(self.robot.nv)
        self.rate: np.ndarray | None = None  # of all, by the part of the way, in the last step that was taken
        tree = self.robot.tree
        self.numbers = [n for name in driven.names for n in range(tree.nq)[tree.q_slices[tree.joint_index(name)]]]
        self.places = [k for name in driven.names for k in range(tree.nv)[tree.v_slices[tree.joint_index(name)]]]
        self.values = np.concatenate([driven.values[name] for name in driven.names], axis=-1)
        self.q, (self.slack, self.sign) = q, self._regular(q)

    def _regular(self, q: np.ndarray) -> tuple[float, int]:
        block = self.mechanism.dependent_block(q, self.driven.names, self.time)
        return float(slack_of(block)), int(sign_of(block))

    def to(self, i: int) -> Status:
        """Go on to a state: SOLVED, or why not."""
        begin, change = self.values[i - 1], self.values[i] - self.values[i - 1]
        part, length, self.passed = 0.0, 1.0, False
        while part < 1.0:
            length = min(length, 1.0 - part)
            after = part + length if part + length < 1.0 - 1e-12 else 1.0
            target = self.values[i] if after == 1.0 else begin + after * change
            failed = self._step(target, length)
            if failed is None:
                part, length = after, 2.0 * length
            else:
                length *= 0.5
                if length < _LEAST:
                    return failed
        return Status.SOLVED

    def _step(self, target: np.ndarray, length: float) -> Status | None:
        """Go one step to where the drivers have these values: None where it is taken, or what is in the way."""
        self.steps += 1
        robot = self.robot
        moved = target - self.q[self.numbers]
        K = robot.assembly_derivatives(self.q, held=self.driven.names, **timed(self.time))[:, self.places]
        delta = K @ moved
        if self.slack < _SINGULAR and self.rate is not None:  # go on as it went
            delta = self.rate * length
            delta[self.places] = moved
        blocked = Status.TURNING_POINT if self.slack < 1e-2 else Status.SINGULAR
        size = float(np.abs(delta).max(initial=0.0))
        if size > _LONGEST:
            return blocked
        predicted = robot.integrate(self.q, delta)
        predicted[self.numbers] = target
        result = solved(self.mechanism, predicted, predicted, self.weights, self.still, False, self.time)
        if not np.abs(result.error).max(initial=0.0) <= self.tolerance:
            return blocked
        back = float(np.abs(robot.difference(predicted, result.q)).max(initial=0.0))
        if back > _BACK * size + 1e-12:
            return blocked
        if self.limits:
            lower, upper = self.mechanism.limits
            if ((result.q < lower - 1e-9) | (result.q > upper + 1e-9)).any():
                return Status.AT_LIMITS
        slack, sign = self._regular(result.q)
        if self.sign * sign < 0:  # past a singular position: only straight on
            rate = (
                robot.assembly_derivatives(result.q, held=self.driven.names, **timed(self.time))[:, self.places] @ moved
            )
            if np.abs(rate - delta).max() > 0.3 * size:
                return Status.SINGULAR
            self.passed = True
        self.rate = robot.difference(self.q, result.q) / length
        self.q, self.slack, self.sign = result.q, slack, sign
        return None


def _read_drivers(robot: Any, caller: str, drivers: Any) -> HeldJoints:
    """Values of drivers, (n, numbers) each.  Raises as `read_joints`, and ValueError for different lengths."""
    driven = read_joints(robot, caller, "drivers", drivers)
    if not driven.names:
        raise ValueError(f'{caller}: drivers: expected a dict by joint, as in {{"crank": angles}}, got {drivers!r}')
    sizes = {}
    for name, value in driven.values.items():
        joint = robot.tree.bodies[robot.tree.joint_index(name)].joint
        if joint.nq != joint.nv or type(joint).integrate is not JointType.integrate:
            raise ValueError(
                f"{caller}: drivers: joint {name!r} ({joint.type_name()}) goes no straight way from "
                f"value to value: drive "
                f"joints whose numbers are angles or lengths"
            )
        if value.ndim != 2 or not len(value):
            raise ValueError(
                f"{caller}: drivers: joint {name!r}: expected a value a state, got shape {value.shape[:-1]}"
            )
        sizes[name] = len(value)
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{caller}: drivers: different numbers of states: {sizes}")
    return driven
