"""What plans for a controller: a search for a path whose state is carried from step to step, a kernel call each.

Arrays have one leading axis, that of the environments.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from linkwork.model.kernel_parameters import Parameter
from linkwork.optimal.problem_arrays import PreparedProblem
from linkwork.optimal.schedule import Schedule

__all__ = ["EXCESS", "Planner", "Search", "later_rows", "receding_step", "split_share"]

Search = dict[str, np.ndarray]

EXCESS = 1e-2  # of a limit of effort: what forces may pass it by until a command says that it was cut
_WHOLE = 1e-9  # of a step: what is a whole one


@runtime_checkable
class Planner(Protocol):
    """A solver of receding problems: paths of ``steps`` steps of ``step`` seconds each, from a state on."""

    robot: Any
    steps: int
    step: float

    def numbers(
        self,
        reference: Mapping[str, Any] | None,
        lead: tuple[int, ...],
        schedule: Schedule | None = None,
        parameters: Mapping[Parameter, np.ndarray] | None = None,
    ) -> Any:
        """What comes with a call, for environments along these axes; a ``schedule`` where phases are not as the problem
        has them, and ``parameters`` of the robot (n, *shape) or (*shape,) where the controller has such.  Raises
        ValueError and UnknownNameError.
        """

    def begun(self, q: np.ndarray) -> Search:
        """A search that has not begun, from configurations (n, nq) that stay."""

    def moved(self, search: Search, share: float) -> Search:
        """The search when so many steps of time have passed: its path, and the multipliers along it."""

    def started(self, search: Search) -> Search:
        """The search before the first of a step's iterations."""

    def iterated(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, upto: int) -> Search:
        """The search from states (n, nq), (n, nv), after so many iterations in all since it was started."""

    def ended(self, search: Search) -> bool:
        """Whether further iterations would change nothing, in any environment."""

    def limited(self, search: Search, tau: np.ndarray) -> tuple[Search, np.ndarray]:
        """The search, and which environments (n,) have to go on searching in this step, since forces of their plan
        (n, steps, nv) pass limits that the search has left out so far; it knows them from now on.
        """

    def path(self, search: Search) -> np.ndarray:
        """q (n, steps, nq), a step after the state and so on."""

    def judged(self, search: Search) -> tuple[np.ndarray, np.ndarray]:
        """The cost (n,), NaN where there is no path that is better than the first, and by how much constraints are
        violated (n,).
        """

    def forces(self, search: Search) -> tuple[np.ndarray | None, Mapping[str, np.ndarray]]:
        """What is known of the plan's forces where something holds the robot: those of motors (n, steps, nv), or else
        those of what holds it by name (n, steps, size).
        """

    def sound(self, search: Search) -> np.ndarray:
        """Whether a search may go on (n,): all of its numbers are some."""

    def explained(self, search: Search, q: np.ndarray, v: np.ndarray, numbers: Any, place: int) -> str:
        """Why an environment's search failed, of the arrays that `iterated` had and gave."""

    def prepare(self) -> None:
        """Makes the code that it runs."""


def receding_step(own: PreparedProblem) -> float:
    """The time of a step [s].  Raises ValueError for a problem whose steps do not take equally long, or are free."""
    if own.program.durations or not own.program.uniform:
        raise ValueError(
            "controller: a problem whose duration is one number [s] is expected: free durations and those by "
            "phase do not recede"
        )
    return float(np.ravel(own.constants["step"])[0])


def split_share(share: float) -> tuple[int, float]:
    """Whole steps of time, and the part of one besides."""
    whole = int(share + _WHOLE)
    return whole, share - whole if share - whole > _WHOLE else 0.0


def later_rows(x: np.ndarray, share: float) -> np.ndarray:
    """Rows (n, T, ...) so many steps of time later, linear between; the last stays."""
    whole, part = split_share(share)
    if whole:
        T = x.shape[1]
        x = x[:, np.minimum(np.arange(T) + whole, T - 1)]
    if not part:
        return x
    result, next_rows = (1.0 - part) * x, part * x
    result[:, :-1] += next_rows[:, 1:]
    result[:, -1] += next_rows[:, -1]
    return result
