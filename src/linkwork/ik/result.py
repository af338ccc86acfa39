"""Results of inverse kinematics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import numpy as np

from linkwork import geometry
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.pictures import Output, Shown, show
from linkwork._util.result import Result
from linkwork._util.status import WORDS
from linkwork.errors import Status
from linkwork.ik.arguments import flat_states
from linkwork.ik.failure_analysis import Reason, analyse_failures
from linkwork.ik.kernels import DIAGNOSTICS, ProblemView
from linkwork.ik.tasks.frame_tasks import PoseTask
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.kinematics.algorithms.forward_kinematics import fork

__all__ = ["IKResult"]

_INDEX = {name: k for k, name in enumerate(DIAGNOSTICS)}


@public
class IKResult(Shown, Result, metaclass=WithForeignNames):
    """Result of inverse kinematics, for one state or a batch.

    ``success`` is True if a configuration satisfies the hard tasks.  Where it is False, ``q`` is the best
    configuration of the search, ``status`` gives the reason, and ``explain`` describes it in a sentence.  Every q is
    within the position limits.  Soft tasks need not be satisfied: ``soft_cost``, ``soft_position_error`` and
    ``soft_orientation_error`` measure what remains, and ``status`` is then "local_minimum".
    """

    __slots__ = (
        "_diagnostics",
        "_known_reasons",
        "_near",
        "_q_init",
        "_reason_cache",
        "_targets",
        "_tolerances",
        "errors",
        "problem",
        "q",
        "row_multipliers",
    )

    problem: ProblemView
    q: np.ndarray  # (..., nq)
    errors: np.ndarray  # (..., rows): errors of all tasks outside their ranges [rad, m]
    row_multipliers: np.ndarray | None  # (..., rows), None for solvers without multipliers
    _q_init: np.ndarray
    _tolerances: np.ndarray | None
    _diagnostics: Any
    _targets: Any
    _near: np.ndarray | None  # reference configuration of solver "nearest"
    _reason_cache: dict[int, Reason] | None
    _known_reasons: dict[int, Reason]

    @classmethod
    def _make(
        cls,
        problem: ProblemView,
        q: np.ndarray,
        errors: np.ndarray,
        diagnostics: Any,
        q_init: np.ndarray,
        value: Any,
        tolerances: np.ndarray | None = None,
        row_multipliers: np.ndarray | None = None,
    ) -> Self:
        result = object.__new__(cls)
        result.problem, result.q, result.errors, result._q_init = problem, q, errors, q_init
        result._tolerances, result.row_multipliers = tolerances, row_multipliers
        result._diagnostics, result._targets = diagnostics, value
        result._near = None
        result._reason_cache = None
        return result

    @property
    def success(self) -> Any:
        """True where hard tasks are within tolerance and soft tasks at a minimum; bool or array (...)."""
        diagnostics = self._diagnostics
        return diagnostics[0] == 1.0 if diagnostics.__class__ is list else diagnostics[..., 0] == 1.0

    @property
    def feasible(self) -> Any:
        """True where all hard tasks are within tolerance, whatever the soft cost; bool or array (...)."""
        return self._diagnostic("reached") == 1.0

    @property
    def iterations(self) -> Any:
        """Number of iterations, summed over all starts (...)."""
        return self._count("iterations")

    @property
    def restarts(self) -> Any:
        """Number of starts after the initial guess (...)."""
        return self._count("restarts")

    @property
    def position_error(self) -> Any:
        """Largest remaining position error of a hard task (...) [m]."""
        return self._diagnostic("position_error")

    @property
    def orientation_error(self) -> Any:
        """Largest remaining orientation error of a hard task (...) [rad]."""
        return self._diagnostic("orientation_error")

    @property
    def soft_cost(self) -> Any:
        """Remaining cost ½ Σ (w e)² of the soft tasks (...), the quantity that is minimised."""
        result = self.problem.soft.costs(np.asarray(self.errors)).sum(axis=-1)
        return float(result) if result.ndim == 0 else result

    @property
    def soft_position_error(self) -> Any:
        """Largest remaining position error of a soft task (...) [m]."""
        return self._soft_left("m")

    @property
    def soft_orientation_error(self) -> Any:
        """Largest remaining orientation error of a soft task (...) [rad]."""
        return self._soft_left("rad")

    @property
    def cost(self) -> Any:
        """Sum of squared errors of the hard tasks (...), each weighted to make angles and lengths comparable.

        Only the part of an error outside its permitted range counts.  An angle has weight 1 and a length has weight
        2 / characteristic length.
        """
        scaled = np.asarray(self.errors) * np.array(self.problem.scales)
        result = (scaled * scaled).sum(axis=-1)
        return float(result) if result.ndim == 0 else result

    @property
    def distance(self) -> Any:
        """Norm of all remaining errors of the hard tasks, expressed as a length (...) [m]: 0 at a solution.

        An angle [rad] is multiplied by half a characteristic length, as in the search. The configuration of a failed
        search is the one with the smallest norm that the search reached.
        """
        result = np.sqrt(self.cost) * 0.5 * characteristic_length(self.problem.robot.tree)
        return float(result) if np.ndim(result) == 0 else result

    @property
    def nearest_pose(self) -> Any:
        """Pose (..., 4, 4) of the first task's frame at q; for a failed search the pose nearest to the target."""
        frames = {*self.problem.robot.frames, "world"}
        pairs = [task.between for task in self.problem.tasks if task.between is not None]
        pair = next((pair for pair in pairs if frames.issuperset(pair)), None)
        if pair is None:
            raise ValueError(
                f"{self.problem.caller}: nearest_pose: expected a task with a frame, got none; see q and errors"
            )
        frame, relative_to = pair
        return self.problem.robot.pose(self.q, frame, relative_to=relative_to)

    @property
    def targets(self) -> dict[str, np.ndarray]:
        """Target of each task, by task name."""
        if isinstance(self._targets, dict):
            return self._targets
        return {next(iter(self.problem.shapes)): self._targets}

    @property
    def status(self) -> Any:
        """Status of each state: a `linkwork.errors.Status`, or an array (...) of its words.

        - "solved".
        - "local_minimum": hard tasks are satisfied, soft ones are not, and no start found a lower cost (``success`` is
          True); or the gradient of the error is zero although another start succeeds.
        - "at_limits": it is proved that no solution is within position limits; without limits there is a solution.
        - "out_of_reach": a bound proves that no solution exists.
        - "not_found": no start led to a solution within limits, without a proof that there is no solution.
          ``blocking_limits`` are the limits that a solution without limits exceeds, if a search found one.
        - "infeasible": it is proved that two hard tasks contradict each other.
        - "singular": the search stopped at a singular configuration, and another start finds a solution.
        - "max_iterations": a longer search finds a solution, or soft tasks have not converged.
        - "stalled": hard tasks are satisfied, and it is not shown that soft tasks are at a minimum.
        - "not_finite": errors are NaN everywhere.
        - "no_other_solution": the searches found fewer solutions than requested.

        Failures are analysed once, when the status is first read.
        """
        reasons = self._reasons()
        if self._diagnostics.__class__ is list:
            return reasons[0].status if reasons else Status.SOLVED
        result = np.full(self._diagnostics.shape[:-1], Status.SOLVED, dtype=WORDS)
        for k, reason in reasons.items():
            result.flat[k] = reason.status
        return result

    @property
    def blocking_limits(self) -> Any:
        """Joints that exceed their limits in a solution without position limits; a tuple, or an array of tuples.

        Other solutions may exceed other limits, or no limit: only the status "at_limits" proves that no solution is
        within limits.
        """
        return self._of_each("limits", ())

    @property
    def proof(self) -> Any:
        """Certificate that the target is out of reach for every configuration, or None."""
        return self._of_each("proof", None)

    @property
    def multipliers(self) -> Any:
        """Multipliers λ of conflicting tasks, by task name, at their least-squares compromise without limits.

        With the Jacobian J of the tasks' errors e, λ satisfies Jᵀ λ = 0. To first order no joint motion δ removes the
        errors, since λᵀ (e + J δ) = λᵀ e > 0. Units: [rad] for angles and [1/m] for lengths, which are weighted by 2 /
        characteristic length. The dict is empty if the search did not reach such a compromise; otherwise the
        multipliers are not all zero.
        """
        return self._of_each("multipliers", {})

    def _sentence(self, index: tuple[int, ...]) -> str:
        diagnostics = np.asarray(self._diagnostics)
        shape = diagnostics.shape[:-1]
        k = int(np.ravel_multi_index(index, shape)) if shape else 0
        facts = {name: diagnostics.reshape(-1, len(DIAGNOSTICS))[k][index] for name, index in _INDEX.items()}
        facts["iterations"] = int(facts["iterations"])
        if self.problem.soft.any and facts["reached"] == 1.0:  # report what remains of the soft tasks
            each = (self.soft_position_error, self.soft_orientation_error, self.soft_cost)
            soft = [float(np.reshape(x, -1)[k]) for x in each]
            minimum = k in self._reasons()  # then hard errors are within tolerance
            facts["position_error"] = soft[0] if minimum else max(facts["position_error"], soft[0])
            facts["orientation_error"] = soft[1] if minimum else max(facts["orientation_error"], soft[1])
            facts["cost"] = soft[2]
        return _reason_sentence(self._reasons().get(k) or Reason(Status.SOLVED), self.problem, facts)

    def _set_reasons(self, reasons: dict[int, Reason]) -> None:
        """Store the known reasons of failed states, a dict by flat index in the batch."""
        self._known_reasons = reasons

    def _of_each(self, name: str, default: Any) -> Any:
        reasons = self._reasons()
        if self._diagnostics.__class__ is list:
            return getattr(reasons[0], name) if reasons else default
        result = np.empty(self._diagnostics.shape[:-1], dtype=object)
        for k in range(result.size):
            result.flat[k] = getattr(reasons[k], name) if k in reasons else default
        return result

    def _reasons(self) -> dict[int, Reason]:
        """Return the reason of each failed state, by its index in the flattened batch."""
        if self._reason_cache is None:
            diagnostics = np.atleast_2d(np.asarray(self._diagnostics, dtype=float)).reshape(-1, len(DIAGNOSTICS))
            reasons: dict[int, Reason] = getattr(self, "_known_reasons", {})
            failed = np.array([k for k in np.flatnonzero(diagnostics[:, 0] != 1.0) if k not in reasons], dtype=int)
            self._reason_cache = (
                dict(zip(failed.tolist(), self._analyse_failures(failed, diagnostics), strict=True))
                if len(failed)
                else {}
            )
            self._reason_cache |= self._minima(diagnostics)
            self._reason_cache |= reasons
        return self._reason_cache

    def _minima(self, diagnostics: np.ndarray) -> dict[int, Reason]:
        """Return the reason "local_minimum" for each state with satisfied hard tasks and unsatisfied soft tasks."""
        problem, soft = self.problem, self.problem.soft
        if not soft.any:
            return {}
        errors = np.asarray(self.errors).reshape(len(diagnostics), -1)
        tolerances = problem.tolerances if self._tolerances is None else np.asarray(self._tolerances)
        left = np.broadcast_to(tolerances, np.shape(self.errors)).reshape(errors.shape)
        result = {}
        for k in np.flatnonzero((diagnostics[:, 0] == 1.0) & ~soft.done(errors, left)):
            open_ = soft.counted & ~(np.abs(errors[k]) <= left[k])
            names = [task.name for task in problem.tasks for _ in task.component_names]
            tasks = tuple(dict.fromkeys(name for name, x in zip(names, open_, strict=True) if x))
            result[int(k)] = Reason(
                Status.LOCAL_MINIMUM, tasks=tasks, starts=1 + int(diagnostics[k, _INDEX["restarts"]])
            )
        return result

    def _soft_left(self, unit: str) -> Any:
        errors = np.asarray(self.errors)
        result, start = np.zeros(errors.shape[:-1]), 0
        for task in self.problem.tasks:
            rows = range(start, start + len(task.row_units))
            start = rows.stop
            soft = [i for i, u in zip(rows, task.row_units, strict=True) if u == unit and self.problem.soft.counted[i]]
            if soft:
                result = np.maximum(result, np.linalg.norm(errors[..., soft], axis=-1))
        return float(result) if result.ndim == 0 else result

    def _analyse_failures(self, failed: np.ndarray, diagnostics: np.ndarray) -> list[Reason]:
        problem, shape = self.problem, np.shape(self._diagnostics)[:-1]

        def rows(x: Any, rank: int) -> np.ndarray:
            return np.asarray(flat_states(np.asarray(x), rank, shape)[failed])

        targets = {name: rows(x, len(problem.shapes[name])) for name, x in self.targets.items()}
        tolerances = problem.tolerances if self._tolerances is None else self._tolerances
        facts = {name: diagnostics[failed, index] for name, index in _INDEX.items()}
        q_init, errors = rows(self._q_init, 1), rows(self.errors, 1)
        return analyse_failures(problem, rows(self.q, 1), targets, rows(tolerances, 1), facts, q_init, errors)

    def derivative(self, by: str) -> np.ndarray:
        """Compute the derivative (..., nv, n) of the solution with respect to a target or a robot parameter.

        ``by`` is a task's name (its target), ``"nearest_to"``, or a parameter of the robot such as
        ``"placement:elbow"`` (see `Robot.parameters`).  Rows are tangent vectors of q.  Columns are tangent vectors of
        the input: twists (rotation; translation) for poses and rotation vectors for rotations, both in their own axes;
        velocities for configurations; the components themselves for everything else.

        The solution moves by the smallest step that keeps the hard tasks satisfied.  The derivative is exact where the
        hard tasks determine all joints.  The nearest configuration moves as its optimality conditions require
        (`linkwork.ik.traced_ik`).  Soft tasks are ignored.  Joints at limits stay there.  Where no derivative exists
        (at singularities, for failed states, and on the far side of a limit that is only touched), the values are
        finite but not meaningful.

        Raises ValueError for an input that the solution does not depend on.
        """
        from linkwork.ik.traced_ik import solution_derivative

        return solution_derivative(self, by)

    def show(
        self,
        *,
        initial: bool = False,
        scene: geometry.Scene | None = None,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the configurations with the frames of the tasks, their targets, and lines of the remaining errors.

        All states of a batch are shown together, at most 1000.  ``initial`` adds transparent copies in the initial
        guesses; the obstacles of ``scene`` are shown.  ``meshes`` are folders of mesh files, and ``title`` is the
        title of the page. Returns the `linkwork.viewer.View` of a live page, or the path of a file; see `Robot.show`
        for the output and the errors.
        """
        return show(self, output, initial=initial, scene=scene, meshes=meshes, title=title)

    def _with_counts(self, iterations: int, restarts: int) -> IKResult:
        """Return the same result with other numbers of iterations and restarts."""
        diagnostics = list(self._diagnostics)
        diagnostics[_INDEX["iterations"]], diagnostics[_INDEX["restarts"]] = float(iterations), float(restarts)
        known = (self._targets, self._tolerances, self.row_multipliers)
        return IKResult._make(self.problem, self.q, self.errors, diagnostics, self._q_init, *known)

    def _diagnostic(self, name: str) -> Any:
        diagnostics = self._diagnostics
        return diagnostics[_INDEX[name]] if diagnostics.__class__ is list else diagnostics[..., _INDEX[name]]

    def _count(self, name: str) -> Any:
        result = self._diagnostic(name)
        return int(result) if result.__class__ is float else result.astype(int)

    def __repr__(self) -> str:
        if self._diagnostics.__class__ is list:
            position = max(self.position_error, self.soft_position_error)
            orientation = max(self.orientation_error, self.soft_orientation_error)
            return (
                f"<IKResult: {self.status}, {position:.3g} m and {orientation:.3g} rad error, "
                f"{self.iterations} iterations>"
            )
        return f"<IKResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"

    def __str__(self) -> str:
        """Return the explanation of one state, or a table of statuses of a batch."""
        return self.explain() if self._diagnostics.__class__ is list else _status_table(self.status.ravel().tolist())


add_foreign_names(IKResult, "ik.IKResult")


_ORDER = [*Status]


def _reason_sentence(reason: Reason, problem: ProblemView, facts: Mapping[str, Any]) -> str:
    """Return a reason as a sentence, with the remaining errors."""
    left, status = f"the nearest configuration found is {_remaining(facts)} away", reason.status
    if status is Status.SOLVED:
        return f"remaining error {_remaining(facts)} after {facts['iterations']} iterations"
    if status is Status.LOCAL_MINIMUM and facts["reached"] == 1.0:
        done = "hard tasks are satisfied, " if any(task.hard and not task.own for task in problem.tasks) else ""
        which = f"the lowest of {reason.starts} starts" if reason.starts > 1 else "stationary from q_init"
        soft = " and ".join(map(repr, reason.tasks))
        return f"{done}remaining error {_remaining(facts)} of soft {soft}, at a cost of {facts['cost']:.4g}, {which}"
    if status is Status.NOT_FINITE:
        return f"errors of {' and '.join(map(repr, reason.tasks))} are NaN at every configuration tried"
    if status is Status.AT_LIMITS:
        joints = "; ".join(map(str, reason.limits))
        return f"solutions exist only without position limits, in one {joints}; within limits {left}"
    prefix = f"{reason.tasks[0]!r}: " if len(problem.tasks) > 1 and reason.tasks else ""
    if status is Status.OUT_OF_REACH:
        free = ""
        if reason.proof is not None and (reason.proof.joint or reason.proof.kind == "turned"):
            free = _too_few_joints(reason, problem) or "; orientation_tolerance=np.inf leaves the orientation free"
        return f"{prefix}{reason.proof}; {left}{free}"
    if status is Status.NOT_FOUND:
        locked = f", with {' and '.join(map(repr, problem.locked))} locked" if problem.locked else ""
        few = _too_few_joints(reason, problem)
        if reason.limits:
            joints = "; ".join(map(str, reason.limits))
            beyond = f"without limits there is one, in which {joints}"
            return f"{prefix}no solution within limits from {reason.starts} starts; {beyond}; {left}"
        if len(reason.tasks) < 2:
            return f"{prefix}no solution from {reason.starts} starts, with or without limits{locked}; {left}{few}"
    if status in (Status.INFEASIBLE, Status.NOT_FOUND):
        names = " and ".join(map(repr, reason.tasks))
        pulls = ", ".join(f"{name!r} {np.linalg.norm(x):.3g}" for name, x in reason.multipliers.items())
        pulls = f" (multipliers at their compromise: {pulls})" if pulls else ""
        if status is Status.INFEASIBLE:
            return f"{names} contradict each other{pulls}; {left}"
        claim = "each is without the other" if len(reason.tasks) == 2 else "fewer of them are"
        return f"{names} are not satisfied together from {reason.starts} starts, {claim}{pulls}; {left}"
    if status is Status.NO_OTHER_SOLUTION:
        return f"{reason.num_solutions} distinct solutions were found in {reason.starts} searches"
    more = f"{reason.steps} iterations find a solution" if reason.steps else "another start finds a solution"
    if status is Status.SINGULAR:
        return f"stopped after {facts['iterations']} iterations at a singularity: {reason.singularity}; {more}"
    if status is Status.LOCAL_MINIMUM:
        return (
            f"the gradient of the error is zero after {facts['iterations']} iterations, "
            f"remaining error {_remaining(facts)}; {more}"
        )
    if facts["reached"] == 1.0:
        return f"hard tasks are satisfied, soft tasks have not converged after {facts['iterations']} iterations"
    return f"remaining error {_remaining(facts)} after {facts['iterations']} iterations; {more}"


def _too_few_joints(reason: Reason, problem: ProblemView) -> str:
    """Return the remark that fewer coordinates move a frame than its pose has components, or ""."""
    ends = np.cumsum([len(task.component_names) for task in problem.tasks])
    for task, tolerances in zip(problem.tasks, np.split(problem.tolerances, ends[:-1]), strict=True):
        is_named = task.name in reason.tasks or len(problem.tasks) == 1
        if not (is_named and isinstance(task, PoseTask) and np.isfinite(tolerances[:3]).any()):
            continue
        nv, count = _moving_coordinates(problem, *task.between), int(np.isfinite(tolerances).sum())
        if nv < count:
            return (
                f"; {task.frame!r} has nv = {nv} < {count} components of its pose: orientation_tolerance=np.inf leaves "
                "its orientation free"
            )
    return ""


def _moving_coordinates(problem: ProblemView, frame: str, relative_to: str) -> int:
    """Return the number of independent coordinates of v between two frames, without locked joints."""
    tree = problem.robot.tree
    _, to_one, to_other = fork(tree, *(tree.frame(tree.point(name).frame).body for name in (frame, relative_to)))
    joints = {
        body.coupling.joint if body.coupling else body.joint_name
        for body in map(tree.bodies.__getitem__, (*to_one, *to_other))
    }
    return sum(tree.bodies[tree.joint_index(name)].joint.nv for name in joints.difference(problem.locked))


def _remaining(facts: Mapping[str, Any]) -> str:
    return f"{facts['position_error']:.4g} m and {facts['orientation_error']:.4g} rad"


def _status_table(statuses: Sequence[str]) -> str:
    """Return the number of results with each status, one line each."""
    names, counts = np.unique(np.asarray(statuses, dtype=object).astype(str), return_counts=True)
    rows = sorted(zip(names, counts, strict=True), key=lambda row: _ORDER.index(row[0]))
    width = max(len(name) for name in names)
    return "\n".join(f"{name:{width}s}  {count}" for name, count in rows)
