"""Results of inverse kinematics."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.result import Result
from linkwork._util.status import WORDS
from linkwork.errors import Status
from linkwork.ik.failure_analysis import Reason, judged
from linkwork.ik.kernels import TOLD
from linkwork.ik.problem_protocol import ProblemView
from linkwork.ik.status_messages import sentence, table
from linkwork.kinematics.algorithms.coordinates import characteristic_length

__all__ = ["IKResult"]

_PLACE = {name: k for k, name in enumerate(TOLD)}


@public
class IKResult(Result):
    """Configurations that inverse kinematics found; of a batch, an entry for each state.

    ``success`` alone says whether a configuration does what was asked; where it does not, ``q`` is the best that was
    met, ``status`` says why, and ``explain`` puts it in a sentence.  Every q is within limits.  Soft tasks need not be
    done: what is left of them is in ``soft_cost``, ``soft_position_error`` and ``soft_orientation_error``, and
    ``status`` is "local_minimum" where something is.
    """

    __slots__ = (
        "_given",
        "_judged",
        "_near",
        "_said",
        "_seed",
        "_told",
        "_tolerances",
        "errors",
        "problem",
        "q",
        "row_multipliers",
    )

    problem: ProblemView
    q: np.ndarray  # (..., nq)
    errors: np.ndarray  # (..., rows): what is left of all tasks [rad, m]
    row_multipliers: np.ndarray | None  # (..., rows): of solvers that have them
    _seed: np.ndarray
    _tolerances: np.ndarray | None
    _told: Any
    _given: Any
    _near: np.ndarray | None  # the configuration to be near to, of solvers that take one
    _judged: dict[int, Reason] | None
    _said: dict[int, Reason]

    @classmethod
    def _make(
        cls,
        problem: ProblemView,
        q: np.ndarray,
        errors: np.ndarray,
        told: Any,
        seed: np.ndarray,
        value: Any,
        tolerances: np.ndarray | None = None,
        row_multipliers: np.ndarray | None = None,
    ) -> Self:
        made = object.__new__(cls)
        made.problem, made.q, made.errors, made._seed = problem, q, errors, seed
        made._tolerances, made.row_multipliers = tolerances, row_multipliers
        made._told, made._given = told, value
        made._near = None
        made._judged = None
        return made

    @property
    def success(self) -> Any:
        """Whether all hard tasks are done within their tolerances and limits kept, at a minimum of what soft ones cost
        where there are some: a bool, or an array (...).
        """
        told = self._told
        return told[0] == 1.0 if told.__class__ is list else told[..., 0] == 1.0

    @property
    def feasible(self) -> Any:
        """Whether hard tasks are done within their tolerances, whatever soft ones cost: a bool, or an array (...)."""
        told = self._told
        return told[_PLACE["reached"]] == 1.0 if told.__class__ is list else told[..., _PLACE["reached"]] == 1.0

    @property
    def iterations(self) -> Any:
        """Steps, of all starts together (...)."""
        return self._whole("iterations")

    @property
    def restarts(self) -> Any:
        """Starts after the seed (...)."""
        return self._whole("restarts")

    @property
    def position_error(self) -> Any:
        """The longest way that is left of a hard task (...) [m]."""
        return self._number("position_error")

    @property
    def orientation_error(self) -> Any:
        """The largest angle that is left of a hard task (...) [rad]."""
        return self._number("orientation_error")

    @property
    def soft_cost(self) -> Any:
        """½ Σ (w e)² of what is left of soft tasks (...): what is minimised."""
        result = self.problem.soft.costs(np.asarray(self.errors)).sum(axis=-1)
        return float(result) if result.ndim == 0 else result

    @property
    def soft_position_error(self) -> Any:
        """The longest way that is left of a soft task (...) [m]."""
        return self._soft_left("m")

    @property
    def soft_orientation_error(self) -> Any:
        """The largest angle that is left of a soft task (...) [rad]."""
        return self._soft_left("rad")

    @property
    def cost(self) -> Any:
        """How far from done (...): the sum of the squares of what is beyond, in units of characteristic size."""
        scaled = np.asarray(self.errors) * np.array(self.problem.scales)
        result = (scaled * scaled).sum(axis=-1)
        return float(result) if result.ndim == 0 else result

    @property
    def distance(self) -> Any:
        """How far from done as a length (...) [m]: an angle counts by half a characteristic length, as in the search.

        A configuration that fails is the one of least distance that was met.
        """
        result = np.sqrt(self.cost) * 0.5 * characteristic_length(self.problem.robot.tree)
        return float(result) if np.ndim(result) == 0 else result

    @property
    def nearest_pose(self) -> Any:
        """Where the frame of the first task is (..., 4, 4): of what fails the nearest to what was asked."""
        frames = {*self.problem.robot.frames, "world"}
        pairs = [task.between for task in self.problem.tasks if task.between is not None]
        pair = next((pair for pair in pairs if frames.issuperset(pair)), None)
        if pair is None:
            raise ValueError(f"{self.problem.caller}: nearest_pose: no task is of a frame; see q and errors")
        frame, relative_to = pair
        return self.problem.robot.pose(self.q, frame, relative_to=relative_to)

    @property
    def targets(self) -> dict[str, np.ndarray]:
        """What each task aimed at."""
        if isinstance(self._given, dict):
            return self._given
        return {next(iter(self.problem.shapes)): self._given}

    @property
    def status(self) -> Any:
        """A `linkwork.errors.Status`, or an array (...) of its words.

        "solved"; "local_minimum": hard tasks are done, soft ones are not, and no start costs less (``success`` is
        True), or no small motion helps and another start does; "at_limits": without limits there is an answer;
        "out_of_reach": a bound proves that there is none; "not_found": no start has found one, within limits or
        without; "infeasible": hard tasks are done apart and not together; "singular": it stood where rows depend on
        each other, and another start finds an answer; "max_iterations": a longer search does; "not_finite": errors are
        NaN everywhere; "no_other_solution": of several answers, there are fewer.  Failures are analysed once, when
        the status is read.
        """
        reasons = self._reasons()
        if self._told.__class__ is list:
            return reasons[0].status if reasons else Status.SOLVED
        result = np.full(self._told.shape[:-1], Status.SOLVED, dtype=WORDS)
        for k, reason in reasons.items():
            result.flat[k] = reason.status
        return result

    @property
    def limits_in_the_way(self) -> Any:
        """Of what fails at limits: joints that an answer without them has beyond; a tuple, or an array of them."""
        return self._of_each("limits", ())

    @property
    def proof(self) -> Any:
        """Of what is out of reach: a bound that says so of every configuration, where there is one, else None."""
        return self._of_each("proof", None)

    @property
    def multipliers(self) -> Any:
        """Of tasks in conflict, by name, in their least compromise without limits: what each row pulls with.

        λ with Jᵀ λ = 0: to first order no motion helps, as λᵀ (e + J δ) = λᵀ e > 0; in units of characteristic size.
        Empty where the search came to no such compromise: multipliers that are given are never all zero.
        """
        return self._of_each("multipliers", {})

    def _sentence(self, place: tuple[int, ...]) -> str:
        told = np.asarray(self._told)
        shape = told.shape[:-1]
        k = int(np.ravel_multi_index(place, shape)) if shape else 0
        facts = {name: told.reshape(-1, len(TOLD))[k][place] for name, place in _PLACE.items()}
        facts["iterations"] = int(facts["iterations"])
        if self.problem.soft.any and facts["reached"] == 1.0:  # hard tasks are done: what is left is of soft ones
            each = (self.soft_position_error, self.soft_orientation_error, self.soft_cost)
            soft = [float(np.reshape(x, -1)[k]) for x in each]
            minimum = k in self._reasons()  # what is left of hard tasks is within their tolerances
            facts["position_error"] = soft[0] if minimum else max(facts["position_error"], soft[0])
            facts["orientation_error"] = soft[1] if minimum else max(facts["orientation_error"], soft[1])
            facts["cost"] = soft[2]
        return sentence(self._reasons().get(k) or Reason(Status.SOLVED), self.problem, facts)

    def _known(self, reasons: dict[int, Reason]) -> None:
        """Keep the reasons of states, by flat index, that are no answers."""
        self._said = reasons

    def _of_each(self, name: str, none: Any) -> Any:
        reasons = self._reasons()
        if self._told.__class__ is list:
            return getattr(reasons[0], name) if reasons else none
        result = np.empty(self._told.shape[:-1], dtype=object)
        for k in range(result.size):
            result.flat[k] = getattr(reasons[k], name) if k in reasons else none
        return result

    def _reasons(self) -> dict[int, Reason]:
        """Why states fail, by their number in the flat batch."""
        if self._judged is None:
            told = np.atleast_2d(np.asarray(self._told, dtype=float)).reshape(-1, len(TOLD))
            said: dict[int, Reason] = getattr(self, "_said", {})
            failed = np.array([k for k in np.flatnonzero(told[:, 0] != 1.0) if k not in said], dtype=int)
            self._judged = dict(zip(failed.tolist(), self._judge(failed, told), strict=True)) if len(failed) else {}
            self._judged |= self._minima(told)
            self._judged |= said
        return self._judged

    def _minima(self, told: np.ndarray) -> dict[int, Reason]:
        """States where hard tasks are done and soft ones are not, at a minimum of their cost."""
        problem, soft = self.problem, self.problem.soft
        if not soft.any:
            return {}
        errors = np.asarray(self.errors).reshape(len(told), -1)
        tolerances = problem.tolerances if self._tolerances is None else np.asarray(self._tolerances)
        left = np.broadcast_to(tolerances, np.shape(self.errors)).reshape(errors.shape)
        result = {}
        for k in np.flatnonzero((told[:, 0] == 1.0) & ~soft.done(errors, left)):
            open_ = soft.counted & ~(np.abs(errors[k]) <= left[k])
            names = [task.name for task in problem.tasks for _ in task.component_names]
            tasks = tuple(dict.fromkeys(name for name, x in zip(names, open_, strict=True) if x))
            result[int(k)] = Reason(Status.LOCAL_MINIMUM, tasks=tasks, starts=1 + int(told[k, _PLACE["restarts"]]))
        return result

    def _soft_left(self, unit: str) -> Any:
        errors = np.asarray(self.errors)
        result, start = np.zeros(errors.shape[:-1]), 0
        for task in self.problem.tasks:
            rows = range(start, start + len(task.row_units))
            start = rows.stop
            own = [i for i, u in zip(rows, task.row_units, strict=True) if u == unit and self.problem.soft.counted[i]]
            if own:
                result = np.maximum(result, np.linalg.norm(errors[..., own], axis=-1))
        return float(result) if result.ndim == 0 else result

    def _judge(self, failed: np.ndarray, told: np.ndarray) -> list[Reason]:
        problem, shape = self.problem, np.shape(self._told)[:-1]

        def rows(x: np.ndarray, rank: int) -> np.ndarray:
            own = x.shape[x.ndim - rank :]
            result: np.ndarray = np.broadcast_to(x, (*shape, *own)).reshape(-1, *own)[failed]
            return result

        given = {name: rows(np.asarray(x), len(problem.shapes[name])) for name, x in self.targets.items()}
        tolerances = problem.tolerances if self._tolerances is None else self._tolerances
        facts = {name: told[failed, place] for name, place in _PLACE.items()}
        seed, errors = rows(np.asarray(self._seed), 1), rows(np.asarray(self.errors), 1)
        return judged(problem, rows(self.q, 1), given, rows(tolerances, 1), facts, seed, errors)

    def derivative(self, by: str) -> np.ndarray:
        """How answers move (..., nv, n), in tangent vectors, by what the problem is asked with or is of.

        ``by`` is the name of a target, ``"nearest_to"``, or a parameter of the robot, as ``"placement:elbow"`` (see
        `Robot.parameters`).  Poses move by twists (rotation; way) and rotations by rotation vectors, in their own axes,
        configurations by velocities, all else number by number.

        An answer moves by the least step that keeps hard tasks done, exactly so where as many rows as joints determine
        it; the nearest configuration as its conditions say (`linkwork.ik.algorithms.solution_derivative`), soft tasks
        not counted. Joints at limits stay there.  Where that is no derivative, at singularities, for answers that
        failed, and on the other side where a limit is only touched, numbers are finite all the same.

        Raises ValueError for what no answer depends on.
        """
        from linkwork.ik.traced_ik import answer_derivative

        return answer_derivative(self, by)

    def _after(self, iterations: int, restarts: int) -> IKResult:
        """Return the same result with other numbers of steps and starts."""
        told = list(self._told)
        told[_PLACE["iterations"]], told[_PLACE["restarts"]] = float(iterations), float(restarts)
        known = (self._given, self._tolerances, self.row_multipliers)
        return IKResult._make(self.problem, self.q, self.errors, told, self._seed, *known)

    def _number(self, name: str) -> Any:
        told = self._told
        return told[_PLACE[name]] if told.__class__ is list else told[..., _PLACE[name]]

    def _whole(self, name: str) -> Any:
        result = self._number(name)
        return int(result) if result.__class__ is float else result.astype(int)

    def __repr__(self) -> str:
        if self._told.__class__ is list:
            position = max(self.position_error, self.soft_position_error)
            orientation = max(self.orientation_error, self.soft_orientation_error)
            return (
                f"<IKResult: {self.status}, {position:.3g} m and {orientation:.3g} rad left, "
                f"{self.iterations} iterations>"
            )
        return f"<IKResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"

    def __str__(self) -> str:
        """A sentence of one state, a table of a batch."""
        return self.explain() if self._told.__class__ is list else table(self.status.ravel().tolist())
