"""The smallest |A (π; y) − b|² / 2 + Σ D(P, P_0) / s², over π that bodies have and y that are not negative.

Over log-Cholesky's coordinates this is a problem of nonlinear least squares without constraints.  In π itself it is
convex, since A (π; y) − b is linear and D is convex in P; so there is one smallest value, and no other place where a
descent ends, in those coordinates either.  Steps go straight in π: there what measurements show well can stay as it is
while the rest moves; in coordinates that are curved such steps have to be short.  In the steps' numbers of `deformed`
Newton's step is the solution of a linear least squares problem, of rows A dπ/ds beside 1 / s.

It begins with the noise so large that measurements and expectation weigh alike, and lets it shrink: as interior points
follow the central path.

Source: Boyd and Vandenberghe, Convex Optimization, sections 9.5 and 11.2.

Inertias as deformations of the robot's own: Cholesky factors, and how far bodies are from what they were.

A body's pseudo-inertia P_0 = U_0 U_0ᵀ becomes P = U Uᵀ with U = U_0 L, L upper triangular with a positive diagonal, as
in log-Cholesky's coordinates: all P that are positive definite are reached, and no others.  L = 1 is the robot's own
body; else its mass is moved by the affine map U U_0⁻¹ and scaled.  What is welded to the body is moved with it, so that
each of its links stays a body too.

The divergence of P from P_0 is Bregman's for −log det, which depends on no frame and no units:

    D(P, P_0) = tr(P_0⁻¹ P) − log det(P_0⁻¹ P) − 4 = |L|² − 2 Σ log L_ii − 4

A small step from P is P = U (1 + S) Uᵀ, with ten numbers s: those of S's diagonal, and √2 times those above.  Then
D = tr((LᵀL − 1) S) + ½ |s|² + O(|s|³).

Sources: Rucker and Wensing, Smooth parameterization of rigid-body inertia, IEEE RA-L 7, 2022 (log-Cholesky); Lee,
Wensing and Park, Geometric robot dynamic identification: a convex programming approach, IEEE T-RO 36, 2020 (the
divergence).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork._util.progress import Reporter
from linkwork.dynamics import inertial_parameters as inertial
from linkwork.identify.linear_least_squares import triangular
from linkwork.identify.signal_filtering import scipy_part

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
        return np.concatenate([moved(self.U @ L).ravel(), y])

    def rates(self, L: np.ndarray, count: int) -> np.ndarray:
        """(10 n + k, 10 n + k): how (π; y) changes by the numbers of a step and by y."""
        n = 10 * len(L)
        result = np.eye(n + count)
        for i, block in enumerate(rates(self.U @ L)):
            result[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
        return result

    def solved(self, y: np.ndarray, max_iterations: int, report: Reporter) -> Solution:
        """From the robot's own inertias and these y."""
        L = np.broadcast_to(np.eye(4), (len(self.U), 4, 4))
        noise = max(1.0, self._misfit(L, y) / np.sqrt(max(1, len(self.U))))
        for step in range(1, max_iterations + 1):
            report.advance()
            s, y_full, decrement = self._step(L, y, noise)
            L, y = self._taken(L, y, s, y_full, decrement, noise)
            if noise > 1.0 and decrement < _NEAR:
                noise = max(1.0, _SHRINK * noise)
            elif noise == 1.0 and decrement < _SETTLED:
                return Solution(L, y, step, True)
        return Solution(L, y, max_iterations, False)

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
        return 0.5 * (self._misfit(L, y) / noise) ** 2 + float(divergences(L).sum()) / self.spread**2

    def _step(self, L: np.ndarray, y: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Newton's numbers s and y, where the quadratic model with y not negative is smallest, and twice its fall."""
        n = 10 * len(L)
        rows = self.A @ self.rates(L, len(y)) / noise
        rest = (self.b - self.A @ self.parameters(L, y)) / noise
        rows = np.concatenate([rows, np.eye(n, rows.shape[1]) / self.spread])
        rest = np.concatenate([rest, -gradients(L).ravel() / self.spread])
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
        S = symmetric(s.reshape(-1, 10))
        least = float(np.linalg.eigvalsh(S).min(initial=0.0))
        part = min(1.0, -0.9 / least) if least < 0.0 else 1.0
        value = self._value(L, y, noise) if decrement > 1e-8 else np.inf
        while True:
            result = stepped(L, part * S), y_full if part == 1.0 else (1.0 - part) * y + part * y_full
            if self._value(*result, noise) <= value - 0.1 * part * decrement or part < 1e-12:
                return result
            part *= 0.5


_ROWS = np.array([0, 1, 2, 3, 0, 1, 0, 0, 1, 2])
_COLUMNS = np.array([0, 1, 2, 3, 1, 2, 2, 3, 3, 3])
_HALF = np.array([1.0] * 4 + [np.sqrt(0.5)] * 6)


def has_extent(pi: np.ndarray) -> np.ndarray:
    """Whether bodies (..., 10) have mass, and extent in all directions: those that have a factor."""
    return inertial.is_physical(pi, definite=True, tolerance=1e-12)


def factors(pi: np.ndarray) -> np.ndarray:
    """U (n, 4, 4) of parameters (n, 10)."""
    return _upper(inertial.pseudo_inertia(pi))


def moved(U: np.ndarray) -> np.ndarray:
    """The parameters (n, 10) with these factors."""
    result: np.ndarray = inertial.from_pseudo_inertia(U @ U.swapaxes(-1, -2))
    return result


def symmetric(s: np.ndarray) -> np.ndarray:
    """S (n, 4, 4) of steps (n, 10)."""
    S = np.zeros((len(s), 4, 4))
    S[:, _ROWS, _COLUMNS] = S[:, _COLUMNS, _ROWS] = s * _HALF
    return S


def rates(U: np.ndarray) -> np.ndarray:
    """(n, 10, 10): how the parameters change by the numbers of a step."""
    units = symmetric(np.eye(10))
    P = U[:, None] @ units @ U[:, None].swapaxes(-1, -2)
    result: np.ndarray = inertial.from_pseudo_inertia(P).swapaxes(-1, -2)
    return result


def stepped(L: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The L (n, 4, 4) after a step.  Raises LinAlgError where the step leaves what bodies can have."""
    result: np.ndarray = L @ _upper(np.eye(4) + S)
    return result


def gradients(L: np.ndarray) -> np.ndarray:
    """(n, 10): the divergence's, by the numbers of a step."""
    G = L.swapaxes(-1, -2) @ L - np.eye(4)
    result: np.ndarray = G[:, _ROWS, _COLUMNS] * _HALF * np.where(_ROWS == _COLUMNS, 1.0, 2.0)
    return result


def divergences(L: np.ndarray) -> np.ndarray:
    """D (n,) of each body."""
    diagonal = np.diagonal(L, axis1=-2, axis2=-1)
    above = (L * L).sum(axis=(-2, -1)) - (diagonal * diagonal).sum(axis=-1)
    result: np.ndarray = above + ((diagonal - 1.0) * (diagonal + 1.0) - 2.0 * np.log(diagonal)).sum(axis=-1)
    return result


def _upper(P: np.ndarray) -> np.ndarray:
    """U with U Uᵀ = P."""
    result: np.ndarray = np.linalg.cholesky(P[..., ::-1, ::-1])[..., ::-1, ::-1]
    return result
