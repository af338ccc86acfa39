"""How many threads a call may share a large batch between."""

from __future__ import annotations

import ctypes
import os
import warnings

from linkwork._util.checked_arguments import public, unchecked
from linkwork._util.validation import integer

__all__ = ["MOST_THREADS", "VARIABLE", "get_num_threads", "set_num_threads", "setting_address"]

VARIABLE = "LINKWORK_NUM_THREADS"
MOST_THREADS = 256  # that share a call: their handles are on its stack


def _available() -> int:
    """The processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return max(len(os.sched_getaffinity(0)), 1)
    return os.cpu_count() or 1


def _from_environment() -> int:
    asked = os.environ.get(VARIABLE, "")
    if asked:
        try:
            count = int(asked)
        except ValueError:
            count = 0
        if 1 <= count <= MOST_THREADS:
            return count
        warnings.warn(
            f"{VARIABLE}: expected a whole number from 1 to {MOST_THREADS}, got {asked!r}; "
            f"using the processors there are",
            RuntimeWarning,
            stacklevel=2,
        )
    return min(_available(), MOST_THREADS)


_setting = ctypes.c_int64(_from_environment())


@public(count=unchecked)
def set_num_threads(count: int) -> None:
    """Let calls share large batches between so many threads, from now on and in every kernel of this process.

    At first there are as many as processors that this process may run on, or what the environment variable
    LINKWORK_NUM_THREADS says.  A batch that is too small for a thread to be worth its start stays on one.  Results do
    not depend on the number, to the last bit.  On Windows batches stay on one thread.

    Raises TypeError where ``count`` is no whole number, ValueError where it is not from 1 to 256.
    """
    asked = integer("set_num_threads", "count", count, least=1, most=MOST_THREADS, what="a number of threads")
    _setting.value = asked


def get_num_threads() -> int:
    """How many threads a call may share a large batch between: see `set_num_threads`."""
    return _setting.value


def setting_address() -> int:
    """Where the number stands in memory, as an int64, for as long as the process lives."""
    return ctypes.addressof(_setting)
