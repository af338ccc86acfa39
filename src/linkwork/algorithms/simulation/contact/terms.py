"""What acts on velocities in a step besides masses: contacts, and rows whose impulse is within bounds.

A contact asks for a velocity ĉ along its normal, and yields to impulses by R: as rigid as the step can tell, unless it
has a stiffness.  Its impulse follows from c − ĉ and R alone (`cone`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....expr.functions import fmax, fmin, lt, where
from ....expr.linalg.sums import is_zero
from .cone import cone_impulse, interval_impulse
from .limb import Limb

__all__ = [
    "ContactAt",
    "ContactTerms",
    "Interval",
    "dry",
    "held",
    "impulse_of",
    "limit",
    "push_of",
    "servo",
    "terms_of",
]

Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]

_RIGID = 1.0 / (4.0 * math.pi**2)  # of the step: within which a contact that is not said to be softer comes to rest
_SETTLING = 1.0 / math.pi  # steps in which penetration decays
_SLIP = 1e-3  # of the normal R: what tangential impulses yield while they stick
_RECOVERY = 0.5  # [m/s, rad/s] at most, out of what is too deep
_FIRM = 1e-6  # of what would yield as its own inertia does: what holds by itself
_STRUCK = 1e-3  # of R, in impacts that bounce: what they fall short of, and what rests gives way meanwhile


@dataclass(frozen=True, slots=True)
class ContactAt:
    """Rows of a contact's velocity along two tangents and the normal, what parts it (φ, negative inside), its friction;
    stiffness [N/m], nothing where it is as rigid as the step can tell; and the part of its speed with which it parts
    after an impact, nothing where it does not bounce."""

    J: Rows
    gap: Any
    friction: Any
    stiffness: Any = None
    restitution: Any = None
    limb: Limb | None = None  # how it hangs on a robot, where that is known


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
        return not any(x.__class__ is float and math.isinf(x) for x in (self.low, self.high))


class ContactTerms(NamedTuple):
    """Of a contact: R by axis, and the velocity it asks for along its normal."""

    across: Any
    along: Any
    wanted: Any


def limit(row: Scalars, gap: Any, inertia: Any, low: Any, high: Any, h: Any) -> Interval:
    """A limit of a coordinate that its velocity leads across a gap to, as rigid as the step can tell."""
    wanted = gap * _per_settling(h)
    wanted = fmin(wanted, _RECOVERY) if high == math.inf else fmax(wanted, -_RECOVERY)
    return Interval(row, wanted, inertia * (1.0 / _RIGID), low, high)


def dry(k: int, n: int, most: Any, inertia: Any, h: Any) -> Interval:
    """Dry friction of at most ``most`` [N, N·m] on the k-th of n velocities: what it holds creeps by a millionth of
    what would move it."""
    return Interval([1.0 if j == k else 0.0 for j in range(n)], 0.0, inertia * (1.0 / _FIRM), -h * most, h * most)


def held(row: Scalars, error: Any, drift: Any, A: Rows, h: Any) -> Interval:
    """A constraint φ = ``error`` with φ̇ = row w + ``drift``, which pulls and pushes; what is left of φ fades within a
    few steps."""
    return Interval(row, -drift - error * _per_settling(h), 1.0 / (_FIRM * _moved([row], A)), -math.inf, math.inf)


def servo(k: int, n: int, force: Any, slope: Any, most: Any, inertia: Any, h: Any) -> Interval:
    """A force on the k-th of n velocities that is ``force`` − ``slope`` w, and at most ``most``."""
    slope = slope + 1e-12 * inertia / h
    most = math.inf if most.__class__ is float and math.isinf(most) else h * most
    return Interval([1.0 if j == k else 0.0 for j in range(n)], force / slope, h * slope, -most, most)


def terms_of(contact: ContactAt, A: Rows, slip: Any, h: Any, bounce: Any = None) -> ContactTerms:
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
    wanted = -contact.gap * _per_settling(h)
    if contact.stiffness is None:
        wanted = fmin(wanted, _RECOVERY)
    if bounce is not None:
        struck = lt(0.0, bounce)
        along = _STRUCK * rigid if contact.stiffness is None else where(struck, _STRUCK * rigid, along)
        wanted = where(struck, bounce, wanted)
    return ContactTerms(_SLIP * moved, along, wanted - contact.friction * slip)


def impulse_of(contact: ContactAt, term: ContactTerms, c: Scalars) -> tuple[list[Any], list[list[Any]]]:
    """γ, and G = (∂γ/∂y)/R, which is symmetric."""
    across, along = 1.0 / term.across, 1.0 / term.along  # which no loop does again
    y = [-c[0] * across, -c[1] * across, (term.wanted - c[2]) * along]
    gamma, slope = cone_impulse(y, contact.friction, term.across, term.along)
    return gamma, [[x * r for x, r in zip(row, (across, across, along), strict=True)] for row in slope]


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
