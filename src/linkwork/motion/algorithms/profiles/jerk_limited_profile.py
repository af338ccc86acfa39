"""Jerk-limited motions of one joint from state to state, by their duration, over any scalar.

For a duration T the motions within limits form a convex set (all limits are linear in the acceleration as a function of
time), and the displacement is a linear function on this set.  So the displacements of motions of duration T form an
interval, from that of the nearest motion to that of the farthest.  The farthest motion has positive, then negative,
then positive jerk, with plateaus where acceleration or velocity reach their limits; its formulas contain only square
roots.  With α the acceleration:

    up:    v = c0 + α²/(2 Jp) at the beginning,  v = c1 + α²/(2 Jp) at the end
    down:  v = c − α²/(2 Jn)                      in between, from a peak to a trough

Its displacement grows with the duration at the rate H = c − peak·trough/(2 Jn) (the Hamiltonian, which is constant
along it).  The nearest motion is the farthest motion of the mirrored joint.  docs/algorithms/profiles.md has the
derivations.

The module also has weighted means of two motions, as polynomial segments (`segments_of`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, not_, sqrt, where
from linkwork.motion.algorithms.profiles.compensated_time import Instant

__all__ = [
    "Ends",
    "Family",
    "Inverses",
    "JointBounds",
    "Phases",
    "Profile",
    "displacement_and_rate",
    "family_of",
    "merged",
    "mirrored",
    "mixture_share",
    "phases",
    "rate_derivative",
    "segments_of",
]


Scalar = Any
UNLIMITED = 1e60  # replaces an infinite limit: it is never reached, and products of it stay finite


class Ends(NamedTuple):
    """Velocity and acceleration of one joint at the beginning (v0, a0) and at the end (v1, a1) of a motion.

    Units are [rad/s, m/s] and [rad/s², m/s²].
    """

    v0: Scalar
    a0: Scalar
    v1: Scalar
    a1: Scalar


class JointBounds(NamedTuple):
    """Limits of one joint, as magnitudes.

    V is the limit of positive velocity. A is the limit of positive and B that of negative acceleration. ``up`` and
    ``down`` are the reciprocals of the limits of positive and negative jerk.
    """

    V: Scalar
    A: Scalar
    B: Scalar
    up: Scalar  # 1/Jp
    down: Scalar  # 1/Jn


class Inverses(NamedTuple):
    """Quantities derived from a joint's limits.

    m = (1/Jp + 1/Jn)/2, with the limits of jerk Jp upwards and Jn downwards: v changes by m α² when the acceleration
    goes from 0 to α and back.  The other fields are 1/m, 1/(A + B), 1/A and 1/B, with A and B of `JointBounds`.
    """

    m: Scalar
    inverse: Scalar
    each: Scalar
    by_A: Scalar
    by_B: Scalar

    @staticmethod
    def of(limits: JointBounds) -> Inverses:
        """Return m and its reciprocal, and the reciprocals of A + B, A and B, from a joint's limits."""
        m = 0.5 * (limits.up + limits.down)
        return Inverses(m, 1.0 / m, 1.0 / (limits.A + limits.B), 1.0 / limits.A, 1.0 / limits.B)

    def mirrored(self) -> Inverses:
        """Return the quantities of the mirrored joint, whose position has the opposite sign."""
        return self._replace(by_A=self.by_B, by_B=self.by_A)


class Family(NamedTuple):
    """The motions of largest displacement of one joint between two states, one for each duration.

    c0 and c1 are the velocities at acceleration 0 on the parabolas v = c + a²/(2 Jp) through the initial and the final
    state. ``flat`` is the shortest motion that reaches the velocity limit; T_flat is its duration, and d_flat its
    displacement.
    """

    ends: Ends
    limits: JointBounds
    inverses: Inverses
    c0: Scalar
    c1: Scalar
    K: Scalar  # (c1 − c0)/m = peak² − trough², without plateaus
    both: Scalar  # (A + B)²
    base: Scalar  # the part of the displacement that is the same for all
    flat: Phases  # the shortest motion that reaches the limit of velocity
    T_flat: Scalar
    d_flat: Scalar


class Phases(NamedTuple):
    """A motion in which the acceleration rises to a peak, falls to a trough, and rises again.

    ``peak`` and ``trough`` are accelerations. ``at_peak``, ``at_trough`` and ``at_speed`` are the durations [s] at the
    peak, at the trough and at the velocity limit. c is the velocity at acceleration 0 on the parabola v = c − a²/(2 Jn)
    from peak to trough.
    """

    peak: Scalar
    trough: Scalar
    at_peak: Scalar
    at_trough: Scalar
    at_speed: Scalar
    c: Scalar


def mirrored(ends: Ends, limits: JointBounds, lowest: Scalar) -> tuple[Ends, JointBounds]:
    """Return the end states and the limits of the mirrored joint, whose position has the opposite sign.

    ``lowest`` is the magnitude of the lower limit of velocity.
    """
    _, A, B, up, down = limits
    return Ends(*(-x for x in ends)), JointBounds(lowest, B, A, down, up)


def family_of(ends: Ends, limits: JointBounds, inverses: Inverses | None = None) -> Family:
    """Return the motions between two states with the largest displacement, one for each duration."""
    v0, a0, v1, a1 = ends
    V, A, B, up, _ = limits
    inverses = inverses or Inverses.of(limits)
    m = inverses.m
    half = 0.5 * up
    c0, c1 = v0 - half * a0 * a0, v1 - half * a1 * a1
    K = (c1 - c0) * inverses.inverse
    base = up * (c1 * a1 - c0 * a0) + up * up * (a1 * a1 * a1 - a0 * a0 * a0) * (1.0 / 6.0)
    first, at_peak = _towards(V - c0, A, inverses.by_A, inverses)
    last, at_trough = _towards(V - c1, B, inverses.by_B, inverses)
    flat = Phases(first, -last, at_peak, at_trough, 0.0, V)
    bare = Family(ends, limits, inverses, c0, c1, K, (A + B) * (A + B), base, flat, 0.0, 0.0)
    T_flat = up * (a1 - a0) + 2.0 * m * (first + last) + at_peak + at_trough
    return bare._replace(T_flat=T_flat, d_flat=_displacement(bare, flat))


def _towards(gain: Scalar, most: Scalar, by_most: Scalar, inverses: Inverses) -> tuple[Scalar, Scalar]:
    """Return the peak acceleration and the time at the peak for a velocity change ``gain`` with a = 0 at both ends.

    ``most`` is the limit of acceleration and ``by_most`` its reciprocal.
    """
    gain = fmax(gain, 0.0)
    return fmin(sqrt(gain * inverses.inverse), most), fmax(gain * by_most - inverses.m * most, 0.0)


def phases(f: Family, T: Scalar) -> Phases:
    """Return the motion of largest displacement among the motions between the two states that take time T.

    If no motion has the duration T, the result satisfies the formulas but is not a possible motion.
    """
    V, A, B, up, _ = f.limits
    m, inverse, each, _, _ = f.inverses
    u = fmax((T - up * (f.ends.a1 - f.ends.a0)) * (0.5 * inverse), 1e-60)  # peak − trough, without plateaus
    q = f.K / u
    peak, trough = 0.5 * (q + u), 0.5 * (q - u)
    high, low = peak > A, trough < -B
    for_high, for_low = 2.0 * A * u - f.K, 2.0 * B * u + f.K  # (peak − trough)², with one plateau
    high_alone, low_alone = and_(high, for_high < f.both), and_(low, for_low < f.both)
    across = sqrt(fmax(where(low_alone, for_low, for_high), 0.0))
    peak = where(low_alone, across - B, where(high, A, peak))
    trough = where(high_alone, A - across, where(low, -B, trough))
    plateau = fmax(2.0 * m * (u - across), 0.0)
    share = m * each
    at_peak = where(high_alone, plateau, where(and_(high, not_(low_alone)), fmax((for_low - f.both) * share, 0.0), 0.0))
    at_trough = where(
        low_alone, plateau, where(and_(low, not_(high_alone)), fmax((for_high - f.both) * share, 0.0), 0.0)
    )
    c = f.c0 + m * peak * peak + A * at_peak
    fast = and_(c > V, and_(peak > 0.0, trough < 0.0))
    plain = Phases(peak, trough, at_peak, at_trough, 0.0, c)
    cruising = f.flat._replace(at_speed=T - f.T_flat)
    return Phases(*(where(fast, x, y) for x, y in zip(cruising, plain, strict=True)))


def displacement_and_rate(f: Family, result: Phases) -> tuple[Scalar, Scalar]:
    """Return the displacement of the motion ``result``, and its derivative with respect to the duration.

    ``f`` has the motions of largest displacement for each duration; ``result`` is one of these motions.
    """
    rate = where(result.at_speed > 0.0, f.limits.V, result.c - 0.5 * f.limits.down * result.peak * result.trough)
    return _displacement(f, result), rate


def rate_derivative(f: Family, result: Phases) -> Scalar:
    """Return d²x/dT² of the largest displacement x(T) in time T, at the motion ``result``.

    It is 0 if the velocity reaches its limit.
    """
    p, r, at_peak, at_trough, at_speed, _ = result
    m, inverse, each, _, _ = f.inverses
    high, low = at_peak > 0.0, at_trough > 0.0
    n = 0.5 * inverse / fmax(p - r, 1e-60)  # without plateaus p' = −r n, r' = −p n; a peak with a plateau is constant
    squares = where(high, 0.0, r * r) + where(low, 0.0, p * p)
    free = n * (0.5 * f.limits.down * squares - 2.0 * m * p * r)
    return where(at_speed > 0.0, 0.0, where(and_(high, low), f.limits.A * f.limits.B * each, free))


def _displacement(f: Family, result: Phases) -> Scalar:
    """Return the displacement ∫ v dt of a motion of the family ``f``; ``result`` describes the phases of the motion."""
    V, A, B, up, down = f.limits
    peak, trough, at_peak, at_trough, at_speed, c = result
    cubes = peak * peak * peak - trough * trough * trough
    displacement = f.base + up * (f.c0 * peak - f.c1 * trough) + down * c * (peak - trough)
    displacement = displacement + cubes * (up * up - down * down) * (1.0 / 6.0)
    displacement = displacement + at_peak * (f.c0 + 0.5 * up * peak * peak + 0.5 * A * at_peak)
    return displacement + at_trough * (f.c1 + 0.5 * up * trough * trough + 0.5 * B * at_trough) + V * at_speed


_CANCELLED = 1e-15  # of the largest acceleration so far: smaller results of a cancellation are 0
_PURE = 1e-14  # shares of a mixture that are nearer to 0 or 1 are rounded


class Profile(NamedTuple):
    """A motion of n joints as piecewise polynomials of time.

    ``durations`` (n) and ``times`` (n, segments + 1), the ends of each joint's segments, are in [s]. ``coefficients``
    (n, segments, terms) are the coefficients of q as a polynomial of the time since the segment began, lowest power
    first. ``status`` is 0 if a motion exists, and otherwise the function that made the profile tells its meaning.
    """

    durations: list[Scalar]
    times: list[list[Scalar]]
    coefficients: list[list[list[Scalar]]]
    status: Scalar


def mixture_share(displacement: Scalar, first: Scalar, second: Scalar) -> Scalar:
    """Return the weight s for which s · ``first`` + (1 − s) · ``second`` equals ``displacement``."""
    width = first - second
    differ = fabs(width) > 0.0
    part = fmin(fmax(where(differ, (displacement - second) / where(differ, width, 1.0), 1.0), 0.0), 1.0)
    return where(part > 1.0 - _PURE, 1.0, where(part < _PURE, 0.0, part))


def segments_of(
    q: Scalar, v: Scalar, a: Scalar, times: Sequence[Instant], jerks: Sequence[Scalar], most: tuple[Scalar, Scalar]
) -> list[list[Scalar]]:
    """Return the coefficients (segments, 4) of q on segments of constant jerk, from an initial state q, v, a.

    ``times`` are the ends of the segments, and ``most`` is the pair of limits of positive and negative jerk. Jerks are
    clipped to these limits: on a segment of zero duration, several changes of jerk may sum up to more. Accelerations
    that cancel up to rounding are set to 0, because a long cruise would integrate the rounding error.
    """
    up, down = (x * (1.0 / 6.0) for x in most)
    result, peak = [], fabs(a)
    for start, end, jerk in zip(times[:-1], times[1:], jerks, strict=True):
        h = start.until(end)
        half, sixth = 0.5 * a, jerk * (1.0 / 6.0)
        result.append([q, v, half, fmin(fmax(sixth, -down), up)])
        q = q + h * (v + h * (half + h * sixth))
        v = v + h * (a + 0.5 * h * jerk)
        a = a + h * jerk
        size = fabs(a)
        a = where(size <= _CANCELLED * peak, 0.0, a)
        peak = fmax(peak, size)
    return result


def merged(first: list[Any], second: list[Any]) -> list[Any]:
    """Return the union of two lists of pairs (instant, value), each sorted by time, as one sorted list.

    Source: Batcher, Sorting networks and their applications, AFIPS 1968: odd-even merging.
    """
    if not first or not second:
        return first or second
    if len(first) == len(second) == 1:
        return _sorted(first[0], second[0])
    even, odd = merged(first[::2], second[::2]), merged(first[1::2], second[1::2])
    result = [even[0]]
    for k in range(max(len(even) - 1, len(odd))):
        if k + 1 < len(even) and k < len(odd):
            result += _sorted(odd[k], even[k + 1])
        else:
            result.append(odd[k] if k < len(odd) else even[k + 1])
    return result


def _sorted(x: tuple[Instant, Any], y: tuple[Instant, Any]) -> list[tuple[Instant, Any]]:
    (s, a), (t, b) = x, y
    before = s.high <= t.high
    return [
        (Instant(fmin(s.high, t.high), where(before, s.low, t.low)), where(before, a, b)),
        (Instant(fmax(s.high, t.high), where(before, t.low, s.low)), where(before, b, a)),
    ]
