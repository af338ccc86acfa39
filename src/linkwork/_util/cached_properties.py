"""`cached_property` without a lock, as Python has it from version 3.12 on.

Until 3.11, one lock serves all instances of a class: a thread that computes a value for one instance delays those that
compute it for others, and a fork may copy the lock while it is acquired.  Two threads that need a value of the same
instance at the same time may both compute it; one of the equal values is stored.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:
    _NO_LOCK = contextlib.nullcontext()

    class cached_property(functools.cached_property):
        """A property that is computed once for each instance."""

        def __init__(self, func: Any) -> None:
            super().__init__(func)
            self.lock = _NO_LOCK
