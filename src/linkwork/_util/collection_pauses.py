"""Pauses of the garbage collector during functions that create many objects and drop few."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from linkwork._util.thread_safety import Lock

__all__ = ["is_any_paused", "without_collections"]

P = ParamSpec("P")
T = TypeVar("T")
_MANY = 200_000  # new objects, from which on a collection takes longer than 10 ms
_pauses: dict[object, int] = {}  # for each call that pauses the collector, its thread


def without_collections(function: Callable[P, T], *, drops_cycles: bool = False, many: int = _MANY) -> Callable[P, T]:
    """Return the function with Python's garbage collector paused during its calls.

    It is for functions that create many objects and drop few, so that a collection would free little.  The collector is
    enabled again when the last call ends, unless it was disabled before the first call.  If a call creates at least
    ``many`` objects, they count as old afterwards, so later collections do not visit them.  With ``drops_cycles``, for
    functions that drop cyclic references, young objects are collected instead: the collector would not find these
    cycles among old objects.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        global _was_enabled, _has_cycles, _many
        pause = object()
        try:
            with _lock:
                if not _pauses:
                    _was_enabled, _has_cycles, _many = gc.isenabled(), False, many
                _has_cycles, _many = _has_cycles or drops_cycles, min(_many, many)
                _pauses[pause] = threading.get_ident()
                gc.disable()
            return function(*args, **kwargs)
        finally:
            try:
                _end(pause)
            except BaseException:  # a signal handler may have raised before the lock was acquired
                _end(pause)
                raise

    return call


def _end(pause: object) -> None:
    """End a call's pause of the garbage collector; the last pause to end enables the collector again."""
    with _lock:
        try:
            _pauses.pop(pause, None)
        finally:  # also where a signal handler raises here
            if not _pauses and _was_enabled:
                try:
                    if not _has_cycles:
                        _count_as_old()
                finally:
                    gc.enable()


def _count_as_old() -> None:
    """Move all objects to the oldest generation, without a visit to each.

    Otherwise the first collection after a pause would visit all objects of a trace, and the next one again.  Only a
    pause with many new objects gains from this.  If a user has frozen objects (`gc.freeze`), they stay frozen: nothing
    is done, now and later.  The check is not repeated, since its time is proportional to the number of frozen objects.
    """
    global _user_has_frozen
    if gc.get_count()[0] < _many or _user_has_frozen or not hasattr(gc, "freeze"):
        return
    _user_has_frozen = gc.get_freeze_count() > 0
    if not _user_has_frozen:
        try:
            gc.freeze()
        finally:
            gc.unfreeze()


def is_any_paused() -> bool:
    """Return True while a function with paused garbage collection runs, in any thread."""
    return bool(_pauses)


_lock = Lock()
_was_enabled = gc.isenabled()
_has_cycles = False  # whether a call of this pause drops cycles
_many = _MANY  # the least ``many`` of the calls of this pause
_user_has_frozen = False  # whether a pause ended with objects that a user had frozen


def _leave_in_child() -> None:
    """End, in a forked process, the pauses of threads that exist only in its parent process."""
    thread = threading.get_ident()
    pauses = [pause for pause, owner in _pauses.items() if owner != thread]
    for pause in pauses:
        del _pauses[pause]
    if pauses and not _pauses and _was_enabled:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_in_child)
