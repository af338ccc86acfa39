"""Detection of worker processes, in which other processes share the processors.

The libraries that start workers are recognized by the modules that a worker has imported; none is imported here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["when_forked_by_multiprocessing", "worker_of"]


def worker_of() -> str | None:
    """Return the library of which this process is a worker, such as "multiprocessing"; None for other processes."""
    return next((name for name, test in _TESTS.items() if test()), None)


def _module(name: str) -> Any:
    return sys.modules.get(name)


def _is_of_ray() -> bool:
    worker = getattr(_module("ray._private.worker"), "global_worker", None)
    return getattr(worker, "mode", None) == 1  # ray's WORKER_MODE


def _is_of_dask() -> bool:
    return bool(getattr(_module("distributed.worker"), "_global_workers", None))


def _is_of_loky() -> bool:
    process = getattr(_module("multiprocessing.process"), "current_process", lambda: None)()
    return ".loky." in f".{type(process).__module__}."


def _is_of_multiprocessing() -> bool:
    """Return True for a process of multiprocessing and concurrent.futures, also while its arguments are unpickled."""
    process = _module("multiprocessing.process")
    parent, current = (getattr(process, name, lambda: None)() for name in ("parent_process", "current_process"))
    return parent is not None or bool(getattr(current, "_inheriting", False))


_TESTS: dict[str, Callable[[], bool]] = {
    "Ray": _is_of_ray,
    "Dask": _is_of_dask,
    "loky": _is_of_loky,
    "multiprocessing": _is_of_multiprocessing,
}


def when_forked_by_multiprocessing(function: Callable[[], None]) -> None:
    """Call a function in each process that multiprocessing forks from this one."""

    def after_fork() -> None:
        util = _module("multiprocessing.util")
        if util is not None:  # it calls the function once it has made the process one of its own
            util.register_after_fork(function, lambda function: function())

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork)
