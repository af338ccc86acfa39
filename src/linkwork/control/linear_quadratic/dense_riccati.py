"""Algebraic Riccati equations of many states, in NumPy: what `expr.equations.riccati` solves in compiled kernels.

The equations, the doublings, Cayley's transform and Newton's method (Kleinman, Hewer) are those of
`expr.equations.riccati`, on arrays (..., n, n), so that LAPACK works on whole matrices and nothing is compiled.  Where
what costs nothing does not end by itself, or R is singular in steps of time, a system in which everything costs
something is solved first: its gains stabilise, and Newton's method leads from there to the costs that are given.

Sources: Chu, Fan and Lin, Linear Algebra Appl. 396, 2005; Kleinman, IEEE Trans. Automatic Control 13 (1), 1968; Hewer,
IEEE Trans. Automatic Control 16 (4), 1971; Smith, SIAM J. Appl. Math. 16 (1), 1968 (Lyapunov's equation by doubling).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["dense_regulator"]

_DOUBLINGS = 60
_ENDED = 1e-32  # a transition's square: it has ended
_NEWTON = 30  # steps
_FINE = 1e-14  # of X: what may be left of the equation
_SOLVED = 1e-8  # of X: what is left of an equation that is solved
_SHARE = 1e-2  # of a system's natural cost: what everything costs besides, in the first of two systems
_SLOW, _SLOWEST = 1e-12, 5e-4  # of a step, or of the fastest motion: rates at which motions end, by either system
_MANY = 200  # rows: eigenvalues of more take longer than all else
_SQUARINGS = 6
_NEAR = 1e-6  # of A: γ is so far from its eigenvalues

Array = np.ndarray[Any, Any]


def dense_regulator(A: Array, B: Array, Q: Array, R: Array, N: Array, discrete: bool) -> tuple[Array, Array, Array]:
    """K (..., m, n), X (..., n, n) and what is left of the equation beside X (...), infinite where there is no X.

    Q and R are symmetric.
    """
    lead = np.broadcast_shapes(*(M.shape[:-2] for M in (A, B, Q, R, N)))
    n, m = B.shape[-2:]
    shapes = ((n, n), (n, m), (n, n), (m, m), (n, m))
    parts = zip((A, B, Q, R, N), shapes, strict=True)
    matrices = [np.broadcast_to(M, (*lead, *shape)).reshape(-1, *shape) for M, shape in parts]
    K, X = np.zeros((len(matrices[0]), m, n)), np.zeros((len(matrices[0]), n, n))
    residual = np.full(len(X), np.inf)
    with np.errstate(all="ignore"):
        for k in range(len(X)):
            of = (matrices[0][k], matrices[1][k], matrices[2][k], matrices[3][k], matrices[4][k])
            K[k], X[k], residual[k] = _System(*of, discrete=discrete).solved()
    return K.reshape(*lead, m, n), X.reshape(*lead, n, n), residual.reshape(lead)


@dataclass(frozen=True)
class _System:
    A: Array
    B: Array
    Q: Array
    R: Array
    N: Array
    discrete: bool

    def solved(self) -> tuple[Array, Array, float]:
        for start, slowest in ((self, _SLOW), (self._costly(), _SLOWEST)):
            try:
                result = self._refined(start._doubled(), slowest)
            except np.linalg.LinAlgError:
                continue
            if result is not None and result[2] < _SOLVED:
                return result
        return np.zeros(self.B.shape[::-1]), np.zeros_like(self.A), np.inf

    def _costly(self) -> _System:
        """The same with more costs, in which there is no motion that costs nothing."""
        n, m = self.B.shape
        grown = max(float(np.mean(self.A**2)) * n, 1e-300)
        input_scale = max(float(np.mean(self.B**2)) * n, 1e-300)
        paid = float(np.trace(self.R)) / m
        natural = max(
            float(np.trace(self.Q)) / n, paid / input_scale if self.discrete else paid * grown / input_scale, 1e-300
        )
        if not np.any(self.Q) and paid <= 0.0:
            natural = 1.0
        Q, R = self.Q + _SHARE * natural * np.eye(n), self.R
        if self.discrete:
            R = R + _SHARE * float(np.trace(self.B.T @ Q @ self.B)) / m * np.eye(m)
        return replace(self, Q=Q, R=R)

    def _doubled(self) -> Array:
        """X by doublings."""
        n = len(self.A)
        both = np.linalg.solve(self.R, np.hstack([self.B.T, self.N.T]))
        A, G, H = self.A - self.B @ both[:, n:], _even(self.B @ both[:, :n]), _even(self.Q - self.N @ both[:, n:])
        if not self.discrete:
            A, G, H = _cayley(A, G, H)
        for _ in range(_DOUBLINGS):
            W = np.linalg.solve(np.eye(n) + G @ H, np.hstack([A, G]))
            A, G, H = A @ W[:, :n], _even(G + A @ W[:, n:] @ A.T), _even(H + A.T @ H @ W[:, :n])
            if not np.isfinite(H).all() or (A * A).sum() <= _ENDED:
                break
        return H

    def _refined(self, X: Array, slowest: float) -> tuple[Array, Array, float] | None:
        """Newton's method from a stabilising X, or None where its motions do not end.

        In exact arithmetic each step stabilises if the one before does, so eigenvalues are those of the first, and of
        the one that is returned.
        """
        result: list[tuple[Array, Array, float]] = []
        roots: Array | None = None
        for _ in range(_NEWTON):
            if not np.isfinite(X).all():
                break
            left, K = self._left(X)
            closed = self.A - self.B @ K
            residual = float(np.linalg.norm(left) / max(float(np.linalg.norm(X)), 1e-300))
            if not np.isfinite(residual):
                break
            if roots is None:
                roots = np.linalg.eigvals(closed)
                if not self._ends(roots, slowest):
                    return None
            best = min((one[2] for one in result), default=np.inf)
            result.append((K, X, residual))
            if residual < _FINE or (residual >= 0.5 * best and residual < _SOLVED):
                break
            X = _even(X + _lyapunov(closed, left, self.discrete, roots))
        for k, (K, X, residual) in sorted(enumerate(result), key=lambda one: one[1][2]):
            if k == 0 or self._ends(np.linalg.eigvals(self.A - self.B @ K), slowest):
                return K, X, residual
        return None

    def _left(self, X: Array) -> tuple[Array, Array]:
        """What is left of the equation, and the gains."""
        XB = X @ self.B
        if self.discrete:
            XA = X @ self.A
            T, S = self.B.T @ XA + self.N.T, self.R + self.B.T @ XB
            left = self.A.T @ XA - X + self.Q
        else:
            AX, T, S = self.A.T @ X, XB.T + self.N.T, self.R
            left = AX + AX.T + self.Q
        K = np.linalg.solve(S, T)
        return _even(left - T.T @ K), K

    def _ends(self, roots: Array, slowest: float) -> bool:
        """Return True where motions with these eigenvalues end, at a rate that is not rounding."""
        if self.discrete:
            return bool(np.abs(roots).max() < 1.0 - slowest)
        return bool(roots.real.max() < -slowest * np.abs(roots).max())


def _even(M: Array) -> Array:
    return 0.5 * (M + M.T)


def _cayley(A: Array, G: Array, H: Array) -> tuple[Array, Array, Array]:
    """The matrices in steps of time that have the X of those in continuous time."""
    n, eye = len(A), np.eye(len(A))
    largest, mean = _sizes(np.block([[A, -G], [-H, -A.T]]))
    gamma = max(mean**0.75 * largest**0.25, 1e-3)
    own = np.linalg.eigvals(A)
    while np.abs(own - gamma).min() < _NEAR * gamma:
        gamma *= 1.5
    inverse = np.linalg.inv(A - gamma * eye)
    LG = inverse @ G
    W = (A - gamma * eye).T + H @ LG
    back = np.linalg.solve(W, np.hstack([eye, H @ inverse]))
    return eye + 2.0 * gamma * back[:, :n].T, _even(2.0 * gamma * LG @ back[:, :n]), _even(2.0 * gamma * back[:, n:])


def _sizes(M: Array) -> tuple[float, float]:
    """The largest size of an eigenvalue, and the geometric mean of all: of many by powers and the determinant.

    (‖M^p‖)^(1/p) is no less than the largest, and with p = 2^6 hardly more.
    """
    if len(M) <= _MANY:
        sizes = np.abs(np.linalg.eigvals(M))
        largest = max(float(sizes.max()), 1e-3)
        return largest, float(np.exp(np.log(np.maximum(sizes, 1e-8 * largest)).mean()))
    power, log_size = M, 0.0
    for k in range(_SQUARINGS + 1):
        norm = float(np.linalg.norm(power))
        if not 0.0 < norm < np.inf:
            break
        log_size += np.log(norm) / 2.0**k
        power = power / norm
        power = power @ power
    largest = max(float(np.exp(log_size)), 1e-3)
    return largest, max(float(np.exp(np.linalg.slogdet(M)[1] / len(M))), 1e-8 * largest)


def _lyapunov(closed: Array, C: Array, discrete: bool, roots: Array) -> Array:
    """X of closedᵀ X + X closed + C = 0, or of closedᵀ X closed − X + C = 0, where motions end.

    ``roots`` are eigenvalues of closed, or of a matrix near it.
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
        if not (M * M).sum() > _ENDED:
            break
    return X
