"""A constraint of configurations that is a function of the user's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import Kinematics
from linkwork.constraints.user_functions import OfFunction

__all__ = ["Holonomic"]


@public_constructor
@dataclass(frozen=True)
class Holonomic(OfFunction):
    """φ(q, t) = f(k) is zero: a number, or an array with a row for each.

    The function asks ``k``, an `Asking`, for configurations of joints, poses, points, directions and the time, and may
    use NumPy's functions and those of `linkwork.expr`.  Rates and biases are derived.

        lw.Holonomic("cam", lambda k: k.q("follower") - 0.02 * np.cos(k.q("cam")))
    """

    def error(self, k: Kinematics) -> list[Any]:
        return self._answered(k)
