"""A constraint of configurations that is a function of the user's.

A constraint of velocities that is a function of the user's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linkwork._util.checked_arguments import public_constructor
from linkwork.constraints.constraint import Kinematics
from linkwork.constraints.user_functions import OfFunction

__all__ = ["Holonomic", "Pfaffian"]


@public_constructor
@dataclass(frozen=True)
class Holonomic(OfFunction):
    """φ(q, t) = f(k) is zero: a number, or an array with a row for each.

    The function asks ``k``, an `StateQuery`, for configurations of joints, poses, points, directions and the time, and
    may use NumPy's functions and those of `linkwork.expr`.  Rates and biases are derived.

        lw.Holonomic("cam", lambda k: k.q("follower") - 0.02 * np.cos(k.q("cam")))
    """

    def error(self, k: Kinematics) -> list[Any]:
        return self._answered(k)


@public_constructor
@dataclass(frozen=True)
class Pfaffian(OfFunction):
    """A(q, t) v + σ(q, t) = f(k) is zero: a number, or an array with a row for each.

    The function asks ``k``, an `StateQuery`, for velocities of joints, twists of frames and velocities of points,
    beside all that `Holonomic` may ask for.  It has to be linear in velocities, but for what does not depend on them;
    that is tried in random states when the constraint is put on a robot.  Rows, drifts and biases are derived.

        lw.Pfaffian("skate", lambda k: k.twist("runner", expressed_in="runner")[4])
    """

    holonomic = False

    def velocity(self, k: Kinematics) -> list[Any]:
        return self._answered(k)
