"""Cases: functions that call public names with many options in general position, and return what they gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["CASES", "Case", "case"]


@dataclass(frozen=True)
class Case:
    """A function of a test's temporary folder that returns results, and the relative tolerance of its numbers."""

    run: Callable[[Any], Any]
    tolerance: float


CASES: dict[str, Case] = {}


def case(tolerance: float = 1e-8) -> Callable[[Any], Any]:
    """Register a case by its name.  Iterative methods have the tolerance that their documentation states."""

    def register(run: Any) -> Any:
        key = f"{run.__module__.rpartition('.')[2]}: {run.__name__.replace('_', ' ')}"
        assert key not in CASES, key
        CASES[key] = Case(run, tolerance)
        return run

    return register
