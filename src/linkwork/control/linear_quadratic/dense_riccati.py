"""Algebraic Riccati equations of many states in NumPy: structure-preserving doubling and Newton-Kleinman iterations.

The equations, doublings, Cayley transform and Newton's method (Kleinman, Hewer) are those of `expr.equations.riccati`,
on arrays (..., n, n), so LAPACK works on whole matrices and nothing is compiled.  If a motion without cost does not
decay, or R is singular in discrete time, a system with additional costs is solved first.  Its gains stabilise the
original system, and Newton's method converges from these gains to the solution for the original costs.

Sources: Chu, Fan and Lin, Linear Algebra Appl. 396, 2005; Kleinman, IEEE Trans. Automatic Control 13 (1), 1968; Hewer,
IEEE Trans. Automatic Control 16 (4), 1971; Smith, SIAM J. Appl. Math. 16 (1), 1968 (Lyapunov's equation by doubling).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["dense_regulator"]

_DOUBLINGS = 60
_CONVERGED = 1e-32  # squared norm of the transition matrix after which doubling ends
_NEWTON_STEPS = 30
_FINE = 1e-14  # residual relative to X at which Newton's method ends
_SOLVED = 1e-8  # residual relative to X of an equation that counts as solved
_ADDED_COST = 1e-2  # of a system's natural cost: the costs that are added in the first of two systems
_SLOW, _SLOWEST = 1e-12, 5e-4  # smallest decay rates, per step or relative to the fastest, of either system
_MANY = 200  # rows: larger matrices get estimates of their eigenvalues, which would take longest
_SQUARINGS = 6
_NEAR = 1e-6  # of γ: its smallest distance from eigenvalues of A

Array = np.ndarray[Any, Any]


def dense_regulator(A: Array, B: Array, Q: Array, R: Array, N: Array, discrete: bool) -> tuple[Array, Array, Array]:
    """Return gains K (..., m, n), the Riccati solution X (..., n, n), and its residual relative to X (...).

    The residual is infinite where there is no solution. Q and R are symmetric.
    """
    lead = np.broadcast_shapes(*(M.shape[:-2] for M in (A, B, Q, R, N)))
    n, m = B.shape[-2:]
    shapes = ((n, n), (n, m), (n, n), (m, m), (n, m))
    pairs = zip((A, B, Q, R, N), shapes, strict=True)
    matrices = [np.broadcast_to(M, (*lead, *shape)).reshape(-1, *shape) for M, shape in pairs]
    K, X = np.zeros((len(matrices[0]), m, n)), np.zeros((len(matrices[0]), n, n))
    residual = np.full(len(X), np.inf)
    with np.errstate(all="ignore"):
        for k in range(len(X)):
            system = (matrices[0][k], matrices[1][k], matrices[2][k], matrices[3][k], matrices[4][k])
            K[k], X[k], residual[k] = _System(*system, discrete=discrete).solve()
    return K.reshape(*lead, m, n), X.reshape(*lead, n, n), residual.reshape(lead)


@dataclass(frozen=True)
class _System:
    A: Array
    B: Array
    Q: Array
    R: Array
    N: Array
    discrete: bool

    def solve(self) -> tuple[Array, Array, float]:
        """Return gains K, the Riccati solution X and its relative residual; zeros and infinity on failure."""
        for start, slowest in ((self, _SLOW), (self._with_added_costs(), _SLOWEST)):
            try:
                result = self._refined(start._doubled(), slowest)
            except np.linalg.LinAlgError:
                continue
            if result is not None and result[2] < _SOLVED:
                return result
        return np.zeros(self.B.shape[::-1]), np.zeros_like(self.A), np.inf

    def _with_added_costs(self) -> _System:
        """Return the system with additional costs, in which every motion has a cost."""
        n, m = self.B.shape
        state_scale = max(float(np.mean(self.A**2)) * n, 1e-300)
        input_scale = max(float(np.mean(self.B**2)) * n, 1e-300)
        input_cost = float(np.trace(self.R)) / m
        natural = max(
            float(np.trace(self.Q)) / n,
            input_cost / input_scale if self.discrete else input_cost * state_scale / input_scale,
            1e-300,
        )
        if not np.any(self.Q) and input_cost <= 0.0:
            natural = 1.0
        Q, R = self.Q + _ADDED_COST * natural * np.eye(n), self.R
        if self.discrete:
            R = R + _ADDED_COST * float(np.trace(self.B.T @ Q @ self.B)) / m * np.eye(m)
        return replace(self, Q=Q, R=R)

    def _doubled(self) -> Array:
        """Return the Riccati solution X by the structure-preserving doubling algorithm."""
        n = len(self.A)
        both = np.linalg.solve(self.R, np.hstack([self.B.T, self.N.T]))
        A, G, H = (
            self.A - self.B @ both[:, n:],
            _symmetric(self.B @ both[:, :n]),
            _symmetric(self.Q - self.N @ both[:, n:]),
        )
        if not self.discrete:
            A, G, H = _cayley(A, G, H)
        for _ in range(_DOUBLINGS):
            W = np.linalg.solve(np.eye(n) + G @ H, np.hstack([A, G]))
            A, G, H = A @ W[:, :n], _symmetric(G + A @ W[:, n:] @ A.T), _symmetric(H + A.T @ H @ W[:, :n])
            if not np.isfinite(H).all() or (A * A).sum() <= _CONVERGED:
                break
        return H

    def _refined(self, X: Array, slowest: float) -> tuple[Array, Array, float] | None:
        """Refine a Riccati solution X by Newton's method; return gains, X and residual, or None on failure.

        It fails if X does not stabilise the system. In exact arithmetic every step stabilises if the previous step
        does. So only the first X and the result are checked by eigenvalues.
        """
        result: list[tuple[Array, Array, float]] = []
        roots: Array | None = None
        for _ in range(_NEWTON_STEPS):
            if not np.isfinite(X).all():
                break
            remainder, K = self._residual(X)
            closed = self.A - self.B @ K
            sizes = np.abs(np.linalg.eigvals(closed) if roots is None else roots)
            rate = 1.0 if self.discrete else float(sizes.mean())
            residual = float(np.linalg.norm(remainder) / max(rate * float(np.linalg.norm(X)), 1e-300))
            if not np.isfinite(residual):
                break
            if roots is None:
                roots = np.linalg.eigvals(closed)
                if not (self._decays(roots, slowest) or not (self.discrete or closed.any())):
                    return None
            best = min((iterate[2] for iterate in result), default=np.inf)
            result.append((K, X, residual))
            if residual < _FINE or (residual >= 0.5 * best and residual < _SOLVED):
                break
            X = _symmetric(X + _lyapunov(closed, remainder, self.discrete, roots))
        for k, (K, X, residual) in sorted(enumerate(result), key=lambda iterate: iterate[1][2]):
            if k == 0 or self._decays(np.linalg.eigvals(self.A - self.B @ K), slowest):
                return K, X, residual
        return None

    def _residual(self, X: Array) -> tuple[Array, Array]:
        """Return the residual of the Riccati equation at X, and the gains that belong to X."""
        XB = X @ self.B
        if self.discrete:
            XA = X @ self.A
            T, S = self.B.T @ XA + self.N.T, self.R + self.B.T @ XB
            remainder = self.A.T @ XA - X + self.Q
        else:
            AX, T, S = self.A.T @ X, XB.T + self.N.T, self.R
            remainder = AX + AX.T + self.Q
        K = np.linalg.solve(S, T)
        return _symmetric(remainder - T.T @ K), K

    def _decays(self, roots: Array, slowest: float) -> bool:
        """Return True if all motions with the eigenvalues ``roots`` decay, at a relative rate above ``slowest``."""
        if self.discrete:
            return bool(np.abs(roots).max() < 1.0 - slowest)
        return bool(roots.real.max() < -slowest * np.abs(roots).max())


def _symmetric(M: Array) -> Array:
    return 0.5 * (M + M.T)


def _cayley(A: Array, G: Array, H: Array) -> tuple[Array, Array, Array]:
    """Return A, G and H of a discrete-time Riccati equation with the same solution as a continuous-time equation.

    The method is the Cayley transform.
    """
    n, eye = len(A), np.eye(len(A))
    largest, mean = _sizes(np.block([[A, -G], [-H, -A.T]]))
    gamma = mean**0.75 * largest**0.25
    values = np.linalg.eigvals(A)
    while np.abs(values - gamma).min() < _NEAR * gamma:
        gamma *= 1.5
    inverse = np.linalg.inv(A - gamma * eye)
    LG = inverse @ G
    W = (A - gamma * eye).T + H @ LG
    back = np.linalg.solve(W, np.hstack([eye, H @ inverse]))
    return (
        eye + 2.0 * gamma * back[:, :n].T,
        _symmetric(2.0 * gamma * LG @ back[:, :n]),
        _symmetric(2.0 * gamma * back[:, n:]),
    )


def _sizes(M: Array) -> tuple[float, float]:
    """Return the largest absolute value of the eigenvalues of M, and the geometric mean of these absolute values.

    Large matrices use powers and the determinant: (‖M^p‖)^(1/p) with p = 2^6 is slightly above the largest.
    """
    if len(M) <= _MANY:
        sizes = np.abs(np.linalg.eigvals(M))
        largest = float(sizes.max()) or 1.0
        return largest, float(np.exp(np.log(np.maximum(sizes, 1e-8 * largest)).mean()))
    power, log_size = M, 0.0
    for k in range(_SQUARINGS + 1):
        norm = float(np.linalg.norm(power))
        if not 0.0 < norm < np.inf:
            break
        log_size += np.log(norm) / 2.0**k
        power = power / norm
        power = power @ power
    largest = float(np.exp(log_size))
    return largest, max(float(np.exp(np.linalg.slogdet(M)[1] / len(M))), 1e-8 * largest)


def _lyapunov(closed: Array, C: Array, discrete: bool, roots: Array) -> Array:
    """Solve closedᵀ X + X closed + C = 0, or closedᵀ X closed − X + C = 0 in discrete time, for a stable ``closed``.

    ``roots`` are the eigenvalues of ``closed``, or of a matrix near it.
    """
    M = closed
    if not discrete:
        sizes = np.abs(roots)
        gamma = float(np.sqrt(sizes.max() * max(float(sizes.min()), 1e-300)))
        inverse = np.linalg.inv(closed - gamma * np.eye(len(closed)))
        M = (closed + gamma * np.eye(len(closed))) @ inverse
        C = 2.0 * gamma * inverse.T @ C @ inverse
    X = C
    for _ in range(_DOUBLINGS):
        X = X + M.T @ X @ M
        M = M @ M
        if not (M * M).sum() > _CONVERGED:
            break
    return X
