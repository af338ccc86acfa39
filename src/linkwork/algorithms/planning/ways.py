"""Straight ways between configurations whose numbers add up, and places on them that are looked at side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...expr.arrays import array
from ...expr.control import scan
from ...expr.functions import floor, sqrt

__all__ = ["ABREAST", "Touches", "Ways", "ceiling", "touching"]

Scalars = Sequence[Any]
Touches = Callable[[list[Any]], Any]
"""A configuration (nq,) to 1 where it is not free, else 0."""

ABREAST = 8  # configurations that are looked at together
_TURN = 2.0 * np.pi


class Ways:
    """Differences and their lengths: √Σ (w φ)²; numbers that are ``turning`` are angles that go the short way."""

    def __init__(self, weights: Scalars, turning: Sequence[bool]) -> None:
        self.weights, self.turning = weights, turning

    def difference(self, q0: Scalars, q1: Scalars) -> list[Any]:
        """q1 ⊖ q0 (nq,)."""
        return [_short(b - a) if turns else b - a for a, b, turns in zip(q0, q1, self.turning, strict=True)]

    def square(self, phi: Scalars) -> Any:
        """Of the length of a difference."""
        total: Any = 0.0
        for w, x in zip(self.weights, phi, strict=True):
            total = total + (w * x) * (w * x)
        return total

    def length(self, phi: Scalars) -> Any:
        return sqrt(self.square(phi))


def touching(touches: Touches, q: Scalars, phi: Scalars, places: Scalars) -> list[Any]:
    """1 or 0 by place t (k,): whether q + t φ is not free."""

    def one(state: tuple[()], t: Any) -> tuple[tuple[()], Any]:
        return state, touches([a + t * b for a, b in zip(q, phi, strict=True)])

    found: list[Any] = scan(one, (), array([*places]))[1].ravel().tolist()
    return found


def _short(angle: Any) -> Any:
    return angle - _TURN * floor(angle / _TURN + 0.5)


def ceiling(x: Any) -> Any:
    """The least whole number that is no less."""
    return -floor(-x)
