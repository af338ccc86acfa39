"""Python's garbage collector, held while objects are only made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet_collector"]


@contextmanager
def quiet_collector() -> Iterator[None]:
    """No garbage collection meanwhile: traces and passes only make objects, and looking through them costs as much."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
