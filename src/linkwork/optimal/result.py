"""Results of trajectory optimisation."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from linkwork._util.checked_arguments import public
from linkwork._util.result import Result
from linkwork._util.status import WORDS, status_of
from linkwork.errors import Status
from linkwork.optimal.infeasibility_proof import ConflictProof, conflict_proof
from linkwork.optimal.kernels import SEARCH_SCALARS, looking_kernel, shapes_of, state_shapes
from linkwork.optimal.nonfinite_report import (
    LOST,
    UNKNOWN,
    nonfinite_derivatives,
    nonfinite_values,
    resolution,
    violations_of,
)
from linkwork.optimal.optimum_derivative import PathDerivative, path_derivative

__all__ = ["OptimalResult"]

_PLACE = {name: k for k, name in enumerate(SEARCH_SCALARS)}
_ENDS = {1: Status.SOLVED, 2: Status.NOT_CONVERGED, 3: Status.STALLED, 4: Status.SUPERSEDED}  # by code of the kernel
_STUCK = 3.0
_MAYBE_INFEASIBLE = (Status.NOT_CONVERGED, Status.STALLED, Status.MAX_ITERATIONS)

_TRY_OTHERS = "from this first path; num_guesses= tries others"


@public
class OptimalResult(Result):
    """An optimised path; of a batch of problems, an entry for each.

    ``success`` says whether it keeps all constraints within tolerances at a minimum of what is asked; where it does
    not, ``status`` and `explain` say why.  Of several seeds it is the best: solved before feasible before others, then
    of least cost.  `attempts` has all of them; one that was not at its end when another was solved is "superseded".
    """

    def _fill(
        self,
        prepared: Any,
        state: dict[str, np.ndarray],
        numbers: dict[str, np.ndarray],
        tolerances: np.ndarray,
        lead: tuple[int, ...] = (),
        seeds: int | None = None,
        late: bool = False,
        running: bool = False,
        first: dict[str, np.ndarray] | None = None,
    ) -> None:
        self._prepared, self._inputs, self._tolerances = prepared, numbers, tolerances
        self._first_state = first  # with which the search began
        self._late, self._running = late, running  # whether it was stopped, and whether it goes on
        self.attempts: OptimalResult | None = None
        if seeds is not None:
            self.attempts = OptimalResult._make(
                prepared, state, numbers, tolerances, (*lead, seeds), None, late, running, first
            )
            place = self.attempts._best()
            state = {name: _taken(x, place) for name, x in state.items()}
            if first is not None:
                shaped = {
                    name: np.broadcast_to(x, (*lead, seeds, *prepared.state_shapes[name])) for name, x in first.items()
                }
                self._first_state = {name: _taken(x, place) for name, x in shaped.items()}
            shapes = prepared.shapes | {"velocity": (prepared.problem.robot.nv,)}
            self._inputs = {
                name: x if x.ndim <= len(shapes.get(name, x.shape)) else x.squeeze(x.ndim - len(shapes[name]) - 1)
                for name, x in numbers.items()
            }
            self._best_guess: Any = int(place) if not place.shape else place
        self._state = state
        self._proofs: dict[int, ConflictProof | None] = {}

    def _best(self) -> np.ndarray:
        """Along the last axis: the number of the best."""
        feasible, cost = self.feasible, self._state["scalars"][..., _PLACE["cost"]]
        rank = np.where(self.success, 0, np.where(feasible, 1, 2))
        value = np.where(feasible | (rank == 0), cost, self._worst())
        return np.asarray(np.lexsort((np.where(np.isnan(value), np.inf, value), rank))[..., 0])

    # -- numbers

    @property
    def problem(self) -> Any:
        """The problem that it is of."""
        return self._prepared.problem

    @property
    def q(self) -> np.ndarray:
        """Configurations (..., T, nq)."""
        return self._state["q"]

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Those of the whole path by name, (..., size)."""
        return _split(self._state.get("p"), self._prepared.program.parameters)

    @property
    def variables(self) -> dict[str, np.ndarray]:
        """Those of each step by name, (..., T, size)."""
        return _split(self._state.get("u"), self._prepared.program.variables)

    @property
    def duration(self) -> Any:
        """How long the path takes (...) [s]."""
        return _plain(self.steps.sum(axis=-1))

    @property
    def steps(self) -> np.ndarray:
        """How long each step takes (..., T) [s]."""
        return np.asarray(self._prepared.steps_of(self._state.get("p", np.zeros(0))))

    @property
    def times(self) -> np.ndarray:
        """The times of configurations (..., T) [s]: from one step after a start, or from zero."""
        total = np.cumsum(self.steps, axis=-1)
        return total if self._prepared.started else total - self.steps[..., :1]

    @property
    def cost(self) -> Any:
        """What is minimised (...): costs and half the squares."""
        return self._scalar("cost")

    @property
    def iterations(self) -> Any:
        """Iterations of the search (...)."""
        result = self._state["scalars"][..., _PLACE["iterations"]]
        return int(result) if not result.shape else result.astype(int)

    @property
    def success(self) -> Any:
        """Whether it is solved: a bool, or an array (...)."""
        result = self._state["scalars"][..., _PLACE["status"]] == 1.0
        return bool(result) if not result.shape else result

    @property
    def feasible(self) -> Any:
        """Whether all constraints are kept within their tolerances, optimal or not."""
        first, hard = len(SEARCH_SCALARS), len(self._prepared.program.hard)
        with np.errstate(invalid="ignore"):
            result = (self._state["scalars"][..., first : first + hard] <= self._tolerances[1:]).all(axis=-1)
        return bool(result) if not np.shape(result) else result

    def _worst(self) -> np.ndarray:
        first, hard = len(SEARCH_SCALARS), len(self._prepared.program.hard)
        return np.asarray(self._state["scalars"][..., first : first + hard].max(axis=-1, initial=0.0))

    @cached_property
    def _violated(self) -> np.ndarray:
        """By how much each constraint is violated (..., constraints), also where no step was taken."""
        first, hard = len(SEARCH_SCALARS), len(self._prepared.program.hard)
        told = self._state["scalars"][..., first : first + hard]
        return told if (told < UNKNOWN).all() else np.where(told < UNKNOWN, told, violations_of(self))

    def _scalar(self, name: str) -> Any:
        return _plain(self._state["scalars"][..., _PLACE[name]])

    # -- what it means

    @cached_property
    def status(self) -> Any:
        """A `linkwork.errors.Status`, or an array (...) of its words.

        "infeasible": some constraints cannot hold together near the path (`conflicts`), which is proved when the status
        is asked for: violations are stationary, with Farkas multipliers, and the first path keeps not all constraints
        either; "not_converged": some constraints are violated, and nothing proves that they must be; "stalled": no
        step makes it better; "max_iterations" and "time_limit": a longer search may; "running": it goes on (in a
        callback); "superseded": another seed was solved; "not_finite": a feature, or its derivative, is NaN or
        infinite where it counts (`explain` says which, in which step).
        """
        told = self._state["scalars"]
        flat = told.reshape(-1, told.shape[-1])
        going = Status.TIME_LIMIT if self._late else Status.MAX_ITERATIONS
        going = Status.RUNNING if self._running else going
        result = []
        for k, row in enumerate(flat):
            status = _ENDS.get(int(np.nan_to_num(row[_PLACE["status"]])), going)
            if status is not Status.SOLVED and self._odd(k):
                status = Status.NOT_FINITE
            elif status in _MAYBE_INFEASIBLE and self._proof(k) is not None:
                status = Status.INFEASIBLE
            result.append(status)
        return status_of(np.array(result, dtype=WORDS).reshape(told.shape[:-1]))

    def _proof(self, place: int) -> ConflictProof | None:
        """Why a problem of a batch is infeasible, if it is."""
        if place not in self._proofs:
            kept = bool(np.all(np.ravel(self.feasible)[place]))
            self._proofs[place] = None if kept else self._proved(place)
        return self._proofs[place]

    def _proved(self, place: int) -> ConflictProof | None:
        return conflict_proof(self, place)

    def _odd(self, place: int) -> list[str]:
        """What is not finite of a problem of a batch, of one that ended as such do: features, or their derivatives."""
        row = self._state["scalars"].reshape(-1, self._state["scalars"].shape[-1])[place]
        lost = not row[_PLACE["length"]] < LOST
        if not lost and np.isfinite(row[: len(SEARCH_SCALARS)]).all() and row[_PLACE["status"]] != _STUCK:
            return []
        return nonfinite_values(self, place) or (nonfinite_derivatives(self, place) if lost else [])

    @cached_property
    def residuals(self) -> dict[str, np.ndarray]:
        """What features are, by name, at the steps where they count (..., steps, rows): the most violated first."""
        result = self._by_feature(*self._looked)
        worst = self.violations
        return {
            name: result[name]
            for name in sorted(result, key=lambda name: -float(np.max(worst.get(name, -1.0), initial=-1.0)))
        }

    def _by_feature(self, every: np.ndarray, alone: np.ndarray) -> dict[str, np.ndarray]:
        """A number for each value, of what is looked at in all steps (..., T, rows) and of what is alone (..., rows),
        by name at the steps where it counts (..., steps, rows).
        """
        result: dict[str, np.ndarray] = {}
        column = row = 0
        for k, term in enumerate(self._prepared.program.terms):
            if term.at is None:
                own = every[..., column : column + term.count]
                result[term.name] = own[..., list(self._steps_of(k)), :]
                column += term.count
            else:
                result[term.name] = alone[..., None, row : row + term.count]
                row += term.count
        return result

    @cached_property
    def violations(self) -> dict[str, Any]:
        """Of constraints, by name: how much is violated at most (...), the most violated first."""
        program, told = self._prepared.program, self._violated
        result = {program.terms[k].name: told[..., n] for n, k in enumerate(program.hard)}
        return {
            name: _plain(result[name])
            for name in sorted(result, key=lambda name: -float(np.max(result[name], initial=0.0)))
        }

    @cached_property
    def multipliers(self) -> dict[str, np.ndarray]:
        """Of constraints, by name, at the steps where they count (..., steps, rows): ∂cost + Σ multiplier · ∂c = 0.

        Of what is infeasible they are those of the proof, of which the largest is 1: Σ multiplier · ∂c = 0, and
        Σ multiplier · violation is positive.
        """
        program, told = self._prepared.program, self._state["scalars"]
        proofs = {k: self._proof(k) for k in np.flatnonzero(np.ravel(self.status) == "infeasible").tolist()}
        result: dict[str, np.ndarray] = {}
        for name, terms in (("everywhere", program.everywhere), ("alone", program.alone)):
            for k, place in program.forces_of(terms).items():
                own = self._state[name][..., place] * self._inputs["scales"][program.rows_of[k]]
                for where, proof in proofs.items():
                    assert proof is not None
                    own[np.unravel_index(where, told.shape[:-1])] = getattr(proof, name)[..., place]
                own = own[..., list(self._steps_of(k)), :] if name == "everywhere" else own[..., None, :]
                result[program.terms[k].name] = own
        return {name: result[name] for name in self.violations}

    @property
    def conflicts(self) -> Any:
        """Names of constraints that are violated (...): of what is infeasible all that take part in the proof.

        The most violated come first, relative to their tolerances; of a batch a list by index.
        """
        program, told = self._prepared.program, self._violated
        result: list[tuple[str, ...]] = []
        for row, status in zip(
            told.reshape(int(np.prod(told.shape[:-1])), told.shape[-1]), np.ravel(self.status), strict=True
        ):
            proof = self._proof(len(result)) if status == "infeasible" else None
            worst = row / self._tolerances[1:]
            order = [n for n in np.argsort(-worst, kind="stable") if worst[n] > 1.0]
            names = tuple(program.terms[program.hard[n]].name for n in order)
            if proof is not None:
                names = (*proof.violations, *proof.pressing)
            result.append(names)
        return result[0] if told.ndim == 1 else result

    def _sentence(self, index: tuple[int, ...]) -> str:
        told = self._state["scalars"]
        place = int(np.ravel_multi_index(index, told.shape[:-1])) if index else 0
        status = Status(np.ravel(self.status)[place])
        row = told.reshape(-1, told.shape[-1])[place]
        names = self.conflicts if told.ndim == 1 else self.conflicts[place]
        done = f"after {int(row[_PLACE['iterations']])} iterations"
        if status is Status.SOLVED:
            return f"{int(row[_PLACE['iterations']])} iterations, cost {row[_PLACE['cost']]:.6g}"
        if status is Status.NOT_FINITE:
            return "; ".join(self._odd(place))
        if names:
            violated, program = self._violated.reshape(-1, self._violated.shape[-1])[place], self._prepared.program
            at = {program.terms[k].name: violated[n] for n, k in enumerate(program.hard)}
            proof = self._proof(place) if status is Status.INFEASIBLE else None
            at |= proof.violations if proof is not None else {}
            shown = ", ".join(f"{name!r} (by {at[name]:.3g})" if name in at else name for name in names)
            if status is not Status.INFEASIBLE:
                return f"violated: {shown}, {done}"
            many = "from each of these first paths" if self.attempts is not None else _TRY_OTHERS
            return f"these cannot hold together: {shown}, {many}"
        if status is Status.NOT_CONVERGED:
            coarse = resolution(self.q.reshape(-1, *self.q.shape[-2:])[place])
            return f"the path has gone so far that numbers there are {coarse:.2g} apart, {done}"
        return f"all constraints are kept {done}; the last step was {row[_PLACE['length']]:.2g} long"

    def derivative(self, by: str) -> PathDerivative:
        """How the path moves (..., T, nv, n), in tangent vectors, by n numbers of what the problem is asked with.

        ``by`` is the name of a feature with a target, ``"start"``, ``"start velocity"``, ``"duration"`` or ``"duration
        of PHASE"`` [s] where these are given, or a parameter of the robot as ``"placement:elbow"`` or ``"gravity"``
        (see `Robot.parameters`).  Of a target by
        step (`linkwork.optimal.PerStep`) the n are the numbers of all its steps, step by step.  Poses move by twists
        (rotation; way) and rotations by rotation vectors, in their own axes, configurations by velocities, all else
        number by number; a start keeps its velocity.

        It is exact at an optimum, with inequalities that hold the path as equalities; as exact as the optimum is found.
        Where nothing determines how a path moves, it is the least way.  Raises ValueError for what no path depends on,
        and for a path that is no optimum, not solved; in a batch it is NaN there.
        """
        return path_derivative(self, by)

    def trajectory(self, index: Any = ()) -> Any:
        """The path as a `linkwork.motion.Trajectory`, a cubic spline through its configurations, from its start.

        It begins at the velocity that the path was solved with, if one was given; else, and at its end, with none of
        its accelerations.
        """
        robot = self.problem.robot
        q, t = self.q[index], self.times[index] if self.times.ndim > 1 else self.times
        first = self._inputs.get("past")
        if self._prepared.started and first is not None and first.shape[-2]:
            own = np.broadcast_to(first, (*self.q.shape[:-2], *first.shape[-2:]))[index]
            q, t = np.concatenate([own[-1:], q]), np.concatenate([[0.0], t])
            if (v := self._inputs.get("velocity")) is not None:
                v = np.broadcast_to(v, (*self.q.shape[:-2], robot.nv))[index]
                return robot.spline(t, q, boundary="launched", velocity=v)
        return robot.spline(t, q)

    def _steps_of(self, k: int) -> tuple[int, ...]:
        """The steps at which the term of a number counts."""
        weights = self._inputs.get("weights", self._prepared.constants["weights"])
        return tuple(np.flatnonzero(weights[..., k].reshape(-1, weights.shape[-2]).any(axis=0)).tolist())

    def plot(self, axes: Any = None, index: Any = ()) -> Any:
        """Configurations by time, and below them features at the steps where they count, the most violated first.

        Drawn with matplotlib (``pip install "linkwork[figures]"``); gives its axes.  ``index`` is of a batch.
        """
        from linkwork.optimal.plots import plot_result

        return plot_result(self, axes, index)

    # -- how it is shown

    def __repr__(self) -> str:
        if np.ndim(self.cost) == 0:
            return f"<OptimalResult: {self.status}: {self.message}>"
        return f"<OptimalResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"

    def __str__(self) -> str:
        """A table: by feature what is left, and what it pulls with."""
        if np.ndim(self.cost) != 0:
            return self.message
        lines = [self.explain(), f"{'feature':<24} {'kind':<13} {'largest':>10} {'violated':>10} {'multiplier':>10}"]
        kind_of = {term.name: term.kind for term in self.problem.terms}
        for name, values in self.residuals.items():
            largest = np.abs(values).max(initial=0.0)
            line = f"{name[:24]:<24} {kind_of[name]:<13} {largest:>10.3g}"
            if name in self.violations:
                line += f" {self.violations[name]:>10.2e} {np.abs(self.multipliers[name]).max(initial=0.0):>10.3g}"
            lines.append(line)
        return "\n".join(lines)

    # -- kept for others

    @cached_property
    def _looked(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of what is looked at in all steps (..., T, rows), and of what is alone (..., rows)."""
        program = self._prepared.program
        names = [name for name in ("q", "u", "p") if name in state_shapes(program)]
        numbers = [self._inputs[name] for name in shapes_of(program)]
        result = looking_kernel(program)(*(self._state[name] for name in names), *numbers)
        return result.everywhere, result.alone


def _split(x: np.ndarray | None, names: Any) -> dict[str, np.ndarray]:
    result: dict[str, np.ndarray] = {}
    start = 0
    for name, size in names:
        assert x is not None
        result[name] = x[..., start : start + size]
        start += size
    return result


def _plain(x: np.ndarray) -> Any:
    return float(x) if not np.shape(x) else x


def _taken(x: np.ndarray, place: np.ndarray) -> np.ndarray:
    """One of the seeds of each problem."""
    if not place.ndim:
        return np.array(x[int(place)])
    index = place[(..., *[None] * (x.ndim - place.ndim))]
    return np.take_along_axis(x, index, axis=place.ndim).squeeze(axis=place.ndim)
