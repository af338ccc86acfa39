"""Polynomials as arrays of coefficients (..., terms), lowest first: values, shifts, scales, compositions."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["composed", "reversed_in", "scaled", "shifted", "values_of"]


def values_of(c: np.ndarray, u: Any) -> np.ndarray:
    """Return the values at u (...) of polynomials c (..., terms), lowest first."""
    result = c[..., -1]
    for k in range(c.shape[-1] - 2, -1, -1):
        result = result * u + c[..., k]
    return np.asarray(result)


def shifted(c: np.ndarray, by: Any) -> np.ndarray:
    """Return the coefficients of p(u + by) for polynomials with coefficients p (..., terms), lowest first."""
    result = np.array(c)
    for k in range(result.shape[-1] - 1):
        for j in range(result.shape[-1] - 2, k - 1, -1):
            result[..., j] += by * result[..., j + 1]
    return result


def scaled(c: Any, scale: float) -> Any:
    """Return the coefficients of p(u / scale)."""
    return c * scale ** -np.arange(c.shape[-1], dtype=float)


def reversed_in(c: Any, span: Any) -> Any:
    """Return the coefficients of p(span − u)."""
    return shifted(c, span) * (-1.0) ** np.arange(c.shape[-1])


def composed(c: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Return the coefficients of p(s(t) − s(0)), from the coefficients p (..., terms) and s, lowest first."""
    change = inner[..., 1:]  # of t times this
    n = change.shape[-1]
    result = c[..., -1:]
    for k in range(c.shape[-1] - 2, -1, -1):
        product = np.zeros((*np.broadcast_shapes(result.shape[:-1], change.shape[:-1]), result.shape[-1] + n))
        for j in range(n):
            product[..., j + 1 : j + 1 + result.shape[-1]] += result * change[..., j : j + 1]
        product[..., 0] = c[..., k]
        result = product
    return result
