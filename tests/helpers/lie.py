"""Exponential and logarithm of rotations and poses to 120 digits, by their closed forms: an independent reference.

Functions of lists of `Precise` numbers, for `helpers.precise`.
"""

from __future__ import annotations

from typing import Any

import mpmath

Scalars = list[Any]


def _plain(x: Scalars) -> Scalars:
    return [a.value for a in x]


def _cross(a: Scalars, b: Scalars) -> Scalars:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _norm(a: Scalars) -> Any:
    return mpmath.sqrt(sum(x * x for x in a))


def quaternion_exp(phi: Scalars) -> Scalars:
    phi = _plain(phi)
    theta = _norm(phi)
    k = mpmath.sin(theta / 2) / theta if theta else mpmath.mpf(1) / 2
    return [mpmath.cos(theta / 2), *(k * x for x in phi)]


def quaternion_log(q: Scalars) -> Scalars:
    w, *u = [-a for a in _plain(q)] if q[0].value < 0 else _plain(q)
    s = _norm(u)
    k = 2 * mpmath.atan2(s, w) / s if s else 2 / w
    return [k * x for x in u]


def translation_of_twist(twist: Scalars) -> Scalars:
    """V(φ) v of (φ; v), with V = 1 + B [φ×] + C [φ×]²."""
    phi, v = _plain(twist[:3]), _plain(twist[3:])
    theta = _norm(phi)
    B = (1 - mpmath.cos(theta)) / theta**2 if theta else mpmath.mpf(1) / 2
    C = (theta - mpmath.sin(theta)) / theta**3 if theta else mpmath.mpf(1) / 6
    once = _cross(phi, v)
    twice = _cross(phi, once)
    return [a + B * b + C * c for a, b, c in zip(v, once, twice, strict=True)]


def twist_of_translation(pair: Scalars) -> Scalars:
    """V(φ)⁻¹ p of (φ; p)."""
    phi, p = _plain(pair[:3]), _plain(pair[3:])
    theta = _norm(phi)
    D = (1 - theta / 2 * mpmath.cot(theta / 2)) / theta**2 if theta else mpmath.mpf(1) / 12
    once = _cross(phi, p)
    twice = _cross(phi, once)
    return [a - b / 2 + D * c for a, b, c in zip(p, once, twice, strict=True)]
