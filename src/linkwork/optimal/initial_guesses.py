"""Initial guesses of path searches: batches of guesses, their comparison, and restarts of failed searches."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kinematics.algorithms.coordinates import unit_steps
from linkwork.optimal.algorithms.path_augmented_lagrangian import RUNNING, SOLVED, STOPPED, VIOLATED
from linkwork.optimal.kernels import SEARCH_SCALARS

__all__ = ["COMPARISON_INTERVAL", "RestartedGuesses", "best_entries", "guesses", "resting_guess", "stop_inferior"]

COMPARISON_INTERVAL = 4  # iterations between comparisons of the guesses
_ITERATION_FACTOR = 2.0  # iterations of other guesses, relative to those of the first solved one
_NUDGE = 1e-7  # in units of coordinates: motion of a guess at rest
_ALIKE = 1e-3  # relative difference of merits that counts as equal
_STATUS, _ITERATIONS, _COST, _MERIT = (SEARCH_SCALARS.index(name) for name in ("status", "iterations", "cost", "merit"))


def resting_guess(robot: Any, q: np.ndarray, count: int) -> np.ndarray:
    """Return paths (..., count, nq) that rest at q (..., nq), with a tiny motion that breaks symmetries.

    A search from a path with a symmetry of the problem could end at a saddle point of the cost.
    """
    u = np.linspace(0.0, 1.0, count)[:, None]
    sizes = np.array(unit_steps(robot.tree)) * (0.5 + 0.5 * (np.arange(robot.nv) * 0.618034 % 1.0))
    paths = np.repeat(q[..., None, :], count, axis=-2)
    return np.asarray(robot.integrate(paths, _NUDGE * u * u * (3.0 - 2.0 * u) * sizes))


def guesses(problem: Any, first: np.ndarray, ends: np.ndarray, started: bool) -> np.ndarray:
    """Return n initial guesses for each problem (..., n, T, nq): the path ``first``, and smooth paths to the ``ends``.

    The smooth paths lead from the first configuration of ``first`` to the configurations ``ends`` (n − 1, nq).
    """
    robot, T, count = problem.robot, problem.num_steps, 1 + len(ends)
    paths = np.repeat(first[..., None, :, :], count, axis=-3)
    lead = first.shape[:-2]
    begin = first[..., None, :1, :]
    tangent = robot.difference(np.broadcast_to(begin, (*lead, count - 1, 1, robot.nq)), ends[:, None, :])
    u = np.linspace(1.0 / T if started else 0.0, 1.0, T)[:, None]
    share = u * u * (3.0 - 2.0 * u) if T > 1 else np.ones((1, 1))
    paths[..., 1:, :, :] = robot.integrate(np.broadcast_to(begin, (*lead, count - 1, T, robot.nq)), share * tangent)
    return paths


def best_entries(x: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the entries of ``x`` that belong to the best guess of each problem.

    ``best`` has the index of that guess for each problem. The axis of guesses follows the axes of ``best`` in x.
    """
    index = best[(..., *[None] * (x.ndim - best.ndim))]
    return np.asarray(np.take_along_axis(x, index, axis=best.ndim).squeeze(axis=best.ndim))


def stop_inferior(scalars: np.ndarray, iterations: int) -> np.ndarray:
    """Return the states of searches (..., guesses, scalars), in which the status of inferior searches is "stopped".

    Once a guess of a problem is solved, another guess continues while its merit is lower than that of the best solved
    guess, for at most twice the iterations of the first solved guess. So the outcome depends only on the problem
    itself.
    """
    status = scalars[..., _STATUS]
    solved = status == SOLVED
    any_solved = solved.any(axis=-1, keepdims=True)
    if not any_solved.any():
        return scalars
    cost = np.where(solved, scalars[..., _COST], np.inf)
    best = np.take_along_axis(scalars[..., _MERIT], cost.argmin(axis=-1)[..., None], axis=-1)
    first = np.where(solved, scalars[..., _ITERATIONS], np.inf).min(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        better = (scalars[..., _MERIT] < best - _ALIKE * np.abs(best)) & (iterations < _ITERATION_FACTOR * first)
    stopped = scalars.copy()
    stopped[..., _STATUS] = np.where(any_solved & (status == RUNNING) & ~better, STOPPED, status)
    return stopped


class RestartedGuesses:
    """Restarts of searches that ended with violated constraints, while no other guess of their problem is solved.

    Such a search ended in a local minimum of the violations. Its entry of the batch restarts with a path to another
    random configuration, with the remaining iterations.
    """

    def __init__(self, prepared: Any, first: np.ndarray, count: int, seed: int) -> None:
        self._prepared, self._first, self._count, self._seed = prepared, first, count, seed
        self._ended: dict[str, np.ndarray] = {}  # final states of restarted lanes: the least violated so far
        self._round: Any = 0  # (..., guesses) number of restarts

    def restart(self, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the state of all guesses, in which guesses that ended with violated constraints are restarted."""
        status = state["scalars"][..., _STATUS]
        again = (status == VIOLATED) & ~(status == SOLVED).any(axis=-1, keepdims=True)
        if not again.any():
            return state
        if not self._ended:
            self._ended, self._round = state, np.zeros(status.shape, dtype=int)
        better = again & ((self._round == 0) | (self._violated(state) < self._violated(self._ended)))
        self._ended = {name: _chosen(better, x, self._ended[name]) for name, x in state.items()}
        begin = {name: np.broadcast_to(self._prepared.begin[name], x.shape) for name, x in state.items() if name != "q"}
        scalars = begin["scalars"].copy()
        scalars[..., _ITERATIONS] = state["scalars"][..., _ITERATIONS]
        begin |= {"q": state["q"], "scalars": scalars}
        for k in np.unique(self._round[again]):
            problem, rng = self._prepared.problem, np.random.default_rng((self._seed, k))
            ends = problem.robot.random_configuration(rng, size=(self._count,))
            paths = guesses(problem, self._first, ends, self._prepared.started)[..., 1:, :, :]
            begin["q"] = _chosen(again & (self._round == k), np.broadcast_to(paths, begin["q"].shape), begin["q"])
        self._round = self._round + again
        return {name: _chosen(again, begin[name], x) for name, x in state.items()}

    def final(self, state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the final state of all guesses.

        For a guess that was restarted without success, the least violated path is returned.
        """
        if not self._ended:
            return state
        status = state["scalars"][..., _STATUS]
        worse = ~np.isin(status, (SOLVED, STOPPED)) & ~(self._violated(state) < self._violated(self._ended))
        return {name: _chosen(worse & (self._round > 0), self._ended[name], x) for name, x in state.items()}

    def _violated(self, state: dict[str, np.ndarray]) -> np.ndarray:
        """Return, for each guess, the sum of the violations of all constraints."""
        hard = len(self._prepared.program.hard)
        total: np.ndarray = state["scalars"][..., len(SEARCH_SCALARS) : len(SEARCH_SCALARS) + hard].sum(axis=-1)
        return total


def _chosen(lanes: np.ndarray, new: np.ndarray, old: np.ndarray) -> np.ndarray:
    return np.where(lanes.reshape(*lanes.shape, *(1,) * (old.ndim - lanes.ndim)), new, old)
