"""Weighted least squares of many samples, each joint force reduced once to a triangular matrix.

The rows [Y_i | τ_i] of joint force i at all samples are R_i times an orthogonal matrix: |Y_i x − τ_i| = |R_i (x; −1)|
for every x. So sums of squares, weights from residuals and fits use small matrices, for any number of samples.

Weights are 1 / σ_i, with σ_i² the mean square of the residuals of force i. The number of samples is reduced by the
number of parameters fitted to this force: the trace of the map from its measurements to their fit. A force with so few
samples that parameters fit them exactly has no residuals for a weight, and would dominate all others.

Sources: Gautier, Dynamic identification of robots with power model, IEEE ICRA 1997 (weights from residuals); Golub and
Van Loan, Matrix Computations, section 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.identify.measurements import Measurements
from linkwork.identify.parameter_selection import Columns

__all__ = ["RANK", "LinearFit", "Reduced", "fit_linear", "reduce_measurements", "refuse_exact_fits", "triangular"]

RANK = 1e-8  # relative to the largest: smaller singular values count as zero
_LEAST = 1e-7  # smallest standard deviation, relative to the root mean square of the measured force
_FREE = 0.999  # degrees of freedom of a force's residuals: with fewer its fit is exact
_CONVERGED = 1e-4  # relative change of all standard deviations at which weights have converged


@dataclass(frozen=True, eq=False)
class Reduced:
    """Measured samples, reduced to one triangular matrix R_i for each joint force i.

    R_i is the triangular factor of [Y | τ − Y_k π_k] over all samples of the force: Y are the regressor's columns of
    the estimated parameters, Y_k those of the known parameters π_k.
    """

    rows: np.ndarray  # (m, p + 1): those of all triangles, one below the other
    force: np.ndarray  # (m,): the joint force that each belongs to
    samples: int
    mean: np.ndarray  # (nv,) of τ
    square: np.ndarray  # (nv,) mean of τ²

    @property
    def width(self) -> int:
        """Number of columns in the least squares problem, one for each estimated parameter."""
        return int(self.rows.shape[-1]) - 1

    def of(self, columns: np.ndarray) -> Reduced:
        """Return the reduced samples for a subset of the estimated parameters, given by column indices."""
        return Reduced(self.rows[:, [*columns, self.width]], self.force, self.samples, self.mean, self.square)

    def sums(self, row_values: np.ndarray) -> np.ndarray:
        """Return the sum for each joint force (nv,) of ``row_values`` (m,), which belong to rows of its triangle."""
        return np.bincount(self.force, row_values, len(self.square))

    def residual_squares(self, x: np.ndarray) -> np.ndarray:
        """Return the sum of squared residuals of each joint force (nv,), for parameters x (p,)."""
        return self.sums((self.rows @ np.append(x, -1.0)) ** 2)

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """Return the triangular factor (p + 1, p + 1) of all joint forces together, with ``weights`` (nv,)."""
        row_weights = weights[self.force]
        return triangular((self.rows * row_weights[:, None])[row_weights > 0.0])

    def rms(self, squares: np.ndarray) -> np.ndarray:
        """Return the root mean square of each joint force (nv,) over its samples, from its sum of squares."""
        result: np.ndarray = np.sqrt(squares / self.samples)
        return result

    def r_squared(self, squares: np.ndarray) -> np.ndarray:
        """Return R² = 1 − residual variance / variance of each joint force (nv,); NaN for a constant force.

        ``squares`` (nv,) are the sums of squared residuals.
        """
        variance = self.square - self.mean**2
        varies = variance > 1e-24 * np.maximum(self.square, 1e-300)
        result: np.ndarray = np.where(varies, 1.0 - squares / self.samples / np.where(varies, variance, 1.0), np.nan)
        return result


def reduce_measurements(measurements: Measurements, columns: Columns) -> Reduced:
    """Return measurements reduced to a triangular matrix for each joint force.

    Samples are processed in chunks.  Each triangle has only the columns on which its force depends.
    """
    nv, p = measurements.robot.nv, len(columns.estimated)
    triangles = [np.zeros((0, p + 1)) for _ in range(nv)]
    known = columns.known
    for Y, tau in measurements.regressors(columns.passive, columns.friction):
        chosen, residuals = Y[..., columns.estimated], tau - Y @ known
        for i in range(nv):
            rows = np.concatenate([triangles[i], np.column_stack([chosen[:, i], residuals[:, i]])])
            is_used = rows.any(axis=0)
            triangles[i] = np.zeros((is_used.sum(), p + 1))
            triangles[i][:, is_used] = triangular(rows[:, is_used])
    force = np.repeat(np.arange(nv), [len(R) for R in triangles])
    tau = measurements.tau
    return Reduced(np.concatenate(triangles), force, len(tau), tau.mean(axis=0), (tau * tau).mean(axis=0))


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Least-squares estimate of smallest norm, with its covariance and singular values."""

    x: np.ndarray  # (p,)
    covariance: np.ndarray  # (p, p); of what the rows determine
    sigma: np.ndarray  # (nv,): of each force's residuals; infinite if not measured
    values: np.ndarray  # (p,): singular values of the weighted rows, columns scaled to length 1, the largest first
    unobservable: np.ndarray  # (p, p − rank): directions in scaled columns that the rows do not determine
    lengths: np.ndarray  # (p,): of the weighted columns; zero for negligible ones
    squares: np.ndarray  # (nv,): sums of squares of residuals
    freedom: np.ndarray  # (nv,): samples less fitted parameters

    @property
    def condition(self) -> float:
        """Condition number, largest/smallest singular value; infinite for an undetermined direction."""
        if self.unobservable.shape[1] or not len(self.values):
            return np.inf if len(self.values) else 1.0
        return float(self.values[0] / self.values[-1])


def fit_linear(result: Reduced, measured: np.ndarray, weights: np.ndarray | None, typical: np.ndarray) -> LinearFit:
    """Return the weighted least squares estimate of the parameters.

    Without ``weights`` they are computed from the residuals, repeatedly until they converge. ``measured`` (nv,) is
    True for a measured joint force. Columns shorter than ``RANK`` times their ``typical`` length (p,) count as zero.
    """
    squares = result.square[measured]
    floor = _LEAST * np.sqrt(np.maximum(squares, RANK * squares.mean()))  # at rest some forces are rounding
    floor[floor == 0.0] = 1.0  # all forces are zero
    sigma = np.full(len(measured), np.inf)
    sigma[measured] = 1.0 if weights is None else 1.0 / weights[measured]
    lengths = np.linalg.norm(result.rows[measured[result.force], :-1], axis=0)
    zero = lengths <= RANK * typical * np.sqrt(result.samples * measured.sum())
    fit = _weighted_fit(result, sigma, zero)
    for _ in range(0 if weights is not None else 50):
        before = sigma
        sigma = np.full(len(measured), np.inf)
        sigma[measured] = np.maximum(np.sqrt(fit.squares / np.maximum(fit.freedom, 1.0))[measured], floor)
        fit = _weighted_fit(result, sigma, zero)
        if (np.abs(sigma - before)[measured] <= _CONVERGED * sigma[measured]).all():
            break
    if weights is not None:  # relative weights: the scale follows from the residuals
        rows = np.maximum(fit.freedom, 1.0)[measured].sum()
        scale = np.sqrt(max((fit.squares[measured] * weights[measured] ** 2).sum() / rows, 0.0))
        scale = max(scale, (floor * weights[measured]).max())
        fit = _weighted_fit(result, sigma * scale, zero)
    return fit


def refuse_exact_fits(caller: str, fit: LinearFit, result: Reduced, names: Sequence[str]) -> None:
    """Raise ValueError if parameters fit the samples of a force exactly, so that its residuals give no weight."""
    i = int(np.argmin(fit.freedom))
    if fit.freedom[i] < _FREE:
        is_used = result.rows[result.force == i, :-1].any(axis=0).sum()
        raise ValueError(
            f"{caller}: weights from residuals: expected more samples than the {is_used} parameters that {names[i]!r} "
            f"depends on, got {result.samples} besides those held out, which are fitted exactly; measure more, or pass "
            f"weights="
        )


def _weighted_fit(result: Reduced, sigma: np.ndarray, zero: np.ndarray) -> LinearFit:
    """Return the least squares estimate with standard deviations ``sigma`` (nv,) of the joint forces.

    Columns that are ``zero`` (p,) are left out.
    """
    R = result.weighted(1.0 / sigma)
    A, b = R[:, :-1], R[:, -1]
    lengths = np.where(zero, 0.0, np.linalg.norm(A, axis=0))
    scale = np.where(lengths > 0.0, lengths, 1.0)
    U, s, Vt = np.linalg.svd(A / scale * (lengths > 0.0), full_matrices=False)
    rank = int((s > RANK * s[0]).sum()) if len(s) and s[0] > 0.0 else 0
    V = Vt[:rank].T / s[:rank]
    x = V @ (U[:, :rank].T @ b) / scale
    V = V / scale[:, None]
    used = result.sums(((result.rows[:, :-1] @ V) ** 2).sum(axis=1)) / sigma**2
    return LinearFit(x, V @ V.T, sigma, s, Vt[rank:].T, lengths, result.residual_squares(x), result.samples - used)


def triangular(rows: np.ndarray) -> np.ndarray:
    """Return the triangular factor R (..., n, n) of matrices (..., m, n), for which |rows x| = |R x| for all x.

    For m < n it is padded with zero rows.
    """
    R: Any = np.linalg.qr(rows, mode="r")
    missing = R.shape[-1] - R.shape[-2]
    if missing > 0:
        R = np.concatenate([R, np.zeros((*R.shape[:-2], missing, R.shape[-1]))], axis=-2)
    result: np.ndarray = R
    return result
