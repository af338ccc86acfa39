"""Floating-point precision of traced functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkwork.expr.scalar.symbol import Symbol

__all__ = ["require_float64"]


def require_float64(scalars: Iterable[Any]) -> None:
    """Make all functions traced with these symbols compute in float64, whatever the type of their inputs."""
    symbol = next((x for x in scalars if x.__class__ is Symbol), None)
    if symbol is not None:
        symbol.graph.in_double = True
