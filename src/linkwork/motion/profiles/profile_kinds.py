"""The kinds of profiles, an entry each: what computes them, and which limits they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from linkwork.errors import UnknownNameError
from linkwork.motion.algorithms.profiles.jerk_limited_profile_mixture import Profile
from linkwork.motion.algorithms.profiles.minimum_jerk_profile import least_jerk
from linkwork.motion.algorithms.profiles.synchronized_profiles import jerk_limited
from linkwork.motion.algorithms.profiles.trapezoidal_profile import trapezoid

__all__ = ["KINDS", "ProfileKind", "kind_of"]


@dataclass(frozen=True, slots=True)
class ProfileKind:
    """How a profile is computed.

    ``order`` is of the highest derivative that is limited without end otherwise: 3 needs limits of jerk, 2 of
    acceleration.  ``polynomial`` ones are the same for any limits once their duration is known, and need none then.
    """

    name: str
    compute: Callable[..., Profile]
    order: int
    polynomial: bool = False
    accelerations: bool = True  # whether those at the ends count


KINDS = {
    kind.name: kind
    for kind in (
        ProfileKind("jerk", jerk_limited, 3),
        ProfileKind("trapezoid", trapezoid, 2, accelerations=False),
        ProfileKind("minimum_jerk", least_jerk, 0, polynomial=True),
        ProfileKind("quintic", least_jerk, 0, polynomial=True),
    )
}


def kind_of(name: str) -> ProfileKind:
    """Raises UnknownNameError for a name that is none."""
    try:
        return KINDS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("kind of profile", name, KINDS) from None
