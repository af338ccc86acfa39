"""The kinds of profiles, an entry each: what computes them, and which limits they need.

Kernels of profiles: one for each kind, number of coordinates and way to synchronise.

Limits of profiles: magnitudes upwards and downwards.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from linkwork._util.messages import short_repr
from linkwork.errors import UnknownNameError
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import LazyCache
from linkwork.motion.algorithms.profiles.jerk_limited_profile import Ends, JointBounds, Profile
from linkwork.motion.algorithms.profiles.minimum_jerk_profile import least_jerk
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest, jerk_limited
from linkwork.motion.algorithms.profiles.trapezoidal_profile import trapezoid

__all__ = ["KINDS", "STATES", "ProfileKind", "ProfileLimits", "ProfileNumbers", "kind_of", "profile_kernel"]


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


STATES = ("q0", "q1", "v0", "v1", "a0", "a1")
_KERNELS: LazyCache[Kernel] = LazyCache(64)


class ProfileNumbers(NamedTuple):
    """Profiles as numbers, one or a batch.

    ``durations`` (..., n) [s]: all the same where coordinates are synchronised.  Each coordinate is pieces of
    polynomials: ``times`` (..., n, pieces + 1) are where they begin and end, and may be equal; ``coefficients``
    (..., n, pieces, terms) those of q by the time since a piece began, lowest first.  ``status`` (...) is 0 where there
    is a profile, 1 where a state at an end is outside of the limits or cannot but leave them, 2 where no duration keeps
    them.
    """

    durations: Any
    times: Any
    coefficients: Any
    status: Any

    def __repr__(self) -> str:
        return short_repr(self)


def profile_kernel(kind: ProfileKind, n: int, together: bool, fixed: bool) -> Kernel:
    """Of the states, the limits and the least durations (n,), which are taken as they are where they are ``fixed``."""
    return _KERNELS.get((kind.name, n, together, fixed), lambda: _compiled(kind, n, together, fixed))


def _compiled(kind: ProfileKind, n: int, together: bool, fixed: bool) -> Kernel:
    more = {"fixed": fixed} if kind.polynomial else {}

    def function(**arrays: Any) -> Any:
        return profiles_of(
            kind, [arrays[x] for x in (*STATES, *ProfileLimits._fields)], arrays["least"], together, more
        )

    sizes = dict.fromkeys((*STATES, *ProfileLimits._fields, "least"), (n,))
    return compile(function, name=f"{kind.name}_profile", **sizes)


def profiles_of(kind: ProfileKind, arrays: list[Any], least: Any, together: bool, more: dict[str, Any]) -> Any:
    """The profile, on symbols."""
    joints = []
    for q0, q1, v0, v1, a0, a1, V, V_down, A, B, up, down in zip(*arrays, strict=True):
        limits = JointBounds(V, A, B, 1.0 / up, 1.0 / down)
        joints.append(JointRequest(q0, q1, Ends(v0, a0, v1, a1), limits, V_down))
    result = kind.compute(joints, together=together, shortest=list(least), **more)
    return ProfileNumbers(array(result.durations), array(result.times), array(result.coefficients), result.status)


_ENDLESS = 1e60  # in the place of infinity


class ProfileLimits(NamedTuple):
    """Magnitudes (n,) of limits upwards and downwards: of velocity, acceleration and jerk."""

    velocity_up: np.ndarray
    velocity_down: np.ndarray
    acceleration_up: np.ndarray
    acceleration_down: np.ndarray
    jerk_up: np.ndarray
    jerk_down: np.ndarray

    def finite(self) -> ProfileLimits:
        """With large numbers in the place of infinite ones."""
        return ProfileLimits(*(np.minimum(x, _ENDLESS) for x in self))
