"""Terms of a step's convex program: contacts with friction cones, and rows with bounded impulses.

A contact has a target velocity ĉ along its normal, and a compliance R to impulses: as rigid as the step resolves,
unless it has a stiffness.  Its impulse depends on c − ĉ and R only.

The velocity c of a contact requests the impulse y = −(c − ĉ)/R.  Its impulse γ is the projection of y, in the metric R,
onto the friction cone: a pushing component along the normal, and ‖γ_t‖ ≤ μ γ_n.  γ is minus the gradient of a convex
function of c, whose Hessian is G = (∂γ/∂y)/R.

Source: Castro, Permenter and Han, An unconstrained convex formulation of compliant contact, IEEE Transactions on
Robotics 39(2), 2023, sections V and VI.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import and_, fabs, fmax, fmin, le, lt, or_, sqrt, where
from linkwork.kinematics.algorithms.coordinates import characteristic_length
from linkwork.model.coordinate_names import units_of
from linkwork.model.tree import Tree
from linkwork.simulation.algorithms.contact.contact_products import Limb
from linkwork.spatial import Vec3

__all__ = [
    "FAR",
    "FIRM",
    "FIRMER",
    "ContactAt",
    "ContactTerms",
    "Interval",
    "StepScale",
    "aim_of",
    "bounded_contact",
    "cone_impulse",
    "dry_friction",
    "impulse_of",
    "interval_impulse",
    "inverse_inertia_of",
    "is_beyond",
    "limit",
    "per_settling",
    "push_of",
    "servo",
    "terms_of",
    "with_free_normal",
]


Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]
_RIGID = 1.0 / (4.0 * math.pi**2)  # compliance of a rigid contact relative to its inverse inertia
_LIMIT = 1e-5  # compliance of limits relative to a contact's: light links carry the load of other bodies too
_SETTLING = 1.0 / math.pi  # number of steps in which penetration decays
_SLIP = 1e-3  # tangential compliance of sticking contacts relative to the normal one
_RECOVERY = 0.06  # maximum speed out of penetration and beyond limits, in units of the step's scale: adds 1.8e-3 m g L
_ROLLING = 4.0  # the same in addition, in units of h u²/L with the speed u at which rotations move the contact
_BOUNCING = 0.01  # the same for contacts with restitution
FIRM = 1e-6  # compliance of dry friction and constraints relative to their inverse inertia
_OWN_APPROACH = 0.5  # part of its approach speed by which a contact yields at most by its own R
_OWN_TARGET = 0.1  # the same of its target velocity
_OWN_FORCE = 0.25  # the same of the change of speed by other forces in a step
_STRONG = 4.0  # maximum of these forces, in units of the step's scale: a contact at rest sinks by some 1.5 g h²
FIRMER = 1e6  # factor of the firmness beyond
_FIRMEST = 1e7  # maximum of the product of both factors of firmness, which float64 resolves
_WEIGHTLESS = 5e3  # number of steps in the unit of time without gravity
_WEAK = 2e-7  # number of units of time in a step below which gravity counts as none
_LEAST_LEVER = 1e-6  # [characteristic lengths; 1 for slides] shortest lever that counts for a contact
FAR = 1e3  # gap of contacts that do not act in a step, in characteristic lengths
_STRUCK = 1e-3  # factor of R in impacts with restitution, for the accuracy of the separation speed


class StepScale(NamedTuple):
    """Scale of a simulated robot: a ``length`` [m] and a ``pace`` [1/s], which make results independent of units.

    They are the units of speeds (length · pace, and pace for angles) and accelerations (length · pace²).
    """

    length: Any
    pace: Any
    turns: Sequence[int] = ()  # indices of the velocities that are angular

    @staticmethod
    def of(tree: Tree, gravity: Iterable[Any], h: Any) -> StepScale:
        """Return the characteristic length L of a robot and the rate of its falls, √(g/L); at least about 1/(5000 h).

        The lower bound is for scenes without gravity.  It is divided by 1 plus the 16th power of a number proportional
        to √(g/L) h, and it matters only if gravity is weak or h small.
        """
        L, g = characteristic_length(tree), Vec3.of(stop_gradient([*gravity]))
        pace = sqrt(sqrt(g.dot(g)) * (1.0 / L))
        falls = (pace * h) * (1.0 / _WEAK)
        for _ in range(4):
            falls = falls * falls
        turns = [k for k, unit in enumerate(units_of(tree, "v")) if unit == "rad/s"]
        return StepScale(L, fmax(pace, 1.0 / (_WEIGHTLESS * h * (1.0 + falls))), turns)


@dataclass(frozen=True, slots=True)
class ContactAt:
    """Contact in a time step: velocity Jacobian J (3 × nv), gap [m] (negative inside) and friction coefficient.

    The rows of J are two tangents and the normal.  ``stiffness`` [N/m] is None for a contact as rigid as the step
    resolves, and ``restitution`` None without bounce.  ``least`` bounds the inverse of its inertia from below: the
    impulse on a point that cannot move, as one on the axis of a fixed hinge, has no effect, and stays bounded.
    """

    J: Rows
    gap: Any
    friction: Any
    stiffness: Any = None
    restitution: Any = None
    limb: Limb | None = None  # its point on a link behind a floating body
    bearing: Any = None  # speed [m/s] beyond which it is firmer, None if it never is
    softness: Any = 1.0  # inverse factor of its stiffness, below 1 where its speed out of penetration is bounded
    forced: Any = 0.0  # change of its speed along the normal by other forces in a step [m/s], at most
    least: Any = 0.0  # of the inverse inertia [1/kg]


@dataclass(frozen=True, slots=True)
class Interval:
    """Scalar velocity ``row`` · w whose impulse is bounded: of a limit, dry friction, a servo or a constraint.

    The impulse is the ``stiffness`` 1/R times the deviation from the target velocity, clipped to ``low`` and ``high``.
    """

    row: Scalars
    target: Any
    stiffness: Any
    low: Any
    high: Any
    aim: Any = 0.0  # x²/m of the impulse x that brings the row at rest to its target at once, with its inertia m

    @property
    def is_firm(self) -> bool:
        """True if both bounds are finite: the impulse may jump from one to the other."""
        return not any(map(_is_endless, (self.low, self.high)))

    @property
    def element(self) -> int | None:
        """Index in w of the velocity that equals row · w, as for most limits; None if there is no such velocity."""
        used = [k for k, x in enumerate(self.row) if not is_zero(x)]
        return used[0] if len(used) == 1 and self.row[used[0]].__class__ is float and self.row[used[0]] == 1.0 else None


class ContactTerms(NamedTuple):
    """Compliances R of a contact to tangential and normal impulses, with its target velocity along the normal.

    ``bearing`` is the yield speed [m/s]: where the contact yields faster, it is stiffer by the factor ``firmer``.
    """

    across: Any
    along: Any
    target: Any
    bearing: Any
    firmer: Any


def limit(row: Scalars, gap: Any, inertia: Any, low: Any, high: Any, h: Any, unit: Any) -> Interval:
    """Return the bounded impulse that stops a joint coordinate at a position limit.

    ``gap`` is the limit minus the coordinate [rad, m]. The target velocity moves the coordinate to the limit within
    the settling time of a step. Its speed out of a violated limit is at most `_RECOVERY` times ``unit``. The
    compliance is `_LIMIT` times that of a rigid contact of the effective ``inertia``. It decreases where the speed is
    bounded, so that the force on a coordinate at rest is proportional to ``gap``, whatever the speed.

    The velocity is ``row`` · w, with a 1 in ``row`` at the coordinate's velocity and zeros elsewhere. ``low`` and
    ``high`` bound the impulse to the sign that pushes away from the limit; h is the time step [s].
    """
    recovery_speed, most, slowest = gap * per_settling(h), _RECOVERY * unit, 1.0 / (_RECOVERY * unit)  # loop invariant
    out = recovery_speed if high == math.inf else -recovery_speed  # speed out of the violated limit, negative within
    target = fmin(out, most)
    back = fmax(target, 0.0)
    stiffness = inertia * (1.0 / (_LIMIT * _RIGID)) * fmax(1.0, out * slowest)
    return Interval(row, target if high == math.inf else -target, stiffness, low, high, inertia * (back * back))


def dry_friction(row: Scalars, most: Any, inertia: Any, h: Any) -> Interval:
    """Return the bounded impulse of dry friction up to ``most`` [N, N·m] on the velocity ``row`` · w.

    A joint that it holds creeps with a millionth of the speed that the load would cause.
    """
    return Interval(row, 0.0, inertia * (1.0 / FIRM), -h * most, h * most)


def servo(k: int, n: int, force: Any, slope: Any, most: Any, inertia: Any, h: Any) -> Interval:
    """Return the bounded impulse of a servo on the k-th of n velocities w.

    Its force is ``force`` − ``slope`` w, with a magnitude of at most ``most`` [N, N·m].
    """
    slope = slope + 1e-12 * inertia / h
    most = math.inf if most.__class__ is float and math.isinf(most) else h * most
    aim = fmin(fmin(1.0, h * slope / inertia) * fabs(force / slope), most / inertia)
    row = [1.0 if j == k else 0.0 for j in range(n)]
    return Interval(row, force / slope, h * slope, -most, most, inertia * (aim * aim))


def terms_of(contact: ContactAt, A: Rows, slip: Any, h: Any, bounce: Any = None, firmer: Any = FIRMER) -> ContactTerms:
    """Return the compliances R and the target velocity of a contact, from the diagonal of the inertia A.

    By the duality of the cone a sliding contact would separate with μ times its ``slip``, the sliding speed, which is
    subtracted.  If the slip is the speed at the step's end, sliding is Coulomb's.  A contact that bounces has the
    separation velocity ``bounce`` > 0.
    """
    mobility = inverse_inertia_of(contact, A) * (1.0 / 3.0)
    rigid = _RIGID * mobility
    if contact.stiffness is None:
        along = rigid * contact.softness
        firmer = fmin(firmer, _FIRMEST * contact.softness)
    else:
        along = fmax(rigid, 1.0 / (h * contact.stiffness * h * (1.0 + _SETTLING)))
    target = _target(contact, h)
    if bounce is not None:
        struck = lt(0.0, bounce)
        along = _STRUCK * rigid if contact.stiffness is None else where(struck, _STRUCK * rigid, along)
        target = where(struck, bounce, target)
    return ContactTerms(_SLIP * mobility, along, target - contact.friction * slip, contact.bearing, firmer)


def _target(contact: ContactAt, h: Any) -> Any:
    """Return the velocity along the normal that closes the gap within a few steps."""
    return -contact.gap * per_settling(h)


def bounded_contact(contact: ContactAt, A: Rows, v: Scalars, push: Scalars, h: Any, scale: StepScale) -> ContactAt:
    """Return the contact with three more values: a bounded separation, a yield speed, and the effect of other forces.

    The penetration of a rigid contact decays with a bounded speed, which grows with rotations: a body that rolls sinks
    by ½ (h ω)² r in a step. The contact is stiffer by the inverse ratio, so that its force at rest is that of an
    unbounded speed. Up to its yield speed ``bearing`` [m/s], the contact yields by its own compliance. It is a small
    part of the approach speed J v, of the target velocity, and of Σ |J p|/A, the speed change by the impulse p of
    other forces.
    """
    row = contact.J[2]
    used = [(k, x) for k, x in enumerate(row) if not is_zero(x)]
    forced = sum((fabs(x) * (fabs(push[k]) * (1.0 / A[k][k])) for k, x in used), 0.0)  # the factors are shared
    contact = replace(contact, forced=forced, least=_least_inverse_inertia(contact, A, scale))
    if contact.stiffness is not None:
        return contact
    speed = (_RECOVERY if contact.restitution is None else _BOUNCING) * scale.length * scale.pace
    turning = [fabs(x) * fabs(v[k]) for k, x in used if k in scale.turns]
    if turning and contact.restitution is None:
        rolling = sum(turning, 0.0)
        speed = speed + _ROLLING * (h * (rolling * rolling)) * (1.0 / scale.length)
    deepest = speed * (h * (1.0 + _SETTLING))
    softness = deepest / fmax(-contact.gap, deepest)
    contact = replace(contact, gap=fmax(contact.gap, -deepest), softness=softness)
    strong = _STRONG * scale.length * scale.pace * scale.pace
    own_motion = _OWN_APPROACH * fabs(dot(row, v)) + _OWN_TARGET * fabs(_target(contact, h))
    return replace(contact, bearing=(own_motion + _OWN_FORCE * fmin(forced, strong * h)) * softness)


def with_free_normal(contact: ContactAt, mobilities: Sequence[Any], scale: StepScale) -> ContactAt:
    """Return a contact, out of reach if its point cannot move along its normal.

    ``mobilities`` are the inverse inertias [1/kg] of the point along its normal without and with the constraints, if
    there are any.  Forces along a locked normal do not change the motion; the least-norm force is zero.
    """
    is_immobile = [lt(fabs(x), _lever(k, scale)) for k, x in enumerate(contact.J[2]) if not is_zero(x)]
    locked: Any = reduce(and_, is_immobile, True)
    if mobilities:
        free, constrained = mobilities
        locked = or_(locked, lt(constrained, _LEAST_LEVER * _LEAST_LEVER * free))
    return replace(contact, gap=where(locked, FAR * scale.length, contact.gap))


def _least_inverse_inertia(contact: ContactAt, A: Rows, scale: StepScale) -> Any:
    """Return a lower bound of a contact's inverse inertia [1/kg], so that it is not zero for a point that cannot move.

    It is the inverse inertia if each velocity that moves the point had a lever of 10⁻⁶ times the robot's length.
    """
    moved = {k for x in contact.J for k, y in enumerate(x) if not is_zero(y)}
    levers = {k: _lever(k, scale) for k in sorted(moved) or range(len(A))}
    return sum((x * x * (1.0 / A[k][k]) for k, x in levers.items()), 0.0)


def _lever(k: int, scale: StepScale) -> Any:
    """Return the bound below which the speed of a point per unit of velocity k counts as zero."""
    return _LEAST_LEVER * (scale.length if k in scale.turns else 1.0)


def aim_of(contact: ContactAt, A: Rows, h: Any) -> Any:
    """Return x²/m of the impulse x that gives a penetrating contact its target velocity from rest.

    m is the contact's inertia along its normal.
    """
    target = fmax(_target(contact, h), 0.0)
    return 3.0 * (target * target) / inverse_inertia_of(contact, A)


def _is_endless(x: Any) -> bool:
    return x.__class__ is float and math.isinf(x)


def impulse_of(contact: ContactAt, term: ContactTerms, c: Scalars) -> tuple[list[Any], list[list[Any]]]:
    """Return the impulse γ (3) of a contact with velocity c (3), and the symmetric matrix G = −∂γ/∂c (3 × 3).

    γ is the projection P(y) of the requested impulse y = −(c − ĉ)/R onto the friction cone, with the contact's target
    velocity ĉ and compliance R. Beyond its yield speed b (``bearing``) a contact is stiffer by the factor K: γ = P(y)
    + K P(y − b/R e₃), with the normal e₃.
    """
    gamma, slope = _projected(contact, term, c, None)
    if term.bearing is None:
        return gamma, slope
    more, bent = _projected(contact, term, c, term.bearing)
    gamma = [a + term.firmer * b for a, b in zip(gamma, more, strict=True)]
    return gamma, [[a + term.firmer * b for a, b in zip(*rows, strict=True)] for rows in zip(slope, bent, strict=True)]


def _projected(contact: ContactAt, term: ContactTerms, c: Scalars, bearing: Any) -> tuple[list[Any], list[list[Any]]]:
    """Return a contact's requested impulse, projected onto the friction cone, and its derivative (3 × 3).

    The derivative is with respect to −c, the negated contact velocity.

    The normal component is reduced by the ``bearing``, if there is one.
    """
    across, along = 1.0 / term.across, 1.0 / term.along  # loop invariant
    normal = (term.target - c[2]) * along
    y = [-c[0] * across, -c[1] * across, normal if bearing is None else normal - bearing * along]
    gamma, slope = cone_impulse(y, contact.friction, term.across, term.along)
    return gamma, [[x * r for x, r in zip(row, (across, across, along), strict=True)] for row in slope]


def is_beyond(contact: ContactAt, term: ContactTerms, c: Scalars, slip: Any) -> Any:
    """Return True if a contact with sliding speed ``slip`` misses its target velocity by more than its yield speed."""
    if term.bearing is None:
        return False
    return lt(term.bearing, term.target - c[2] + contact.friction * slip)


def push_of(interval: Interval, c: Any) -> tuple[Any, Any]:
    """Return an interval's impulse at the velocity c of its row, and minus its derivative with respect to c."""
    gamma, slope = interval_impulse((interval.target - c) * interval.stiffness, interval.low, interval.high)
    return gamma, slope * interval.stiffness


def per_settling(h: Any) -> Any:
    """Return the reciprocal [1/s] of the settling time, which all terms share."""
    return 1.0 / (h * (1.0 + _SETTLING))


def inverse_inertia_of(contact: ContactAt, A: Rows) -> Any:
    """Return Σ x²/A over the entries x of J, for a diagonal A: the sum of its rows' inverse effective inertias."""
    each = ((k, x) for row in contact.J for k, x in enumerate(row) if not is_zero(x))
    return fmax(sum((x * x * (1.0 / A[k][k]) for k, x in each), 0.0), contact.least)


_LEAST = 1e-200  # added to the square of a tangential impulse, to avoid division by zero


def cone_impulse(y: Scalars, friction: Any, across: Any, along: Any) -> tuple[list[Any], list[list[Any]]]:
    """Return γ (3), the projection of an impulse y onto the friction cone, and ∂γ/∂y (3 × 3).

    The third axis is the normal.  The projection is in the metric of the compliances ``across`` and ``along``, to
    tangential and normal impulses.
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
    """Return γ, an impulse y clipped to its bounds, and dγ/dy (1 or 0)."""
    if low.__class__ is float and high.__class__ is float and -low == high == math.inf:
        return y, 1.0
    if high.__class__ is float and high == math.inf:
        return fmax(y, low), where(le(low, y), 1.0, 0.0)
    if low.__class__ is float and low == -math.inf:
        return fmin(y, high), where(le(y, high), 1.0, 0.0)
    inside = and_(le(low, y), le(y, high))
    return fmin(fmax(y, low), high), where(inside, 1.0, 0.0)
