"""What features are made with, looked at before anything is computed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from linkwork._util.messages import nearest
from linkwork._util.validation import integer

__all__ = ["one_of", "steps_back", "switch", "text"]


def one_of(caller: str, what: str, given: Any, known: Collection[str]) -> str:
    """One of some names.  Raises ValueError with the nearest."""
    if not isinstance(given, str) or given not in known:
        hint = f"; {nearest(given, known)}" if isinstance(given, str) else ""
        raise ValueError(f"{caller}: {what}: expected one of {', '.join(map(repr, known))}, got {given!r}{hint}")
    return given


def switch(caller: str, what: str, given: Any) -> bool:
    """Raises ValueError for what is neither True nor False."""
    if not isinstance(given, (bool, np.bool_)):
        raise ValueError(f"{caller}: {what}: expected True or False, got {given!r}")
    return bool(given)


def text(caller: str, what: str, given: Any, empty: bool = True) -> str:
    """Raises TypeError for what is no text, or, unless it may be ``empty``, for an empty one."""
    if not isinstance(given, str) or not (given or empty):
        raise TypeError(f"{caller}: {what}: expected a text, got {given!r}")
    return given


def steps_back(caller: str, given: Any) -> int:
    """How many steps before t.  Raises ValueError for what is not a whole number from 0."""
    return integer(caller, "back", given, least=0, what="a whole number of steps")
