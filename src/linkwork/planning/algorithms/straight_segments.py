"""Straight ways between configurations whose numbers add up, and places on them that are looked at side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from linkwork.expr.arrays.symbol_array import array
from linkwork.expr.control import scan, while_loop
from linkwork.expr.control.conditional import SharedCall
from linkwork.expr.scalar.functions import and_, floor, fmax, lt, sqrt, where

__all__ = ["ABREAST", "Looked", "Touches", "Ways", "ceiling", "looked_along", "touching"]

Scalars = Sequence[Any]
Touches = Callable[[Scalars, Scalars, Scalars], list[Any]]
"""A configuration q (nq,), a difference φ and places t (k,): by place, 1 where q + t φ is not free, else 0."""

ABREAST = 8  # configurations that are looked at together
_BLOCKS = 10_000  # of them, at most
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


def touching(touches: Callable[[list[Any], Any], Any]) -> Callable[[Any], Touches]:
    """What looks at places on ways with a margin, of what looks at a configuration; its code stands once in kernels."""

    def at(q: Any, phi: Any, places: Any, margin: Any) -> Any:
        def one(state: tuple[()], t: Any) -> tuple[tuple[()], Any]:
            return state, touches([a + t * b for a, b in zip(q, phi, strict=True)], margin)

        return scan(one, (), places)[1]

    called = SharedCall(at)

    def with_margin(margin: Any) -> Touches:
        def looked(q: Scalars, phi: Scalars, places: Scalars) -> list[Any]:
            found: list[Any] = called(array([*q]), array([*phi]), array([*places]), margin).ravel().tolist()
            return found

        return looked

    return with_margin


class Looked(NamedTuple):
    """Whether a way is not free, 1 or 0, and how often eight configurations were looked at."""

    hit: Any
    looks: Any


def looked_along(touches: Touches, q: Scalars, phi: Scalars, length: Any, spacing: Any, asked: Any) -> Looked:
    """Of configurations q + t φ that are no farther apart than a spacing, coarsely first, without the ends; nothing
    where it is not ``asked``."""
    blocks = where(asked, fmax(ceiling((length / spacing - 1.0) / ABREAST), 1.0), 0.0)

    def look(state: tuple[Any, Any]) -> tuple[Any, Any]:
        k, _ = state
        places = [(j * blocks + k + 1.0) / (ABREAST * blocks + 1.0) for j in range(ABREAST)]
        worst: Any = 0.0
        for hit in touches(q, phi, places):
            worst = fmax(worst, hit)
        return k + 1.0, worst

    run = while_loop(lambda s: and_(lt(s[0], blocks), lt(s[1], 0.5)), look, (0.0, 0.0), max_iterations=_BLOCKS)
    looks, hit = run.state
    return Looked(hit, looks)


def _short(angle: Any) -> Any:
    return angle - _TURN * floor(angle / _TURN + 0.5)


def ceiling(x: Any) -> Any:
    """The least whole number that is no less."""
    return -floor(-x)
