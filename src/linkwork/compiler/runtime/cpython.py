"""CPython internals: objects that must outlive machine code.

The garbage collector ends a cycle in two steps, neither of which respects dependencies: it calls every ``__del__``, and
then lets objects drop their references, in any order. Until then a C function in the cycle exists: a user's ``__del__``
may call it, and the function reads its own definition when it is deleted. So a tuple refers to everything that such a
function points to, in an object that the collector does not traverse. The tuple is deleted with the last reference to
that object, and not before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork._util.thread_tasks import in_main_interpreter as in_main_interpreter

__all__ = ["in_main_interpreter", "keep_alive"]


def keep_alive(*things: Any) -> np.ndarray:
    """Return an object that keeps ``things`` alive during its own life, also in garbage collections.

    The object is an array, since the collector does not traverse NumPy's arrays. The things must not refer back to the
    object's owner: such a cycle would never be collected.
    """
    keeper = np.empty((), object)
    keeper[()] = things
    keeper.flags.writeable = False
    return keeper
