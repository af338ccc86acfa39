"""Difference of two results, relative to the scale that all tests use."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["EPS", "assert_close", "relative_error", "solving_bound"]

EPS = float(np.finfo(np.float64).eps)


def relative_error(actual: Any, expected: Any, *, core: int | None = None) -> float:
    """The largest of the samples' errors ‖actual − expected‖ / max(1, ‖expected‖).

    ``core`` is the number of dimensions that one sample has: all of them by default.
    """
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    axes = tuple(range(-(actual.ndim if core is None else core), 0))
    difference = np.sqrt(np.sum((actual - expected) ** 2, axis=axes))
    scale = np.maximum(1.0, np.sqrt(np.sum(expected**2, axis=axes)))
    return float(np.max(difference / scale, initial=0.0))


def assert_close(actual: Any, expected: Any, tolerance: float, title: str = "", *, core: int | None = None) -> None:
    error = relative_error(actual, expected, core=core)
    assert error <= tolerance, f"{title}: relative error {error:.3g} is more than {tolerance:.3g}"


def solving_bound(M: Any, forces: Any, a: Any) -> float:
    """Bound the difference of two solutions of M a = Σ forces, relative to max(1, ‖a‖), over all samples.

    Ten times, to first order, what rounding does: cond(M) roundings of a itself, and what M⁻¹ makes of the rounding of
    each force.  Where gravity and torque cancel, they are much larger than M a is.
    """
    M, a = np.asarray(M), np.asarray(a)
    if M.shape[-1] == 0:
        return 0.0
    size = sum(np.linalg.norm(force, axis=-1) for force in forces)
    amplified = size / np.linalg.svd(M, compute_uv=False)[..., -1]
    scale = np.maximum(1.0, np.linalg.norm(a, axis=-1))
    return 10.0 * EPS * float(np.max(np.linalg.cond(M) + amplified / scale))
