"""Weighted least squares of many samples, reduced once to a triangle for each joint force.

The rows [Y_i | τ_i] of joint force i at all samples are R_i times an orthogonal matrix: |Y_i x − τ_i| = |R_i (x; −1)|
for every x.  So sums of squares, weights from residuals and fits are of small matrices, however many samples there are.

Weights are 1 / σ_i, with σ_i² the mean square of the residuals of force i.  Of the number of samples, as many are taken
off as parameters are fitted to this force: the trace of the map from its measurements to their fit.  A force whose
samples are so few that parameters fit them exactly has no residuals to weigh it by, and would count for all others.

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

__all__ = ["RANK", "LinearFit", "Reduced", "fitted", "reduced", "refuse_exact_fits", "triangular"]

RANK = 1e-8  # singular values below, relative to the largest, are none
_LEAST = 1e-7  # of a standard deviation, relative to the root mean square of all measured forces
_FREE = 0.999  # degrees of freedom of a force's residuals: with fewer they are none
_SETTLED = 1e-4  # the relative change of all standard deviations at which weights stay


@dataclass(frozen=True, eq=False)
class Reduced:
    """The triangles R_i of [Y | τ − Y_k π_k], with the columns that are estimated and what the others add."""

    rows: np.ndarray  # (m, p + 1): those of all triangles, one below the other
    force: np.ndarray  # (m,): the joint force that each belongs to
    samples: int
    mean: np.ndarray  # (nv,) of τ
    square: np.ndarray  # (nv,) mean of τ²

    @property
    def width(self) -> int:
        """How many columns are estimated."""
        return int(self.rows.shape[-1]) - 1

    def of(self, columns: np.ndarray) -> Reduced:
        """The same of some of the columns alone."""
        return Reduced(self.rows[:, [*columns, self.width]], self.force, self.samples, self.mean, self.square)

    def sums(self, numbers: np.ndarray) -> np.ndarray:
        """(nv,): sums of a number for each row, by joint force."""
        return np.bincount(self.force, numbers, len(self.square))

    def residual_squares(self, x: np.ndarray) -> np.ndarray:
        """(nv,): the sum of squares of each force's residuals."""
        return self.sums((self.rows @ np.append(x, -1.0)) ** 2)

    def weighted(self, weights: np.ndarray) -> np.ndarray:
        """All rows, times their forces' weights: (p + 1, p + 1), triangular again."""
        of_rows = weights[self.force]
        return triangular((self.rows * of_rows[:, None])[of_rows > 0.0])

    def rms(self, squares: np.ndarray) -> np.ndarray:
        """Sums of squares as root mean squares."""
        result: np.ndarray = np.sqrt(squares / self.samples)
        return result

    def r_squared(self, squares: np.ndarray) -> np.ndarray:
        """(nv,): 1 less residual variance by that of the force; NaN where that does not vary."""
        variance = self.square - self.mean**2
        varies = variance > 1e-24 * np.maximum(self.square, 1e-300)
        result: np.ndarray = np.where(varies, 1.0 - squares / self.samples / np.where(varies, variance, 1.0), np.nan)
        return result


def reduced(measurements: Measurements, columns: Columns) -> Reduced:
    """The triangles of measurements, some samples at a time; each of the columns alone that its force depends on."""
    nv, p = measurements.robot.nv, len(columns.estimated)
    triangles = [np.zeros((0, p + 1)) for _ in range(nv)]
    known = columns.known
    for Y, tau in measurements.regressors(columns.passive, columns.friction):
        chosen, rest = Y[..., columns.estimated], tau - Y @ known
        for i in range(nv):
            rows = np.concatenate([triangles[i], np.column_stack([chosen[:, i], rest[:, i]])])
            felt = rows.any(axis=0)
            triangles[i] = np.zeros((felt.sum(), p + 1))
            triangles[i][:, felt] = triangular(rows[:, felt])
    force = np.repeat(np.arange(nv), [len(R) for R in triangles])
    tau = measurements.tau
    return Reduced(np.concatenate(triangles), force, len(tau), tau.mean(axis=0), (tau * tau).mean(axis=0))


@dataclass(frozen=True, eq=False)
class LinearFit:
    """The least squares estimate of smallest length, and what the weighted rows say of it."""

    x: np.ndarray  # (p,)
    covariance: np.ndarray  # (p, p); of what the rows show
    sigma: np.ndarray  # (nv,): of each force's residuals; infinite where it was not measured
    values: np.ndarray  # (p,): singular values of the weighted rows, columns scaled to length 1, the largest first
    unseen: np.ndarray  # (p, p − rank): directions in scaled columns that the rows do not show
    lengths: np.ndarray  # (p,): of the weighted columns; zero where they were taken as such
    squares: np.ndarray  # (nv,): sums of squares of residuals
    freedom: np.ndarray  # (nv,): samples, less what of them is fitted

    @property
    def condition(self) -> float:
        """The largest singular value by the smallest; infinite where a direction is not shown."""
        if self.unseen.shape[1] or not len(self.values):
            return np.inf if len(self.values) else 1.0
        return float(self.values[0] / self.values[-1])


def fitted(result: Reduced, measured: np.ndarray, weights: np.ndarray | None, typical: np.ndarray) -> LinearFit:
    """The weighted least squares estimate; without weights, those that its residuals say, until they stay.

    Columns that are shorter than ``RANK`` times their ``typical`` length (p,) count as zero.
    """
    size = np.sqrt(result.square[measured].mean())
    floor = _LEAST * size if size > 0.0 else 1.0
    sigma = np.full(len(measured), np.inf)
    sigma[measured] = 1.0 if weights is None else 1.0 / weights[measured]
    lengths = np.linalg.norm(result.rows[measured[result.force], :-1], axis=0)
    zero = lengths <= RANK * typical * np.sqrt(result.samples * measured.sum())
    fit = _once(result, sigma, zero)
    for _ in range(0 if weights is not None else 50):
        before = sigma
        sigma = np.full(len(measured), np.inf)
        sigma[measured] = np.maximum(np.sqrt(fit.squares / np.maximum(fit.freedom, 1.0))[measured], floor)
        fit = _once(result, sigma, zero)
        if (np.abs(sigma - before)[measured] <= _SETTLED * sigma[measured]).all():
            break
    if weights is not None:  # they are relative: what they stand for, the residuals say
        rows = np.maximum(fit.freedom, 1.0)[measured].sum()
        scale = np.sqrt(max((fit.squares[measured] * weights[measured] ** 2).sum() / rows, 0.0))
        scale = max(scale, floor * weights[measured].max())
        fit = _once(result, sigma * scale, zero)
    return fit


def refuse_exact_fits(caller: str, fit: LinearFit, result: Reduced, names: Sequence[str]) -> None:
    """Raises ValueError where the samples of a force are fitted exactly, so that residuals are none to weigh it by."""
    i = int(np.argmin(fit.freedom))
    if fit.freedom[i] < _FREE:
        felt = result.rows[result.force == i, :-1].any(axis=0).sum()
        raise ValueError(
            f"{caller}: weights from residuals: expected more samples than the {felt} parameters that {names[i]!r} "
            f"depends on, got {result.samples} that are not held out, which they fit exactly: measure more, or give "
            f"`weights`"
        )


def _once(result: Reduced, sigma: np.ndarray, zero: np.ndarray) -> LinearFit:
    """The fit with these standard deviations."""
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
    """R (..., n, n) of matrices (..., m, n): |rows x| = |R x|.  Rows of zeros where there are fewer than columns."""
    R: Any = np.linalg.qr(rows, mode="r")
    missing = R.shape[-1] - R.shape[-2]
    if missing > 0:
        R = np.concatenate([R, np.zeros((*R.shape[:-2], missing, R.shape[-1]))], axis=-2)
    result: np.ndarray = R
    return result
