"""Kernels of profiles: one for each kind, number of coordinates and way to synchronise."""

from __future__ import annotations

from typing import Any, NamedTuple

from linkwork._util.messages__printing import short_repr
from linkwork.expr.arrays.symbol_array import array
from linkwork.kernels.compiler_api import Kernel, compile
from linkwork.kernels.kernel_cache import Once
from linkwork.motion.algorithms.profiles.jerk_limited_profile import Ends, JointBounds
from linkwork.motion.algorithms.profiles.synchronized_profiles import JointRequest
from linkwork.motion.profiles.profile_kinds import ProfileKind
from linkwork.motion.profiles.profile_kinds_limits import ProfileLimits

__all__ = ["STATES", "ProfileNumbers", "profile_kernel"]

STATES = ("q0", "q1", "v0", "v1", "a0", "a1")
_KERNELS: Once[Kernel] = Once(64)


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


def profile_kernel(kind: ProfileKind, n: int, together: bool, given: bool) -> Kernel:
    """Of the states, the limits and the least durations (n,), which are taken as they are where they are ``given``."""
    return _KERNELS.get((kind.name, n, together, given), lambda: _compiled(kind, n, together, given))


def _compiled(kind: ProfileKind, n: int, together: bool, given: bool) -> Kernel:
    more = {"given": given} if kind.polynomial else {}

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
    found = kind.compute(joints, together=together, shortest=list(least), **more)
    return ProfileNumbers(array(found.durations), array(found.times), array(found.coefficients), found.status)
