"""What machine code and C structures need to outlive, kept where the garbage collector cannot take it apart.

The collector ends a cycle of garbage in two steps, neither of which asks who still needs what: it calls every
``__del__``, and then has objects drop what they refer to, in any order.  A function of C in that cycle exists
meanwhile: a user's ``__del__`` may call it, and it reads its own definition when it goes.  So all that such a function
points to hangs on an object that the collector does not look into, in a tuple, which it does not take apart; it goes
when the last reference to that tuple does, and not before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["held"]


def held(*things: Any) -> np.ndarray:
    """An object that keeps things alive for as long as it lives itself, whatever the garbage collector does.

    That is an array, since NumPy's arrays take no part in the search for garbage.  The things must not refer back to
    what holds it: nobody would ever find that cycle.
    """
    keeper = np.empty((), object)
    keeper[()] = things
    keeper.flags.writeable = False
    return keeper
