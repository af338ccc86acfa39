"""Points spread evenly over a unit cube, each from its number alone.

    u_j(n) = frac(n α_j + s_j),     α_j = g^−(j+1),     g^(d+1) = g + 1,     0 ≤ j < d.

Source: Kronecker's sequence, with the root of Roberts, The unreasonable effectiveness of quasirandom sequences, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import floor

__all__ = ["rates", "spread"]

_ROOTED = 80  # steps, each of which leaves less than half of what the root is off


def rates(dimension: int) -> list[float]:
    """α (d,)."""
    root = 2.0
    for _ in range(_ROOTED):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    return [root ** -(j + 1) for j in range(dimension)]


def spread(number: Any, shift: Sequence[Any]) -> list[Any]:
    """The point (d,) of a number, moved by a shift (d,) modulo 1."""
    turned = [number * rate + s for rate, s in zip(rates(len(shift)), shift, strict=True)]
    return [x - floor(x) for x in turned]
