"""Results of simulations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from linkwork import geometry
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.pictures import Output, Shown, figure, ghost_count, show
from linkwork._util.result import Result
from linkwork._util.status import statuses
from linkwork.errors import Status
from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.kernels.robot_base import RobotBase
from linkwork.kinematics.state_tables import StateTable, record_variable, state_variables
from linkwork.model.coordinate_names import units_of
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.simulation.contacts.contact_materials import is_of_contacts
from linkwork.simulation.contacts.contact_set import ContactSet
from linkwork.simulation.energy_drift import drift_message, resists
from linkwork.simulation.events import SLOTS, EventRecord
from linkwork.simulation.result_file import load_simulation, save_simulation
from linkwork.simulation.rollout.dense_output import DenseOutput, trajectory_through
from linkwork.simulation.rollout.rollout import CONTROLLER, ENDED, GUARD, PILED, RUNNING, STATE, UNSOLVED

__all__ = ["Simulation", "sentence_of", "status_of_codes", "within_step"]


_REMEDIES = {  # for arguments of these methods that are no indices
    "plot": "panels=[...] and joints=[...] choose what is drawn, and plot().figure.savefig('run.png') writes a file",
    "animation": "animation().save('run.gif') writes a file",
    "strip": "strip().figure.savefig('run.png') writes a file",
}
_DRAWN_BY_ITSELF = ("contact_forces", "kinetic_energy", "potential_energy")  # records
_MOST_LINES = 48  # of a recorded quantity in a plot
_NAMED = 3  # largest number of saturated joints that a message names
_STATUSES = {  # by code of the kernels
    RUNNING: Status.COMPLETED,
    CONTROLLER: Status.CONTROLLER_FAILED,
    STATE: Status.DIVERGED,
    ENDED: Status.ENDED_BY_EVENT,
    PILED: Status.TOO_MANY_EVENTS,
    UNSOLVED: Status.STEP_NOT_SOLVED,
    GUARD: Status.GUARD_NOT_FINITE,  # and all codes above
}
_SENTENCES = {
    RUNNING: "simulated up to",
    CONTROLLER: "the controller returned a non-finite or implausibly large value at",
    STATE: "the state became non-finite or implausibly large at",
    ENDED: "ended by an event at",
    PILED: f"more than {SLOTS} events happened between two records, at",
    UNSOLVED: "the equations of a step were not solved at",
    GUARD: "the guard of an event is NaN at",
}


def status_of_codes(codes: Any, going: Status = Status.COMPLETED) -> Any:
    """Return the `Status`, or the array of words, of status codes; ``going`` is the status of a running simulation."""
    return statuses(np.minimum(codes, GUARD), _STATUSES | {RUNNING: going})


def sentence_of(
    index: tuple[int, ...],
    codes: np.ndarray,
    time: float,
    ended_by: Mapping[tuple[int, ...], str],
    watched: Sequence[str],
) -> str:
    """Return the message about an environment, with the time [s]; ``watched`` are the names of all events."""
    code = float(codes[index])
    sentence = _SENTENCES[min(code, GUARD)]
    if code == ENDED and index in ended_by:
        sentence = sentence.replace("an event", f"the event {ended_by[index]!r}")
    elif code >= GUARD and watched:
        sentence = sentence.replace("an event", repr(watched[int(code - GUARD)]))
    return f"{sentence} {time:g} s"


def within_step(status: Any, ended: Any) -> np.ndarray:
    """Return the time in its last step at which an event ended an environment [s], 0 where none did."""
    result: np.ndarray = np.where((status == ENDED) | (status == PILED), ended, 0.0)
    return result


@public
class Simulation(Shown, Result, metaclass=WithForeignNames):
    """Motion over time, from one state or a batch: ``t`` (n,) [s], ``q`` (..., n, nq) and ``v`` (..., n, nv).

    ``records`` has the other recorded quantities by name, (..., n, ...).  ``stopped_at`` (...) is the time at which an
    environment stopped [s], NaN where it did not, and ``status`` (...) the reason.  A stopped environment retains its
    last state.  ``saturation`` (..., nv) is the fraction of steps in which a force reached its effort limit: the limit
    of the servo, the controller or the robot; None on symbols and for SciPy's solvers.  ``events`` are
    `linkwork.simulation.EventRecord`, by environment and time.  ``contact_names`` are the points in records of
    contacts, and ``parameters`` the values that replaced the robot's and its contacts' own, by name.
    """

    __slots__ = (
        "_codes",
        "_contacts",
        "_dense_output",
        "_first_order_method",
        "_passive",
        "_robot",
        "_watched",
        "_z",
        "contact_names",
        "events",
        "parameters",
        "q",
        "records",
        "saturation",
        "stopped_at",
        "t",
        "v",
    )

    def _fill(
        self,
        robot: RobotBase,
        t: np.ndarray,
        q: Any,
        v: Any,
        records: dict[str, Any],
        status: Any,
        stopped_at: Any,
        z: Any,
        contact_names: tuple[str, ...] = (),
        events: Sequence[EventRecord] = (),
        dense_output: DenseOutput | None = None,
        parameters: Mapping[str, Any] | None = None,
        watched: Sequence[str] = (),
        contacts: Any = None,
        passive: bool = True,
        saturation: np.ndarray | None = None,
        first_order_method: str = "",
    ) -> None:
        self.saturation, self._first_order_method = saturation, first_order_method
        self._robot, self._z, self._dense_output, self._watched = robot, z, dense_output, tuple(watched)
        self._passive = passive  # True if springs and armature acted
        self._contacts = contacts  # a `ContactSet`, or None, also of a simulation that is read from a file
        self.t, self.q, self.v, self.records = t, q, v, records
        self._codes, self.stopped_at = status, stopped_at
        self.contact_names = contact_names
        self.events, self.parameters = list(events), dict(parameters or {})

    @property
    def status(self) -> Any:
        """`linkwork.errors.Status`, or an array (...) of its words; on symbols the code, 0 for "completed".

        "completed"; "ended_by_event"; "controller_failed": its output was non-finite or implausibly large; "diverged":
        the state was non-finite or implausibly large; "too_many_events"; "step_not_solved": the equations of an
        implicit step were not solved; "guard_not_finite": the guard of an event was NaN.
        """
        return self._codes if np.asarray(self._codes).dtype == object else status_of_codes(self._codes)

    @property
    def success(self) -> Any:
        """True where an environment reached the end, or an event that ends it; a bool, or an array (...)."""
        done = (self._codes == RUNNING) | (self._codes == ENDED)
        return bool(done) if isinstance(done, np.bool_) else done

    @property
    def iterations(self) -> Any:
        """Number of records after the start until an environment stopped; an integer, or an array (...)."""
        until = np.where(np.isnan(self.stopped_at), np.inf, self.stopped_at)
        count = np.searchsorted(self.t[1:], until, side="right")
        return count if np.ndim(count) else int(count)

    def _sentence(self, index: tuple[int, ...]) -> str:
        last = {event.environment: event.name for event in self.events}
        codes, stopped = np.asarray(self._codes), np.asarray(self.stopped_at)
        time = float(self.t[-1] if np.isnan(stopped[index]) else stopped[index])
        return sentence_of(index, codes, time, last, self._watched) + self._saturated(index) + self._drift(index)

    def _saturated(self, index: tuple[int, ...]) -> str:
        """Return the part of the message on forces that reached effort limits, "" if none did."""
        each = np.zeros(0) if self.saturation is None else self.saturation[index]
        worst = np.argsort(-each, kind="stable")[:_NAMED]
        robot: Any = self._robot
        reached = [f"{robot.v_names[k]!r} in {100.0 * each[k]:.3g} %" for k in worst if each[k] > 0.0]
        return f"; at effort limits: {', '.join(reached)} of the steps" if reached else ""

    def _drift(self, index: tuple[int, ...]) -> str:
        """Return the part of the message on a change of the energy that should be constant, "" without one."""
        if not self._first_order_method or (self._passive and resists(self._robot)):
            return ""
        message = drift_message(self._first_order_method, self._energies(index, self.q[index], self.v[index]))
        return message and f"; {message}"

    def __repr__(self) -> str:
        shape = self.q.shape[:-2]
        many = int(np.prod(shape)) if shape else 1
        bad = 0 if is_traced(self.success) else many - int(np.count_nonzero(self.success))
        count_text = f"{many} environments, " if shape else ""
        end = f", {bad} of {many} stopped" if bad else ""
        return f"<Simulation of {self._robot.name!r}: {count_text}{self.t[-1]:g} s in {len(self.t)} records{end}>"

    @property
    def controller_state(self) -> Any:
        """State of the controller at the end, None if it has none."""
        return self._z

    def trajectory(self, *environment: int) -> Trajectory:
        """Return the motion of an environment as a trajectory, cubic between records of q and v.

        With "dormand_prince" and ``record_every=1`` it is the method's dense output.  It ends where the environment
        stopped, and has the jumps of events.  Raises ValueError for an index that does not name one environment.
        """
        index = self._index("trajectory", environment)
        result = self.q[index], self.v[index]
        stopped = float(self.stopped_at[index])
        end = None if np.isnan(stopped) else stopped
        events = [event for event in self.events if event.environment == index]
        return trajectory_through(self._robot, self.t, *result, events, end, self._dense_output, index)

    def _index(self, caller: str, environment: tuple[int, ...]) -> tuple[int, ...]:
        """Return the index of an environment, from 0 on.  Raises ValueError."""
        shape = self.q.shape[:-2]
        wrong = next((k for k in environment if not isinstance(k, (int, np.integer))), None)
        if wrong is not None:
            remedy = f"; {_REMEDIES[caller]}" if caller in _REMEDIES else ""
            raise TypeError(f"{caller}: environment: expected an integer, got {wrong!r}{remedy}")
        if len(environment) != len(shape) or not all(-n <= k < n for n, k in zip(shape, environment, strict=True)):
            raise ValueError(
                f"{caller}: environment: expected {len(shape)} indices within the batch {shape}, got {environment}"
            )
        return tuple(range(n)[k] for n, k in zip(shape, environment, strict=True))

    def robot_of(self, environment: tuple[int, ...] = ()) -> Any:
        """Return the robot with the parameters of an environment."""
        robot: Any = self._robot
        shape = self.q.shape[:-2]
        if not self.parameters or (shape and not environment):
            return robot
        each = {name: x[environment] for name, x in self.parameters.items() if not is_of_contacts(name)}
        return robot.with_parameters(each) if each else robot

    def _energies(self, environment: tuple[int, ...], q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Return the energies [J] of states of an environment, with springs and armature if these acted."""
        robot = self.robot_of(environment)
        T, U = robot.kinetic_energy(q, v, passive=self._passive), robot.potential_energy(q, passive=self._passive)
        return {"kinetic": T, "potential": U, "sum": T + U}

    # -- files and pictures

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the simulation to an ``.npz`` file ``path``, from which `load` reads the same arrays to the bit.

        The controller's state is not written, and trajectories of a loaded simulation are cubic between records.
        """
        save_simulation(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, robot: RobotBase, trusted: bool = True) -> Simulation:
        """Read a simulation of the robot that `save` wrote to the file ``path``.

        ``trusted`` makes no difference: the file is read without other libraries, with all checks.
        Raises ValueError for another kind of file, and for a robot with other joints, inertias or forces.
        """
        return load_simulation(cls, path, robot)  # type: ignore[no-any-return]

    def to_xarray(self) -> Any:
        """Return q, v, the records and the parameters as an `xarray.Dataset` with names of joints and units.

        Its dimensions are "environment" ("environment_1", ... for a batch of several dimensions), "time" [s], and those
        of the quantities, such as "coordinate" and "dof".  It needs ``pip install "linkwork[xarray]"``.
        """
        return self._table("to_xarray").to_xarray()

    def to_pandas(self) -> Any:
        """Return q, v and the records as a `pandas.DataFrame`, with a row for each environment and time ``t`` [s].

        A column is named by quantity and element, such as ``q:elbow``; ``attrs["units"]`` has the units by column.  It
        needs ``pip install "linkwork[xarray]"``.
        """
        return self._table("to_pandas").to_pandas()

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write q, v and the records to the text file ``path``, with the columns of `to_pandas` and all digits."""
        self._table("to_csv").to_csv(path)

    def _table(self, caller: str) -> StateTable:
        """Return all arrays with their names.  Raises TypeError for symbols."""
        if np.asarray(self.q).dtype == object:
            raise TypeError(f"{caller}: expected a simulation of numbers, got one of symbols")
        robot, batch = self._robot, self.q.shape[:-2]
        variables = state_variables(robot, (robot.nq, robot.nv), q=self.q, v=self.v)
        variables += [
            record_variable(robot, name, np.asarray(x), len(batch), self.contact_names)
            for name, x in self.records.items()
        ]
        each = {name: np.asarray(x) for name, x in self.parameters.items()}
        scalars = {"stopped_at": np.asarray(self.stopped_at)}
        scalars |= {name: x for name, x in each.items() if x.shape[: len(batch)] == batch}
        return StateTable(self.t, variables, batch, {"robot": robot.name}, scalars)

    def show(
        self,
        *environment: int,
        frames: str | Sequence[str] | None = None,
        scene: geometry.Scene | None = None,
        contacts: Any = None,
        ghosts: int | None = None,
        rate: float = 50.0,
        spacing: float | None = None,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the motion with a time bar, contact forces as arrows, and plots of q, v, energies and forces.

        Returns the `linkwork.viewer.View` of a live page, or the path of a file.

        Args:
            environment: index of an environment of a batch; by default all are shown, with the plots of the first.
            frames: names of frames to show as axes, with their paths.
            scene: obstacles; the ground and the obstacles of the simulation's contacts are shown without it.
            contacts: those of `Robot.simulate`, for a simulation that is read from a file.
            ghosts: number of transparent copies along the motion of the first robot, by default 6 in a picture without
                ``time``, else 0.
            rate: frames a second, at most 5000 in all.
            spacing: distance of the environments in a grid [m]; by default they are where they are simulated.
            meshes, title, and the output ``html``, ``glb``, ``png``, ``mp4``, ``open_browser``, ``port``: see
                `Robot.show`.

        Raises ValueError for an index that does not name one environment, and the errors of `Robot.show`.
        """
        index = self._index("show", environment) if environment else None
        return show(
            self,
            output,
            index,
            frames=frames,
            scene=scene,
            contacts=contacts,
            ghosts=ghost_count(ghosts, output),
            rate=rate,
            spacing=spacing,
            meshes=meshes,
            title=title,
        )

    def _record_lines(self, environment: tuple[int, ...]) -> list[tuple[str, str, dict[str, np.ndarray]]]:
        """Return the name, the unit and the lines (n,) of recorded quantities of one environment.

        Contact forces, which are drawn by their sizes, the energies, which have a plot of their own, and quantities of
        more than `_MOST_LINES` numbers are left out.  Forces of one unit that are all zero are left out if the quantity
        has others: the torque of a cart-pole's free hinge, for example.
        """
        result = []
        robot = self.robot_of(environment)
        of_velocity = dict(zip(robot.v_names, units_of(robot.tree, "v"), strict=True))
        for variable in self._table("plot").variables[2:]:
            groups: dict[str, dict[str, np.ndarray]] = {}
            for column, unit, values in variable.columns(self.q.ndim - 2):
                label = column.partition(":")[2] or column
                if variable.name == "tau" and not unit:
                    unit = {"rad/s": "N·m", "m/s": "N"}.get(of_velocity.get(label, ""), "")
                groups.setdefault(unit, {})[label] = values[environment]
            if variable.name not in _DRAWN_BY_ITSELF and sum(map(len, groups.values())) <= _MOST_LINES:
                acting = {unit: lines for unit, lines in groups.items() if any(x.any() for x in lines.values())}
                result += [(variable.name, unit, lines) for unit, lines in (acting or groups).items()]
        return result

    def _shown_contacts(self, contacts: Any) -> ContactSet | None:
        """Return the contacts to show: the argument ``contacts``, by default the contacts of the simulation."""
        return self._contacts if contacts is None else ContactSet.of(contacts, "convex", "show")

    def plot(
        self,
        *environment: int,
        panels: str | Sequence[str] | None = None,
        joints: str | Sequence[str] | None = None,
        reference: Any = None,
        axes: Any = None,
    ) -> Any:
        """Plot q, v, energies, contact forces and the other records over time with matplotlib (extra ``figures``).

        ``panels`` selects some of these by name: "q", "v", "energy", "contact_forces" and names of records, such as
        "tau".  ``joints`` names the joints or coordinates whose q, v and tau are plotted.  ``reference`` is a
        `linkwork.motion.Trajectory`, such as the target of a controller, whose q and v are dotted.  Returns the axes,
        one below the other: ``run.plot().figure.savefig("run.png")`` writes the figure.

        Raises TypeError for a reference of another type, ValueError for one of other joints, and UnknownNameError.
        """
        chosen = self._index("plot", environment)
        return figure("motion_figures", "plot_simulation", self, chosen, axes, reference, panels, joints)

    def strip(self, *environment: int, num_frames: int = 6, axes: Any = None) -> Any:
        """Draw the robot at ``num_frames`` times from start to end, side by side, with matplotlib; return the axes."""
        return figure("motion_figures", "strip_of", self, self._index("strip", environment), num_frames, axes)

    def animation(
        self, *environment: int, frames: Any = None, speed: float = 1.0, rate: float = 25.0, axes: Any = None
    ) -> Any:
        """Return matplotlib's animation of the robot, at ``speed`` times real time, with ``rate`` frames a second.

        ``frames`` and ``axes`` are those of `linkwork.motion.Trajectory.animation`, which is as fast.
        """
        index = self._index("animation", environment)
        return figure("motion_figures", "moving_picture", self, index, speed, rate, frames, axes)


add_foreign_names(Simulation, "simulation.Simulation")
