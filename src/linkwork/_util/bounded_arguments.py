"""Arguments without an end: iterators that never stop, and containers that contain themselves or nest very deeply."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

__all__ = ["is_bottomless", "listed_iterators"]

_MOST_ITEMS = 1 << 22  # of an iterator that is passed as an argument
_MOST_LEVELS = 64  # of nested containers, as many as NumPy's arrays may have


def listed_iterators(
    arguments: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
    """Return arguments with lists instead of iterators, and the iterators that did not end."""
    endless: list[Any] = []

    def listed(value: Any) -> Any:
        if not isinstance(value, Iterator) or isinstance(value, io.IOBase):
            return value
        items = [*islice(value, _MOST_ITEMS + 1)]
        if len(items) > _MOST_ITEMS:
            endless.append(value)
        return items

    return tuple(map(listed, arguments)), {name: listed(value) for name, value in named.items()}, endless


def is_bottomless(value: Any) -> bool:
    """Return True for containers that contain themselves, or are nested more than 64 deep: NumPy may crash on them."""
    level: list[Any] = [value]
    for _ in range(_MOST_LEVELS):
        level = [*{id(item): item for container in level for item in _items(container) if _is_container(item)}.values()]
        if not level:
            return False
    return True


def _is_container(value: Any) -> bool:
    return isinstance(value, (list, tuple, Mapping)) or (isinstance(value, np.ndarray) and value.dtype.hasobject)


def _items(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.ravel().tolist() if value.dtype == object else ()
    return value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
