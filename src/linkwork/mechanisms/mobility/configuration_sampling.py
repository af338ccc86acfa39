"""Assembled configurations on random motions: steps along free velocities, projected by damped Gauss–Newton.

All mechanisms of a batch, with their own parameters, take their steps together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.mechanisms.algorithms.constraint_rows import position_rounding
from linkwork.mechanisms.assembly.state_inputs import StateInputs
from linkwork.mechanisms.mobility.length_scaling import Decomposed, Scales, decomposed

__all__ = ["Assembled", "Mechanism"]

CLOSED = 1e-10  # constraint error of an assembled configuration, relative to the characteristic length
STEPS = 60  # maximum number of Gauss–Newton iterations


class Assembled(NamedTuple):
    """Configurations after projection onto the constraints, with their errors in lengths [m]."""

    q: np.ndarray  # (n, nq)
    error: np.ndarray  # (n, ne), as lengths
    closed: np.ndarray  # (n): True if the error is zero

    @property
    def sizes(self) -> np.ndarray:
        """Norms of the errors; infinity if they are not finite."""
        sizes = np.linalg.norm(self.error, axis=-1)
        return np.where(np.isfinite(sizes), sizes, np.inf)


class Mechanism:
    """Constraints of a batch of mechanisms as functions of q (n, nq); angular errors are scaled to lengths.

    All mechanisms are the same robot; ``inputs`` are the time [s] and parameter values of each mechanism.
    """

    def __init__(self, robot: Any, scales: Scales, inputs: StateInputs) -> None:
        self.robot, self.scales, self.inputs = robot, scales, inputs

    @property
    def time(self) -> float | None:
        """Time [s] of one mechanism."""
        return float(self.inputs.arrays["time"]) if "time" in self.inputs.arrays else None

    def some(self, index: np.ndarray) -> Mechanism:
        """Return the mechanisms of an index of the batch."""
        return Mechanism(self.robot, self.scales, self.inputs[index])

    def _call(self, name: str, q: np.ndarray) -> np.ndarray:
        """Return the values of a function of the robot; a call with one configuration is faster without its axis."""
        if len(q) > 1 or not len(q) or self.inputs.shape:
            return np.asarray(getattr(self.robot, name)(q, **self.inputs.options))
        return np.asarray(getattr(self.robot, name)(q[0], **self.inputs.options))[np.newaxis]

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Return the constraint Jacobians at q, scaled to be dimensionless."""
        return self.scales.rows_of(self._call("constraint_jacobian", q))

    def error(self, q: np.ndarray) -> np.ndarray:
        """Return the errors of the holonomic constraints at q as lengths [m]."""
        return self.scales.error_of(self._call("constraint_error", q))

    def drift(self, q: np.ndarray) -> np.ndarray:
        """Return the drift of the constraints at q, their rate at v = 0, as lengths per second [m/s]."""
        result: np.ndarray = self._call("constraint_drift", q) * self.scales.rows
        return result

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return configurations after steps (n, nv) from q; angles of the steps are scaled to lengths [m]."""
        result: np.ndarray = self.robot.integrate(q, step / self.scales.velocities)
        return result

    @cached_property
    def closed(self) -> float:
        """Largest error [m] with which a configuration counts as assembled."""
        return CLOSED * self.scales.length + position_rounding(self.robot.tree)

    def projected(self, q: np.ndarray) -> Assembled:
        """Project q onto the constraints by Gauss–Newton steps of minimum norm, damped if the error does not decrease.

        The damping is Levenberg–Marquardt's.  If the error cannot vanish, the result is a local minimum of it.
        """
        q, error = np.array(q), self.error(q)
        size, damping, polished = np.linalg.norm(error, axis=-1), np.zeros(len(q)), np.zeros(len(q), dtype=int)
        lost = ~np.isfinite(size)
        left = np.flatnonzero(~lost)
        for _ in range(STEPS):
            is_assembled = size[left] <= self.closed
            polished[left[is_assembled]] += 1
            ended = is_assembled & ((polished[left] > 2) | (size[left] <= 1e-15 * self.scales.length))
            left = left[~ended]
            if not len(left):
                break
            G = self.some(left).rows(q[left])[:, self.scales.errors]
            wrong = ~np.isfinite(G).all(axis=(-2, -1))
            lost[left[wrong]] = True
            left, G = left[~wrong], G[~wrong]
            if not len(left):
                break
            U, s, V = np.linalg.svd(G, full_matrices=False)
            largest = s.max(axis=-1, initial=0.0)
            counted = s > 1e-9 * np.maximum(largest, 1e-3)[:, np.newaxis]
            push = _times(np.swapaxes(U, -1, -2), error[left])
            stationary = np.linalg.norm(push * s, axis=-1) <= 1e-9 * size[left]
            trying = np.flatnonzero(~stationary | (size[left] <= self.closed))
            better = np.zeros(len(left), dtype=bool)
            for _ in range(12):
                at, s_at = left[trying], s[trying]
                factors = np.where(
                    counted[trying], s_at / (s_at * s_at + damping[at, np.newaxis] + ~counted[trying]), 0.0
                )
                step = -_times(np.swapaxes(V[trying], -1, -2), factors * push[trying])
                long = np.linalg.norm(step, axis=-1, keepdims=True) / self.scales.length
                local = self.some(at)
                trial = local.moved(q[at], step / np.maximum(1.0, long))
                remaining = local.error(trial)
                result = np.linalg.norm(remaining, axis=-1)
                improved, small = result < size[at], size[at] <= self.closed
                better[trying[improved]] = True
                q[at[improved]], error[at[improved]], size[at[improved]] = (
                    trial[improved],
                    remaining[improved],
                    result[improved],
                )
                again = ~improved & ~small
                trying = trying[again]
                if not len(trying):
                    break
                firm = 1e-4 * largest[trying] ** 2
                damping[at[again]] = np.maximum(10.0 * damping[at[again]], firm)
            left = left[better]
            damping[left] = np.where(damping[left] > 1e-9, 0.1 * damping[left], 0.0)
        return Assembled(q, error, (size <= self.closed) & ~lost)

    def assembled(self, starts: Iterable[np.ndarray]) -> Assembled:
        """Return, for each mechanism, the first of the ``starts`` whose projection satisfies the constraints.

        A start is an array (n, nq) of configurations, or (nq,) for all mechanisms. If no projection satisfies the
        constraints, the projection with the smallest error is returned.
        """
        starts = iter(starts)
        best = self.projected(next(starts))
        while len(left := np.flatnonzero(~best.closed)) and (q := next(starts, None)) is not None:
            trial = self.some(left).projected(np.broadcast_to(q, (len(left), q.shape[-1])))
            better = trial.closed | (trial.sizes < best.sizes[left])
            for best_values, new in zip(best, trial, strict=True):
                best_values[left[better]] = new[better]
        return best

    def random_motions(
        self, q: np.ndarray, G: Decomposed, walks: int, steps: int, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray, Decomposed]]:
        """Yield constraint Jacobians on random feasible motions from q, at increasing distances.

        ``G`` are the constraint Jacobians at q.  Each item has the indices of some mechanisms, their scaled Jacobians,
        and the decompositions of these.
        """
        nv = len(self.scales.velocities)
        for _ in range(walks):
            index, at, span, share = np.arange(len(q)), q, G, np.full(len(q), 0.03)
            before: np.ndarray | None = None
            for _ in range(steps):
                heading = _unit(span.within(rng.normal(size=nv)))  # the drift of constraints is ignored
                if before is not None:  # keep roughly the previous direction
                    heading = _unit(_unit(span.within(before)) + 0.3 * heading)
                step = share[:, np.newaxis] * self.scales.length * np.sqrt(nv) * heading
                local = self.some(index)
                result = local.projected(local.moved(at, step))
                rows = local.rows(result.q)
                going = np.flatnonzero(span.free.any(axis=-1) & result.closed & np.isfinite(rows).all(axis=(-2, -1)))
                index, at, before = index[going], result.q[going], heading[going]
                if not len(index):
                    break
                span, share = decomposed(rows[going]), np.minimum(0.15, 2.0 * share[going])
                yield index, rows[going], span


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return products of matrices (n, m, k) and vectors (n, k)."""
    result: np.ndarray = (A @ x[..., np.newaxis])[..., 0]
    return result


def _unit(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12))
