"""Arrays that a simulator holds and hands out, in nested values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linkwork.expr.arrays.pytree import mapped

__all__ = ["leaves", "locked", "not_plain", "paired"]


def locked(x: Any) -> np.ndarray:
    """An array that is not written to."""
    found = np.asarray(x)
    found.setflags(write=False)
    return found


def not_plain(*arrays: Any) -> None:
    """What a quick call says of arrays that it does not take."""


def paired(function: Callable[[Any, Any], Any], new: Any, old: Any) -> Any:
    """A function of two values of one nesting, array by array."""
    others = iter(leaves(old))
    return mapped(lambda x: function(np.asarray(x), next(others)), new)


def leaves(value: Any) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    mapped(lambda x: found.append(np.asarray(x)), value)
    return found
