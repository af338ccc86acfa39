"""Arrays on disk: results of long preparations, named by a digest of everything that they depend on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linkwork._util.collection_pauses import without_collections
from linkwork.compiler.cache.disk_cache import Cache, Entry, shared
from linkwork.compiler.cache.function_content import content_key

__all__ = ["stored_array"]


def stored_array(name: str, depends_on: Sequence[Any], compute: Callable[[], np.ndarray]) -> np.ndarray:
    """Return the array (float64) that ``compute`` returns, from the disk cache if it was stored there.

    ``depends_on`` has all values on which the array depends, and the function that computes it.  If one of them has no
    digest, the array is computed on each call.
    """
    compute = without_collections(compute)
    cache = shared()
    key = None if cache is None else content_key("array", name, *depends_on)
    if cache is None or key is None:
        return compute()

    def computed() -> np.ndarray:
        stored = _loaded(cache, key)
        if stored is not None:
            return stored
        result = np.ascontiguousarray(compute(), dtype=float)
        cache.store(key, Entry({"kernel": name, "shape": [*result.shape]}, result.tobytes()))
        return result

    stored = _loaded(cache, key)
    return cache.lock(key).run(computed) if stored is None else stored


def _loaded(cache: Cache, key: str) -> np.ndarray | None:
    entry = cache.load(key)
    if entry is None:
        return None
    shape = entry.facts.get("shape")
    if isinstance(shape, list) and len(entry.code) == 8 * math.prod(shape):
        return np.frombuffer(entry.code).reshape(shape)
    cache.refuse(key)
    return None
