"""Arguments of a call by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["in_order"]


def in_order(who: str, names: Sequence[str], arguments: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """All arguments by place.  Raises TypeError for names that are not there, or twice, and for those missing."""
    left = names[len(arguments) :]
    for name in named:
        if name not in left:
            raise TypeError(f"{who}: unexpected or repeated argument {name!r}; the inputs are {names}")
    missing = [name for name in left if name not in named]
    if missing:
        raise TypeError(f"{who}: missing argument {missing[0]!r}; the inputs are {names}")
    return (*arguments, *(named[name] for name in left))
