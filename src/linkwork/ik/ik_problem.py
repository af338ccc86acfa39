"""A problem of inverse kinematics: a robot, what it is asked to do, and the kernel that solves it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.validation import integer
from linkwork.errors import UnknownNameError
from linkwork.ik.algorithms.task_stack import Stack
from linkwork.ik.arguments import (
    check_tasks,
    freed,
    mid_range,
    read_limits,
    read_locked,
    read_rows,
    read_target,
    read_time_limit,
    refuse_held_beyond,
)
from linkwork.ik.closed_form import ClosedForm
from linkwork.ik.differential import DifferentialIK
from linkwork.ik.failure_analysis import chain_of
from linkwork.ik.kernels import (
    NEAR,
    RESTARTED,
    SOLVERS,
    TOLD,
    looking_kernel,
    solver_kernel,
    target_shapes,
)
from linkwork.ik.multiple_solutions import from_answers, go_on, several, until
from linkwork.ik.path_ik import JUMP, IKPathResult, follow
from linkwork.ik.reach_bounds import Chain
from linkwork.ik.result import IKResult
from linkwork.ik.soft_restarts import FEW_STARTS, STARTS, SoftRows, search_on
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.ik.tasks.task import Task
from linkwork.ik.velocity_result import VelocityResult
from linkwork.kernels.compiler_api import Kernel
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.kernels.robot_arguments import read_configuration
from linkwork.kinematics.algorithms.coordinates import LimitBox, numbered

__all__ = ["IKProblem"]

STEPS = 6000  # of all starts, unless said: of a whole humanoid one in 700 takes more than half
SOON = 800  # steps after which it is asked whether a bound says that there is no answer
_MOST_STARTS = 100_000
_OFF = 1e-6  # by how much a target may be no rotation
_kernels: LazyCache[Kernel] = LazyCache(256)


@public
class IKProblem:
    """Tasks of a robot and how they are solved: made once, asked often.

    ``robot.ik_problem(tasks)`` makes one; `solve` gives configurations for targets, one or a batch.
    """

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
        self.robot, self.caller = robot, caller
        self.tasks: tuple[Task, ...] = check_tasks(caller, robot, tasks)
        self.solver = self._chosen(solver)
        self.lower, self.upper = read_limits(caller, robot, position_limits)
        self.locked = read_locked(caller, robot, locked)
        self.max_iterations = integer(
            caller, "max_iterations", max_iterations, least=1, what="how many steps to take, an integer"
        )
        if num_starts is not None:
            num_starts = integer(
                caller, "num_starts", num_starts, least=1, most=_MOST_STARTS, what="None or an integer"
            )
        self.shapes = target_shapes(robot.tree, self.tasks)
        own = [x for task in self.tasks for x in task.tolerances]
        self.tolerances = read_rows(caller, self.tasks, own if tolerance is None else tolerance)
        self.tasks = freed(self.tasks, self.tolerances)
        self.weights = np.array([x for task in self.tasks for x in task.weights])
        self._starts = num_starts
        self._steps, self._first = np.array(float(max_iterations)), np.array(0.0)
        early = self.solver == "levenberg" and max_iterations > SOON
        self._soon = np.array(float(SOON)) if early else self._steps
        self._chains: dict[tuple[str, bool], Chain | None] = {}
        self.middle = mid_range(robot, self.lower, self.upper)
        limited = np.isfinite(self.lower) | np.isfinite(self.upper)  # what is not finite takes the long way to a kernel
        self.ends = np.where(limited, self.lower, 0.0), np.where(limited, self.upper, 0.0)
        self._steps_of_time: dict[float, DifferentialIK] = {}

    def _chosen(self, solver: str) -> str:
        if solver == "auto":
            if len({task.level for task in self.tasks}) > 1:
                return "levels"
            return "levenberg" if all(task.hard for task in self.tasks) else "augmented"
        if solver not in SOLVERS:
            known = ", ".join(map(repr, ("auto", *SOLVERS)))
            raise ValueError(f"{self.caller}: solver: expected one of {known}, got {solver!r}")
        return solver

    @cached_property
    def kernel(self) -> Kernel:
        """What solves it, compiled: see `linkwork.Kernel`."""
        return self._kernel(self.solver)

    @cached_property
    def soft(self) -> SoftRows:
        """The rows of soft tasks."""
        return SoftRows(self)

    @cached_property
    def starts(self) -> int:
        """The number of starts that soft tasks may take."""
        if self._starts is None:
            return FEW_STARTS if self.soft.too_many else STARTS
        return int(self._starts)

    @cached_property
    def searching(self) -> Kernel:
        """What looks for any configuration that does the hard tasks."""
        return self._kernel("levenberg")

    @cached_property
    def looking(self) -> Kernel:
        """Errors and rows of all tasks, by q and targets."""
        tree, still = self.robot.tree, self.still
        return _kernels.get((tree, self.tasks, still), lambda: looking_kernel(tree, self.tasks, still))

    def _kernel(self, solver: str) -> Kernel:
        tree, still = self.robot.tree, self.still
        limited = frozenset(np.flatnonzero(np.isfinite(self.lower) | np.isfinite(self.upper)).tolist())
        key = (tree, self.tasks, solver, limited, still)
        return _kernels.get(key, lambda: solver_kernel(tree, self.tasks, solver, limited, still))

    @cached_property
    def still(self) -> frozenset[int]:
        """Velocities that are held."""
        tree = self.robot.tree
        return frozenset(k for name in self.locked for k in range(tree.nv)[tree.v_slices[tree.joint_index(name)]])

    @cached_property
    def bounded(self) -> dict[int, int]:
        """By velocity: the number of q that limits bound."""
        box = LimitBox.of(self.robot.tree, [*self.lower], [*self.upper], range(self.robot.nq), self.still)
        return {k: n for k, n in box.numbers.items() if np.isfinite(self.lower[n]) or np.isfinite(self.upper[n])}

    @cached_property
    def scales(self) -> list[float]:
        """By row what makes errors comparable: of hard ones 1, or one over half a characteristic length."""
        stack = Stack(self.robot.tree, self.tasks, ((),) * len(self.tasks), (), ())
        return [scale if hard else 0.0 for scale, hard in zip(stack.scales, stack.hard, strict=True)]

    def chain(self, task: Task, *, position_limits: bool) -> Chain | None:
        """What bounds the reach of a task's frame, within limits or whatever joints do, if that is known."""
        key = (task.name, position_limits)
        if key not in self._chains:
            ends = (
                (self.lower, self.upper)
                if position_limits
                else (np.full_like(self.lower, x) for x in (-np.inf, np.inf))
            )
            self._chains[key] = chain_of(self.robot, task, self.middle, *ends)
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
        """Configurations that do the tasks for targets by the tasks' names, one or a batch.

        ``q_init`` (..., nq) is where to start, the middle of limits if it is left out; starts that follow where it does
        not lead to an answer fill the limits, the same ones always.  A ``q_init`` beyond limits starts at the limit.
        Targets are arrays of the shapes that the tasks say, with leading dimensions that broadcast with the seed's.
        ``nearest_to`` (..., nq) is what the answer is to be nearest to, of a problem whose solver is ``"nearest"``: the
        seed if it is left out, which in turn starts there.
        ``tolerance`` is one number, for the angle and the way that a task may leave, or one for each row of all tasks
        [m, rad].  ``time_limit`` [s], of a single state, ends the search when so much time has passed: what was found
        until then comes back.
        ``num_solutions`` asks for several answers of hard tasks, which differ by more than whole turns and small
        moves: the result has a leading axis of them, the nearest to the seed first; where there are fewer, the rest
        has no success.  It takes 60 searches and 8 for each of them, of 60 steps.

        Raises ValueError for targets that are missing, of the wrong shape, not finite or no rotations, and
        UnknownNameError for those of no task.
        """
        if tolerance is not None:
            tasks = freed(self.tasks, read_rows(self.caller, self.tasks, tolerance))
            if tasks != self.tasks:
                return self._with(tasks).solve(
                    q_init,
                    nearest_to=nearest_to,
                    tolerance=tolerance,
                    time_limit=time_limit,
                    num_solutions=num_solutions,
                    **targets,
                )
        given = self._targets(targets)
        near = self._near(q_init, nearest_to)
        if q_init is None and near:
            q_init = self._beginning(near[0], given)
        q_init = self.middle if q_init is None else read_configuration(self.robot, self.caller, "q_init", q_init)
        refuse_held_beyond(self.caller, self.robot, self.locked, (self.lower, self.upper), q_init)
        tolerances = self.tolerances if tolerance is None else read_rows(self.caller, self.tasks, tolerance)
        try:
            others = [q_init.shape[:-1], *(x.shape[:-1] for x in near)]
            shape = np.broadcast_shapes(*others, *(x.shape[: x.ndim - self._rank(k)] for k, x in given.items()))
        except ValueError as error:
            raise ValueError(f"{self.caller}: seed and targets do not broadcast together: {error}") from None
        if num_solutions is not None:
            if time_limit is not None:
                raise ValueError(
                    f"{self.caller}: time_limit: it is for one answer, and num_solutions is {num_solutions!r}"
                )
            return several(self, num_solutions, q_init, tolerances, given)
        if time_limit is not None:
            if shape:
                raise ValueError(f"{self.caller}: time_limit: it is for one state, and there are {shape}")
            run = lambda steps, first: self._run(q_init, tolerances, given, steps, first, near)  # noqa: E731
            return until(read_time_limit(self.caller, time_limit), self.max_iterations, run)
        return self._run(q_init, tolerances, given, self._steps, self._first, near)

    def _near(self, q_init: Any, nearest_to: Any) -> list[np.ndarray]:
        """What a solver of nearest configurations takes besides, and nothing of others."""
        if self.solver not in NEAR:
            if nearest_to is not None:
                raise ValueError(
                    f"{self.caller}: nearest_to: solver {self.solver!r} looks for no nearest configuration: "
                    f"make the problem with solver='nearest'"
                )
            return []
        given = q_init if nearest_to is None else nearest_to
        return [self.middle if given is None else read_configuration(self.robot, self.caller, "nearest_to", given)]

    @cached_property
    def form(self) -> ClosedForm | None:
        """The closed form of what is asked, of a pose that leaves no joint over."""
        task = self.tasks[0]
        if len(self.tasks) > 1 or type(task) is not PoseTask or self.still or not np.isfinite(self.tolerances).all():
            return None
        result: ClosedForm | None = self.robot.closed_form(task.frame, relative_to=task.relative_to)
        return None if result is None or result.redundant is not None else result

    def _beginning(self, near: np.ndarray, given: Mapping[str, np.ndarray]) -> np.ndarray:
        """Where the search for what is nearest begins: at the nearest branch, where there is a closed form."""
        if self.form is None:
            return near
        (target,) = given.values()
        return self.form.nearest_branch(target, near)

    def nearest(self, near: np.ndarray, target: np.ndarray) -> IKResult:
        """`single` of a problem whose solver looks for the nearest configuration."""
        return self.single(self._beginning(near, {next(iter(self.shapes)): target}), target, near)

    def single(self, q_init: np.ndarray, target: np.ndarray, *near: np.ndarray) -> IKResult:
        """One target of a problem that has one, both plain arrays of the right shape: with little on the way."""
        q, errors, told = self.kernel(
            q_init, self.tolerances, self.weights, *self.ends, self._soon, self._first, *near, target
        )
        told, target = (
            told.tolist(),
            target.copy(),
        )  # the caller may write to it, and why there is no answer is judged late
        if told[0] != 1.0:
            q_init, near = q_init.copy(), tuple(q.copy() for q in near)
            if near or self._soon is not self._steps:
                given = {next(iter(self.shapes)): target}
                return self._run(q_init, self.tolerances, given, self._steps, self._first, near)
        if not told[-1] <= _OFF or q[0] != q[0]:
            self._refuse(q_init, {next(iter(self.shapes)): target}, near)
        result = IKResult._make(self, q, errors, told, q_init, target)
        if near:
            result._near = near[0].copy()
        return result

    @cached_property
    def plain(self) -> bool:
        """Whether any numbers make a configuration."""
        return bool(len(numbered(self.robot.tree)) == self.robot.nq)

    def follow(self, q_init: Any = None, *, max_joint_jump: Any = JUMP, **paths: Any) -> IKPathResult:
        """Configurations along paths of targets (..., T, *shape) by the tasks' names, each from the one before.

        ``q_init`` is where the first is looked for.  Where no number of velocity goes farther than ``max_joint_jump``
        [rad, m] from target to target, or in small steps between them, the path is continuous; where it cannot be, the
        nearest other answer is taken, and counted as a reconfiguration.  Raises as `solve`.
        """
        return follow(self, q_init, max_joint_jump, self.caller, paths)

    def differential(self, dt: float, **options: Any) -> DifferentialIK:
        """The step of velocity [s] of these tasks within these limits; options as of `Robot.velocity_for`."""
        limits, own = options.pop("motion_limits", True), {"position": (self.lower, self.upper)}
        if limits is True or isinstance(limits, Mapping):
            limits = own if limits is True else own | dict(limits)
        locked = options.pop("locked", ())
        locked = (*self.locked, *read_locked(self.caller, self.robot, locked))
        return DifferentialIK(
            self.robot, self.tasks, dt, motion_limits=limits, locked=locked, caller=self.caller, **options
        )

    def velocity(self, q: Any, dt: float, *, v_last: Any = None, **targets: Any) -> VelocityResult:
        """The velocity at q (..., nq) that brings the tasks on in a step of time, as `Robot.velocity_for`."""
        known = self._steps_of_time.get(dt)
        if known is None:
            known = self.differential(dt)
            self._steps_of_time = {dt: known}
        return known.velocity(q, v_last=v_last, **targets)

    def residual_and_jacobian(self, q: Any, **targets: Any) -> tuple[np.ndarray, np.ndarray]:
        """What is left of all tasks at q (..., nq), beyond their ranges, (..., rows) [m, rad], and ∂/∂v of the errors
        (..., rows, nv), for targets as of `solve`.
        """
        result = self.looking(read_configuration(self.robot, self.caller, "q", q), *self._targets(targets).values())
        return result.errors, result.rows

    def _with(self, tasks: tuple[Task, ...]) -> IKProblem:
        """The same of tasks that do the same by other rows."""
        other = copy.copy(self)
        other.tasks = tasks
        return other

    def __getstate__(self) -> dict[str, Any]:
        """All but machine code, which is made where it is needed."""
        made = ("kernel", "searching", "looking", "form")
        return {key: x for key, x in self.__dict__.items() if key not in made} | {"_steps_of_time": {}}

    def _rank(self, name: str) -> int:
        """How many dimensions a target has."""
        return len(self.shapes[name])

    def _targets(self, targets: Mapping[str, Any]) -> dict[str, np.ndarray]:
        for name in targets:
            if name not in self.shapes:
                raise UnknownNameError("target", name, self.shapes)
        by_name = {task.name: task for task in self.tasks}
        return {
            name: read_target(self.caller, self.robot, by_name[name], shape, targets.get(name))
            for name, shape in self.shapes.items()
        }

    def _run(
        self,
        q_init: np.ndarray,
        tolerances: np.ndarray,
        given: dict[str, np.ndarray],
        steps: Any,
        first: Any,
        near: Sequence[np.ndarray] = (),
    ) -> IKResult:
        """The answers of a kernel's call, and of a second one where the first, of few steps, has not found them."""
        soon = self._soon if steps is self._steps else steps
        found = self.kernel(q_init, tolerances, self.weights, *self.ends, soon, first, *near, *given.values())
        told = found.told
        self.refuse_unless_poses(found, q_init, given, near)
        if soon is not steps and not np.all(told[..., 0] == 1.0):
            go_on(self, found, q_init, tolerances, given, self.max_iterations - int(soon))
        if near and not np.all(told[..., 0] == 1.0):
            from_answers(self, found, q_init, near[0], tolerances, given, steps)
        restarts = self.solver in RESTARTED and steps is self._steps and self.starts > 1
        if restarts and not (np.all(told[..., 0] == 1.0) and self.soft.done(found.errors, tolerances).all()):
            search_on(self, self.soft, found, q_init, tolerances, given, steps, self.starts)
        told = told.tolist() if told.ndim == 1 else told
        result = IKResult._make(
            self, found.q, found.errors, told, q_init, given, tolerances, getattr(found, "multipliers", None)
        )
        result._near = near[0] if near else None
        return result

    def refuse_unless_poses(
        self, result: Any, q_init: np.ndarray, given: Mapping[str, np.ndarray], near: Sequence[np.ndarray] = ()
    ) -> None:
        """Raises ValueError where a kernel says that what it was given, is none."""
        if not np.all(result.told[..., TOLD.index("off")] <= _OFF) or not np.isfinite(result.q).all():
            self._refuse(q_init, given, near)

    def _refuse(self, q_init: np.ndarray, given: Mapping[str, np.ndarray], near: Sequence[np.ndarray] = ()) -> None:
        """Raises ValueError for what is not finite, and for targets that are no rotations."""
        by_name = {task.name: task for task in self.tasks}
        for what, q in (*(("nearest_to", q) for q in near), ("q_init", q_init)):
            if not np.isfinite(q).all():
                raise ValueError(
                    f"{self.caller}: {what}: expected finite numbers, got {q[~np.isfinite(q)][0]} among them"
                )
        for name, x in given.items():
            read_target(self.caller, self.robot, by_name[name], self.shapes[name], x, look=True)
        raise ValueError(f"{self.caller}: a number became NaN or infinite on the way")

    def __repr__(self) -> str:
        tasks = ", ".join(repr(task.name) for task in self.tasks)
        return f"<IKProblem of {self.robot.name!r}: {tasks}; solver {self.solver!r}>"
