"""Trajectory problems: a robot, time steps, and features of the path that are minimised or constrained."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from linkwork._util.checked_arguments import public
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.progress import Progress
from linkwork._util.validation import integer
from linkwork.errors import UnknownNameError
from linkwork.optimal.algorithms.jacobian_check import JacobianCheck, check_jacobian
from linkwork.optimal.arguments import read_count, read_duration, read_phases, read_robot
from linkwork.optimal.contact_schedule import EFFORT, with_constraint_forces, with_constraints, with_contact
from linkwork.optimal.features import Feature, VariableFeature
from linkwork.optimal.problem_data import ProblemData
from linkwork.optimal.problem_terms import (
    LIMITS,
    duration_variables,
    first_target,
    limits_of,
    make_term,
    make_variable,
    resolve_feature,
    unused_name,
    with_actuators,
)
from linkwork.optimal.result import OptimalResult
from linkwork.optimal.shooting.shooting_solve import SHOOTING, solve_by_shooting
from linkwork.optimal.solve import SOLVERS, refuse_options, solve_by_path

__all__ = ["TrajectoryProblem"]


@public
class TrajectoryProblem(ProblemData, metaclass=WithForeignNames):
    """Trajectory optimisation problem: costs and squares of a path's features, to be minimised under constraints.

    A problem is immutable.  Its methods return a new problem, so assign the returned value:

        problem = lw.TrajectoryProblem(robot, num_steps=20, duration=1.0)
        problem = problem.add("acceleration", "least_squares").add_limits()

    The unknowns are configurations q_0 ... q_{T−1} of ``robot``, variables of each step (`add_variable`), and
    parameters of the whole path (`add_parameter`).  The motion has T = ``num_steps`` equal steps of
    ``duration``/``num_steps`` seconds with constant accelerations.  q_t is a control point of this curve: the
    configuration in the middle of step t + 1, and at the end for the last one (`OptimalResult.times`).  ``phases`` is a
    dict of ranges of steps, (first step, step after the last).  A ``duration`` [s] is a number, or (lower, upper) for a
    free one, which is the parameter "duration".  A dict has the duration of each phase; free ones are the parameters
    "duration of NAME".  ``actuators`` names the joints that have motors; the forces of the others are constrained to
    zero (`linkwork.optimal.UnactuatedFeature`).  By default the solver may use forces in all joints.

    Attributes are ``robot``, ``num_steps``, ``phases``, ``durations`` (by phase), ``terms`` (`ProblemTerm`, in the
    order of `add`), ``variables`` and ``parameters`` (`DecisionVariable`; free durations first), and ``contacts``.
    """

    def __init__(
        self,
        robot: Any,
        *,
        num_steps: int,
        duration: Any = 1.0,
        phases: Any = None,
        actuators: str | Iterable[str] | None = None,
    ) -> None:
        robot = read_robot("TrajectoryProblem", robot)
        num_steps = read_count("TrajectoryProblem", "num_steps", num_steps)
        phases = read_phases(phases, num_steps)
        durations = read_duration(duration, phases, num_steps)
        self._set(
            robot=robot,
            num_steps=num_steps,
            phases=phases,
            durations=durations,
            terms=(),
            variables={},
            parameters=duration_variables(durations),
            contacts=(),
        )
        self._set(terms=with_constraints(self).terms)
        if actuators is not None:
            self.__dict__.update(with_actuators(self, actuators).__dict__)

    # -- costs, constraints and unknowns

    def add(
        self,
        feature: Any,
        kind: str,
        *,
        steps: Any = None,
        order: int | None = None,
        scale: Any = 1.0,
        target: Any = None,
        lower: Any = None,
        upper: Any = None,
        name: str | None = None,
    ) -> TrajectoryProblem:
        """Return a new problem with a feature as a cost or a constraint; this problem stays as it is.

        - ``feature``: the name of a feature (``"acceleration"``), of a parameter or a variable; a task of
          `linkwork.ik`, whose errors are the values; a feature of `linkwork.optimal`; or a function of a window (see
          `linkwork.optimal.FunctionFeature`).  With ``order`` k the values are the k-th differences by time.
        - ``kind``: ``"cost"`` (the sum is minimised), ``"least_squares"`` (half the sum of squares is minimised),
          ``"equality"`` (values are 0) or ``"inequality"`` (values are at most 0).
        - ``steps``: the steps at which it applies: an index (negative ones count from the end), several, a slice or
          the name of a phase; all steps by default.
        - ``scale``: factor of the values, one number or one for each component; least squares also have a task's
          weight.
        - ``target``: the target of a task or feature, an array or a `linkwork.optimal.PerStep`.  It is subtracted from
          the values of a feature or function that has none of its own: one number for all components, or one for each.
        - ``lower`` and ``upper``: bounds of the values by component; least squares penalise the excess over them.
        - ``name``: the name in results; the feature's own by default.

        Raises ValueError and TypeError, UnknownNameError for names that the robot does not have.
        """
        caller = "TrajectoryProblem.add"
        feature, steps = resolve_feature(caller, self, feature, kind, steps, order, name)
        options = {"steps": steps, "scale": scale, "target": target, "lower": lower, "upper": upper}
        return self._with_feature(caller, self._bound(caller, feature), kind, name, **options)

    def _with_feature(
        self, caller: str, bound: Feature, kind: str, name: str | None = None, **options: Any
    ) -> TrajectoryProblem:
        """Return the problem with a feature bound to its robot, and with the constraint forces that it needs."""
        label = unused_name(caller, self, bound, name)
        term = make_term(f"{caller}: {label!r}", self, label, bound, kind, **options)
        problem = with_constraint_forces(self) if bound.needs_forces else self
        return problem._replaced(terms=(*problem.terms, term))

    def add_limits(
        self,
        *,
        positions: Any = True,
        velocities: Any = True,
        accelerations: Any = True,
        jerks: Any = True,
        torques: Any = False,
    ) -> TrajectoryProblem:
        """Return a new problem with limits as inequalities in every step; this problem stays as it is.

        True means the robot's own limits, if it has any, and False none; ``positions`` and ``velocities`` as well.
        Velocities, accelerations, jerks and torques may also be a number, (nv,) or a dict by joint, the largest
        absolute values [rad/s, m/s; rad/s², m/s²; rad/s³, m/s³; N·m, N].  Positions may be a dict of pairs (lower,
        upper) by joint [rad, m].  Joints that a dict leaves out have the robot's limits.  Torques are those of the
        motors, which also overcome armature, springs, damping and friction of joints.  Limits that the problem has in
        every step are not repeated.
        """
        problem = self
        for kind, value in zip(LIMITS, (positions, velocities, accelerations, jerks, torques), strict=True):
            if value is False or value is None:
                continue
            for feature in limits_of("TrajectoryProblem.add_limits", self.robot, kind, value):
                bound: Any = problem._bound("TrajectoryProblem.add_limits", feature, empty=value is True)
                if bound.component_names and not problem._has_limits(bound):
                    problem = problem._with_feature("TrajectoryProblem.add_limits", bound, "inequality")
        return problem

    def _has_limits(self, limits: Feature) -> bool:
        """Return True if these limits are an inequality in every step."""
        every = tuple(range(self.num_steps))
        same = (term for term in self.terms if term.kind == "inequality" and term.steps == every)
        return any(term.feature == limits and term.lower is None and term.upper is None for term in same)

    def add_variable(
        self, name: str, size: int, *, steps: Any = None, lower: Any = None, upper: Any = None, initial_guess: Any = 0.0
    ) -> TrajectoryProblem:
        """Return a new problem with ``size`` unknown variables of each step; this problem stays as it is.

        Features read them from a window with ``w.variables(name)``.  ``lower`` and ``upper`` are their bounds, a number
        or (size,) each.  At steps other than ``steps`` they are fixed at their ``initial_guess``.
        """
        variable = make_variable("add_variable", self, name, size, lower, upper, initial_guess, steps)
        problem = self._replaced(variables={**self.variables, name: variable})
        if np.isfinite(variable.lower).any() or np.isfinite(variable.upper).any():
            low, high = variable.lower, variable.upper
            feature, label = VariableFeature(name), f"bounds of {name}"
            problem = problem.add(feature, "inequality", steps=steps, lower=low, upper=high, name=label)
        return problem

    def add_parameter(
        self, name: str, size: int = 1, *, lower: Any = None, upper: Any = None, initial_guess: Any = 0.0
    ) -> TrajectoryProblem:
        """Return a new problem with ``size`` unknown parameters of the whole path; this problem stays as it is.

        Features read them from a window with ``w.parameter(name)``.  ``lower`` and ``upper`` are their bounds, a number
        or (size,) each, as is the ``initial_guess``.
        """
        parameter = make_variable("add_parameter", self, name, size, lower, upper, initial_guess)
        return self._replaced(parameters={**self.parameters, name: parameter})

    def add_contact(
        self,
        on: str,
        steps: Any = None,
        *,
        friction: float | None = 0.5,
        normal: Any = (0.0, 0.0, 1.0),
        surface: Any = None,
        cone: str = "smooth",
        stays: bool = True,
        height: float | None = None,
        effort: float = EFFORT,
        name: str | None = None,
    ) -> TrajectoryProblem:
        """Return a new problem with a contact force on a frame or a point; this problem stays as it is.

        The force (3,) [N] on it, in the world's axes, is a variable of each of ``steps``, named ``name`` (default: the
        name of the frame or point), and contributes to torques.  The force of step t acts during it.

        - ``stays``: the point does not move from q_{t−1} to q_t.  ``height`` h [m]: its position p has n · p = h, with
          the ``normal`` n.
        - ``friction``: coefficient of the friction cone about n; None allows any force.  ``cone`` is "smooth" or
          "pyramid".
        - ``surface``: sides (2,) [m] of a contact rectangle along the frame's x and y, z its normal.  The variable is
          then a wrench (moment; force) (6,) [N·m, N] in the frame's axes that pressure and friction can exert.
        - ``effort``: least-squares weight of forces, relative to the robot's weight, so that undetermined forces are
          small.

        Raises UnknownNameError, TypeError and ValueError.
        """
        arguments = on, steps, friction, normal, surface, cone, stays, height, effort, name
        problem: TrajectoryProblem = with_contact(self, *arguments)
        return problem

    def check(self, name: str, *, windows: int = 4, seed: int = 0) -> JacobianCheck:
        """Return the largest difference between a feature's Jacobian and difference quotients in random windows.

            print(problem.check("table"))

        ``name`` is the name of the feature in the problem, and ``seed`` that of the windows.
        `linkwork.optimal.check_feature` checks the whole contract of a feature. Raises ValueError for values that are
        not finite, UnknownNameError.
        """
        windows = integer("TrajectoryProblem.check", "windows", windows, least=1)
        terms = {term.name: term for term in self.terms}
        if name not in terms:
            raise UnknownNameError("feature of the problem", name, terms)
        parameters = [*self.parameters.values()][self._free_durations :]
        return check_jacobian(
            self.robot.tree,
            terms[name].feature,
            [float(x) for x in np.ravel(first_target(self.robot, terms[name]))],
            variables={parameter.name: parameter.size for parameter in self.variables.values()},
            parameters={parameter.name: parameter.size for parameter in parameters},
            contacts=self.contacts,
            windows=windows,
            seed=seed,
        )

    # -- solving

    def solve(
        self,
        start: ArrayLike | Mapping[str, ArrayLike] | str | None = None,
        *,
        velocity: ArrayLike | None = None,
        targets: Mapping[str, Any] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        initial_guess: ArrayLike | Mapping[str, ArrayLike] | str | None = None,
        num_guesses: int = 1,
        seed: int | np.random.Generator = 0,
        continue_all: bool = False,
        warm_start: OptimalResult | None = None,
        tolerance: float | Mapping[str, float] | None = None,
        step_tolerance: float | None = None,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        progress: bool | Callable[[Progress], Any] | None = False,
        callback: Callable[[Any], Any] | None = None,
        solver: str = "augmented",
        controls: ArrayLike | None = None,
        control_limits: Any = None,
        actuated: str | Iterable[str] | None = None,
        dynamics: str | None = None,
        integrator: str | None = None,
        passive: bool | None = None,
        second_order: bool | None = None,
    ) -> OptimalResult:
        """Return the optimised path from a ``start`` (..., nq), or from a free first configuration.

        Leading axes are a batch of problems.

        - ``velocity`` (..., nv) [rad/s, m/s] at the start; default: at rest.
        - ``targets``: targets of features by their names, an array (..., *shape) or a `linkwork.optimal.PerStep` each;
          default: those of `add`.
        - ``parameters``: values (..., *shape) of the robot's parameters that replace its own, by name as in
          `Robot.parameters`: loads, gravity, offsets.  Calls with the same names use the same kernel.
        - ``initial_guess``: the initial path (..., T, nq), or one configuration, (nq,), (..., 1, nq) or by name;
          default: the start in all steps, moved by up to 1e-7, so that symmetry does not hold the search on a ridge of
          the cost.
        - ``num_guesses``: number of initial paths, the guess and others drawn with ``seed`` (default 1).  The best
          result is returned; its ``attempts`` has all.  ``continue_all``: run all of them to their end, also after one
          is solved (default False).
        - ``warm_start``: a result of the same problem, from whose path and multipliers the search continues.
        - ``tolerance`` of constraints, each in its unit, one number or a dict by name; default 1e-6, by shooting 1e-9.
          ``step_tolerance`` of steps, in rad and m (in m also for robots in mm), default 1e-6; by shooting, of the root
          of the remaining decrease of the cost.
        - ``max_iterations``; default 1000, by shooting 200.  ``time_limit`` [s], without compilation, which takes
          seconds in the first call; default: none.
        - ``progress``: True shows a bar of the iterations on standard error; a function receives a `linkwork.Progress`
          after each iteration (default False).  ``callback`` is called with the result so far after each iteration; if
          it returns False, the search stops.

        ``solver`` is "augmented" (default); "ipopt", by CasADi, without ``time_limit``, ``progress``, ``callback`` and
        ``continue_all``; or "ilqr" or "shooting", by forward dynamics, which have further options:

        - ``controls`` (..., T, m) [N·m, N]: initial motor forces; default: those of static equilibrium at the start.
        - ``actuated``: names of joints that have motors; default: the ``actuators`` of the problem, or all joints but a
          free base.
        - ``control_limits`` [N·m, N]: a number, one for each motor, (lower, upper), or False for none; default: the
          robot's.
        - ``dynamics``: "forward" (default), or "inverse", with accelerations and variables of steps as unknowns.
        - ``integrator``: "semi_implicit_euler" (default), "runge_kutta_4" by forward dynamics, "stormer_verlet" by
          inverse dynamics.
        - ``passive``: with armature, springs, damping and friction of joints (default True, but False for
          ``integrator="runge_kutta_4"`` of a robot with dry friction, beside which its steps diverge, with a warning).
        - ``second_order``: with second derivatives of the dynamics; default: True by inverse dynamics, and without
          contacts for dry friction and for fewer motors than velocities.

        Raises TypeError for an option that the solver does not support, ValueError, UnknownNameError.
        """
        options: dict[str, Any] = {
            "velocity": velocity,
            "targets": targets,
            "parameters": parameters,
            "initial_guess": initial_guess,
            "num_guesses": num_guesses,
            "seed": seed,
            "continue_all": continue_all,
            "warm_start": warm_start,
            "tolerance": tolerance,
            "step_tolerance": step_tolerance,
            "max_iterations": max_iterations,
            "time_limit": time_limit,
            "progress": progress,
            "callback": callback,
        }
        shooting = {
            "controls": controls,
            "control_limits": control_limits,
            "actuated": actuated,
            "dynamics": dynamics,
            "integrator": integrator,
            "passive": passive,
            "second_order": second_order,
        }
        shooting = {name: value for name, value in shooting.items() if value is not None}
        if solver in SHOOTING:
            return solve_by_shooting(self, start, solver, **options, **shooting)
        refuse_options(solver, (*SOLVERS, *SHOOTING), options, shooting)
        return solve_by_path(self, start, solver=solver, **options)

    def controller(
        self,
        *,
        period: float | None = None,
        max_iterations: int = 3,
        first_max_iterations: int = 50,
        time_limit: float | None = None,
        max_constraint_violation: float = np.inf,
        Q: Any = (100.0, 1.0),
        R: Any = 1e-3,
        fallback_braking_time: float = 0.1,
        actuators: str | Iterable[str] | None = None,
        effort_limits: ArrayLike | None = None,
        passive: bool = True,
        parameters: str | Iterable[str] | Mapping[str, ArrayLike] | None = None,
        solver: Any = "augmented",
    ) -> Any:
        """Return a model-predictive controller, which solves this problem over a receding horizon.

        Each step starts at the robot's state and has targets of its own, the reference.  The keywords are those of
        `linkwork.control.ModelPredictiveController`, which explains each in detail:

        - ``period`` [s] between steps; default: a step of the problem.
        - ``max_iterations`` in each step, ``first_max_iterations`` in the first; ``time_limit`` [s] ends them before.
        - ``max_constraint_violation``: a path with a larger violation is rejected; default: no limit.
        - ``Q``, ``R``: weights of deviations from the plan, of the state and of the forces: a number, a diagonal or a
          matrix; for ``Q`` also a pair (position weight, velocity weight).
        - ``fallback_braking_time`` [s]: time constant of the deceleration without a plan.
        - ``actuators``: names of joints that have motors, by default those of the problem; ``effort_limits`` [N·m, N]:
          their largest forces, a number
          or (nv,); ``passive``: with armature, springs, damping and friction of joints (default True).
        - ``parameters``: names of the robot's parameters that come with each step, or a dict with their values.
        - ``solver``: "augmented", "ilqr", or an object with the methods of a planner.
        """
        import_module("linkwork.control.mpc.mpc")  # which assigns the class
        return self._controller_class(
            self,
            period=period,
            max_iterations=max_iterations,
            first_max_iterations=first_max_iterations,
            time_limit=time_limit,
            max_constraint_violation=max_constraint_violation,
            Q=Q,
            R=R,
            fallback_braking_time=fallback_braking_time,
            actuators=actuators,
            effort_limits=effort_limits,
            passive=passive,
            parameters=parameters,
            solver=solver,
        )


add_foreign_names(TrajectoryProblem, "TrajectoryProblem")
