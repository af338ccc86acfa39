"""Which numbers a traced function is computed with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkwork.expr.scalar.symbol import Symbol

__all__ = ["in_double"]


def in_double(scalars: Iterable[Any]) -> None:
    """Have the functions that are traced with these symbols computed in float64, whatever they are called with."""
    symbol = next((x for x in scalars if x.__class__ is Symbol), None)
    if symbol is not None:
        symbol.graph.in_double = True
