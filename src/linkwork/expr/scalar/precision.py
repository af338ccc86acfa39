"""Floating-point precision of traced functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from linkwork.expr.scalar.float_limits import FLOAT32, FLOAT64, FloatLimits
from linkwork.expr.scalar.functions import fabs, lt, where
from linkwork.expr.scalar.symbol import Symbol

__all__ = ["float_limits_of", "require_float64"]


def require_float64(scalars: Iterable[Any]) -> None:
    """Mark the trace of these symbols: its function computes in float64, whatever the type of its inputs."""
    symbol = next((x for x in scalars if x.__class__ is Symbol), None)
    if symbol is not None:
        symbol.graph.in_double = True


def float_limits_of(scalars: Iterable[Any]) -> FloatLimits:
    """Return the limits of the float type in which a function of these scalars is computed."""
    x = next((x for x in scalars if hasattr(x, "_precedence")), None)
    if x is None:
        return FLOAT64
    rounded = where(lt(fabs(x), 0.0), 2.0, 4.0 / 3.0)  # always 4/3, which a trace does not know
    epsilon = fabs((rounded - 1.0) * 3.0 - 1.0)  # evaluated in the type of the code, by LLVM
    in_float64 = lt(epsilon, FLOAT32.epsilon)
    names = [field.name for field in fields(FloatLimits)]
    chosen = {name: where(in_float64, getattr(FLOAT64, name), getattr(FLOAT32, name)) for name in names}
    return FloatLimits(**chosen)
