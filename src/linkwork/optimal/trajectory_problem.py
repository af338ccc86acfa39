"""A problem of optimal motion: a robot, steps of time, and features with what is asked of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import integer
from linkwork.errors import UnknownNameError
from linkwork.expr.scalar.symbol import Graph
from linkwork.model.kernel_parameters import Parameter
from linkwork.model.tree_attachments import check_references
from linkwork.optimal.algorithms.jacobian_check import RowCheck, check_rows
from linkwork.optimal.algorithms.path_nlp import PathEntry, PathProgram
from linkwork.optimal.algorithms.path_window import PathWindow
from linkwork.optimal.arguments import (
    ByStep,
    PathNumber,
    ProblemEntry,
    as_feature,
    path_number,
    ranges_of,
    read_count,
    read_kind,
    read_options,
    read_robot,
    read_rows,
    read_scale,
    read_target,
    some_aim,
    target_shape,
    weighed,
)
from linkwork.optimal.contact_schedule import EFFORT, add_contact, add_what_keeps, held
from linkwork.optimal.features import (
    AccelerationLimits,
    ConstraintForce,
    Feature,
    JerkLimits,
    ParameterFeature,
    PathContact,
    PositionLimits,
    TorqueLimits,
    VariableFeature,
    VelocityLimits,
)
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.schedule_arguments import phase_of, read_duration, read_phases, read_schedule
from linkwork.optimal.shooting.shooting_solve import SHOOTING, SHOOTING_OPTIONS, shot
from linkwork.optimal.solve import OPTIONS, SOLVERS, run

__all__ = ["PathNumber", "Problem"]


@public
class Problem:
    """Waypoints, paths and control as one form: minimise costs and squares of features under constraints.

    Unknown are configurations q_0 ... q_{T−1} of ``robot``, at equal steps of ``duration``/``steps`` seconds, numbers
    of each step (`variable`) and of the whole path (`parameter`).  ``phases`` name ranges of steps, (first, after the
    last).  A duration (least, most) is free: it is the parameter "duration"; a dict has one for each phase, and free
    ones are "duration of NAME".

    What solvers read: ``entries`` (`ProblemEntry`, in the order of `add`), ``variables`` and ``parameters``
    (`PathNumber`; free durations first), ``durations`` (by phase), and `program`, all of it but the numbers.
    """

    def __init__(self, robot: Any, *, steps: int, duration: Any = 1.0, phases: Any = None) -> None:
        self.robot, self.steps = read_robot("Problem", robot), read_count("Problem", "steps", steps)
        self.phases = read_phases(phases, self.steps)
        self.durations: dict[str, Any] = read_duration(duration, self.phases, self.steps)
        self.entries: list[ProblemEntry] = []
        self.variables: dict[str, PathNumber] = {}
        self.parameters: dict[str, PathNumber] = {}
        for phase, x in self.durations.items():
            if isinstance(x, tuple):
                name = f"duration of {phase}" if phase else "duration"
                guess = np.array([float(np.sqrt(x[0] * x[1]))])
                self.parameters[name] = PathNumber(name, 1, np.array(x[:1]), np.array(x[1:]), guess)
        self.free_durations = len(self.parameters)
        self.contacts: tuple[PathContact | ConstraintForce, ...] = ()
        self._changed()
        for constraint in held(robot):
            self.add(constraint, "equality")

    def _changed(self) -> None:
        self._programs: dict[Any, PathProgram] = {}
        self.prepared: dict[Any, Any] = {}  # what solvers keep of a problem as it is

    # -- what is asked

    def add(
        self,
        feature: Any,
        kind: str,
        *,
        at: Any = None,
        order: int | None = None,
        scale: Any = 1.0,
        target: Any = None,
        lower: Any = None,
        upper: Any = None,
        name: str | None = None,
    ) -> Problem:
        """Asks something of a feature, and gives the problem back.

        ``feature`` is the name of one (``"acceleration"``), of a parameter or a variable, a task of
        `linkwork.ik`, whose errors it is, a feature of `linkwork.optimal`, or a function of a window (see
        `linkwork.optimal.FunctionFeature`); with ``order`` k it is their k-th difference by time.

        ``kind`` is ``"cost"`` (its sum is minimised), ``"squares"`` (half the sum of its squares), ``"equality"`` (it
        is 0) or ``"inequality"`` (it is at most 0).  ``lower`` and ``upper``, by row, are what constraints are within
        instead, and of squares what is beyond counts.  ``at`` are the steps where it counts: a number, negative ones
        from the end, several, a slice or a phase; all if it is left out.  ``scale`` multiplies it, one number or one a
        row, and a task's weight does so of squares.

        Raises ValueError and TypeError for what is none, UnknownNameError for names that the robot does not have.
        """
        caller = "Problem.add"
        kind = read_kind(caller, kind)
        if isinstance(feature, str) and feature in self.parameters:
            if at is not None:
                raise ValueError(
                    f"{caller}: {feature!r}: at: a parameter is of the whole path: expected none, got {at!r}"
                )
            feature, at = ParameterFeature(feature), self.steps - 1
        elif isinstance(feature, str) and feature in self.variables:
            feature = VariableFeature(feature)
        found = self._settled(caller, as_feature(caller, feature, order, name))
        label = name or found.name
        if not isinstance(label, str):
            raise TypeError(f"{caller}: name: expected a text, got {label!r}")
        if label in {entry.name for entry in self.entries}:
            if name is not None:
                raise ValueError(f"{caller}: two features are called {label!r}: give one of them another name=")
            label = next(f"{label} {k}" for k in range(2, 1000) if f"{label} {k}" not in self._names)
        caller = f"Problem.add: {label!r}"
        steps, single = read_schedule(caller, at, self.steps, self.phases)
        low, high = lower, upper
        rows = found.component_names
        bounds: list[np.ndarray | None] = [None, None]
        if low is not None or high is not None:
            if kind == "cost":
                raise ValueError(f"{caller}: lower and upper: a cost has no bounds")
            bounds = [
                read_rows(caller, "lower", -np.inf if low is None else low, len(rows), rows),
                read_rows(caller, "upper", np.inf if high is None else high, len(rows), rows),
            ]
            if not (bounds[0] <= bounds[1]).all():  # type: ignore[operator]
                raise ValueError(f"{caller}: a range leaves nothing: from {lower!r} to {upper!r}")
        elif kind in ("equality", "squares") and any(pair != (0.0, 0.0) for pair in ranges_of(found)):
            ranges = np.array(ranges_of(found), dtype=float)
            bounds = [ranges[:, 0].copy(), ranges[:, 1].copy()]
        aim = found.target if target is None else target
        shape = target_shape(self.robot.tree, found)
        if aim is not None and shape is None:
            raise ValueError(f"{caller}: target: it aims at nothing, got {aim!r}")
        if aim is not None and not isinstance(aim, ByStep):
            aim = self.read_target(caller, found, aim)
        if found.needs_forces:
            add_what_keeps(self)
        scales = weighed(caller, kind, found, read_scale(caller, scale, found))
        asked = label, found, kind, steps, single, scales, aim, bounds[0], bounds[1]
        self.entries.append(ProblemEntry(*asked, *phase_of(at)))
        self._changed()
        return self

    def add_limits(
        self,
        *,
        positions: Any = True,
        velocities: Any = True,
        accelerations: Any = False,
        jerks: Any = False,
        torques: Any = False,
    ) -> Problem:
        """Limits as inequalities in every step, and gives the problem back.

        True are those that the robot has; of velocities, accelerations, jerks and torques also a number, or one for
        each of nv, which none may exceed.
        """
        asked: dict[Any, Any] = {
            PositionLimits: positions,
            VelocityLimits: velocities,
            AccelerationLimits: accelerations,
            JerkLimits: jerks,
            TorqueLimits: torques,
        }
        for kind, wanted in asked.items():
            if wanted is False or wanted is None:
                continue
            feature: Any = kind() if wanted is True else kind(upper=wanted)
            if wanted is not True or self._settled("Problem.add_limits", feature, empty=True).component_names:
                self.add(feature, "inequality")
        return self

    def variable(
        self, name: str, size: int, *, at: Any = None, lower: Any = None, upper: Any = None, guess: Any = 0.0
    ) -> Problem:
        """Decision variables of each step, forces say, that windows answer as ``w.variables(name)``."""
        steps, _ = read_schedule(f"Problem.variable: {name!r}", at, self.steps, self.phases)
        found = self.variables[self._fresh(name)] = path_number("variable", name, size, lower, upper, guess, steps, at)
        self._changed()
        if np.isfinite(found.lower).any() or np.isfinite(found.upper).any():
            feature, label = VariableFeature(name), f"bounds of {name}"
            self.add(feature, "inequality", at=at, lower=found.lower, upper=found.upper, name=label)
        return self

    def parameter(self, name: str, size: int = 1, *, lower: Any = None, upper: Any = None, guess: Any = 0.0) -> Problem:
        """Decision variables of the whole path, that windows answer as ``w.parameter(name)``; within their bounds."""
        self.parameters[self._fresh(name)] = path_number("parameter", name, size, lower, upper, guess, ())
        self._changed()
        return self

    def _fresh(self, name: Any) -> str:
        if not isinstance(name, str) or not name:
            raise TypeError(f"Problem: expected a name, got {name!r}")
        if name in self.variables or name in self.parameters:
            raise ValueError(f"Problem: two variables or parameters are called {name!r}")
        return name

    def contact(
        self,
        on: str,
        at: Any = None,
        *,
        friction: float | None = 0.5,
        normal: Any = (0.0, 0.0, 1.0),
        surface: Any = None,
        cone: str = "smooth",
        stays: bool = True,
        height: float | None = None,
        effort: float = EFFORT,
        name: str | None = None,
    ) -> Problem:
        """Something holds a frame or a point of the robot while steps ``at`` are reached; gives the problem back.

        The force (3,) on it, in the world's axes, is a variable of each of these steps, by ``name``, and counts in
        torques: in step t it acts from t − 1 on.  The point is where it was at t − 1 (``stays``), and with a ``height``
        h at n · p = h, n the ``normal``.  The force is within the cone of ``friction`` about n (``cone`` "smooth" or
        "pyramid"; ``friction=None``: any force).  A ``surface`` of sides (2,) along the frame's x and y [m] takes a
        wrench (moment; force) (6,) in the frame's axes, z the normal, one that pressure and friction can exert on it.
        ``effort`` times forces, in parts of the robot's weight, are among the squares: what nothing else decides is
        small.

        Raises UnknownNameError, TypeError and ValueError.
        """
        add_contact(self, on, at, friction, normal, surface, cone, stays, height, effort, name)
        return self

    def act(self, contact: PathContact | ConstraintForce) -> None:
        """What acts on the robot from now on, in torques, by the variable of its name."""
        self.contacts = (*self.contacts, contact)
        self._changed()

    def check(self, name: str, *, windows: int = 4, seed: int = 0) -> RowCheck:
        """Whether the rows of a feature, by its name here, are the derivatives of its values, in random windows.

            print(problem.check("table"))

        What comes is true where they are, and says by how much they are off, and where.  Raises ValueError for values
        that are not finite, UnknownNameError.
        """
        windows = integer("Problem.check", "windows", windows, least=1, what="a whole number")
        found = {entry.name: entry for entry in self.entries}
        if name not in found:
            raise UnknownNameError("feature of the problem", name, found)
        feature = found[name].feature
        return check_rows(
            self.robot.tree,
            feature,
            [float(x) for x in np.ravel(some_aim(self.robot, found[name]))],
            variables={one.name: one.size for one in self.variables.values()},
            parameters={one.name: one.size for one in list(self.parameters.values())[self.free_durations :]},
            contacts=self.contacts,
            windows=windows,
            seed=seed,
        )

    @property
    def _names(self) -> set[str]:
        return {entry.name for entry in self.entries}

    def _settled(self, caller: str, feature: Feature, empty: bool = False) -> Feature:
        """A feature as it is of the robot, on symbols."""
        check_references(self.robot.tree, feature.references)
        for wrong in feature.checked(self.robot.tree):
            raise ValueError(f"{caller}: {feature.name!r}: {wrong}")
        found = feature.settled(self.robot, self.window(f"{caller}: {feature.name!r}"))
        if not found.component_names and not empty:
            raise ValueError(f"{caller}: {feature.name!r}: it has no rows of this robot")
        return found

    def window(self, caller: str = "Problem", depth: int = 3) -> PathWindow:
        """A window on symbols, with the problem's variables and parameters."""
        graph, tree = Graph(caller), self.robot.tree

        def fresh(name: str, size: int) -> list[Any]:
            return list(graph.inputs(name, (size,)))

        count = depth + 1
        return PathWindow(
            tree,
            [fresh(f"q{back}", tree.nq) for back in range(count)],
            [graph.input("step")] * count,
            graph.input("time"),
            [{name: fresh(f"{name}{back}", x.size) for name, x in self.variables.items()} for back in range(count)],
            {name: fresh(name, x.size) for name, x in self.parameters.items()},
            contacts=self.contacts,
        )

    def read_target(self, caller: str, feature: Feature, given: Any, lead: bool = False) -> np.ndarray:
        """What a feature aims at, (*shape), with ``lead`` (..., *shape).  Raises ValueError."""
        return read_target(self.robot.tree, caller, feature, given, lead)

    # -- what solvers read

    def program(self, started: bool, launched: bool = False, robot_numbers: tuple[Parameter, ...] = ()) -> PathProgram:
        """All of it but numbers: what a kernel is made of, with a past before the first step or without one.

        ``launched``: it starts with a velocity, and how long steps are is free.  ``robot_numbers`` come with each call.
        """
        key = (started, launched, robot_numbers)
        if key not in self._programs:
            entries = tuple(
                PathEntry(
                    entry.feature,
                    entry.kind,
                    entry.name,
                    entry.steps[0] if entry.single else None,
                    entry.lower is not None,
                    entry.moving,
                )
                for entry in self.entries
            )
            self._programs[key] = PathProgram(
                self.robot.tree,
                self.steps,
                entries,
                started,
                tuple((name, x.size) for name, x in self.variables.items()),
                tuple((name, x.size) for name, x in self.parameters.items()),
                self.free_durations,
                len(self.durations) == 1,
                self.contacts,
                launched,
                robot_numbers,
            )
        return self._programs[key]

    # -- solving

    def solve(self, start: Any = None, *, solver: str = "augmented", **options: Any) -> OptimalResult:
        """The best path that is found, from a ``start`` (..., nq), or without one from wherever it is best.

        Options; leading axes are problems of their own:
        - ``velocity`` (..., nv) at the start; at rest unless it is said.
        - ``targets``: what features aim at, by their names, an array (..., *shape) each, or a `ByStep`.
        - ``parameters``: numbers of the robot (..., *shape) in the place of its own, by name as `Robot.parameters` has
          them: loads, gravity, offsets.  Others by the same names take the same kernel.
        - ``guess``: the first path (..., T, nq), or one configuration, (nq,) or (..., 1, nq); the start stays if
          there is none.
        - ``seeds``: how many first paths are tried, the guess and others drawn by ``seed``; the best counts, and
          ``attempts`` of the result are all.  ``every_seed``: also those that need not go on once one is solved.
        - ``warm``: a result of the same problem, from whose path and multipliers it goes on.
        - ``deadline`` [s] from when its code is made, which takes seconds in a first call; ``progress``: each iteration
          is told on stderr; ``callback`` is called with the result so far after each: False ends the search.
        - ``tolerance`` of constraints, one or by name, ``step_tolerance`` of steps; ``max_iterations`` so many
        iterations.

        ``solver`` is "augmented"; "ipopt", by CasADi, without deadline, progress and callback; or by forward dynamics
        "ilqr" or "shooting", with all of these, and:

        - ``controls`` (..., T, m): the first forces of motors; ``actuated``: names of joints that have motors;
        - ``control_limits``: a number, one a motor, (least, most), or False for none; the robot's unless it is said;
        - ``dynamics``: "forward", or "inverse" with accelerations, and what varies by steps, as what is looked for;
        - ``integrator``, ``second_order``: see `optimal/algorithms/shooting`; ``passive``: with what joints do by
          themselves.

        Raises ValueError, TypeError, UnknownNameError.
        """
        if solver in SHOOTING:
            read_options(solver, options, SHOOTING_OPTIONS, OPTIONS)
            return shot(self, start, solver, **options)
        if solver not in SOLVERS:
            known = ", ".join(map(repr, (*SOLVERS, *SHOOTING)))
            raise ValueError(f"Problem.solve: solver: expected one of {known}, got {solver!r}")
        read_options(solver, options, OPTIONS, SHOOTING_OPTIONS)
        return run(self, start, solver=solver, **options)

    def controller(self, **options: Any) -> Any:
        """Model-predictive control with this problem: see `linkwork.control.ModelPredictiveController` for the options.

        Its start is where the robot is in each step, and its targets are that step's reference.
        """
        from linkwork.control.mpc.mpc import controller_of

        return controller_of(self, options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_programs": {}, "prepared": {}}  # kernels are made anew

    def __repr__(self) -> str:
        lines = [f"{entry.kind} {entry.name!r}" for entry in self.entries]
        return f"<Problem of {self.robot.name!r}, {self.steps} steps: {', '.join(lines) or 'nothing asked'}>"
