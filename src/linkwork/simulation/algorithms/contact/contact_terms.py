"""What acts on velocities in a step besides masses: contacts, and rows whose impulse is within bounds.

A contact asks for a velocity ĉ along its normal, and yields to impulses by R: as rigid as the step can tell, unless it
has a stiffness.  Its impulse follows from c − ĉ and R alone (`cone`).

Impulses of contacts from the velocities there: projections onto friction cones and intervals, and how these vary.

A contact's velocity c asks for the impulse y = −(c − ĉ)/R, and gets the γ nearest to it, as R measures, of those that
friction allows: with a component along the normal that pushes, and ‖γ_t‖ ≤ μ γ_n.  γ is minus the gradient of a convex
function of c, whose Hessian is G = (∂γ/∂y)/R.

Source: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact, IEEE Transactions on
Robotics 39(2), 2023, sections V and VI.

What the contacts of one link have in common: the link's motion, of which each sees one point.

With the link's twist T w about some point, in some axes, a contact at r from there along axes a has the velocity
c = a · (v + ω × r).  So the contacts of a link bend the program's function as one 6×6 matrix does,

    Σ Jᵀ G J = Tᵀ K T,     K = Σ Sᵀ G S,     S = (r × a; a),

which costs less from two contacts on.  Where T is about the body that a robot floats by, in its axes, the columns of
that body's twist are those of the identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, sqrt, where
from linkwork.spatial import Vec3

__all__ = [
    "FIRMER",
    "ContactAt",
    "ContactTerms",
    "Interval",
    "Limb",
    "bent_by_limbs",
    "bounded_contact",
    "cone_impulse",
    "dry",
    "held",
    "impulse_of",
    "is_beyond",
    "limit",
    "push_of",
    "recovered",
    "servo",
    "terms_of",
]


Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]
_RIGID = 1.0 / (4.0 * math.pi**2)  # of the step: within which a contact that is not said to be softer comes to rest
_LIMIT = 1e-4  # of what a contact yields: limits bear what other bodies press on light links, too
_SETTLING = 1.0 / math.pi  # steps in which penetration decays
_SLIP = 1e-3  # of the normal R: what tangential impulses yield while they stick
_RECOVERY = 0.5  # [m/s, rad/s] at most, out of what is too deep
_FIRM = 1e-6  # of what would yield as its own inertia does: what holds by itself
_OWN_APPROACH = 0.5  # of its approach: by how much a contact yields at most by its own R
_OWN_WANTED = 0.1  # of the velocity that it asks for: the same
_OWN_FORCE = 0.25  # of the change of speed by other forces in a step: the same
_STRONG = 40.0  # [m/s²] of these forces at most: a contact at rest sinks by some 15 m/s² h² at most
FIRMER = 1e6  # times as firm is it beyond
_STRUCK = 1e-3  # of R, in impacts that bounce: what they fall short of, and what rests gives way meanwhile


@dataclass(frozen=True, slots=True)
class ContactAt:
    """Rows of a contact's velocity along two tangents and the normal, what parts it (φ, negative inside), its friction;
    stiffness [N/m], nothing where it is as rigid as the step can tell; and the part of its speed with which it parts
    after an impact, nothing where it does not bounce.
    """

    J: Rows
    gap: Any
    friction: Any
    stiffness: Any = None
    restitution: Any = None
    limb: Limb | None = None  # how it hangs on a robot, where that is known
    bearing: Any = None  # speed [m/s] beyond which it yields no further: nothing where it does without end


@dataclass(frozen=True, slots=True)
class Interval:
    """A row of velocity whose impulse is within bounds: v̂ is the velocity it asks for, 1/R how little it yields."""

    row: Scalars
    wanted: Any
    stiffness: Any
    low: Any
    high: Any

    @property
    def is_firm(self) -> bool:
        """Whether it is bounded both ways: its impulse may change from one bound to the other all at once."""
        return not any(map(_is_endless, (self.low, self.high)))


class ContactTerms(NamedTuple):
    """Of a contact: R by axis, the velocity it asks for along its normal, how far it yields by R, if that is bounded,
    and how much firmer it is beyond.
    """

    across: Any
    along: Any
    wanted: Any
    bearing: Any
    firmer: Any


def limit(row: Scalars, gap: Any, inertia: Any, low: Any, high: Any, h: Any) -> Interval:
    """A limit of a coordinate that its velocity leads across a gap to, as rigid as the step can tell."""
    wanted = gap * _per_settling(h)
    wanted = fmin(wanted, _RECOVERY) if high == math.inf else fmax(wanted, -_RECOVERY)
    return Interval(row, wanted, inertia * (1.0 / (_LIMIT * _RIGID)), low, high)


def dry(k: int, n: int, most: Any, inertia: Any, h: Any) -> Interval:
    """Dry friction of at most ``most`` [N, N·m] on the k-th of n velocities: what it holds creeps by a millionth of
    what would move it.
    """
    return Interval([1.0 if j == k else 0.0 for j in range(n)], 0.0, inertia * (1.0 / _FIRM), -h * most, h * most)


def held(row: Scalars, error: Any, drift: Any, A: Rows, h: Any) -> Interval:
    """A constraint φ = ``error`` with φ̇ = row w + ``drift``, which pulls and pushes; what is left of φ fades within a
    few steps.
    """
    return Interval(row, -drift - error * _per_settling(h), 1.0 / (_FIRM * _moved([row], A)), -math.inf, math.inf)


def servo(k: int, n: int, force: Any, slope: Any, most: Any, inertia: Any, h: Any) -> Interval:
    """A force on the k-th of n velocities that is ``force`` − ``slope`` w, and at most ``most``."""
    slope = slope + 1e-12 * inertia / h
    most = math.inf if most.__class__ is float and math.isinf(most) else h * most
    return Interval([1.0 if j == k else 0.0 for j in range(n)], force / slope, h * slope, -most, most)


def terms_of(contact: ContactAt, A: Rows, slip: Any, h: Any, bounce: Any = None, firmer: Any = FIRMER) -> ContactTerms:
    """R of a contact, by the inertia that it meets where each velocity is alone, and the velocity it asks for.

    A cone whose velocities and impulses are dual to each other parts what slides at μ times its ``slip``, which is
    taken off: where that is the speed with which the step ends, sliding is Coulomb's.
    """
    moved = _moved(contact.J, A) * (1.0 / 3.0)
    rigid = _RIGID * moved
    if contact.stiffness is None:
        along = rigid
    else:
        along = fmax(rigid, 1.0 / (h * contact.stiffness * h * (1.0 + _SETTLING)))
    wanted = _wanted(contact, h)
    if bounce is not None:
        struck = lt(0.0, bounce)
        along = _STRUCK * rigid if contact.stiffness is None else where(struck, _STRUCK * rigid, along)
        wanted = where(struck, bounce, wanted)
    return ContactTerms(_SLIP * moved, along, wanted - contact.friction * slip, contact.bearing, firmer)


def _wanted(contact: ContactAt, h: Any) -> Any:
    """Return the velocity along the normal that closes the gap within a few steps."""
    wanted = -contact.gap * _per_settling(h)
    return wanted if contact.stiffness is not None else fmin(wanted, _RECOVERY)


def recovered(contact: ContactAt, speed: float, h: Any) -> ContactAt:
    """Return a rigid contact whose overlap is pushed apart no faster than ``speed`` [m/s], and any other as it is."""
    if contact.stiffness is not None:
        return contact
    return replace(contact, gap=fmax(contact.gap, -speed * (h * (1.0 + _SETTLING))))


def bounded_contact(contact: ContactAt, A: Rows, v: Scalars, push: Scalars, h: Any) -> ContactAt:
    """Return a rigid contact with its bearing, and any other as it is."""
    if contact.stiffness is not None:
        return contact
    return replace(contact, bearing=_bearing(contact.J[2], _wanted(contact, h), A, v, push, h))


def _bearing(row: Scalars, wanted: Any, A: Rows, v: Scalars, push: Scalars, h: Any) -> Any:
    """Return the speed [m/s, rad/s] by which the R of its own inertia may yield.

    What carries no more than itself yields a small part of the speeds at hand: its approach J v, the velocity that it
    asks for, and Σ |J p|/A, what other forces change.
    """
    used = [(k, x) for k, x in enumerate(row) if not is_zero(x)]
    forced = sum((fabs(x) * (fabs(push[k]) * (1.0 / A[k][k])) for k, x in used), 0.0)  # the factors are shared
    return _OWN_APPROACH * fabs(dot(row, v)) + _OWN_WANTED * fabs(wanted) + _OWN_FORCE * fmin(forced, _STRONG * h)


def _is_endless(x: Any) -> bool:
    return x.__class__ is float and math.isinf(x)


def impulse_of(contact: ContactAt, term: ContactTerms, c: Scalars) -> tuple[list[Any], list[list[Any]]]:
    """γ, and G = (∂γ/∂y)/R, which is symmetric.

    Beyond its bearing b a contact is firmer by K: γ = P(y) + K P(y − b/R e₃), P being the projection onto the cone, of
    which P(K y) = K P(y).
    """
    gamma, slope = _projected(contact, term, c, None)
    if term.bearing is None:
        return gamma, slope
    more, bent = _projected(contact, term, c, term.bearing)
    gamma = [a + term.firmer * b for a, b in zip(gamma, more, strict=True)]
    return gamma, [[a + term.firmer * b for a, b in zip(*rows, strict=True)] for rows in zip(slope, bent, strict=True)]


def _projected(contact: ContactAt, term: ContactTerms, c: Scalars, bearing: Any) -> tuple[list[Any], list[list[Any]]]:
    """Return the projection onto the cone of the impulse that a velocity asks for, and its slope by −c."""
    across, along = 1.0 / term.across, 1.0 / term.along  # which no loop does again
    normal = (term.wanted - c[2]) * along
    y = [-c[0] * across, -c[1] * across, normal if bearing is None else normal - bearing * along]
    gamma, slope = cone_impulse(y, contact.friction, term.across, term.along)
    return gamma, [[x * r for x, r in zip(row, (across, across, along), strict=True)] for row in slope]


def is_beyond(contact: ContactAt, term: ContactTerms, c: Scalars, slip: Any) -> Any:
    """Return whether a contact that slides as fast as ``slip`` is beyond its bearing."""
    if term.bearing is None:
        return False
    return lt(term.bearing, term.wanted - c[2] + contact.friction * slip)


def push_of(one: Interval, c: Any) -> tuple[Any, Any]:
    """An interval's impulse, and how much less it becomes as the velocity c of its row grows."""
    gamma, slope = interval_impulse((one.wanted - c) * one.stiffness, one.low, one.high)
    return gamma, slope * one.stiffness


def _per_settling(h: Any) -> Any:
    """1/s: a reciprocal that all terms share."""
    return 1.0 / (h * (1.0 + _SETTLING))


def _moved(rows: Rows, A: Rows) -> Any:
    """How far rows yield to impulses of one where each velocity is alone: Σ x²/A."""
    return sum((x * x * (1.0 / A[k][k]) for row in rows for k, x in enumerate(row) if not is_zero(x)), 0.0)


_LEAST = 1e-30  # of a tangential impulse: what it is divided by is never zero


def cone_impulse(y: Scalars, friction: Any, across: Any, along: Any) -> tuple[list[Any], list[list[Any]]]:
    """γ (3) of y, in axes of which the third is the normal, and ∂γ/∂y by rows.

    ``across`` and ``along`` are R of tangential impulses, and of the normal one.
    """
    x, z, n = y
    size = sqrt(x * x + z * z + _LEAST)
    per = 1.0 / size
    s, t = x * per, z * per
    hat = friction * across * (1.0 / along)
    share = 1.0 / (1.0 + friction * hat)
    sticks = le(size, friction * n)
    slides = lt(-hat * size, n)
    normal = (n + hat * size) * share
    pull = friction * normal * per
    slope = friction * hat * share
    first = [where(sticks, x, where(slides, friction * normal * s, 0.0))]
    first.append(where(sticks, z, where(slides, friction * normal * t, 0.0)))
    first.append(where(sticks, n, where(slides, normal, 0.0)))

    def chosen(stuck: float, moving: Any) -> Any:
        return where(sticks, stuck, where(slides, moving, 0.0))

    xx = chosen(1.0, pull * t * t + slope * s * s)
    zz = chosen(1.0, pull * s * s + slope * t * t)
    xz = chosen(0.0, (slope - pull) * s * t)
    xn = chosen(0.0, friction * share * s)
    zn = chosen(0.0, friction * share * t)
    nx = chosen(0.0, hat * share * s)
    nz = chosen(0.0, hat * share * t)
    return first, [[xx, xz, xn], [xz, zz, zn], [nx, nz, chosen(1.0, share)]]


def interval_impulse(y: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """γ within bounds nearest to y, and dγ/dy."""
    if low.__class__ is float and high.__class__ is float and -low == high == math.inf:
        return y, 1.0
    if high.__class__ is float and high == math.inf:
        return fmax(y, low), where(le(low, y), 1.0, 0.0)
    if low.__class__ is float and low == -math.inf:
        return fmin(y, high), where(le(y, high), 1.0, 0.0)
    inside = and_(le(low, y), le(y, high))
    return fmin(fmax(y, low), high), where(inside, 1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Limb:
    """A link's ``screws`` (6 × nv), T, and the ``arm`` r and the ``axes`` a (3 × 3) of a contact on it."""

    link: str
    screws: Rows
    arm: Vec3
    axes: Rows

    @property
    def rows(self) -> list[list[Any]]:
        """J (3 × nv): the contact's velocity along its axes."""
        seen = [[*self.arm.cross(Vec3.of(axis)), *axis] for axis in self.axes]
        columns = list(zip(*self.screws, strict=True))
        return [[dot(S, column) for column in columns] for S in seen]

    @property
    def resting(self) -> Limb:
        """The same without derivatives."""
        n = len(self.screws[0])
        numbers = stop_gradient(
            [*(x for row in self.screws for x in row), *self.arm, *(x for row in self.axes for x in row)]
        )
        screws, rest = numbers[: 6 * n], numbers[6 * n :]
        rows = [screws[k * n : k * n + n] for k in range(6)]
        return Limb(self.link, rows, Vec3.of(rest[:3]), [rest[k : k + 3] for k in (3, 6, 9)])

    def stiffness(self, G: Rows) -> list[list[Any]]:
        """Sᵀ G S, the lower triangle (6 rows)."""
        a, r = self.axes, self.arm
        turned = [[dot(row, [axis[k] for axis in a]) for k in range(3)] for row in G]
        lower = [[dot([axis[i] for axis in a], [row[j] for row in turned]) for j in range(i + 1)] for i in range(3)]
        W = [[lower[max(i, j)][min(i, j)] for j in range(3)] for i in range(3)]
        coupled = [[*r.cross(Vec3.of(column))] for column in W]  # [r×] W by columns, W being symmetric
        C = list(zip(*coupled, strict=True))
        angular = [[*r.cross(Vec3.of(row))] for row in C]  # −C [r×], by rows
        return [*(angular[i][: i + 1] for i in range(3)), *([*coupled[i], *lower[i]] for i in range(3))]


def bent_by_limbs(H: list[list[Any]], limbs: Sequence[Sequence[tuple[Limb, Rows]]]) -> None:
    """The lower triangle H, with Σ Tᵀ K T of each limb's contacts and their G."""
    for contacts in limbs:
        parts = [limb.stiffness(G) for limb, G in contacts]
        lower = [[sum((part[i][j] for part in parts[1:]), parts[0][i][j]) for j in range(i + 1)] for i in range(6)]
        K = [[lower[max(i, j)][min(i, j)] for j in range(6)] for i in range(6)]
        columns = list(zip(*contacts[0][0].screws, strict=True))
        places = [k for k, column in enumerate(columns) if not all(map(is_zero, column))]
        for j in places:
            force = [dot(row, columns[j]) for row in K]
            for i in places:
                if j <= i:
                    H[i][j] = H[i][j] + dot(columns[i], force)
