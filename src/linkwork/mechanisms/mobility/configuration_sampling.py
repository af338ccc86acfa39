"""Assembled configurations on random motions: steps along free velocities, projected by damped Gauss–Newton."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.cached_properties import cached_property
from linkwork.mechanisms.algorithms.constraint_rows import position_rounding
from linkwork.mechanisms.mobility.length_scaling import Ranked, Scales, ranked

__all__ = ["Assembled", "Mechanism"]

CLOSED = 1e-10  # constraint error of an assembled configuration, relative to the characteristic length
STEPS = 60  # maximum number of Gauss–Newton iterations


class Assembled(NamedTuple):
    """Configuration after projection onto the constraints, with its error in lengths [m].

    ``closed`` is True if the error is zero, ``stationary`` if it is zero or at a local minimum.
    """

    q: np.ndarray
    error: np.ndarray  # (ne,), as lengths
    closed: bool
    stationary: bool


class Mechanism:
    """Constraints of a robot as functions of q (nq,), in which angles are scaled to lengths."""

    def __init__(self, robot: Any, scales: Scales, inputs: Mapping[str, Any]) -> None:
        self.robot, self.scales, self._inputs = robot, scales, inputs  # inputs: the time, and values of parameters
        self.time = inputs.get("time")

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Return the constraint Jacobian at q, scaled to be dimensionless."""
        return self.scales.rows_of(self.robot.constraint_jacobian(q, **self._inputs))

    def error(self, q: np.ndarray) -> np.ndarray:
        """Return the errors of the holonomic constraints at q as lengths [m]."""
        return self.scales.error_of(self.robot.constraint_error(q, **self._inputs))

    def drift(self, q: np.ndarray) -> np.ndarray:
        """Return the drift of the constraints at q, their rate at v = 0, as lengths per second [m/s]."""
        result: np.ndarray = self.robot.constraint_drift(q, **self._inputs) * self.scales.rows
        return result

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the configuration after a ``step`` (nv,) from q; angles of the step are scaled to lengths [m]."""
        result: np.ndarray = self.robot.integrate(q, step / self.scales.velocities)
        return result

    @cached_property
    def closed(self) -> float:
        """Error [m] of an assembled configuration."""
        return CLOSED * self.scales.length + position_rounding(self.robot.tree)

    def projected(self, q: np.ndarray) -> Assembled:
        """Project q onto the constraints by Gauss–Newton steps of minimum norm, damped if the error does not decrease.

        The damping is Levenberg–Marquardt's.  If the error cannot vanish, the result is a local minimum of it.
        """
        error, damping = self.error(q), 0.0
        size = float(np.linalg.norm(error))
        if not np.isfinite(size):
            return Assembled(q, error, False, False)
        polished = 0
        for _ in range(STEPS):
            if size <= self.closed:
                polished += 1
                if polished > 2 or size <= 1e-15 * self.scales.length:
                    break
            G = self.rows(q)[self.scales.errors]
            if not np.isfinite(G).all():
                return Assembled(q, error, False, False)
            U, s, V = np.linalg.svd(G, full_matrices=False)
            counted = s > 1e-9 * max(float(s.max(initial=0.0)), 1e-3)
            push = U.T @ error
            if size > self.closed and np.linalg.norm(push * s) <= 1e-9 * size:
                return Assembled(q, error, False, True)
            for _ in range(12):
                factors = np.where(counted, s / (s * s + damping + (~counted)), 0.0)
                step = -V.T @ (factors * push)
                long = float(np.linalg.norm(step)) / self.scales.length
                there = self.moved(q, step / max(1.0, long))
                left = self.error(there)
                result = float(np.linalg.norm(left))
                if result < size or (size <= self.closed):
                    break
                damping = max(10.0 * damping, 1e-4 * float(s.max(initial=0.0)) ** 2)
            if result >= size:
                break
            q, error, size, damping = there, left, result, 0.1 * damping if damping > 1e-9 else 0.0
        stationary = bool(np.linalg.norm(self.rows(q)[self.scales.errors].T @ error) <= 1e-6 * size)
        return Assembled(q, error, size <= self.closed, stationary and size > self.closed)

    def ranked(self, q: np.ndarray) -> Ranked:
        """Return the scaled constraint Jacobian at q with its numerical rank.

        Raises ValueError for rows that are not finite.
        """
        G = self.rows(q)
        wrong = ~np.isfinite(G).all(axis=-1)
        if wrong.any():
            names = [name for c in self.robot.tree.constraints for name in c.component_names]
            bad = ", ".join(repr(names[k]) for k in np.flatnonzero(wrong)[:6])
            raise ValueError(f"constraints: {bad}: expected finite rows at q = {np.array2string(q, precision=4)}")
        return ranked(G)

    def assembled(self, starts: Iterable[np.ndarray]) -> tuple[Assembled, int]:
        """Return the first start projected onto the constraints, and the number of starts tried.

        If no start can be projected, it is the projected start of smallest error.
        """
        best, tried = None, 0
        for q in starts:
            tried += 1
            result = self.projected(q)
            if best is None or result.closed or not _size(result) >= _size(best):
                best = result
            if best.closed:
                break
        assert best is not None
        return best, tried

    def random_motions(self, q: np.ndarray, walks: int, steps: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield assembled configurations on random feasible motions from q, at increasing distances."""
        for _ in range(walks):
            at, before, share = q, None, 0.03
            for _ in range(steps):
                free = self._free(at)
                if not free.shape[1]:
                    break
                heading = free @ rng.normal(size=free.shape[1])
                if before is not None:  # keep roughly the previous direction
                    onward = free @ (free.T @ before)
                    heading = onward / max(float(np.linalg.norm(onward)), 1e-12) + 0.3 * heading / max(
                        float(np.linalg.norm(heading)), 1e-12
                    )
                heading = heading / max(float(np.linalg.norm(heading)), 1e-12)
                before = heading
                step = share * self.scales.length * np.sqrt(len(heading)) * heading
                result = self.projected(self.moved(at, step))
                if not (result.closed and np.isfinite(self.rows(result.q)).all()):
                    break
                at, share = result.q, min(0.15, 2.0 * share)
                yield at

    def _free(self, q: np.ndarray) -> np.ndarray:
        """Return a basis of the velocities with G v = 0; the drift of time-dependent constraints is ignored."""
        return self.ranked(q).right


def _size(result: Assembled) -> float:
    """Return the norm of the error; infinity if it is not finite."""
    size = float(np.linalg.norm(result.error))
    return size if np.isfinite(size) else np.inf
