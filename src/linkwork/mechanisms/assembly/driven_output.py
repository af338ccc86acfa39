"""Forces, trajectories, tables and plots of driven motions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.plotting import label_time, lines_by_unit, new_axes, plot_lines, quantity_label
from linkwork._util.validation import finite_array, names, shown
from linkwork.errors import UnderactuatedError
from linkwork.kernels.robot_base import Axes, Wrenches
from linkwork.mechanisms.assembly.continuation import SINGULAR_SLACK
from linkwork.mechanisms.assembly.reactions import (
    ForceLabels,
    Reactions,
    frames_of_wrenches,
    read_wrenches,
    undetermined_pins,
)
from linkwork.mechanisms.assembly.state_inputs import VariedRobot, poses_of, robot_with
from linkwork.model.coordinate_names import AXES, units_of
from linkwork.spatial.arguments import checked_array

if TYPE_CHECKING:
    from linkwork.kinematics.state_tables import StateTable

__all__ = ["DrivenOutput", "driven_rates", "velocity_names"]

_MISSING_TOL = 1e-7  # largest missing force, relative to the acting forces, as in `constrained_inverse_dynamics`
_FIT = 0.02  # deviation of rates of drivers from their positions, relative to the largest step


@public
class DrivenOutput:
    """Methods of `DrivenMotion` for forces, trajectories, tables and plots.

    ``index`` selects a motion of a batch, one integer for each axis.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    slack: np.ndarray
    _drivers: Any
    _mechanism: Any
    _inputs: Any
    _rates: np.ndarray
    _loads: Mapping[str, Any]  # wrenches, expressed_in and gravity of `reactions`

    @property
    def tau(self) -> np.ndarray:
        """Forces of the drivers' motors (..., n, nv) [N·m, N], as in `reactions`; computed at first access."""
        return self._own_reactions.tau

    @public
    def pose(self, frame: str, *, relative_to: str = "world") -> np.ndarray:
        """Return the poses (..., n, 4, 4) of a frame in all states, relative to the frame ``relative_to`` [1, m].

        The robot has the parameters of `drive_mechanism`.  States that were not reached have NaN.  Raises
        UnknownNameError.
        """
        return poses_of(self._mechanism.robot, self._inputs.of_all(1), self.q, frame, relative_to)

    @property
    def pin_forces(self) -> np.ndarray:
        """Sizes of the forces across joints, those of the tree and then those of loops: (..., n, nb + nl) [N]."""
        return self._own_reactions.pin_forces

    @property
    def constraint_forces(self) -> np.ndarray:
        """Forces of constraints other than joints, such as a roller's on a plane: (..., n, k) [N, N·m]."""
        return self._own_reactions.constraint_forces

    @cached_property
    def undetermined_pins(self) -> tuple[str, ...]:
        """Names of joints whose force the loads do not determine, as the mechanism is overconstrained.

        The force in such a pin depends on tolerances and stiffness; `pin_forces` has the smallest forces.  For loops
        that move in a plane, only forces in the plane count.  `determinate_joint_wrenches` has all components.
        """
        known = np.isfinite(self.v).all(axis=-1)
        if not known.any():
            return ()
        at = np.unravel_index(int(np.argmax(np.where(known, self.slack, -1.0))), known.shape)
        inputs = self._inputs_of(tuple(int(k) for k in at[:-1]))
        robot = robot_with(self._mechanism.robot, inputs)
        return undetermined_pins(robot, self.q[at], float(inputs.options.get("time", 0.0)))

    def with_loads(
        self, *, wrenches: Wrenches | None = None, expressed_in: Axes = "world", gravity: ArrayLike | None = None
    ) -> Self:
        """Return this motion under loads, which count in `tau`, `pin_forces`, `reactions`, plots, tables and pages.

        ``wrenches`` are (moment; force) [N·m, N] on frames, by name: (6,) for all states, or (..., n, 6), at the
        frame's origin, in the axes of ``expressed_in``.  ``gravity`` (3,) [m/s²] is the robot's by default.  Loads
        replace those of an earlier call.  Positions, velocities and accelerations do not change.

        Raises UnknownNameError for an unknown frame, and ValueError for other shapes and values that are not finite.
        """
        caller = "with_loads"
        loads: dict[str, Any] = {}
        if gravity is not None:
            loads["gravity"] = finite_array(caller, "gravity", gravity, shape=(3,), unit="m/s²")
        if wrenches is not None:
            frames = frames_of_wrenches(caller, self._mechanism.robot, wrenches, expressed_in)
            shape = (*self.v.shape[:-1], 6)
            loads["wrenches"] = {name: read_wrenches(caller, name, wrench, shape) for name, wrench in wrenches.items()}
            loads["expressed_in"] = frames
        result: Self = self._replaced(_loads=loads)  # type: ignore[attr-defined]
        return result

    @cached_property
    def _own_reactions(self) -> Reactions:
        return self.reactions()

    def reactions(
        self,
        *,
        actuators: str | tuple[str, ...] | list[str] | None = None,
        wrenches: Wrenches | None = None,
        expressed_in: Axes = "world",
        gravity: ArrayLike | None = None,
        passive: bool = True,
    ) -> Reactions:
        """Compute the forces of the motors, and the wrenches across all joints, which cause the motion.

        ``actuators`` names the joints with motors, by default the drivers.  ``wrenches`` (..., n, 6) act on frames, in
        the axes of ``expressed_in``, and ``gravity`` is (3,) [m/s²].  By default they are the loads of `with_loads`,
        and the robot's gravity.  ``passive`` includes springs, damping, friction and armature of joints.  The result
        has the forces τ (..., n, nv) of the motors, and the wrenches of `joint_wrenches` and `loop_joint_wrenches`,
        each in the axes of its joint's moving frame; those functions have ``expressed_in="world"``.  Its
        ``constraint_forces`` are the forces of constraints other than joints, such as a roller's on a plane.
        Parameters of `drive_mechanism` count, also inertias.

        Raises UnderactuatedError if the actuators cannot cause the motion; of a batch with parameters, the forces are
        NaN there.
        """
        robot = self._mechanism.robot
        if wrenches is None:
            wrenches, expressed_in = self._loads.get("wrenches"), self._loads.get("expressed_in", expressed_in)
        gravity = self._loads.get("gravity") if gravity is None else gravity
        acting = self._drivers.names if actuators is None else names("reactions", "actuators", actuators)
        known = np.isfinite(self.v).all(axis=-1)
        shape = known.shape
        labels = ForceLabels.of(robot, acting)
        rows = [row for row, *_ in labels.constraints]
        if not known.any():
            sizes = (robot.nv,), (len(robot.tree.bodies), 6), (len(robot.loops), 6), (len(rows),)
            tau, joints, loops, forces = (np.full((*shape, *axes), np.nan) for axes in sizes)
            return Reactions(tau, joints, loops, forces, labels)
        example = self.q[tuple(np.argwhere(known)[0])]
        rates = (np.where(known[..., None], x, 0.0) for x in (self.v, self.a))
        q, v, a = np.where(known[..., None], self.q, example), *rates
        options = self._inputs.of_all(1).options | {"passive": passive}
        options |= {name: x for name, x in (("wrenches", wrenches), ("gravity", gravity)) if x is not None}
        axes, joint_axes = (
            {key: expressed_in} if wrenches else {} for key in ("expressed_in", "wrenches_expressed_in")
        )
        if (known & (self.slack < SINGULAR_SLACK)).any():  # the drivers leave motions free, which no motor causes
            a = robot.hybrid_dynamics(q, v, a, np.zeros_like(v), self._drivers.names, **axes, **options).a
        state = q, v, a
        tau, forces, missing = robot.constrained_inverse_dynamics(*state, actuators=acting, **axes, **options)
        options |= {"constraint_forces": forces}
        joints = robot.joint_wrenches(*state, **joint_axes, **options)
        loops = robot.loop_joint_wrenches(*state, **joint_axes, **options) if robot.loops else np.zeros((*shape, 0, 6))
        largest = np.maximum(np.abs(tau).max(axis=-1), np.abs(forces).max(axis=-1, initial=0.0))
        known &= np.abs(missing).max(axis=-1) <= _MISSING_TOL * np.maximum(largest, np.abs(missing).max(axis=-1))
        own_axes = ((...,), (..., None), (..., None), (...,))
        each = zip((tau, joints, loops, forces[..., rows]), own_axes, strict=True)
        tau, joints, loops, forces = (np.where(known[..., None][at], x, np.nan) for x, at in each)
        return Reactions(tau, joints, loops, forces, labels, lambda: self.undetermined_pins)

    def trajectory(self, *index: int, times: ArrayLike | None = None) -> Any:
        """Return the motion over time, a `linkwork.motion.Trajectory`.

        It consists of quintics through the states with their velocities and accelerations.

        The times follow from the positions and ``velocity`` of the drivers.  For a motion without velocities, ``times``
        (n,) [s] are the times of the states. The drivers then move on a cubic spline between the states.

        Raises ValueError for velocities or accelerations that do not fit the positions of the drivers, without
        velocities and times, and for fewer than two states that the drivers determine; also if constraints depend on
        time, since `drive_mechanism` holds them at one time.
        """
        robot, t, q, v, a = self._timed("trajectory", index, times)
        if t is None:
            remedy = "pass times= (n,) [s] of the states here, or velocity= to drive_mechanism"
            raise ValueError(f"trajectory: times: expected times for a motion without velocities, got None; {remedy}")
        known = np.isfinite(v).all(axis=-1)
        if known.sum() < 2:
            raise ValueError(f"trajectory: expected at least two states that the drivers determine, got {known.sum()}")
        rates = {"velocity": v[known], "acceleration": a[known]}
        return robot.spline(t[known], q[known], "quintic", independent=self._drivers.names, **rates)

    def to_pandas(self, *index: int, times: ArrayLike | None = None, frames: str | Sequence[str] | None = None) -> Any:
        """Return q, v, a and the `reactions` in all states as a `pandas.DataFrame`.

        The index is ``t`` [s] with ``times`` as in `trajectory`, else the number of the state, ``state``.  A column is
        named by quantity and element, such as ``q:crank``, ``pin_forces:pin`` and ``joint_wrenches:crank:linear.x``.
        ``frames`` are names of frames whose origins are added, such as ``position:tip:x`` [m].  It needs
        ``pip install "linkwork[xarray]"``.
        """
        return self._table("to_pandas", index, times, frames).to_pandas()

    def to_xarray(self, *index: int, times: ArrayLike | None = None, frames: str | Sequence[str] | None = None) -> Any:
        """Return q, v, a and the `reactions` in all states as an `xarray.Dataset`, with the index of `to_pandas`.

        ``index``, ``times`` and ``frames`` are as in `to_pandas`.
        """
        return self._table("to_xarray", index, times, frames).to_xarray()

    def to_csv(
        self,
        path: str | os.PathLike[str],
        *index: int,
        times: ArrayLike | None = None,
        frames: str | Sequence[str] | None = None,
    ) -> None:
        """Write q, v, a and the `reactions` in all states to a text file, with the columns of `to_pandas`.

        ``path`` is the path of the file; ``index``, ``times`` and ``frames`` are as in `to_pandas`.
        """
        self._table("to_csv", index, times, frames).to_csv(path)

    def plot(
        self,
        *index: int,
        joints: str | Sequence[str] | None = None,
        against: str | None = None,
        axes: Any = None,
        times: ArrayLike | None = None,
    ) -> Any:
        """Plot q, v, a, and the forces of drivers, in pins and of constraints with matplotlib; return the axes.

        Each unit has axes of its own.  ``joints`` are names of joints to plot, also of loops, by default all; with them
        forces of other constraints are left out. ``index`` and ``times`` are as in `to_pandas`. The horizontal axis is
        the coordinate ``against`` of q, such as the crank's angle. By default it is time if times are known, as in
        `trajectory`, else the first driver. Forces are left out if the drivers cannot cause the motion. It needs ``pip
        install "linkwork[figures]"``.
        """
        robot, t, q, v, a = self._timed("plot", index, times)
        tree, name = robot.tree, self._drivers.names[0] if against is None else against
        column, *further = robot.q_index([name]).tolist()
        if against is not None and further:
            remedy = f"one of its coordinates {', '.join(robot.q_names[k] for k in (column, *further))}"
            raise ValueError(f"plot: against: joint {name!r} has {1 + len(further)} coordinates; pass {remedy}")
        by_coordinate = q[:, column], quantity_label(name, units_of(tree, "q")[column : column + 1])
        x, label = by_coordinate if t is None or against is not None else (t, "t [s]")
        states: tuple[tuple[Literal["q", "v", "a"], Any, np.ndarray], ...]
        states = ("q", robot.q_names, q), ("v", robot.v_names, v), ("a", robot.v_names, a)
        rows = [
            (text, lines)
            for key, columns, values in states
            if key == "q" or np.nan_to_num(values).any()
            for text, lines, _ in lines_by_unit(key, columns, units_of(tree, key), values)
        ]
        rows += [(f"{key} [{unit}]", lines) for key, unit, lines in self._force_lines(index, v, a)]
        if joints is not None:
            chosen = names("plot", "joints", joints)
            of_tree = [joint for joint in chosen if joint not in {loop.name for loop in robot.loops}]
            allowed = {*chosen, *(robot.q_names[k] for k in robot.q_index(of_tree))}
            allowed |= {robot.v_names[k] for k in robot.v_index(of_tree)}
            of_joints = [(text, {key: x for key, x in lines.items() if key in allowed}) for text, lines in rows]
            rows = [(text, lines) for text, lines in of_joints if lines]
        axes = new_axes(len(rows), (8.0, 2.0 * len(rows))) if axes is None else axes
        for axis, (text, lines) in zip(np.ravel(axes), rows, strict=False):
            plot_lines(axis, x, lines)
            axis.set_ylabel(text)
        label_time(axes, label)
        return axes

    def _force_lines(
        self, index: tuple[int, ...], v: np.ndarray, a: np.ndarray
    ) -> list[tuple[str, str, dict[str, np.ndarray]]]:
        """Return the title, the unit and the lines (n,) of forces of drivers, in pins, and of other constraints."""
        loads = self._loaded(index, v, a)
        if loads is None:
            return []
        labels = ForceLabels.of(self._mechanism.robot, self._drivers.names)
        motors = [(name, unit, loads.tau[:, k]) for k, name, unit in labels.motors]
        pins = [(name, "N", forces) for name, forces in zip(labels.pins, loads.pin_forces.T, strict=True)]
        rows = zip(labels.constraints, loads.constraint_forces.T, strict=True)
        components = [(name, unit, forces) for (_, name, unit), forces in rows]
        result = []
        for title, lines in (("motor force", motors), ("pin force", pins), ("constraint force", components)):
            for unit in dict.fromkeys(unit for _, unit, _ in lines):
                of_unit = {name: forces for name, of_line, forces in lines if of_line == unit}
                result.append((title, unit, of_unit))
        return result

    def _loaded(self, index: tuple[int, ...], v: np.ndarray, a: np.ndarray) -> Reactions | None:
        """Return the reactions of one motion with these velocities and accelerations; None if there are none."""
        loads = dict(self._loads)
        if "wrenches" in loads:
            loads["wrenches"] = {name: wrench[index] for name, wrench in loads["wrenches"].items()}
        changes = {"q": self.q[index], "v": v, "a": a, "slack": self.slack[index], "_inputs": self._inputs_of(index)}
        motion = self._replaced(**changes, _loads=loads)  # type: ignore[attr-defined]
        try:
            result: Reactions = motion.reactions()
        except (UnderactuatedError, ValueError):  # a robot without inertias
            return None
        return result

    def _inputs_of(self, index: tuple[int, ...]) -> Any:
        return self._inputs.flat(self.q.shape[:-2]).reshaped(self.q.shape[:-2])[index] if index else self._inputs

    def _table(self, caller: str, index: tuple[int, ...], times: Any, frames: Any = None) -> StateTable:
        from linkwork.kinematics.state_tables import StateTable, TimeVariable, record_variable, state_variables

        robot, t, q, v, a = self._timed(caller, index, times)
        variables = state_variables(robot, (robot.nq, robot.nv), q=q, v=v, a=a)
        loads = self._loaded(index, v, a)
        if loads is not None:
            variables += [record_variable(robot, name, x, 0) for name, x in loads._asdict().items() if x.shape[1]]
            labels = ForceLabels.of(robot, ())
            variables.append(TimeVariable("pin_forces", loads.pin_forces, ("pin",), (labels.pins,), ("N",)))
            if labels.constraints:
                _, components, units = zip(*labels.constraints, strict=True)
                forces = loads.constraint_forces
                variables.append(TimeVariable("constraint_forces", forces, ("constraint",), (components,), units))
        if frames is not None:
            named = names(caller, "frames", frames)
            points = np.stack([robot.pose(q, name)[..., :3, 3] for name in named], axis=-2)
            variables.append(TimeVariable("position", points, ("frame", "axis"), (named, AXES), ("m",)))
        known = ("state", "1") if t is None else ("t", "s")
        return StateTable(np.arange(len(q)) if t is None else t, variables, (), {"robot": robot.name}, {}, known)

    def _timed(
        self, caller: str, index: tuple[int, ...], times: Any
    ) -> tuple[Any, Any, np.ndarray, np.ndarray, np.ndarray]:
        """Return the robot, the times of the states, q, v and a of one motion.

        Times are None if they are unknown, or if time was constant in constraints that depend on it.  With the argument
        ``times``, v and a are computed for these times.
        """
        lead, n = self.q.shape[:-2], self.q.shape[-2]
        if len(index) != len(lead):
            text = f"{caller}: index: expected {len(lead)} integers for a batch {lead}, got {index}"
            if any(isinstance(k, str) for k in index):
                text += "; plot(joints=...) selects joints, and robot.q_index their coordinates in q"
            raise ValueError(text)
        robot, inputs = self._mechanism.robot, self._inputs_of(index)
        q, v, a = (x[index] for x in (self.q, self.v, self.a))
        y = np.concatenate(
            [np.broadcast_to(x, (*lead, *x.shape[-2:]))[index] for x in self._drivers.values.values()], -1
        )
        named = velocity_names(robot, self._drivers.names)
        columns, moving = robot.v_index(named), np.moveaxis(self._rates, 0, -3)[index]
        t: Any = None
        timed = [constraint.name for constraint in robot.constraints if constraint.time_dependent]
        if timed and (times is not None or caller == "trajectory"):
            raise ValueError(
                f"{caller}: expected a motion over time, but constraints that depend on time were held at time = "
                f"{float(inputs.options.get('time', 0.0)):g} s: {', '.join(timed)}; use robot.spline through states of "
                f"robot.assemble at their own times"
            )
        if moving.any() and not timed:
            if times is not None:
                raise ValueError(f"{caller}: times: expected None: they follow from the velocities of the drivers")
            t = _implied_times(caller, y, *moving[..., columns])
        elif times is not None:
            expected = f"{caller}: times: expected increasing times ({n},) [s]"
            t = checked_array(times, expected, (n,))
            if not (np.diff(t) > 0.0).all():
                raise ValueError(f"{expected}, got {shown(times)}")
            free = robot.without_constraints()
            knots = np.tile(free.neutral(), (n, 1))
            knots[:, free.q_index(self._drivers.names)] = y
            state, known = free.spline(t, knots)(t), np.isfinite(v).all(axis=-1)
            v, a = driven_rates(robot, named, q, known, (state.v, state.a), inputs.options)
        if isinstance(robot, VariedRobot):
            robot = robot.varied(inputs)
        return robot, t, q, v, a


def _implied_times(caller: str, y: np.ndarray, velocity: np.ndarray, acceleration: np.ndarray) -> np.ndarray:
    """Return the times (n,) [s] at which drivers with these velocities and accelerations (n, d) are at y (n, d).

    Raises ValueError if there are none.
    """
    moved = np.diff(y, axis=0)
    main = int(np.argmax(np.abs(moved).sum(axis=0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = (2.0 * moved / (velocity[1:] + velocity[:-1]))[:, main]
    fits = bool((np.isfinite(steps) & (steps > 0.0)).all())
    for x, rate in ((y, velocity), (velocity, acceleration)) if fits else ():
        change = np.diff(x, axis=0)
        error = change - 0.5 * (rate[1:] + rate[:-1]) * steps[:, None]
        size = np.abs(change).max(axis=0, initial=0.0) + np.abs(rate * steps.max(initial=0.0)).max(axis=0, initial=0.0)
        fits &= bool((np.abs(error) <= _FIT * size).all())
    if not fits:
        remedy = "pass velocity and acceleration to drive_mechanism that fit, or neither, and times= here"
        raise ValueError(
            f"{caller}: the velocities and accelerations of the drivers do not fit their positions; {remedy}"
        )
    return np.concatenate([[0.0], np.cumsum(steps)])


def velocity_names(robot: Any, joints: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the joints' coordinates of v."""
    slices = [robot.tree.v_slices[robot.tree.joint_index(name)] for name in joints]
    return tuple(robot.v_names[k] for part in slices for k in range(part.start, part.stop))


def driven_rates(
    robot: Any, named: Sequence[str], q: np.ndarray, known: np.ndarray, rates: Sequence[np.ndarray], options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and accelerations (..., nv) of all joints from those of named joints; NaN if not ``known``."""
    q = np.where(known[..., None], q, robot.neutral())
    v = robot.explicit_velocity(q, rates[0], independent=named, **options)
    a = robot.explicit_acceleration(q, v, rates[1], independent=named, **options)
    return np.where(known[..., None], v, np.nan), np.where(known[..., None], a, np.nan)
