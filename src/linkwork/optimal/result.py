"""Results of trajectory optimisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from linkwork import geometry
from linkwork._util.cached_properties import cached_property
from linkwork._util.checked_arguments import public
from linkwork._util.file_search import Folders
from linkwork._util.foreign_names import WithForeignNames, add_foreign_names
from linkwork._util.pictures import Output, ghost_count, notebook_html, show
from linkwork._util.result import Result
from linkwork._util.validation import is_integer
from linkwork.motion.algorithms.curves import CurveSpace
from linkwork.motion.splines.interpolation import with_breaks
from linkwork.motion.trajectory.trajectory import Trajectory
from linkwork.optimal.algorithms.path_nlp import control_times, first_step
from linkwork.optimal.infeasibility_proof import ConflictProof, conflict_proof
from linkwork.optimal.initial_guesses import best_entries
from linkwork.optimal.kernels import SEARCH_SCALARS, shapes_of, state_shapes, value_kernel
from linkwork.optimal.optimum_derivative import PathDerivative, path_derivative
from linkwork.optimal.search_report import (
    UNKNOWN,
    conflict_names,
    falls_without_bound,
    nonfinite_features,
    result_message,
    result_table,
    search_status,
    violations_of,
)

__all__ = ["OptimalResult"]

_START = ("start", "rate")
_INDEX = {name: k for k, name in enumerate(SEARCH_SCALARS)}


@public
class OptimalResult(Result, metaclass=WithForeignNames):
    """An optimised path, or a batch of them.

    ``success`` is True for a local minimum that satisfies all constraints within tolerances; otherwise ``status`` and
    `explain` give the reason.  With several initial guesses, the result is the best attempt: a solved attempt is
    better than a feasible attempt, which is better than all others; among equals the lowest cost is best.
    ``attempts`` has all attempts; it is None for a single guess.  An attempt that was stopped because another was
    solved is "superseded".
    """

    def _fill(
        self,
        prepared: Any,
        state: dict[str, np.ndarray],
        inputs: dict[str, np.ndarray],
        tolerances: np.ndarray,
        lead: tuple[int, ...] = (),
        num_guesses: int | None = None,
        late: bool = False,
        running: bool = False,
        first: dict[str, np.ndarray] | None = None,
    ) -> None:
        self._prepared, self._inputs, self._tolerances = prepared, inputs, tolerances
        self._first_state = first  # at the beginning of the search
        self._late, self._running = late, running  # the search was stopped; the search is running
        self.attempts: OptimalResult | None = None
        if num_guesses is not None:
            self.attempts = OptimalResult._make(
                prepared, state, inputs, tolerances, (*lead, num_guesses), None, late, running, first
            )
            best = self.attempts._best()
            state = {name: best_entries(x, best) for name, x in state.items()}
            if first is not None:
                shaped = {
                    name: np.broadcast_to(x, (*lead, num_guesses, *prepared.state_shapes[name]))
                    for name, x in first.items()
                }
                self._first_state = {name: best_entries(x, best) for name, x in shaped.items()}
            shapes = prepared.shapes | {"start": (prepared.problem.robot.nq,), "rate": (prepared.problem.robot.nv,)}
            self._inputs = {
                name: x if x.ndim <= len(shapes.get(name, x.shape)) else x.squeeze(x.ndim - len(shapes[name]) - 1)
                for name, x in inputs.items()
            }
            self._best_guess: Any = int(best) if not best.shape else best
        self._state = state
        self._proofs: dict[int, ConflictProof | None] = {}

    def _best(self) -> np.ndarray:
        """Index of the best attempt along the last axis of the batch."""
        feasible, cost = self.feasible, self._state["scalars"][..., _INDEX["cost"]]
        rank = np.where(self.success, 0, np.where(feasible, 1, 2))
        value = np.where(feasible | (rank == 0), cost, self._worst())
        return np.asarray(np.lexsort((np.where(np.isnan(value), np.inf, value), rank))[..., 0])

    # -- values

    @property
    def problem(self) -> Any:
        """The problem that was solved."""
        return self._prepared.problem

    @property
    def q(self) -> np.ndarray:
        """Configurations (..., T, nq) at the `times`: the control points of the trajectory."""
        return self._state["q"]

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """Parameters of the whole path by name, (..., size)."""
        return _split(self._state.get("p"), self._prepared.program.parameters)

    @property
    def variables(self) -> dict[str, np.ndarray]:
        """Variables of each step by name, (..., T, size)."""
        return _split(self._state.get("u"), self._prepared.program.variables)

    @property
    def duration(self) -> Any:
        """Duration of the path (...) [s]."""
        return _plain(self.steps.sum(axis=-1))

    @property
    def steps(self) -> np.ndarray:
        """Durations of the steps (..., T) [s]."""
        return np.asarray(self._prepared.steps_of(self._state.get("p", np.zeros(0))))

    @property
    def times(self) -> np.ndarray:
        """Times of the configurations (..., T) [s]: the middles of steps after the first, and the end.

        Without a start the first time is zero, and the second time is the middle of the first step.
        """
        return control_times(self.steps, self._prepared.started)

    @property
    def cost(self) -> Any:
        """Objective value (...): the costs plus half the sum of squares."""
        return _plain(self._prepared.cost_unit * self._state["scalars"][..., _INDEX["cost"]])

    @property
    def iterations(self) -> Any:
        """Number of iterations of the search (...)."""
        result = self._state["scalars"][..., _INDEX["iterations"]]
        return int(result) if not result.shape else result.astype(int)

    @property
    def success(self) -> Any:
        """True where the solver converged; a bool, or an array (...)."""
        result = self._state["scalars"][..., _INDEX["status"]] == 1.0
        return bool(result) if not result.shape else result

    @property
    def feasible(self) -> Any:
        """True where all constraints are satisfied, optimal or not; a bool, or an array (...)."""
        first, hard = len(SEARCH_SCALARS), len(self._prepared.program.hard)
        with np.errstate(invalid="ignore"):
            result = (self._state["scalars"][..., first : first + hard] <= self._tolerances[1:]).all(axis=-1)
        return bool(result) if not np.shape(result) else result

    def _worst(self) -> np.ndarray:
        first, hard = len(SEARCH_SCALARS), len(self._prepared.program.hard)
        return np.asarray(self._state["scalars"][..., first : first + hard].max(axis=-1, initial=0.0))

    @cached_property
    def _violated(self) -> np.ndarray:
        """Violation of each constraint (..., constraints); computed also before the first iteration."""
        first, hard = len(SEARCH_SCALARS), len(self._prepared.program.hard)
        violations = self._state["scalars"][..., first : first + hard]
        return (
            violations
            if (violations < UNKNOWN).all()
            else np.where(violations < UNKNOWN, violations, violations_of(self))
        )

    # -- status and diagnostics

    @cached_property
    def status(self) -> Any:
        """A `linkwork.errors.Status`, or an array (...) of its words.

        - "solved": converged.
        - "infeasible": some constraints (`conflicts`) cannot hold together near the path.  This is proved when the
          status is first read: violations are stationary, with Farkas multipliers, and the initial path violates
          constraints.
        - "not_converged": some constraints are violated, without a proof of infeasibility.
        - "stalled": no step improves the path.
        - "max_iterations", "time_limit": the search was cut off.
        - "running": the search continues (in a callback).
        - "superseded": another attempt was solved.
        - "not_finite": a feature or its derivative is NaN or infinite at a step (`explain` names both).
        """
        return search_status(self)

    def _proof(self, index: int) -> ConflictProof | None:
        """Return the proof of infeasibility of one entry of a batch, or None."""
        if index not in self._proofs:
            feasible = bool(np.all(np.ravel(self.feasible)[index]))
            self._proofs[index] = None if feasible else self._prove_infeasible(index)
        return self._proofs[index]

    def _prove_infeasible(self, index: int) -> ConflictProof | None:
        return conflict_proof(self, index)

    def _nonfinite(self, index: int) -> list[str]:
        """Return a text for each feature with values or derivatives that are not finite, in one entry of a batch."""
        return nonfinite_features(self, index)

    @cached_property
    def residuals(self) -> dict[str, np.ndarray]:
        """Values of the features by name, (..., steps, components) at their steps, the most violated first."""
        result = self._by_feature(*self._term_values)
        worst = self.violations
        return {
            name: result[name]
            for name in sorted(result, key=lambda name: -float(np.max(worst.get(name, -1.0), initial=-1.0)))
        }

    def _by_feature(self, every: np.ndarray, alone: np.ndarray) -> dict[str, np.ndarray]:
        """Split values into a dict by feature: (..., steps, components) at the steps where each feature applies.

        ``every`` (..., T, components) are the values of features of all steps, and ``alone`` (..., components) those of
        features of single steps.
        """
        result: dict[str, np.ndarray] = {}
        column = row = 0
        for k, term in enumerate(self._prepared.program.terms):
            if term.at is None:
                of_term = every[..., column : column + term.count]
                result[term.name] = of_term[..., list(self._steps_of(k)), :]
                column += term.count
            else:
                result[term.name] = alone[..., None, row : row + term.count]
                row += term.count
        return result

    @cached_property
    def violations(self) -> dict[str, Any]:
        """Largest violation (...) of each constraint, by name, the most violated first."""
        program, violations = self._prepared.program, self._violated
        result = {program.terms[k].name: violations[..., n] for n, k in enumerate(program.hard)}
        return {
            name: _plain(result[name])
            for name in sorted(result, key=lambda name: -float(np.max(result[name], initial=0.0)))
        }

    @cached_property
    def multipliers(self) -> dict[str, np.ndarray]:
        """Multipliers of constraints by name, (..., steps, components) at their steps: ∂cost + Σ multiplier · ∂c = 0.

        For an infeasible problem they are the multipliers of the proof, scaled to the maximum 1: Σ multiplier · ∂c =
        0, and Σ multiplier · violation > 0.
        """
        program, scalars = self._prepared.program, self._state["scalars"]
        proofs = {k: self._proof(k) for k in np.flatnonzero(np.ravel(self.status) == "infeasible").tolist()}
        result: dict[str, np.ndarray] = {}
        for name, terms in (("everywhere", program.everywhere), ("alone", program.alone)):
            for k, columns in program.forces_of(terms).items():
                scales = self._prepared.cost_unit * self._inputs["scales"][program.rows_of[k]]
                of_term = self._state[name][..., columns] * scales
                for where, proof in proofs.items():
                    assert proof is not None
                    of_term[np.unravel_index(where, scalars.shape[:-1])] = getattr(proof, name)[..., columns]
                of_term = of_term[..., list(self._steps_of(k)), :] if name == "everywhere" else of_term[..., None, :]
                result[program.terms[k].name] = of_term
        return {name: result[name] for name in self.violations}

    @property
    def conflicts(self) -> Any:
        """Names of violated constraints; for an infeasible problem names of all constraints in the proof.

        The result is a tuple; constraints with the largest violations relative to their tolerances are first.  For a
        batch it is a list of tuples by flat index.
        """
        return conflict_names(self)

    def _sentence(self, index: tuple[int, ...]) -> str:
        return result_message(self, index)

    def derivative(self, by: str) -> PathDerivative:
        """Return the derivative of the path (..., T, nv, n), as tangent vectors, in the n values of an input.

        ``by`` is the name of a feature with a target, ``"start"``, ``"start velocity"``, a fixed ``"duration"`` or
        ``"duration of PHASE"`` [s], or a parameter of the robot such as ``"placement:elbow"`` or ``"gravity"`` (see
        `Robot.parameters`). For a target per step (`linkwork.optimal.PerStep`), the n values are those of all its
        steps, step by step. A pose is varied by twists (rotation; translation) and a rotation by rotation vectors,
        both in their own axes.  A configuration is varied by tangent vectors, and any other input by each of its
        values.  If the start is varied, the start velocity is constant.

        The derivative is exact at an optimum, with active inequalities as equalities; its accuracy is that of the
        optimum.  If the derivative is not unique, the one of least norm is returned.  Raises ValueError for an input
        without influence on the path, and for a path that is not solved; in a batch, entries that are not solved are
        NaN.
        """
        return path_derivative(self, by)

    def trajectory(self, index: Any = ()) -> Any:
        """Return the path as a `linkwork.motion.Trajectory`, with a constant acceleration in each time step.

        ``index`` selects an entry of a batch.  The trajectory is the curve of the problem: a quadratic B-spline with
        the configurations `q` as control points.  It begins at the start with the ``velocity`` of `solve`, and ends at
        the last configuration.  Limits of velocities and accelerations hold at all times.
        """
        robot = self.problem.robot
        q, steps = self.q[index], self.steps[index] if self.steps.ndim > 1 else self.steps
        if self._prepared.started:
            lead = self.q.shape[:-2]
            start, v = (np.broadcast_to(self._inputs[x], (*lead, self._inputs[x].shape[-1]))[index] for x in _START)
            q = np.concatenate([[start, robot.integrate(start, 0.5 * steps[0] * v)], q])
        else:
            steps = steps[first_step(len(steps), False) :]
        if len(q) < 2:
            raise ValueError("OptimalResult.trajectory: expected at least two configurations, got 1")
        breaks = np.concatenate([[0.0], np.cumsum(steps)])
        return Trajectory([with_breaks(CurveSpace.of(robot.tree), breaks, q)], robot)

    def _steps_of(self, k: int) -> tuple[int, ...]:
        """Return the steps at which the term with index k applies."""
        weights = self._inputs.get("weights", self._prepared.constants["weights"])
        return tuple(np.flatnonzero(weights[..., k].reshape(-1, weights.shape[-2]).any(axis=0)).tolist())

    def plot(self, axes: Any = None, index: Any = ()) -> Any:
        """Plot configurations against time, and the features at their steps, the most violated first.

        Uses matplotlib (``pip install "linkwork[figures]"``) and returns its axes.  ``index`` selects an entry of a
        batch.
        """
        from linkwork.optimal.plots import plot_result

        return plot_result(self, axes, index)

    def show(
        self,
        index: Any = (),
        *,
        frames: str | Sequence[str] | None = None,
        scene: geometry.Scene | None = None,
        ghosts: int | None = None,
        rate: float = 50.0,
        meshes: Folders | None = None,
        title: str | None = None,
        **output: Unpack[Output],
    ) -> Any:
        """Show the robot along the path, with a time bar and plots of q and v.

        ``index`` selects an entry of a batch.  For ``frames``, ``scene``, ``ghosts``, ``rate``, ``meshes``, ``title``,
        the result and the errors see `linkwork.motion.Trajectory.show`.
        """
        self._check_index("show", index)
        return show(
            self,
            output,
            index,
            frames=frames,
            scene=scene,
            ghosts=ghost_count(ghosts, output),
            rate=rate,
            meshes=meshes,
            title=title,
        )

    def _check_index(self, caller: str, index: Any) -> None:
        """Raise ValueError for an index that does not select one path of the batch."""
        shape = self.q.shape[:-2]
        key = index if isinstance(index, tuple) else (index,)
        fits = len(key) == len(shape) and all(is_integer(k) and -n <= k < n for k, n in zip(key, shape, strict=True))
        if not fits:
            raise ValueError(f"{caller}: index: expected {len(shape)} indices within the batch {shape}, got {index!r}")

    def _repr_html_(self) -> str:
        return notebook_html(self, (0,) * (self.q.ndim - 2))

    # -- printing

    def __repr__(self) -> str:
        if np.ndim(self.cost) == 0:
            return f"<OptimalResult: {self.status}: {self.message}>"
        return f"<OptimalResult: {int(np.sum(self.success))} of {np.size(self.success)} solved>"

    def __str__(self) -> str:
        """Return a table of features with their largest value, violation and multiplier."""
        return result_table(self)

    # -- internal

    def _falls(self, index: int) -> bool:
        """True if the cost of one entry of a batch seems to have no lower bound; see `falls_without_bound`."""
        if index not in self._unbounded:
            self._unbounded[index] = falls_without_bound(self, index)
        return self._unbounded[index]

    @cached_property
    def _unbounded(self) -> dict[int, bool]:
        return {}

    @cached_property
    def _term_values(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of the features of all steps (..., T, rows), and of the features of single steps (..., rows)."""
        program = self._prepared.program
        names = [name for name in ("q", "u", "p") if name in state_shapes(program)]
        inputs = [self._inputs[name] for name in shapes_of(program)]
        result = value_kernel(program)(*(self._state[name] for name in names), *inputs)
        return result.everywhere, result.alone


add_foreign_names(OptimalResult, "optimal.OptimalResult")


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
