"""Results of several kernels, of pairs in parts, as those of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import is_traced
from linkwork.expr.scalar.functions import exp, fmax, fmin, log

__all__ = ["least_of", "most_of", "smooth_gradient_of", "smooth_of", "worst_edge"]

_FREE, _COLLIDING = 0.0, 1.0


def least_of(values: Sequence[Any]) -> Any:
    """Return the element-wise minimum of arrays, or of symbols."""
    return values[0] if len(values) == 1 else reduce(fmin if is_traced(values) else np.minimum, values)


def most_of(values: Sequence[Any]) -> Any:
    """Return the element-wise maximum of arrays, or of symbols."""
    return values[0] if len(values) == 1 else reduce(fmax if is_traced(values) else np.maximum, values)


def smooth_of(values: Sequence[Any], sharpness: Any) -> Any:
    """Return −log(Σ exp(−k m_i))/k of smooth minima m_i: the smooth minimum over all of their pairs."""
    least = least_of(values)
    total: Any = sum((_exp(sharpness * (least - m)) for m in values), start=0.0 * least)
    return least - (log(total) if is_traced(total) else np.log(total)) / sharpness


def smooth_gradient_of(values: Sequence[Any], gradients: Sequence[Any], sharpness: Any) -> Any:
    """Return Σ exp(k (m − m_i)) g_i, m the smooth minimum of all: its gradient (..., nv)."""
    whole = smooth_of(values, sharpness)
    weights = [np.asarray(_exp(sharpness * (whole - m)))[..., np.newaxis] for m in values]
    return sum((w * g for w, g in zip(weights[1:], gradients[1:], strict=True)), start=weights[0] * gradients[0])


def worst_edge(found: Sequence[np.ndarray]) -> np.ndarray:
    """Return one result (..., 4 + nq) of an edge kernel's results for the same edges: not free where one of them is
    not, at what collides rather than what is undecided, with the least clearance and all checks."""
    best = np.array(found[0])
    for other in found[1:]:
        clearance, checks = np.minimum(best[..., 2], other[..., 2]), best[..., 3] + other[..., 3]
        worse = (best[..., 0] == _FREE) | ((other[..., 0] == _COLLIDING) & (best[..., 0] != _COLLIDING))
        best = np.where(worse[..., np.newaxis], other, best)
        best[..., 2], best[..., 3] = clearance, checks
    return best


def _exp(x: Any) -> Any:
    return exp(x) if is_traced(x) else np.exp(x)
