"""Inverse kinematics problem: a robot, its tasks, and the compiled kernel that solves them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.validation import duration, integer
from linkwork.ik.algorithms.task_stack import Stack, WideRows
from linkwork.ik.arguments import (
    check_tasks,
    freed,
    mid_range,
    raise_for_inputs,
    read_locked,
    read_targets,
    read_tolerances,
    refuse_locked_beyond_limits,
    wide_rows,
    wide_tolerances,
)
from linkwork.ik.closed_form import ClosedForm
from linkwork.ik.differential import DifferentialIK
from linkwork.ik.kernels import (
    DIAGNOSTICS,
    NEAR,
    RESTARTED,
    choose_solver,
    residual_kernel,
    solver_kernel,
    target_shapes,
)
from linkwork.ik.multiple_solutions import (
    continue_failed_searches,
    restart_from_feasible,
    run_until_deadline,
    several_solutions,
)
from linkwork.ik.path_ik import IKPathResult, follow
from linkwork.ik.reach_bounds import Chain, task_chain
from linkwork.ik.result import IKResult
from linkwork.ik.soft_restarts import FEW_STARTS, STARTS, SoftResiduals, restart_soft_tasks
from linkwork.ik.tasks.arguments import JUMP, STEPS
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.ik.tasks.task import Task
from linkwork.ik.velocity_result import VelocityResult
from linkwork.kernels.compiler_api import Kernel
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.robot_arguments import read_configuration, read_limits
from linkwork.kinematics.algorithms.coordinates import coordinate_indices
from linkwork.model.limited_coordinates import LimitedCoordinate, limited_coordinates

__all__ = ["IKProblem"]

SOON = 800  # iterations before a reach bound is checked for a proof of infeasibility
_MOST_STARTS = 100_000
_OFF = 1e-6  # permitted deviation of a target from a rotation
_OF_TASKS = ("kernel", "feasibility_kernel", "residual_kernel", "form")  # attributes that are made on demand
_kernels: LazyCache[Kernel] = LazyCache(256)


@public
class IKProblem:
    """Inverse kinematics problem that is built once and solved many times.

    ``robot.ik_problem(tasks)`` builds one.  `solve` computes configurations for one target or a batch of targets.

    ``solver``, ``position_limits``, ``locked``, ``max_iterations`` and ``num_starts`` are options of
    `Robot.ik_problem`. ``tolerance`` replaces the tolerances of the tasks.  Error messages begin with ``caller``.
    """

    _options = ("solver", "position_limits", "locked", "max_iterations", "num_starts")  # of `Robot.ik_problem`

    def __init__(
        self,
        robot: Any,
        tasks: Task | Iterable[Task],
        *,
        solver: str = "auto",
        position_limits: Any = None,
        locked: Sequence[str] = (),
        max_iterations: int = STEPS,
        num_starts: int | None = None,
        tolerance: Any = None,
        caller: str = "ik_problem",
    ) -> None:
        self.robot = robot
        self.caller = "IKProblem" if caller == "ik_problem" else caller  # of its methods
        self.lower, self.upper = read_limits(caller, robot, position_limits)
        self.position_limits = None if position_limits is False else (self.lower, self.upper)
        self.tasks: tuple[Task, ...] = check_tasks(caller, robot, tasks, self.position_limits)
        self.solver = choose_solver(caller, solver, self.tasks)
        self.locked = read_locked(caller, robot, locked)
        self.max_iterations = integer(caller, "max_iterations", max_iterations, least=1, description="an integer")
        if num_starts is not None:
            num_starts = integer(
                caller, "num_starts", num_starts, least=1, most=_MOST_STARTS, description="None or an integer"
            )
        self.shapes = target_shapes(robot.tree, self.tasks)
        of_tasks = [x for task in self.tasks for x in task.tolerances]
        self.tolerances = read_tolerances(caller, self.tasks, of_tasks if tolerance is None else tolerance)
        self._wide_tolerances = wide_tolerances(robot.tree, self.tasks)
        self.wide = wide_rows(self.tasks, self.tolerances, self._wide_tolerances, tolerance)
        self.tasks = freed(self.tasks, self.tolerances, self.wide, self.solver)
        self.weights = np.array([x for task in self.tasks for x in task.weights])
        self._starts = num_starts
        self._steps, self._first = np.array(float(max_iterations)), np.array(0.0)
        early = self.solver == "levenberg" and max_iterations > SOON
        self._soon = np.array(float(SOON)) if early else self._steps
        self._chains: dict[tuple[str, bool], Chain | None] = {}
        self.midrange = mid_range(robot, self.lower, self.upper)
        limited = np.isfinite(self.lower) | np.isfinite(self.upper)  # non-finite arguments take the kernel's slow path
        self.finite_bounds = np.where(limited, self.lower, 0.0), np.where(limited, self.upper, 0.0)
        self._steps_of_time: dict[float, DifferentialIK] = {}

    @cached_property
    def kernel(self) -> Kernel:
        """Compiled solver of this problem; see `linkwork.Kernel`."""
        return self._kernel(self.solver)

    @cached_property
    def soft(self) -> SoftResiduals:
        """Object that evaluates the soft tasks: their cost, and whether they are within tolerance."""
        return SoftResiduals(self)

    @cached_property
    def starts(self) -> int:
        """Maximum number of start configurations of searches with soft tasks."""
        if self._starts is None:
            return FEW_STARTS if self.soft.too_many else STARTS
        return int(self._starts)

    @cached_property
    def feasibility_kernel(self) -> Kernel:
        """Compiled search for any configuration that satisfies the hard tasks."""
        return self._kernel("levenberg")

    @cached_property
    def residual_kernel(self) -> Kernel:
        """Compiled residual and Jacobian of all tasks as a function of q and the targets."""
        tree, locked_dofs = self.robot.tree, self.locked_dofs
        return _kernels.get((tree, self.tasks, locked_dofs), lambda: residual_kernel(tree, self.tasks, locked_dofs))

    def _kernel(self, solver: str) -> Kernel:
        tree, locked_dofs = self.robot.tree, self.locked_dofs
        limited = frozenset(np.flatnonzero(np.isfinite(self.lower) | np.isfinite(self.upper)).tolist())
        key = (tree, self.tasks, solver, limited, locked_dofs, self.wide)
        return _kernels.get(key, lambda: solver_kernel(tree, self.tasks, solver, limited, locked_dofs, self.wide))

    @cached_property
    def locked_dofs(self) -> frozenset[int]:
        """Indices in v of the locked joints."""
        tree = self.robot.tree
        return frozenset(k for name in self.locked for k in range(tree.nv)[tree.v_slices[tree.joint_index(name)]])

    @cached_property
    def bounded(self) -> dict[int, int]:
        """Dict from index in v to index in q for coordinates that have limits and depend on a single velocity.

        Locked joints are left out.
        """
        known = {limit.v: limit.q for limit in self.limited if limit.v is not None and limit.q is not None}
        return {k: n for k, n in known.items() if k not in self.locked_dofs}

    @cached_property
    def limited(self) -> tuple[LimitedCoordinate, ...]:
        """Coordinates with position limits, also those of joints that close loops."""
        return () if self.position_limits is None else limited_coordinates(self.robot.tree, self.position_limits)

    @cached_property
    def scales(self) -> list[float]:
        """Weights that make the errors of hard tasks comparable: one for each error, 0 for errors of soft tasks.

        An angle has weight 1 and a length has weight 2 / characteristic length.
        """
        stack = Stack(self.robot.tree, self.tasks, ((),) * len(self.tasks), (), ())
        return [scale if hard else 0.0 for scale, hard in zip(stack.scales, stack.hard, strict=True)]

    def chain(self, task: Task, *, position_limits: bool) -> Chain | None:
        """Return the kinematic chain that bounds the reach of a task's frame, or None if no bound is known.

        ``position_limits=False`` ignores the joints' position limits.
        """
        key = (task.name, position_limits)
        if key not in self._chains:
            ends = (
                (self.lower, self.upper)
                if position_limits
                else (np.full_like(self.lower, x) for x in (-np.inf, np.inf))
            )
            self._chains[key] = task_chain(self.robot, task, self.midrange, *ends)
        return self._chains[key]

    def solve(
        self,
        q_init: Any = None,
        *,
        nearest_to: Any = None,
        tolerance: Any = None,
        time_limit: float | None = None,
        num_solutions: int | None = None,
        **targets: Any,
    ) -> IKResult:
        """Solve for configurations that satisfy the tasks, for one target or a batch.

        Targets are keyword arguments named after the tasks, or a dict ``targets=`` by these names.  A target has the
        shape of its task, with leading dimensions that broadcast with those of ``q_init``.

        ``q_init`` (..., nq): initial guess, clipped to the position limits; default: the middle of the limits.  If the
        search from it fails, it is repeated from a fixed sequence of starts that covers the limits.
        ``nearest_to`` (..., nq): reference configuration of a problem with ``solver="nearest"``.  It defaults to
        ``q_init``, and ``q_init`` defaults to it.
        ``tolerance``: one number, which bounds each task's remaining angle and distance, or one number for each
        residual component of all tasks [m, rad].
        ``time_limit`` [s]: for a single state; when it expires, the best configuration so far is returned.
        ``num_solutions``: number of solutions of hard tasks that differ by more than full revolutions and small
        motions.  The result has a leading axis of that size, sorted by distance from ``q_init``.  If there are fewer,
        the remaining entries have ``success`` False.  The call runs 60 searches plus 8 for each solution, each of 60
        iterations.

        Raises ValueError for targets that are missing, of the wrong shape, not finite or not rotations, and
        UnknownNameError for targets of unknown tasks.
        """
        if tolerance is not None:
            tolerances = read_tolerances(self.caller, self.tasks, tolerance)
            wide = wide_rows(self.tasks, tolerances, self._wide_tolerances, tolerance)
            tasks = freed(self.tasks, tolerances, wide, self.solver)
            if (tasks, wide) != (self.tasks, self.wide):
                options = {"tolerance": tolerance, "time_limit": time_limit, "num_solutions": num_solutions}
                return self._with(tasks, wide).solve(q_init, nearest_to=nearest_to, **options, **targets)
        targets = read_targets(self, targets)
        near = self._near(q_init, nearest_to)
        if q_init is None and near:
            q_init = self._initial_guess(near[0], targets)
        q_init = self.midrange if q_init is None else read_configuration(self.robot, self.caller, "q_init", q_init)
        refuse_locked_beyond_limits(self.caller, self.robot, self.locked, (self.lower, self.upper), q_init)
        tolerances = self.tolerances if tolerance is None else read_tolerances(self.caller, self.tasks, tolerance)
        try:
            batch = [q_init.shape[:-1], *(x.shape[:-1] for x in near)]
            shape = np.broadcast_shapes(*batch, *(x.shape[: x.ndim - len(self.shapes[k])] for k, x in targets.items()))
        except ValueError as error:
            raise ValueError(f"{self.caller}: q_init and targets do not broadcast together: {error}") from None
        if num_solutions is not None:
            if time_limit is not None:
                raise ValueError(f"{self.caller}: time_limit: expected None with num_solutions, got {time_limit!r}")
            return several_solutions(self, num_solutions, q_init, tolerances, targets)
        if time_limit is not None:
            if shape:
                raise ValueError(f"{self.caller}: time_limit: expected None or one state, got a batch of shape {shape}")
            run = lambda steps, first: self._run(q_init, tolerances, targets, steps, first, near)  # noqa: E731
            return run_until_deadline(duration(self.caller, "time_limit", time_limit), self.max_iterations, run)
        return self._run(q_init, tolerances, targets, self._steps, self._first, near)

    def _near(self, q_init: Any, nearest_to: Any) -> list[np.ndarray]:
        """Return [reference configuration] for the solver "nearest", and [] for other solvers.

        Raises ValueError for a ``nearest_to`` that the solver does not support.
        """
        if self.solver not in NEAR:
            if nearest_to is not None:
                raise ValueError(
                    f"{self.caller}: nearest_to: not supported by solver {self.solver!r}; "
                    f"build the problem with solver='nearest'"
                )
            return []
        value = q_init if nearest_to is None else nearest_to
        return [self.midrange if value is None else read_configuration(self.robot, self.caller, "nearest_to", value)]

    @cached_property
    def form(self) -> ClosedForm | None:
        """Closed form of the problem if its only task is a pose without redundancy, else None."""
        task = self.tasks[0]
        if (
            len(self.tasks) > 1
            or type(task) is not PoseTask
            or self.locked_dofs
            or not np.isfinite(self.tolerances).all()
        ):
            return None
        result: ClosedForm | None = self.robot.closed_form(task.frame, relative_to=task.relative_to)
        return None if result is None or result.redundant is not None else result

    def _initial_guess(self, near: np.ndarray, targets: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the initial guess of a nearest-configuration search: the nearest closed-form branch, else ``near``."""
        if self.form is None:
            return near
        (target,) = targets.values()
        return self.form.nearest_branch(target, near)

    def nearest(self, near: np.ndarray, target: np.ndarray) -> IKResult:
        """Return the solution for one target that is nearest to ``near`` (nq,), without argument checks."""
        return self.single(self._initial_guess(near, {next(iter(self.shapes)): target}), target, near)

    def single(self, q_init: np.ndarray, target: np.ndarray, *near: np.ndarray) -> IKResult:
        """Solve one target without argument checks; inputs are float64 arrays of the right shape.

        ``q_init`` (nq,) is the initial guess. ``near`` is the reference configuration of the solver "nearest".
        """
        q, errors, diagnostics = self.kernel(
            q_init, self.tolerances, self.weights, *self.finite_bounds, self._soon, self._first, *near, target
        )
        # The caller may overwrite the target, and failures are analysed later.
        diagnostics, target = diagnostics.tolist(), target.copy()
        if diagnostics[0] != 1.0:
            q_init, near = q_init.copy(), tuple(q.copy() for q in near)
            if near or self._soon is not self._steps:
                targets = {next(iter(self.shapes)): target}
                return self._run(q_init, self.tolerances, targets, self._steps, self._first, near)
        if not diagnostics[-1] <= _OFF or q[0] != q[0]:
            self._refuse(q_init, {next(iter(self.shapes)): target}, near)
        result = IKResult._make(self, q, errors, diagnostics, q_init, target)
        if near:
            result._near = near[0].copy()
        return result

    @cached_property
    def plain(self) -> bool:
        """True if every array of nq numbers is a valid configuration (no unit quaternions)."""
        return bool(len(coordinate_indices(self.robot.tree)) == self.robot.nq)

    def follow(self, q_init: Any = None, *, max_joint_jump: Any = JUMP, **paths: Any) -> IKPathResult:
        """Solve along paths of targets (..., T, *shape), given by task name, each from the previous solution.

        ``q_init`` is the initial guess for the first target.  A path is continuous if no coordinate of v moves farther
        than ``max_joint_jump`` [rad, m] from one target to the next, or between intermediate targets.  Otherwise the
        nearest other solution is used and counted as a reconfiguration.  Raises as `solve`.
        """
        return follow(self, q_init, max_joint_jump, self.caller, paths)

    def differential(self, dt: float, **options: Any) -> DifferentialIK:
        """Build a differential IK step of ``dt`` [s] for these tasks and limits; options as in `Robot.velocity_for`."""
        return self._differential(dt, options, "DifferentialIK")

    def _differential(self, dt: float, options: dict[str, Any], caller: str) -> DifferentialIK:
        limits, default_limits = options.pop("motion_limits", True), {"position": self.position_limits or False}
        if limits is True or isinstance(limits, Mapping):
            limits = default_limits if limits is True else default_limits | dict(limits)
        locked = options.pop("locked", ())
        locked = (*self.locked, *read_locked(self.caller, self.robot, locked))
        return DifferentialIK(self.robot, self.tasks, dt, motion_limits=limits, locked=locked, caller=caller, **options)

    def velocity(self, q: Any, dt: float, *, v_last: Any = None, **targets: Any) -> VelocityResult:
        """Compute the velocity at q (..., nq) that moves the tasks towards their targets in one time step ``dt`` [s].

        ``v_last`` (..., nv), the velocity of the previous step, and ``targets`` are as in `Robot.velocity_for`.
        """
        known = self._steps_of_time.get(dt)
        if known is None:
            known = self._differential(dt, {}, self.caller)
            self._steps_of_time = {dt: known}
        return known.velocity(q, v_last=v_last, **targets)

    def residual_and_jacobian(self, q: Any, **targets: Any) -> tuple[np.ndarray, np.ndarray]:
        """Compute the residual (..., rows) [m, rad] of all tasks at q (..., nq) and its Jacobian.

        The residual is the error outside each task's range.  The Jacobian (..., rows, nv) is the derivative of the
        errors with respect to v.  Targets are as in `solve`.
        """
        result = self.residual_kernel(
            read_configuration(self.robot, self.caller, "q", q), *read_targets(self, targets).values()
        )
        return result.errors, result.rows

    def _with(self, tasks: tuple[Task, ...], wide: WideRows) -> IKProblem:
        """Return a copy of the problem with other ``tasks``, of equal names, targets and errors."""
        result = copy.copy(self)
        result.__dict__ = {key: x for key, x in self.__dict__.items() if key not in _OF_TASKS}
        result.tasks, result.wide = tasks, wide
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without compiled kernels, which are rebuilt on demand."""
        return {key: x for key, x in self.__dict__.items() if key not in _OF_TASKS} | {"_steps_of_time": {}}

    def _run(
        self,
        q_init: np.ndarray,
        tolerances: np.ndarray,
        targets: dict[str, np.ndarray],
        steps: Any,
        first: Any,
        near: Sequence[np.ndarray] = (),
    ) -> IKResult:
        """Run the kernel for a few iterations, continue the searches that failed, and return the result.

        Where it has not converged, longer searches, restarts from a feasible configuration and restarts of soft tasks
        follow. ``steps`` is the number of iterations, and ``first`` the index of the first start.
        """
        first_steps = self._soon if steps is self._steps else steps
        result = self.kernel(
            q_init, tolerances, self.weights, *self.finite_bounds, first_steps, first, *near, *targets.values()
        )
        diagnostics = result.diagnostics
        self.refuse_unless_poses(result, q_init, targets, near)
        if first_steps is not steps and not np.all(diagnostics[..., 0] == 1.0):
            continue_failed_searches(self, result, q_init, tolerances, targets, self.max_iterations - int(first_steps))
        if near and not np.all(diagnostics[..., 0] == 1.0):
            restart_from_feasible(self, result, q_init, near[0], tolerances, targets, steps)
        restarts = self.solver in RESTARTED and steps is self._steps and self.starts > 1
        if restarts and not (np.all(diagnostics[..., 0] == 1.0) and self.soft.done(result.errors, tolerances).all()):
            restart_soft_tasks(self, self.soft, result, q_init, tolerances, targets, steps, self.starts)
        diagnostics = diagnostics.tolist() if diagnostics.ndim == 1 else diagnostics
        multipliers = getattr(result, "multipliers", None)
        result = IKResult._make(self, result.q, result.errors, diagnostics, q_init, targets, tolerances, multipliers)
        result._near = near[0] if near else None
        return result

    def refuse_unless_poses(
        self, result: Any, q_init: np.ndarray, targets: Mapping[str, np.ndarray], near: Sequence[np.ndarray] = ()
    ) -> None:
        """Raise ValueError if the kernel reports an input that is not finite or a target that is not a rotation.

        ``result`` has the kernel's diagnostics.  ``q_init``, ``targets`` and ``near`` are its inputs.
        """
        if not np.all(result.diagnostics[..., DIAGNOSTICS.index("off")] <= _OFF) or not np.isfinite(result.q).all():
            self._refuse(q_init, targets, near)

    def _refuse(self, q_init: np.ndarray, targets: Mapping[str, np.ndarray], near: Sequence[np.ndarray] = ()) -> None:
        """Raise ValueError for the first input that is not finite or not a rotation."""
        raise_for_inputs(self, [*(("nearest_to", q) for q in near), ("q_init", q_init)], targets)

    def __repr__(self) -> str:
        tasks = ", ".join(repr(task.name) for task in self.tasks)
        return f"<IKProblem of {self.robot.name!r}: {tasks}; solver {self.solver!r}>"
