"""Kronecker sequence: low-discrepancy points in the unit cube, each computed from its index.

    u_j(n) = frac(n α_j + s_j),     α_j = g^−(j+1),     g^(d+1) = g + 1,     0 ≤ j < d.

Source: Kronecker's sequence, with the root of Roberts, The unreasonable effectiveness of quasirandom sequences, 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkwork.expr.scalar.functions import floor

__all__ = ["kronecker_point", "kronecker_rates"]

_ROOT_ITERATIONS = 80  # fixed-point iterations, each of which more than halves the error


def kronecker_rates(dimension: int) -> list[float]:
    """Return the increments α (d,) of the Kronecker sequence in d dimensions, by which each point follows the last."""
    root = 2.0
    for _ in range(_ROOT_ITERATIONS):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    return [root ** -(j + 1) for j in range(dimension)]


def kronecker_point(index: Any, shift: Sequence[Any]) -> list[Any]:
    """Return point ``index`` (d,) of the Kronecker sequence, shifted by ``shift`` (d,) modulo 1."""
    shifted = [index * rate + s for rate, s in zip(kronecker_rates(len(shift)), shift, strict=True)]
    return [x - floor(x) for x in shifted]
