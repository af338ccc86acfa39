"""What features are made with, looked at before anything is computed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.validation import integer

__all__ = ["one_of", "steps_back", "switch", "text"]


def one_of(caller: str, what: str, value: Any, names: Collection[str]) -> str:
    """One of some names.  Raises ValueError with the nearest."""
    if not isinstance(value, str) or value not in names:
        hint = f"; {nearest(value, names)}" if isinstance(value, str) else ""
        raise ValueError(f"{caller}: {what}: expected one of {', '.join(map(repr, names))}, got {value!r}{hint}")
    return value


def switch(caller: str, what: str, value: Any) -> bool:
    """Raises ValueError for what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{caller}: {what}: expected True or False, got {value!r}")
    return bool(value)


def text(caller: str, what: str, value: Any, empty: bool = True) -> str:
    """Raises TypeError for what is no text, or, unless it may be ``empty``, for an empty one."""
    if not isinstance(value, str) or not (value or empty):
        raise TypeError(f"{caller}: {what}: expected a string, got {value!r}")
    return value


def steps_back(caller: str, value: Any) -> int:
    """How many steps before t.  Raises ValueError for what is not a whole number from 0."""
    return integer(caller, "back", value, least=0, what="a number of steps")
