"""Checks of the arguments of features."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from linkwork._util.messages import did_you_mean
from linkwork._util.validation import integer

__all__ = ["choice", "one_of", "steps_back", "switch", "text"]


def one_of(caller: str, argument: str, value: Any, names: Collection[str]) -> str:
    """Return a value that is one of ``names``.  Raises ValueError with the nearest name."""
    if not isinstance(value, str) or value not in names:
        hint = did_you_mean(value, names) if isinstance(value, str) else ""
        expected = f"expected one of {', '.join(map(repr, names))}"
        raise ValueError(f"{caller}: {argument}: {expected}, got {value!r}{f'; {hint}' if hint else ''}")
    return value


def switch(caller: str, argument: str, value: Any) -> bool:
    """Return the argument ``argument`` as a bool.  Raises ValueError for anything but True and False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{caller}: {argument}: expected True or False, got {value!r}")
    return bool(value)


def choice(caller: str, argument: str, value: Any) -> bool | None:
    """Return a bool, or None for the default.  Raises ValueError for other values."""
    return None if value is None else switch(caller, argument, value)


def text(caller: str, argument: str, value: Any, empty: bool = True) -> str:
    """Return a string.  Raises TypeError for other values, and for an empty string unless ``empty``."""
    if not isinstance(value, str) or not (value or empty):
        raise TypeError(f"{caller}: {argument}: expected a string, got {value!r}")
    return value


def steps_back(caller: str, value: Any) -> int:
    """Return the argument ``back`` of a method as an int: how many steps before step t a quantity is read.

    ``caller`` is the method's name in messages. Raises ValueError if ``value`` is not an integer >= 0.
    """
    return integer(caller, "back", value, least=0)
