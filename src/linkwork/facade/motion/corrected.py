"""Fixed points of corrections that nearly solve: Anderson's acceleration.

Source: Walker and Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numerical Analysis 49 (4), 2011.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

__all__ = ["settled"]

_DEPTH = 8
_AT_MOST = 200


def settled(
    x: np.ndarray, correction: Callable[[np.ndarray], np.ndarray], parts: Sequence[slice], scale: float, who: str
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
        f"{who}: no spline was found through these points, some too far apart in rotation for that: put points between"
    )
