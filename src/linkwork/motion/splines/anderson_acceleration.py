"""Fixed points of corrections that nearly solve: Anderson's acceleration.

Source: Walker and Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numerical Analysis 49 (4), 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.autodiff.custom_derivative import still
from linkwork.expr.control import while_loop
from linkwork.expr.equations import fixed_point
from linkwork.expr.scalar.functions import and_, fabs, fmax, le, lt, where

__all__ = ["settled", "settled_on_symbols"]

_DEPTH = 8
_AT_MOST = 200
_NEARLY = 1e-12  # what a few more turns without looking back make nothing of


def settled(
    x: np.ndarray, correction: Callable[[np.ndarray], np.ndarray], parts: Sequence[slice], scale: float, caller: str
) -> np.ndarray:
    """x (n, nv) where the correction is nothing but rounding; ``parts`` of nv depend on themselves alone, and ``scale``
    is what x is measured by.

    Raises ValueError where it does not come to that.
    """
    xs: list[np.ndarray] = []
    fs: list[np.ndarray] = []
    best, least, since = x, np.inf, 0
    for _ in range(_AT_MOST):
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
        f"{caller}: no spline was found through these points, some too far apart in rotation for that: "
        f"put points between"
    )


def settled_on_symbols(
    x: np.ndarray, correction: Callable[[np.ndarray], np.ndarray], parts: Sequence[slice]
) -> np.ndarray:
    """The same of symbols, by turns in the kernel, each of which looks back at one other; NaN where they do not end.

    Its derivatives are those of what is found.
    """
    shape, count = x.shape, x.size

    def corrections(x: Sequence[Any]) -> list[Any]:
        return [*correction(array([*x]).reshape(shape)).ravel()]

    def turn(state: Any) -> Any:
        x, f, x0, f0 = state
        new = [a + b for a, b in zip(x, f, strict=True)]
        for part in parts:
            own = [k for k in range(count) if k % shape[1] in range(shape[1])[part]]
            df = [f[k] - f0[k] for k in own]
            square = sum(a * a for a in df)
            share = sum((a * f[k] for a, k in zip(df, own, strict=True)), 0.0) / fmax(square, 1e-300)
            for a, k in zip(df, own, strict=True):
                new[k] = new[k] - share * (x[k] - x0[k] + a)
        return (tuple(new), tuple(corrections(new)), x, f)

    start = tuple(x.ravel())
    begun = tuple(corrections(start))
    first = tuple(a + b for a, b in zip(start, begun, strict=True))
    state = (first, tuple(corrections(first)), start, begun)
    found = while_loop(lambda state: lt(_NEARLY, _largest(state[1])), turn, state, max_iterations=_AT_MOST)
    near, left = still(found.state[0]), _largest(found.state[1])
    last = fixed_point(lambda x: [a + b for a, b in zip(x, corrections(x), strict=True)], near, tolerance=1e-13)
    fine = and_(lt(left, 1e-9), le(last.status, 0.0))
    x_found: np.ndarray = array([where(fine, y, float("nan")) for y in last.value]).reshape(shape)
    return x_found


def _largest(x: Sequence[Any]) -> Any:
    found = fabs(x[0])
    for y in x[1:]:
        found = fmax(found, fabs(y))
    return found
