"""What machine code and C structures need to outlive, kept where the garbage collector cannot take it apart.

The collector ends a cycle of garbage in two steps, neither of which asks who still needs what: it calls every
``__del__``, and then has objects drop what they refer to, in any order.  A function of C in that cycle exists
meanwhile: a user's ``__del__`` may call it, and it reads its own definition when it goes.  So all that such a function
points to hangs on an object that the collector does not look into, in a tuple, which it does not take apart; it goes
when the last reference to that tuple does, and not before.

Pauses of Python's garbage collector while objects are only created.

Which of Python's interpreters this is.
"""

from __future__ import annotations

import ctypes
import gc
import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from linkwork._util.fork_safe_lock import Lock

__all__ = ["held", "in_main_interpreter", "without_collections"]


def held(*things: Any) -> np.ndarray:
    """An object that keeps things alive for as long as it lives itself, whatever the garbage collector does.

    That is an array, since NumPy's arrays take no part in the search for garbage.  The things must not refer back to
    what holds it: nobody would ever find that cycle.
    """
    keeper = np.empty((), object)
    keeper[()] = things
    keeper.flags.writeable = False
    return keeper


P = ParamSpec("P")
T = TypeVar("T")
_pauses: dict[object, int] = {}  # for each call that pauses the collector, its thread


def without_collections(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with Python's garbage collector paused during its calls.

    Traces and passes create objects and drop few, so a collection would only take time.  The collector is enabled
    again when the last call ends; where it was disabled before the first, it stays so.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        global _was_enabled
        pause = object()
        try:
            with _lock:
                if not _pauses:
                    _was_enabled = gc.isenabled()
                _pauses[pause] = threading.get_ident()
                gc.disable()
            return function(*args, **kwargs)
        finally:
            with _lock:
                try:
                    _pauses.pop(pause, None)
                finally:  # also where a signal handler raises here
                    if not _pauses and _was_enabled:
                        gc.enable()

    return call


_lock = Lock()
_was_enabled = gc.isenabled()


def _leave_in_child() -> None:
    """Forget the pauses of threads that a forked process does not have."""
    thread = threading.get_ident()
    others = [pause for pause, other in _pauses.items() if other != thread]
    for pause in others:
        del _pauses[pause]
    if others and not _pauses and _was_enabled:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_in_child)


@cache
def in_main_interpreter() -> bool:
    """Whether this is Python's first interpreter: others cannot be called back from C by the means there are."""
    api = ctypes.pythonapi
    main, here = api["PyInterpreterState_Main"], api["PyInterpreterState_Get"]
    main.restype = here.restype = ctypes.c_void_p
    return bool(main() == here())
