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
    configuration in the middle of step t + 1, and the last one is the configuration at the end
    (`OptimalResult.times`).  ``phases`` is a dict from names to ranges of steps, (first step, step after the last).
    ``duration`` [s] is a number, a pair (lower, upper), or a dict of these by phase.  A pair means a free duration,
    which is the parameter "duration", or "duration of NAME" for a phase.  ``actuators`` names the joints that have
    motors; the forces of all other joints are constrained to zero (`linkwork.optimal.UnactuatedFeature`).  By default
    the solver may use forces in all joints.

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
        - ``steps``: the steps at which the term applies: an index (a negative index counts from the end), a sequence of
          indices, a slice, or the names of phases; all steps by default.
        - ``scale``: factor of the values, one number or a number for each component; in least squares it is multiplied
          by a task's weight.
        - ``target``: the target of a task or feature, an array or a `linkwork.optimal.PerStep`.  If the feature or
          function has no target, it is subtracted from the values: one number for all components, or a number for each.
        - ``lower`` and ``upper``: bounds of the values by component; least squares penalise the excess over these
          bounds.
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

        For all arguments, True means the robot's own limits, if it has any, and False no limits.  ``velocities``,
        ``accelerations``, ``jerks`` and ``torques`` may also be largest absolute values: a number, (nv,) or a dict by
        joint [rad/s, m/s; rad/s², m/s²; rad/s³, m/s³; N·m, N].  ``positions`` may be a dict from joint to (lower,
        upper) [rad, m].  Joints that a dict leaves out have the robot's limits.  Torques are motor forces, which also
        overcome armature, springs, damping and friction of joints.  Limits that the problem already has in every step
        are not repeated.
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

        Features read the variables from a window with ``w.variables(name)``.  ``lower`` and ``upper`` are bounds, a
        number or (size,) each.  At steps other than ``steps`` the variables are fixed at their ``initial_guess``.
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

        Features read the parameters from a window with ``w.parameter(name)``.  The bounds ``lower`` and ``upper`` and
        the ``initial_guess`` are a number or (size,) each.
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

        The force (3,) [N] on the frame or point, in the world's axes, is a variable of each of ``steps``, and
        contributes to torques.  Its name is ``name`` (default: the name of the frame or point).  The force of step t
        acts during this step.

        - ``stays``: the point does not move from q_{t−1} to q_t.  ``height`` h [m]: its position p has n · p = h, with
          the ``normal`` n.
        - ``friction``: coefficient of the friction cone about n; None allows any force.  ``cone`` is "smooth" or
          "pyramid".
        - ``surface``: sides (2,) [m] of a contact rectangle along the frame's x and y axes, with normal z.  The
          variable is then a wrench (moment; force) (6,) [N·m, N] in the frame's axes that pressure and friction can
          exert.
        - ``effort``: least-squares weight of forces, which are measured in units of the robot's weight, so that
          undetermined forces are small.

        Raises UnknownNameError, TypeError and ValueError.
        """
        arguments = on, steps, friction, normal, surface, cone, stays, height, effort, name
        problem: TrajectoryProblem = with_contact(self, *arguments)
        return problem

    def check(self, name: str, *, windows: int = 4, seed: int = 0) -> JacobianCheck:
        """Return the largest difference between a feature's Jacobian and difference quotients in random windows.

            print(problem.check("table"))

        ``name`` is the name of the feature in the problem, and ``seed`` is the seed of the random windows.
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
          default: the targets passed to `add`.
        - ``parameters``: values (..., *shape) that replace the robot's own parameters, by name as in
          `Robot.parameters`: loads, gravity, offsets.  Calls with the same names use the same kernel.
        - ``initial_guess``: the initial path (..., T, nq), or one configuration, (nq,), (..., 1, nq) or by name;
          default: the start in all steps, perturbed by up to 1e-7, so that symmetry does not hold the search on a ridge
          of the cost.
        - ``num_guesses``: number of initial paths: the initial guess, and random paths drawn with ``seed`` (default 1).
          The best result is returned; its ``attempts`` has all results.  ``continue_all``: run all guesses to their
          end, also after one is solved (default False).
        - ``warm_start``: a result of the same problem; the search continues from its path and multipliers.
        - ``tolerance``: accepted violation of constraints, each in its unit, one number or a dict by name; default
          1e-6, for "ilqr" and "shooting" 1e-9.
        - ``step_tolerance``: size of a step at convergence, in rad and m (in m also for robots in mm); default 1e-6.
          For "ilqr" and "shooting" it applies to the root of the remaining decrease of the cost.
        - ``max_iterations``; default 1000, for "ilqr" and "shooting" 200.  ``time_limit`` [s] does not include
          compilation, which takes seconds in the first call; default: no limit.
        - ``progress``: True shows a bar of the iterations on standard error; a function receives a `linkwork.Progress`
          after each iteration (default False).  ``callback`` is called with the result so far after each iteration; if
          it returns False, the search stops.

        ``solver`` is "augmented" (default); "ipopt", by CasADi, without ``time_limit``, ``progress``, ``callback`` and
        ``continue_all``; or "ilqr" or "shooting", by forward dynamics, which have further options:

        - ``controls`` (..., T, m) [N·m, N]: initial motor forces; default: the forces of static equilibrium at the
          start.
        - ``actuated``: names of joints that have motors; default: the ``actuators`` of the problem, or all joints
          except a free base.
        - ``control_limits`` [N·m, N]: a number, an array with a number for each motor, (lower, upper), or False for no
          limits; default: the robot's limits.
        - ``dynamics``: "forward" (default), or "inverse", with accelerations and variables of steps as unknowns.
        - ``integrator``: "semi_implicit_euler" (default), "runge_kutta_4" (forward dynamics only), or "stormer_verlet"
          (inverse dynamics only).
        - ``passive``: include armature, springs, damping and friction of joints (default True).  For
          ``integrator="runge_kutta_4"`` and a robot with dry friction the default is False, with a warning, because
          steps with dry friction diverge.
        - ``second_order``: use second derivatives of the dynamics.  Default: True with inverse dynamics; with forward
          dynamics True if there are no contacts, but dry friction or fewer motors than velocities.

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

        Each step of the controller starts at the robot's state and has its own targets, the reference.
        `linkwork.control.ModelPredictiveController` explains each option in detail:

        - ``period`` [s] between steps; default: a step of the problem.
        - ``max_iterations`` in each step, ``first_max_iterations`` in the first; after ``time_limit`` [s] iterations
          end.
        - ``max_constraint_violation``: a path with a larger violation is rejected; default: no limit.
        - ``Q``, ``R``: weights of deviations from the plan, of the state and of the forces: a number, a diagonal or a
          matrix; for ``Q`` also a pair (position weight, velocity weight).
        - ``fallback_braking_time`` [s]: time constant of the deceleration without a plan.
        - ``actuators``: names of joints that have motors, by default those of the problem.
        - ``effort_limits`` [N·m, N]: largest motor forces, a number or (nv,).
        - ``passive``: include armature, springs, damping and friction of joints (default True).
        - ``parameters``: names of the robot's parameters that each step passes, or a dict with their values.
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
