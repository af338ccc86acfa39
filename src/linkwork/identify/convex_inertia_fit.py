"""Convex fit of inertias: minimise |A (π; y) − b|² / 2 + Σ D(P, P_0) / s² over consistent π and nonnegative y.

In log-Cholesky coordinates this is an unconstrained nonlinear least-squares problem.  In π it is convex, since A (π;
y) − b is linear and D is convex in P; so there is one minimum, in log-Cholesky coordinates, too.  Steps are straight
in π. So a step can change poorly determined combinations of π without changing well determined ones; in curved
coordinates such steps would have to be short.  In the step coordinates s below, Newton's step is the solution of a
linear least-squares problem with rows A dπ/ds and 1 / s.

The noise is initially so large that measurements and prior have equal weight, and is then reduced, as interior-point
methods follow the central path.

Source: Boyd and Vandenberghe, Convex Optimization, sections 9.5 and 11.2.

Estimated inertias are deformations of the robot's inertias by Cholesky factors, with a divergence from the original.

A body's pseudo-inertia P_0 = U_0 U_0ᵀ becomes P = U Uᵀ with U = U_0 L, L upper triangular with a positive diagonal, as
in log-Cholesky coordinates: these are exactly the positive definite P.  L = 1 is the robot's own body; otherwise its
mass is moved by the affine map U U_0⁻¹ and scaled.  Links welded to the body are moved with it, so that each of them
stays consistent.

The divergence of P from P_0 is the Bregman divergence of −log det, which is independent of frames and units:

    D(P, P_0) = tr(P_0⁻¹ P) − log det(P_0⁻¹ P) − 4 = |L|² − 2 Σ log L_ii − 4

A small step from P is P = U (1 + S) Uᵀ, with ten coordinates s: the diagonal of S, and √2 times the entries above. Then
D = tr((LᵀL − 1) S) + ½ |s|² + O(|s|³).

Sources: Rucker and Wensing, Smooth parameterization of rigid-body inertia, IEEE RA-L 7, 2022 (log-Cholesky); Lee,
Wensing and Park, Geometric robot dynamic identification: a convex programming approach, IEEE T-RO 36, 2020 (the
divergence).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkwork import parameters as inertial
from linkwork._util.progress import Reporter
from linkwork.identify.linear_least_squares import triangular
from linkwork.identify.measurements import scipy_module

__all__ = ["ConvexProblem", "Solution"]


_CONVERGED = 1e-12  # squared Newton decrement of a negligible step: 1e-6 standard deviations
_NEAR = 1e-2  # squared decrement at which the noise is reduced
_SHRINK = 0.1  # factor of the noise's standard deviation from stage to stage


@dataclass(frozen=True, eq=False)
class Solution:
    """Minimum of the convex problem: factors L of the bodies, joint parameters y, and convergence."""

    L: np.ndarray  # (n, 4, 4)
    y: np.ndarray  # (k,)
    steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class ConvexProblem:
    """Convex fit of inertias: A and b of the measurements' linear equations, and the bodies' prior inertias.

    A has ten columns for each of n bodies (its inertial parameters), and then one for each of k joint parameters.
    """

    A: np.ndarray  # (rows, 10 n + k), in units of the noise
    b: np.ndarray  # (rows,)
    U: np.ndarray  # (n, 4, 4): factors of P_0
    spread: float

    def parameters(self, L: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the vector (10 n + k,) of inertial parameters π of n bodies, followed by k joint parameters y.

        The bodies have the pseudo-inertias U Uᵀ with U = U_0 L, U_0 the factors of the prior.
        """
        return np.concatenate([parameters_of_factors(self.U @ L).ravel(), y])

    def rates(self, L: np.ndarray, count: int) -> np.ndarray:
        """Return the derivative (10 n + k, 10 n + k) of (π; y) with respect to the bodies' steps s (10 n) and y (k).

        A step s changes a body's pseudo-inertia U Uᵀ to U (1 + S) Uᵀ, where S is the symmetric matrix of s (see
        `symmetric`).
        """
        n = 10 * len(L)
        result = np.eye(n + count)
        for i, block in enumerate(rates(self.U @ L)):
            result[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = block
        return result

    def solve(self, y: np.ndarray, max_iterations: int, report: Reporter) -> Solution:
        """Return the minimum, by Newton's method from the robot's own inertias and from joint parameters y."""
        L = np.broadcast_to(np.eye(4), (len(self.U), 4, 4))
        noise = max(1.0, self._misfit(L, y) / np.sqrt(max(1, len(self.U))))
        for step in range(1, max_iterations + 1):
            report.advance()
            s, y_full, decrement = self._step(L, y, noise)
            L, y = self._line_search(L, y, s, y_full, decrement, noise)
            if noise > 1.0 and decrement < _NEAR:
                noise = max(1.0, _SHRINK * noise)
            elif noise == 1.0 and decrement < _CONVERGED:
                return Solution(L, y, step, True)
        return Solution(L, y, max_iterations, False)

    def covariance(self, L: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariance (10 n + k, 10 n + k) of (π; y), and the indices of y that are fixed at zero.

        The covariance is computed from the curvature at the minimum.
        """
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
        """Return the Newton step s of the bodies, the new y >= 0, and twice the decrease of the quadratic model."""
        n = 10 * len(L)
        rows = self.A @ self.rates(L, len(y)) / noise
        residuals = (self.b - self.A @ self.parameters(L, y)) / noise
        rows = np.concatenate([rows, np.eye(n, rows.shape[1]) / self.spread])
        residuals = np.concatenate([residuals, -gradients(L).ravel() / self.spread])
        scale = np.linalg.norm(rows, axis=0)
        R = triangular(np.column_stack([rows / scale, residuals]))
        R, c = R[: len(scale), :-1], R[: len(scale), -1]
        before = after = y * scale[n:]
        if len(y):  # the rows after elimination of the bodies' parameters
            corner = R[n:, n:]
            after = scipy_module("inertias", "optimize").nnls(corner, c[n:] + corner @ before)[0]
        change = after - before
        s = np.linalg.solve(R[:n, :n], c[:n] - R[:n, n:] @ change)
        transformed_step = R @ np.concatenate([s, change])
        decrement = float(transformed_step @ (2.0 * c - transformed_step))
        return s / scale[:n], after / scale[n:], max(decrement, 0.0)

    def _line_search(
        self, L: np.ndarray, y: np.ndarray, s: np.ndarray, y_full: np.ndarray, decrement: float, noise: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return L and y after a fraction of a step: inertias are consistent and the objective is smaller.

        The fraction is halved until both conditions hold.
        """
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
    """Return True for bodies (..., 10) with mass and extent in all directions.

    Their pseudo-inertias are positive definite, so they have Cholesky factors.
    """
    return inertial.is_physical(pi, definite=True, tolerance=1e-12)


def factors(pi: np.ndarray) -> np.ndarray:
    """Return the upper triangular factors U (n, 4, 4) of pseudo-inertias U Uᵀ, from inertial parameters (n, 10)."""
    return _upper(inertial.pseudo_inertia(pi))


def parameters_of_factors(U: np.ndarray) -> np.ndarray:
    """Return the inertial parameters (n, 10) of the pseudo-inertias U Uᵀ."""
    result: np.ndarray = inertial.from_pseudo_inertia(U @ U.swapaxes(-1, -2))
    return result


def symmetric(s: np.ndarray) -> np.ndarray:
    """Return the symmetric matrices S (n, 4, 4) of steps s (n, 10).

    s has the diagonal of S, and √2 times the entries above it.
    """
    S = np.zeros((len(s), 4, 4))
    S[:, _ROWS, _COLUMNS] = S[:, _COLUMNS, _ROWS] = s * _HALF
    return S


def rates(U: np.ndarray) -> np.ndarray:
    """Return the derivative (n, 10, 10) of the inertial parameters with respect to steps s, at pseudo-inertias U Uᵀ.

    A step s changes U Uᵀ to U (1 + S) Uᵀ, with S as in `symmetric`.
    """
    units = symmetric(np.eye(10))
    P = U[:, None] @ units @ U[:, None].swapaxes(-1, -2)
    result: np.ndarray = inertial.from_pseudo_inertia(P).swapaxes(-1, -2)
    return result


def stepped(L: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Return the factors (n, 4, 4) of L (1 + S) Lᵀ, for symmetric steps S (n, 4, 4).

    Raises LinAlgError if 1 + S is not positive definite.
    """
    result: np.ndarray = L @ _upper(np.eye(4) + S)
    return result


def gradients(L: np.ndarray) -> np.ndarray:
    """Return the gradient (n, 10) of each body's divergence D from its prior inertia, with respect to the step s."""
    G = L.swapaxes(-1, -2) @ L - np.eye(4)
    result: np.ndarray = G[:, _ROWS, _COLUMNS] * _HALF * np.where(_ROWS == _COLUMNS, 1.0, 2.0)
    return result


def divergences(L: np.ndarray) -> np.ndarray:
    """Return the divergence D (n,) of each body from its prior inertia, for factors L (n, 4, 4)."""
    diagonal = np.diagonal(L, axis1=-2, axis2=-1)
    above = (L * L).sum(axis=(-2, -1)) - (diagonal * diagonal).sum(axis=-1)
    result: np.ndarray = above + ((diagonal - 1.0) * (diagonal + 1.0) - 2.0 * np.log(diagonal)).sum(axis=-1)
    return result


def _upper(P: np.ndarray) -> np.ndarray:
    """Return the upper triangular U with U Uᵀ = P."""
    result: np.ndarray = np.linalg.cholesky(P[..., ::-1, ::-1])[..., ::-1, ::-1]
    return result
