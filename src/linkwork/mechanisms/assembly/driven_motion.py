"""Driven motion of a mechanism, or of a batch of variations of it, on one assembly branch: arguments and result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.messages import label
from linkwork._util.pictures import Output, Shown, ghost_count, show
from linkwork._util.result import Result
from linkwork._util.status import WORDS, status_of
from linkwork._util.validation import floats, shown
from linkwork.errors import AssemblyError, SingularInertiaError, Status
from linkwork.joints.base.plain_coordinates import moved_alone
from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.mechanisms.assembly.assembly_search import assemble, check_tolerance
from linkwork.mechanisms.assembly.continuation import SINGULAR_SLACK, Continuation
from linkwork.mechanisms.assembly.driven_output import (
    DrivenOutput,
    driven_rates,
    velocity_names,
)
from linkwork.mechanisms.assembly.result import Assembly, slack_and_sign
from linkwork.mechanisms.assembly.state_inputs import StateInputs, robot_with, varied
from linkwork.mechanisms.assembly.targets import ClosedMechanism, FixedJoints, check_limits, read_joints

__all__ = ["DrivenMotion", "drive"]

_ALLOWED = 1e-6  # largest violated velocity of the constraints, relative to those that the drivers cause
_BESIDE = 1e-2  # [rad, characteristic lengths] distance of a neighbouring configuration


@dataclass(frozen=True, eq=False, init=False)
class DrivenMotion(Shown, DrivenOutput, Result, metaclass=WithForeignNames):
    """Motion of a mechanism whose drivers go through a sequence of values: one configuration for each state.

    A batch (...) of motions has an array with an entry for each of them wherever one motion has one value.  A motion
    that has no first configuration has the status of its `Assembly`.
    """

    q: np.ndarray  # (..., n, nq); NaN for states not reached
    reached: np.ndarray  # (..., n): True for states that were reached
    status: Any  # (...): "solved", or the reason of the end: "turning_point", "singular" or "at_limits"
    slack: np.ndarray  # (..., n): smallest relative singular value of the free columns of G; 0 in singular states
    sign: np.ndarray  # (..., n): sign of the determinant of the free columns of G; 0 if these are not square
    singular: tuple[Any, ...]  # states at or just after which the drivers do not determine it; of a batch (..., state)
    v: np.ndarray  # (..., n, nv): velocities for those of the drivers; NaN where they are not determined
    a: np.ndarray  # (..., n, nv): accelerations for those of the drivers
    last: np.ndarray  # (..., nq): the last configuration of the motion, perhaps between two states
    iterations: Any  # (...): number of steps, including rejected ones
    _drivers: FixedJoints = field(repr=False)
    _mechanism: ClosedMechanism = field(repr=False)
    _inputs: StateInputs = field(repr=False)
    _start: Assembly = field(repr=False)
    _rates: np.ndarray = field(repr=False)  # (2, ..., n, nv): velocities and accelerations of the drivers, 0 elsewhere
    _loads: Mapping[str, Any] = field(default_factory=dict, repr=False)  # of `with_loads`

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        return f"<DrivenMotion: {self._mechanism.robot.name!r}, {', '.join(self._drivers.names)}, {self.message}>"

    def explain(self, index: int | tuple[int, ...] = ()) -> str:
        """Return status and message of motion ``index``, or a summary of a batch, and names of `undetermined_pins`.

        Raises the errors of `Result.explain`.
        """
        text = super().explain(index)
        entry = index if isinstance(index, tuple) else (index,)
        pins = self.undetermined_pins if np.any(np.asarray(self.success)[entry]) else ()
        if not pins:
            return text
        return f"{text}\nThe forces in {', '.join(map(label, pins))} depend on tolerances and stiffness"

    @property
    def success(self) -> Any:
        """True if the mechanism went through all values of its drivers, (...)."""
        solved = np.asarray(self.status) == Status.SOLVED
        return solved if solved.ndim else bool(solved)

    @property
    def robot(self) -> Any:
        """The robot of this mechanism, with its parameters.  Raises ValueError for a batch of parameters."""
        return robot_with(self._mechanism.robot, self._inputs)

    @public
    def show(
        self,
        *,
        frames: str | Sequence[str] | None = None,
        times: ArrayLike | None = None,
        rate: float | None = None,
        ghosts: int | None = None,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the mechanism in the states that were reached, with plots of positions and forces.

        The bar of time is in seconds if times are known, from ``velocity`` of the drivers or by ``times``, as in
        `trajectory`.  Else it counts states, of which ``rate`` are shown a second, 50 by default; ``rate`` also shows a
        timed motion by states.  ``frames`` are names of frames to show as axes, with the paths of their origins, such
        as the coupler curve.  ``ghosts`` is the number of transparent copies along the motion, as in
        `linkwork.motion.Trajectory.show`.  ``meshes`` are folders of mesh files, and ``title`` is the page's title.
        Returns the `linkwork.viewer.View` of a live page, or the path of a file; see `Robot.show` for the other
        arguments and the errors.
        """
        options = {"frames": frames, "times": times, "rate": rate}
        return show(self, output, **options, ghosts=ghost_count(ghosts, output), meshes=meshes, title=title)

    def _sentence(self, index: tuple[int, ...]) -> str:
        if not np.asarray(self._start.success)[index]:
            return self._start._sentence(index)
        name, n, reached = self._mechanism.robot.name, self.q.shape[-2], int(self.reached[index].sum())
        names = ", ".join(self._drivers.names)
        steps = np.asarray(self.iterations)[index]
        text = f"{name!r} followed {names} through {reached} of {n} states, in {steps} steps"
        revolutions = self._revolutions_between_states(index)
        if revolutions > 1.0:
            text += f"; up to {revolutions:.3g} revolutions between two states: angles are in rad"
        if (self.slack[index] < SINGULAR_SLACK).all() and n > 1:
            text += (
                "; the drivers leave motions free, of which the smallest are taken: another assembly, passed as "
                "q_init, may have none (Robot.branches)"
            )
        passed = [str(x[-1] if index else x) for x in self.singular if not index or x[:-1] == index]
        if passed:
            text += f"; passed singular configurations at or before states {', '.join(passed)}"
        status = Status(np.asarray(self.status)[index])
        return text if status is Status.SOLVED else f"{text}; {self._why(status, self.last[index])}"

    def _revolutions_between_states(self, index: tuple[int, ...]) -> float:
        """Return the largest change of an angle of the drivers between two states of one motion [revolutions]."""
        tree, steps = self._mechanism.tree, [0.0]
        for name, values in self._drivers.values.items():
            units = tree.bodies[tree.joint_index(name)].joint.q_units
            angles = np.broadcast_to(values, (*self.q.shape[:-1], len(units)))[index]
            change = np.abs(np.diff(angles, axis=0))[:, [unit == "rad" for unit in units]]
            steps.append(float(np.nan_to_num(change).max(initial=0.0)))
        return max(steps) / (2.0 * np.pi)

    def _why(self, status: Status, last: np.ndarray) -> str:
        tree = self._mechanism.tree
        slices = {name: tree.q_slices[tree.joint_index(name)] for name in self._drivers.names}
        at = ", ".join(f"{name} = {', '.join(f'{x:.6g}' for x in last[part])}" for name, part in slices.items())
        words = {
            Status.TURNING_POINT: f"turning point of the mechanism at {at}: the drivers cannot move farther",
            Status.SINGULAR: f"branches meet at {at}, and the continuation is not determined",
            Status.AT_LIMITS: f"joint limits reached at {at}",
        }
        if status is not Status.AT_LIMITS and not all(constraint.holonomic for constraint in tree.constraints):
            return f"the velocity constraints, such as rolling, do not allow the drivers to move on so at {at}"
        return words[status]


add_foreign_names(DrivenMotion, "mechanisms.DrivenMotion")


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
    plain, (robot, inputs) = robot, varied(robot, caller, time, parameters)
    mechanism = ClosedMechanism(robot, caller)
    tolerance = check_tolerance(caller, tolerance)
    driven = _read_drivers(robot, caller, drivers)
    if position_limits:
        check_limits(mechanism, driven)
    if np.ndim(inputs.arrays.get("time", 0.0)):
        raise ValueError(f"{caller}: time: expected one time [s], got shape {np.shape(time)}")
    first = {name: x[..., 0, :] if x.shape[-1] > 1 else x[..., 0, 0] for name, x in driven.values.items()}
    begun: Assembly = assemble(
        plain, start, first, None, None, position_limits, tolerance, 16, time, check, parameters, caller, ()
    )
    _refuse_imposed_velocities(mechanism, begun.q, inputs)
    shape, at = begun.q.shape[:-1], inputs.flat(begun.q.shape[:-1])
    n = next(iter(driven.values.values())).shape[-2]
    moving = [_read_rates(robot, name, x, driven, (*shape, n)) for name, x in zip(_RATES, rates, strict=True)]
    status = np.asarray(begun.status).astype(WORDS).ravel()
    whole = [np.broadcast_to(x, (*shape, *x.shape[-2:])) for x in driven.values.values()]
    values = np.concatenate(whole, axis=-1).reshape(len(status), n, sum(x.shape[-1] for x in whole))
    motion = Continuation(
        mechanism, driven.names, values, position_limits, tolerance, at, begun.q.reshape(-1, robot.nq), status
    )
    m = len(status)
    q, slack, sign = np.full((m, n, robot.nq), np.nan), np.full((m, n), np.nan), np.zeros((m, n), dtype=int)
    singular = np.zeros((m, n), dtype=bool)
    for i in range(n):
        before = motion.sign.copy()
        if i:
            motion.to(i)
        going = motion.status == Status.SOLVED
        if not going.any():
            break
        q[going, i], slack[going, i], sign[going, i] = motion.q[going], motion.slack[going], motion.sign[going]
        turned = (before * motion.sign < 0) & bool(i)
        singular[:, i] = going & ((motion.slack < SINGULAR_SLACK) | turned | motion.passed)
    each = [x.reshape(m, n, robot.nv) for x in moving]
    determined = slack >= SINGULAR_SLACK
    if _is_at_rest(robot, moving):
        v, a = (np.where(determined[..., None], x, np.nan) for x in each)
    else:
        v, a = driven_rates(robot, velocity_names(robot, driven.names), q, determined, each, at.of_all(1).options)
    loose = np.asarray((slack < SINGULAR_SLACK).all(axis=-1))  # in all states: no singular configurations
    if n == 1 and loose.any():  # nor beside the only state
        general = _BESIDE * np.array(unit_steps(robot.tree)) * np.cos(np.arange(1.0, robot.nv + 1.0) ** 2)
        beside = robot.integrate(np.where(loose[:, None, None], q, robot.neutral()), general)
        beside = robot.project_configuration(beside, **at.of_all(1).options)[0][:, 0]
        loose &= slack_and_sign(mechanism.velocity_block(beside, driven.names, at))[0] < SINGULAR_SLACK
    singular[loose] = False
    if loose.any():
        assembled = np.where(loose[:, None, None], q, robot.neutral())
        least_rates = _rates_with_free_motions(robot, driven.names, assembled, each, at.of_all(1).options)
        v[loose], a[loose] = (x[loose] for x in least_rates)
    result = DrivenMotion._make(
        q=q.reshape(*shape, n, robot.nq),
        reached=np.isfinite(q).all(axis=-1).reshape(*shape, n),
        status=status_of(motion.status.reshape(shape)),
        slack=slack.reshape(*shape, n),
        sign=sign.reshape(*shape, n),
        singular=tuple(
            index if shape else index[0] for index in map(tuple, np.argwhere(singular.reshape(*shape, n)).tolist())
        ),
        v=v.reshape(*shape, n, robot.nv),
        a=a.reshape(*shape, n, robot.nv),
        last=motion.q.reshape(*shape, robot.nq),
        iterations=motion.steps.reshape(shape) if shape else int(motion.steps[0]),
        _drivers=driven,
        _mechanism=mechanism,
        _inputs=inputs,
        _start=begun,
        _rates=np.stack(moving),
    )
    if check and not shape and not result.success:
        raise AssemblyError(f"{caller}: {result.explain()}", result)
    return result


def _refuse_imposed_velocities(mechanism: ClosedMechanism, q: np.ndarray, inputs: StateInputs) -> None:
    """Raise ValueError for velocity constraints that impose motion by themselves, at any positions of the drivers."""
    if not mechanism.rolls:
        return
    owners = [constraint for constraint in mechanism.tree.constraints for _ in constraint.component_names]
    drift = np.abs(mechanism.robot.constraint_drift(q, **inputs.options)).reshape(-1, len(owners))
    for constraint, row in zip(owners, drift.T, strict=True):
        if not constraint.holonomic and (row > 0.0).any():
            raise ValueError(
                f"{mechanism.caller}: constraint {constraint.name!r} imposes a velocity at any positions of the "
                f"drivers; use robot.simulate, or robot.without_constraints({constraint.name!r})"
            )


def _is_at_rest(robot: Any, rates: Sequence[np.ndarray]) -> bool:
    """Return True if all joints are at rest when the drivers have these velocities and accelerations."""
    holonomic = all(constraint.holonomic and not constraint.time_dependent for constraint in robot.constraints)
    return holonomic and not any(x.any() for x in rates)


_RATES = ("velocity", "acceleration")


def _read_rates(robot: Any, name: str, values: Any, driven: FixedJoints, shape: tuple[int, ...]) -> np.ndarray:
    """Return the drivers' velocities or accelerations in all states, (*shape, nv), 0 by default.

    Raises TypeError, UnknownNameError for unknown joints, and ValueError for wrong shapes and for joints that are not
    drivers.
    """
    result = np.zeros((*shape, robot.nv))
    if values is not None and not isinstance(values, Mapping):
        raise TypeError(f'drive_mechanism: {name}: expected a dict by joint, as in {{"crank": 2.0}}, got {values!r}')
    for joint, value in (values or {}).items():
        columns = robot.tree.v_slices[robot.tree.joint_index(joint)]
        if joint not in driven.names:
            raise ValueError(
                f"drive_mechanism: {name}: joint {joint!r} is not one of the drivers: {', '.join(driven.names)}"
            )
        count = columns.stop - columns.start
        try:
            x = floats(value)
            x = x[..., np.newaxis] if count == 1 and x.shape[-2:] != (shape[-1], 1) else x
            result[..., columns] = np.broadcast_to(x, (*shape, count))
            if not np.isfinite(x).all():
                raise ValueError(value)
        except (TypeError, ValueError):
            size = "" if count == 1 else f", {count}"
            expected = f"finite numbers, one for all states or of shape (..., {shape[-1]}{size})"
            raise ValueError(
                f"drive_mechanism: {name}: joint {joint!r}: expected {expected}, got {shown(value)}"
            ) from None
    return result


def _read_drivers(robot: Any, caller: str, drivers: Any) -> FixedJoints:
    """Return the drivers' values, for each joint an array (..., n, nq of the joint).

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
        if value.ndim < 2 or not value.shape[-2]:
            raise ValueError(
                f"{caller}: drivers: joint {name!r}: expected one value per state, got shape {value.shape[:-1]}"
            )
        sizes[name] = value.shape[-2]
    if len(set(sizes.values())) > 1:
        raise ValueError(f"{caller}: drivers: expected one number of states for all, got {sizes}")
    return driven


def _rates_with_free_motions(
    robot: Any, joints: Sequence[str], q: np.ndarray, rates: Sequence[np.ndarray], options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and accelerations of all joints (n, nv) of a mechanism that the named joints leave movable.

    Velocities are the smallest ones, in rad/s and characteristic lengths per second. Accelerations are those without
    motors for the free motions, NaN if links of these have no mass. Both are NaN in states that do not allow the
    velocities of the joints.
    """
    named = [list(robot.v_names).index(name) for name in velocity_names(robot, joints)]
    undriven, units = np.setdiff1d(np.arange(robot.nv), named), np.array(unit_steps(robot.tree))
    G, drift = robot.constraint_jacobian(q, **options), robot.constraint_drift(q, **options)
    A = G[..., undriven] * units[undriven]
    missing = -(np.einsum("...ij,...j", G[..., named], rates[0][..., named]) + drift)
    least = np.einsum("...ij,...j", np.linalg.pinv(A, rcond=SINGULAR_SLACK), missing)
    v = rates[0].copy()
    v[..., undriven] = least * units[undriven]
    left = np.abs(np.einsum("...ij,...j", A, least) - missing).max(axis=-1)
    fits = left <= _ALLOWED * np.abs(missing).max(axis=-1)
    try:
        a = robot.hybrid_dynamics(q, v, rates[1], np.zeros_like(v), joints, passive=True, **options).a
    except SingularInertiaError:
        a = np.full_like(v, np.nan)
    return np.where(fits[..., None], v, np.nan), np.where(fits[..., None], a, np.nan)
