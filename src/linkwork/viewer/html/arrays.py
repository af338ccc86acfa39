"""Arrays of a page in one block of bytes."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np

__all__ = ["Arrays"]

_CODES = {"f4": "<f4", "f8": "<f8", "u1": "u1", "i1": "i1", "u2": "<u2", "u4": "<u4"}


class Arrays:
    """Arrays in one block of bytes; equal arrays are stored once."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._locations: dict[tuple[str, bytes], list[Any]] = {}
        self._size = 0

    def add(self, code: str, array: Any) -> list[Any]:
        """Return the location [type, offset in bytes, length] of an array in the block."""
        data = np.ascontiguousarray(array, dtype=_CODES[code])
        content = data.tobytes()
        location = self._locations.get((code, content))
        if location is None:
            location = self._locations[code, content] = [code, self._size, data.size]
            self._chunks.append(content + bytes(-len(content) % 8))
            self._size += len(self._chunks[-1])
        return location

    @property
    def text(self) -> str:
        """The block, compressed by zlib, in base64."""
        return base64.b64encode(zlib.compress(b"".join(self._chunks), 6)).decode("ascii")
