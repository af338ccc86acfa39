"""The smallest |A (π; y) − b|² / 2 + Σ D(P, P_0) / s², over π that bodies have and y that are not negative.

Over log-Cholesky's coordinates this is a problem of nonlinear least squares without constraints.  In π itself it is
convex, since A (π; y) − b is linear and D is convex in P; so there is one smallest value, and no other place where a
descent ends, in those coordinates either.  Steps go straight in π: there what measurements show well can stay as it is
while the rest moves; in coordinates that are curved such steps have to be short.  In the steps' numbers of `deformed`
Newton's step is the solution of a linear least squares problem, of rows A dπ/ds beside 1 / s.

It begins with the noise so large that measurements and expectation weigh alike, and lets it shrink: as interior points
follow the central path.

Source: Boyd and Vandenberghe, Convex Optimization, sections 9.5 and 11.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork.identify import convex_inertia_fit_deformed as deformed
from linkwork.identify.linear_least_squares import triangular
from linkwork.identify.signal_filtering_extra import scipy_part

__all__ = ["ConvexProblem", "Solution"]

_SETTLED = 1e-12  # the decrement squared at which a step is of no account: 1e-6 standard deviations
_NEAR = 1e-2  # that at which the noise shrinks
_SHRINK = 0.1  # the noise's standard deviation from stage to stage


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the smallest value is."""

    L: np.ndarray  # (n, 4, 4)
    y: np.ndarray  # (k,)
    steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class ConvexProblem:
    """A and b, of n bodies' ten parameters and then k of joints, and what is expected of the bodies."""

    A: np.ndarray  # (rows, 10 n + k), in units of the noise
    b: np.ndarray  # (rows,)
    U: np.ndarray  # (n, 4, 4): factors of P_0
    spread: float

    def parameters(self, L: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(π; y)."""
        return np.concatenate([deformed.moved(self.U @ L).ravel(), y])

    def rates(self, L: np.ndarray, count: int) -> np.ndarray:
        """(10 n + k, 10 n + k): how (π; y) changes by the numbers of a step and by y."""
        n = 10 * len(L)
        found = np.eye(n + count)
        for i, block in enumerate(deformed.rates(self.U @ L)):
            found[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
        return found

    def solved(self, y: np.ndarray, at_most: int) -> Solution:
        """From the robot's own inertias and these y."""
        L = np.broadcast_to(np.eye(4), (len(self.U), 4, 4))
        noise = max(1.0, self._misfit(L, y) / np.sqrt(max(1, len(self.U))))
        for step in range(1, at_most + 1):
            s, y_full, decrement = self._step(L, y, noise)
            L, y = self._taken(L, y, s, y_full, decrement, noise)
            if noise > 1.0 and decrement < _NEAR:
                noise = max(1.0, _SHRINK * noise)
            elif noise == 1.0 and decrement < _SETTLED:
                return Solution(L, y, step, True)
        return Solution(L, y, at_most, False)

    def covariance(self, L: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(10 n + k)² of (π; y) by the curvature there, and which of the y are at zero, where they are held."""
        n = 10 * len(L)
        at_bound = np.flatnonzero(y <= 0.0)
        D = np.delete(self.rates(L, len(y)), n + at_bound, axis=1)
        rows = np.concatenate([self.A @ D, np.eye(n, D.shape[1]) / self.spread])
        scale = np.linalg.norm(rows, axis=0)
        R = triangular(rows / scale)
        half = np.linalg.solve(R.T, (D / scale).T)
        return half.T @ half, at_bound

    def _misfit(self, L: np.ndarray, y: np.ndarray) -> float:
        return float(np.linalg.norm(self.A @ self.parameters(L, y) - self.b))

    def _value(self, L: np.ndarray, y: np.ndarray, noise: float) -> float:
        return 0.5 * (self._misfit(L, y) / noise) ** 2 + float(deformed.divergences(L).sum()) / self.spread**2

    def _step(self, L: np.ndarray, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Newton's numbers s and y, where the quadratic model with y not negative is smallest, and twice its fall."""
        n = 10 * len(L)
        rows = self.A @ self.rates(L, len(y)) / noise
        rest = (self.b - self.A @ self.parameters(L, y)) / noise
        rows = np.concatenate([rows, np.eye(n, rows.shape[1]) / self.spread])
        rest = np.concatenate([rest, -deformed.gradients(L).ravel() / self.spread])
        scale = np.linalg.norm(rows, axis=0)
        R = triangular(np.column_stack([rows / scale, rest]))
        R, c = R[: len(scale), :-1], R[: len(scale), -1]
        before = after = y * scale[n:]
        if len(y):  # what is left of the rows where the bodies are as well as they can be
            corner = R[n:, n:]
            after = scipy_part("inertias", "optimize").nnls(corner, c[n:] + corner @ before)[0]
        change = after - before
        s = np.linalg.solve(R[:n, :n], c[:n] - R[:n, n:] @ change)
        moved = R @ np.concatenate([s, change])
        decrement = float(moved @ (2.0 * c - moved))
        return s / scale[:n], after / scale[n:], max(decrement, 0.0)

    def _taken(
        self, L: np.ndarray, y: np.ndarray, s: np.ndarray, y_full: np.ndarray, decrement: float, noise: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The step, or as much of it as stays what bodies have and lowers the value."""
        S = deformed.symmetric(s.reshape(-1, 10))
        least = float(np.linalg.eigvalsh(S).min(initial=0.0))
        part = min(1.0, -0.9 / least) if least < 0.0 else 1.0
        value = self._value(L, y, noise) if decrement > 1e-8 else np.inf
        while True:
            found = deformed.stepped(L, part * S), y_full if part == 1.0 else (1.0 - part) * y + part * y_full
            if self._value(*found, noise) <= value - 0.1 * part * decrement or part < 1e-12:
                return found
            part *= 0.5
