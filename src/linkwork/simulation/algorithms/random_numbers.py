"""Random numbers of a step, on any scalar: each sample has a generator of its own, whose state are two whole numbers.

All that is computed is exact in float64, so numbers are the same on every machine and in every lane.

Source: L'Ecuyer, Efficient and portable combined random number generators, Communications of the ACM 31, 1988; Box and
Muller, A note on the generation of random normal deviates, Annals of Mathematical Statistics 29, 1958.
"""

from __future__ import annotations

import math
from typing import Any

from linkwork.expr.scalar.functions import cos, floor, log, lt, sin, sqrt, where

__all__ = ["MODULI", "normal_numbers"]

MODULI = (2147483563.0, 2147483399.0)
"""The two numbers of a state are whole, from 1, and less than these."""

_FACTORS = (40014.0, 40692.0)

State = tuple[Any, Any]


def normal_numbers(state: State, count: int) -> tuple[State, list[Any]]:
    """The next state, and so many independent numbers of mean 0 and variance 1."""
    found: list[Any] = []
    while len(found) < count:
        state, u = _uniform(state)
        state, w = _uniform(state)
        length, angle = sqrt(-2.0 * log(u)), 2.0 * math.pi * w
        found += [length * cos(angle), length * sin(angle)]
    return state, found[:count]


def _uniform(state: State) -> tuple[State, Any]:
    """Between 0 and 1, neither of them."""
    first, second = (_rest(a * x, m) for a, x, m in zip(_FACTORS, state, MODULI, strict=True))
    z = first - second
    z = where(lt(z, 1.0), z + (MODULI[0] - 1.0), z)
    return (first, second), z / MODULI[0]


def _rest(product: Any, modulus: float) -> Any:
    """Of a division: products are less than 2⁵³, so quotients are rounded by less than what tells them from a whole."""
    return product - modulus * floor(product / modulus)
