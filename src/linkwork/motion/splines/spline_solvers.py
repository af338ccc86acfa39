"""Solvers for spline coefficients: banded equations for plain coordinates, fixed-point iteration on manifolds.

Cubic splines of plain coordinates with continuous acceleration are the solution of one banded system, solved by a
kernel for all right-hand sides together.  On a manifold this solution is approximate; a fixed-point iteration with
Anderson acceleration corrects it.

Source: Walker and Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numerical Analysis 49 (4), 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.control import while_loop
from linkwork.expr.equations import fixed_point
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, where
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.hermite_interpolation import solve_band, solve_banded
from linkwork.motion.trajectory.time_scaling import cubic_hermite

__all__ = ["iterated", "iterated_on_symbols", "plain_cubics", "solved_rows"]


def plain_cubics(t: np.ndarray, q: np.ndarray, boundary: str, ends: np.ndarray | None) -> np.ndarray:
    """Return coefficients (n - 1, nv, 4) of the cubic spline through points (n, nv).

    ``boundary`` is "natural", "clamped" (at rest, or with velocities (2, nv) of the ends), "launched" (with a velocity
    (nv,), and natural at the end) or "periodic".
    """
    h = np.diff(t)
    inverse = 1.0 / h
    rate = np.diff(q, axis=0) * inverse[:, None]
    if boundary == "periodic":
        v = _periodic(inverse, rate)
    else:
        band, right = np.zeros((len(t), 3)), np.zeros(q.shape)
        band[1:, 0] = band[:-1, 2] = inverse
        band[1:-1, 1] = 2.0 * (inverse[1:] + inverse[:-1])
        pull = rate * (3.0 * inverse)[:, None]
        right[1:-1] = pull[1:] + pull[:-1]
        if boundary == "clamped":
            band[[0, -1]] = 0.0, 1.0, 0.0
            right[[0, -1]] = 0.0 if ends is None else ends
        else:
            band[[0, -1], 1] = 2.0 * inverse[[0, -1]]
            right[[0, -1]] = pull[[0, -1]]
            if boundary == "launched":
                band[0], right[0] = (0.0, 1.0, 0.0), ends
        v = solved_band(band, right)
    return cubic_hermite(h, q, v)


def _periodic(inverse: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return the velocities (n, nv) of a periodic cubic spline at its points; the last equals the first.

    ``inverse`` (n − 1,) are the reciprocals of the segments' durations, and ``rate`` (n − 1, nv) their mean velocities.
    The last unknown is eliminated by a second solution of the banded system.
    """
    m = len(inverse)
    before, after = np.roll(inverse, 1), inverse  # of point k: the segments on both sides
    right = 3.0 * (rate * inverse[:, None] + np.roll(rate * inverse[:, None], 1, axis=0))
    if m == 1:
        return np.repeat(right / (6.0 * inverse[0]), 2, axis=0)
    last, border = m - 1, np.zeros((m - 1, 1))
    band = np.zeros((last, 3))
    band[:, 0], band[:, 1], band[:, 2] = before[:last], 2.0 * (before + after)[:last], after[:last]
    border[0] += before[0]
    border[-1] += after[last - 1]
    band[0, 0] = band[-1, 2] = 0.0
    result = solved_band(band, np.concatenate([right[:last], border], axis=1))
    x, y = result[:, :-1], result[:, -1]
    pivot = 2.0 * (before[last] + after[last]) - after[last] * y[0] - before[last] * y[-1]
    end = (right[last] - after[last] * x[0] - before[last] * x[-1]) / pivot
    v = np.concatenate([x - y[:, None] * end, end[None]])
    return np.concatenate([v, v[:1]])


_KERNELS: LazyCache[Kernel] = LazyCache(32)
_MIN_ROWS, _MAX_ROWS = 16, 1 << 14  # rows of a kernel


def solved_band(band: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution x of A x = right (n, m), with A as the band (n, 2 w + 1) around its diagonal."""
    n, width = band.shape
    if n > _MAX_ROWS:
        w = width // 2
        rows = [{i - w + k: row[k] for k in range(width) if row[k] != 0.0} for i, row in enumerate(band.tolist())]
        return np.array(solve_banded(rows, [*right]))
    size = _MIN_ROWS
    while size < n:
        size *= 4
    kernel = _KERNELS.get((size, width), lambda: _kernel(size, width))
    padded, sides = np.zeros((size, width)), np.zeros((right.shape[1], size))
    padded[:, width // 2] = 1.0
    padded[:n], sides[:, :n] = band, right.T
    result: np.ndarray = kernel(padded, sides)[:, :n].T
    return result


def solved_rows(first: np.ndarray, values: np.ndarray, right: Any) -> Any:
    """Return the solution x of A x = right (n, ...) for a banded matrix A, over any scalar.

    Row i of A has the entries ``values[i]`` (m,) from column ``first[i]`` on.
    """
    n, count = values.shape
    columns = first[:, None] + np.arange(count)
    if right.dtype == object:
        rows = [
            {k: x for k, x in zip(at, row, strict=True) if not (isinstance(x, (int, float)) and x == 0.0)}
            for at, row in zip(columns.tolist(), values.tolist(), strict=True)
        ]
        return solve_banded(rows, [*right])
    offsets = columns - np.arange(n)[:, None]
    used = values != 0.0
    w = max(int(np.abs(offsets[used]).max(initial=0)), 1)
    band = np.zeros((n, 2 * w + 1))
    i, k = np.nonzero(used)
    band[i, offsets[i, k] + w] = values[i, k]
    return solved_band(band, right)


def _kernel(size: int, width: int) -> Kernel:
    return compile(lambda band, right: solve_band(band, right), name="banded", band=(size, width), right=(size,))


_DEPTH = 8
_MAX_ITERATIONS = 200
_CONVERGED = 1e-12  # a few plain iterations reduce this to rounding


def iterated(
    x: np.ndarray, correction: Callable[[np.ndarray], np.ndarray], parts: Sequence[slice], scale: float, caller: str
) -> np.ndarray:
    """Return the fixed point of x → x + correction(x), x (n, nv), by iteration with Anderson acceleration.

    ``parts`` are slices of nv; Anderson acceleration treats each part separately. ``scale`` is the magnitude of x.
    Raises ValueError without convergence.
    """
    xs: list[np.ndarray] = []
    fs: list[np.ndarray] = []
    best, least, since = x, np.inf, 0
    for _ in range(_MAX_ITERATIONS):
        with np.errstate(over="ignore", invalid="ignore"):
            f = correction(x)
        size = float(np.abs(f).max(initial=0.0)) / scale
        if not np.isfinite(size):
            break
        since = 0 if size < 0.5 * least else since + 1
        if size < least:
            best, least = x, size
        if least < 1e-15 or (least < 1e-11 and since > 3):
            return best
        xs, fs = [*xs[-_DEPTH:], x], [*fs[-_DEPTH:], f]
        new = x + f
        for part in parts if len(fs) > 1 else ():
            df = np.stack([(b - a)[:, part].ravel() for a, b in pairwise(fs)], axis=1)
            dx = np.stack([(b - a)[:, part].ravel() for a, b in pairwise(xs)], axis=1)
            gamma = np.linalg.lstsq(df, f[:, part].ravel(), rcond=1e-12)[0]
            new[:, part] -= ((dx + df) @ gamma).reshape(new[:, part].shape)
        x = new
    if least < 1e-9:
        return best
    raise ValueError(
        f"{caller}: q: no spline found through these points, whose rotations are too far apart; add points between"
    )


def iterated_on_symbols(
    x: np.ndarray, correction: Callable[[np.ndarray], np.ndarray], parts: Sequence[slice]
) -> np.ndarray:
    """Return the fixed point of x → x + correction(x) for symbols x (n, nv), by a loop in the kernel.

    The loop has Anderson acceleration of depth 1, separately for each slice of nv in ``parts``. Derivatives of the
    result are those of the exact fixed point. The result is NaN without convergence.
    """
    shape, count = x.shape, x.size

    def corrections(x: Sequence[Any]) -> list[Any]:
        return [*correction(array([*x]).reshape(shape)).ravel()]

    def iterate(state: Any) -> Any:
        x, f, x0, f0 = state
        new = [a + b for a, b in zip(x, f, strict=True)]
        for part in parts:
            entries = [k for k in range(count) if k % shape[1] in range(shape[1])[part]]
            df = [f[k] - f0[k] for k in entries]
            square = sum(a * a for a in df)
            share = sum((a * f[k] for a, k in zip(df, entries, strict=True)), 0.0) / fmax(square, 1e-300)
            for a, k in zip(df, entries, strict=True):
                new[k] = new[k] - share * (x[k] - x0[k] + a)
        return (tuple(new), tuple(corrections(new)), x, f)

    start = tuple(x.ravel())
    begun = tuple(corrections(start))
    first = tuple(a + b for a, b in zip(start, begun, strict=True))
    state = (first, tuple(corrections(first)), start, begun)
    result = while_loop(
        lambda state: lt(_CONVERGED, _largest(state[1])), iterate, state, max_iterations=_MAX_ITERATIONS
    )
    near, left = stop_gradient(result.state[0]), _largest(result.state[1])
    last = fixed_point(lambda x: [a + b for a, b in zip(x, corrections(x), strict=True)], near, tolerance=1e-13)
    has_converged = and_(lt(left, 1e-9), le(last.status, 0.0))
    solution: np.ndarray = array([where(has_converged, y, float("nan")) for y in last.value]).reshape(shape)
    return solution


def _largest(x: Sequence[Any]) -> Any:
    return reduce(fmax, map(fabs, x))
