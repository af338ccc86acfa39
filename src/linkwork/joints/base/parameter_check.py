"""What is said of a joint's parameter that cannot be used."""

from __future__ import annotations

import math
from typing import Any

from linkwork.spatial.arguments import LARGEST

__all__ = ["finite", "positive", "refused"]


def refused(of: str, parameter: str, expected: str, got: str, remedy: str = "") -> ValueError:
    """The error: the type of the joint, its parameter, what was expected, what was given, and what to do."""
    whose = f"{of}: {parameter}" if of else parameter
    return ValueError(f"{whose}: expected {expected}, got {got}" + (f"; {remedy}" if remedy else ""))


def finite(value: Any, of: str, parameter: str) -> float:
    """The parameter as a float.  Raises ValueError where it is not a finite number of at most 1e20, as a robot's."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise refused(of, parameter, "a number", repr(value)) from None
    if not math.isfinite(number):
        raise refused(of, parameter, "a finite number", repr(number))
    if abs(number) > LARGEST:
        raise refused(of, parameter, f"a number of at most {LARGEST:.0e}", repr(number))
    return number


def positive(value: Any, of: str, parameter: str) -> float:
    """The parameter as a float.  Raises ValueError where it is not a finite number above zero."""
    number = finite(value, of, parameter)
    if number <= 0.0:
        raise refused(of, parameter, "a number above zero", repr(number))
    return number
