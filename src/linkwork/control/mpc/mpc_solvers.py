"""Planners of model-predictive controllers: a search for a path, which continues from step to step of the controller.

Arrays have one leading axis, the environments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from linkwork.kernels.compiler_api import Kernel
from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.problem_arrays import PreparedProblem
from linkwork.optimal.schedule import Schedule

__all__ = ["EXCESS", "Planner", "Search", "horizon_step", "shifted_steps", "split_share"]

Search = dict[str, np.ndarray]

EXCESS = 1e-2  # of an effort limit: a command whose force is cut by more has the status "saturated"
_WHOLE = 1e-9  # of a step: rounding of a whole number of steps


@runtime_checkable
class Planner(Protocol):
    """A solver over a receding horizon: paths of ``steps`` steps of ``step`` seconds each, from a given state."""

    robot: Any
    steps: int
    step: float

    def call_inputs(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> Any:
        """Return the inputs of a call, for environments with the leading axes ``lead``.

        ``schedule``: steps of phases, if they are not those of the problem.  ``parameters``: the robot's parameters,
        (n, *shape) or (*shape,), if the controller has any.  Raises ValueError and UnknownNameError.
        """

    def initial_search(self, q: np.ndarray) -> Search:
        """Return the state of a new search, whose paths rest at configurations (n, nq)."""

    def shifted(self, search: Search, share: float) -> Search:
        """Return the search with its path and multipliers shifted by ``share`` time steps."""

    def begin_step(self, search: Search) -> Search:
        """Return the search before the first iteration of a controller's step."""

    def iterate(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, iterations: int) -> Search:
        """Return the search from states (n, nq), (n, nv) after ``iterations`` in total since `begin_step`."""

    def has_converged(self, search: Search) -> bool:
        """Return True if all environments have converged, so that further iterations have no effect."""

    def with_effort_limits(self, search: Search, tau: np.ndarray) -> tuple[Search, np.ndarray]:
        """Return the search with effort limits, and a mask (n,) of the environments that need further iterations.

        Those are the environments whose planned joint forces ``tau`` (n, steps, nv) exceed limits that the search did
        not include.
        """

    def path(self, search: Search) -> np.ndarray:
        """Return the planned configurations q (n, steps, nq) of n environments, as those of `OptimalResult`.

        They are the control points of the curve: in the middles of steps after the first, and at the end.
        """

    def cost_and_violation(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """Return costs (n,) and constraint violations (n,); NaN where no path is better than the initial one."""

    def known_forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        """Return the planned joint forces of motors (n, steps, nv), or None for those of inverse dynamics.

        With None, the second result has the forces of contacts and constraints by name (n, steps, size).
        """

    def is_finite(self, search: Search) -> np.ndarray:
        """Return a mask (n,) of the searches whose values are all finite."""

    def explain(self, search: Search, q: np.ndarray, v: np.ndarray, inputs: Any, index: int) -> str:
        """Return why the search of the environment ``index`` failed, from the arguments and the result of `iterate`."""

    def kernels(self) -> Sequence[Kernel]:
        """Return the kernels that each step runs."""

    def later_kernels(self) -> Sequence[Callable[[], Kernel]]:
        """Return functions that return kernels which only few steps run."""


def horizon_step(prepared: PreparedProblem) -> float:
    """Return the time step [s].  Raises ValueError for a problem with free durations or unequal steps."""
    if prepared.program.durations or not prepared.program.uniform:
        raise ValueError(
            "controller: problem: expected one fixed duration [s]: a receding horizon needs equal time steps, not free "
            "durations or durations by phase"
        )
    return float(np.ravel(prepared.constants["step"])[0])


def split_share(share: float) -> tuple[int, float]:
    """Return the whole time steps of ``share`` and the remaining fraction of one."""
    whole = int(share + _WHOLE)
    return whole, share - whole if share - whole > _WHOLE else 0.0


def shifted_steps(x: np.ndarray, share: float) -> np.ndarray:
    """Shift values (n, T, ...) by ``share`` time steps, interpolated linearly; the last value is repeated."""
    whole, fraction = split_share(share)
    if whole:
        T = x.shape[1]
        x = x[:, np.minimum(np.arange(T) + whole, T - 1)]
    if not fraction:
        return x
    result, next_rows = (1.0 - fraction) * x, fraction * x
    result[:, :-1] += next_rows[:, 1:]
    result[:, -1] += next_rows[:, -1]
    return result
