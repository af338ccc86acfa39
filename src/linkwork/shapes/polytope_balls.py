"""The smallest sphere around points."""

from __future__ import annotations

import numpy as np

__all__ = ["smallest_ball"]

_INSIDE = 1e-12  # relative: what counts as inside while the sphere is looked for
_MOST = 1000  # points that may come in: rounding cannot make it go on for ever


def smallest_ball(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius of the smallest sphere around points (n, 3), to rounding; all of them are in it.

    The smallest sphere of at most four points, into which the farthest point outside comes until none is: its radius
    grows with each, so none returns [Welzl 1991; Gärtner, Fast and robust smallest enclosing balls, 1999].
    """
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    scale = float(np.abs(points - middle).max())
    if scale == 0.0:
        return middle, 0.0
    unit = (points - middle) / scale
    held = [int(np.argmax((unit * unit).sum(axis=1)))]
    center, radius = unit[held[0]], 0.0
    for _ in range(_MOST):
        squares = ((unit - center) ** 2).sum(axis=1)
        farthest = int(np.argmax(squares))
        if squares[farthest] <= radius * radius * (1.0 + _INSIDE) + 1e-30 or farthest in held:
            break
        held = [farthest, *held]
        center, radius, held = _of_few(unit, held)
    far = float(np.sqrt(((points - (middle + scale * center)) ** 2).sum(axis=1)).max())
    return middle + scale * center, far


def _of_few(unit: np.ndarray, held: list[int]) -> tuple[np.ndarray, float, list[int]]:
    """The smallest sphere around at most five points: the smallest of those through some that hold all."""
    best: tuple[float, np.ndarray, list[int]] | None = None
    for mask in range(1, 1 << len(held)):
        chosen = [k for i, k in enumerate(held) if mask >> i & 1]
        if len(chosen) > 4:
            continue
        p = unit[chosen]
        ways = p[1:] - p[0]
        t = np.linalg.lstsq(2.0 * ways @ ways.T, (ways * ways).sum(axis=1), rcond=None)[0] if len(ways) else []
        center = p[0] + np.asarray(t) @ ways if len(ways) else p[0]
        radius = float(np.sqrt(((unit[held] - center) ** 2).sum(axis=1)).max())
        if best is None or radius < best[0] * (1.0 - _INSIDE):
            best = radius, center, chosen
    assert best is not None
    return best[1], best[0], best[2]
