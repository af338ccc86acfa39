"""What a search for a motion carries from iteration to iteration, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import fmax

__all__ = ["KEPT", "RollOut", "SearchState", "ShootingFound", "begun"]

SOLVED, STUCK, STOPPED, LOST = 0.0, 1.0, 2.0, 3.0
"""How it ends: nothing is left to do, no step is better, iterations are used up, or a number was none."""


class RollOut(NamedTuple):
    """States that steps lead to (T, nx), and controls (T, m)."""

    x: Any
    u: Any


class ShootingFound(NamedTuple):
    """What was found; ``status`` 0 solved, 1 stuck, 2 stopped, 3 met NaN."""

    motion: RollOut
    gains: Any  # K (T, m, n), of u + K (x' ⊖ x)
    multipliers: tuple[Any, Any]  # of moving and of reached rows
    rows: tuple[Any, Any]
    cost: Any  # without multipliers
    violation: Any  # the largest, as a multiple of what is tolerated
    gap: Any
    decrement: Any
    iterations: Any
    roll_outs: Any
    status: Any
    penalty: Any
    kept: Sequence[Any]  # as `KEPT` has them


class SearchState(NamedTuple):
    motion: RollOut
    gains: Any
    multipliers: tuple[Any, Any]
    penalty: Any
    renew: Any  # 1 where multipliers are to be renewed
    before: Any  # the largest violation as they were renewed last
    target: Any  # what steps may still promise
    damping: Any
    bend: Any  # 1 where the dynamics' curvature is taken, too
    nu: Any  # what gaps cost
    violation: Any
    gap: Any
    decrement: Any
    iterations: Any
    roll_outs: Any
    status: Any


KEPT = SearchState._fields[3:]
"""What a search goes on with, besides its motion and its multipliers: numbers."""


def begun(tolerance: Any, penalty: Any, constrained: bool) -> list[Any]:
    """What a search begins with, as `KEPT` has it."""
    least, far = tolerance * tolerance, 1e30
    target = fmax(least, 1e-4) if constrained else least
    return [penalty, 0.0, far, target, 0.0, 0.0, 0.0, far, far, far, 0.0, 0.0, STOPPED]
