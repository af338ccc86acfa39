"""Kinds of profiles: what computes them, the limits they need, their kernels; limits of profiles."""

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
from linkwork.motion.algorithms.profiles.minimum_jerk_profile import minimum_jerk
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest, jerk_limited
from linkwork.motion.algorithms.profiles.trapezoidal_profile import trapezoid

__all__ = ["KINDS", "STATES", "ProfileArrays", "ProfileKind", "ProfileLimits", "kind_of", "profile_kernel"]


@dataclass(frozen=True, slots=True)
class ProfileKind:
    """A kind of profile.

    ``order`` is the highest derivative that needs a limit: 3 is jerk, 2 acceleration.  ``polynomial`` kinds do not
    depend on the limits once their duration is given, and need none then.
    """

    name: str
    compute: Callable[..., Profile]
    order: int
    polynomial: bool = False
    accelerations: bool = True  # whether accelerations at the ends are used


KINDS = {
    kind.name: kind
    for kind in (
        ProfileKind("jerk", jerk_limited, 3),
        ProfileKind("trapezoid", trapezoid, 2, accelerations=False),
        ProfileKind("minimum_jerk", minimum_jerk, 0, polynomial=True),
        ProfileKind("quintic", minimum_jerk, 0, polynomial=True),
    )
}


def kind_of(name: str) -> ProfileKind:
    """Return the kind of profile with a name.  Raises UnknownNameError."""
    try:
        return KINDS[name]
    except (KeyError, TypeError):
        raise UnknownNameError("kind of profile", name, KINDS) from None


STATES = ("q0", "q1", "v0", "v1", "a0", "a1")
_KERNELS: LazyCache[Kernel] = LazyCache(64)


class ProfileArrays(NamedTuple):
    """Profiles as arrays, one or a batch.

    ``durations`` (..., n) [s] are equal for synchronized coordinates.  Each coordinate is piecewise polynomial:
    ``times`` (..., n, segments + 1) are the ends of its segments, which may coincide; ``coefficients`` (..., n,
    segments, terms) are those of q by the time since a segment began, lowest first.  ``status`` (...) is 0 for a
    profile, 1 if a state at an end is outside the limits or inevitably leaves them, 2 if no duration was found that
    satisfies them.
    """

    durations: Any
    times: Any
    coefficients: Any
    status: Any

    def __repr__(self) -> str:
        return short_repr(self)


def profile_kernel(kind: ProfileKind, n: int, together: bool, fixed: bool) -> Kernel:
    """Return the kernel that computes profiles of n coordinates.

    Its inputs are states, limits and minimum durations (n,); if ``fixed``, these are the durations. With ``together``
    all coordinates take the same time.
    """
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
    """Return the profiles of n coordinates over symbols, from the arrays of states and limits.

    ``least`` (n,) are minimum durations.
    """
    joints = []
    for q0, q1, v0, v1, a0, a1, V, V_down, A, B, up, down in zip(*arrays, strict=True):
        limits = JointBounds(V, A, B, 1.0 / up, 1.0 / down)
        joints.append(JointRequest(q0, q1, Ends(v0, a0, v1, a1), limits, V_down))
    result = kind.compute(joints, together=together, shortest=list(least), **more)
    return ProfileArrays(array(result.durations), array(result.times), array(result.coefficients), result.status)


_UNLIMITED = 1e60  # replaces infinite limits


class ProfileLimits(NamedTuple):
    """Magnitudes (n,) of the upper and lower limits of velocity, acceleration and jerk."""

    velocity_up: np.ndarray
    velocity_down: np.ndarray
    acceleration_up: np.ndarray
    acceleration_down: np.ndarray
    jerk_up: np.ndarray
    jerk_down: np.ndarray

    def finite(self) -> ProfileLimits:
        """Return the limits with infinite ones replaced by large numbers."""
        return ProfileLimits(*(np.minimum(x, _UNLIMITED) for x in self))
