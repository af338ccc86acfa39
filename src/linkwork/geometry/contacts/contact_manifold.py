"""Contacts of two bodies, and which few of many are kept.

Corners of what of a body is in touch: its farthest points in eight directions about one.

They are the corners of the face there, of a face of more corners eight of them, or an edge's ends, or one corner again
and again, in the order that they have round it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linkwork.expr.scalar.functions import and_, copysign, fabs, fmax, le, lt, not_, or_, where
from linkwork.geometry.cores import Core
from linkwork.geometry.distance import SignedDistance
from linkwork.geometry.support_points import support
from linkwork.spatial import Vec3

__all__ = ["CORNERS", "Contact", "Touching", "chosen", "corners_along", "each_once", "one_point", "some_of"]


_NONE = -1e30
_ONE = 1e-18  # squares of distances between points that are one [m²]
_LEVEL = 1e-4  # slopes of a plane that count as level


@dataclass(frozen=True, slots=True)
class Contact:
    """A point where bodies A and B touch: on_a − on_b = depth · normal, both on the surfaces."""

    on_a: Vec3  # [m]
    on_b: Vec3
    depth: Any  # [m]; less than zero where they are apart
    there: Any  # a truth value: whether there is such a point at all


@dataclass(frozen=True, slots=True)
class Touching:
    """The contacts of bodies A and B, with one normal, of length 1, from A to B."""

    normal: Vec3
    points: tuple[Contact, ...]

    def flipped(self) -> Touching:
        """The same of B and A."""
        return Touching(-self.normal, tuple(replace(p, on_a=p.on_b, on_b=p.on_a) for p in self.points))

    def rounded(self, a: Any, b: Any) -> Touching:
        """That of the bodies grown by radii a and b [m]."""
        n = self.normal
        return Touching(
            n, tuple(Contact(p.on_a + n * a, p.on_b - n * b, p.depth + a + b, p.there) for p in self.points)
        )


def one_point(result: SignedDistance, within: Any) -> Touching:
    """What the signed distance knows."""
    there = le(result.distance, within)
    return Touching(result.normal, (Contact(result.on_a, result.on_b, -result.distance, there),))


def some_of(normal: Vec3, candidates: Sequence[Contact]) -> Touching:
    """Contacts that all are in one plane: of each of eight directions across the normal the farthest, each once, and
    the deepest, where it is deeper than all of these.

    What is between them is all that is between the candidates where these are eight corners that are bent alike, and
    seven tenths of it at the least.  Where nothing moves, and depths are the same but for rounding, they stay the same
    ones; so what stands on them does not creep.
    """
    around = [_best(normal, candidates, [way.dot(c.on_b) for c in candidates]) for way in ways_round(normal)]
    return each_once(normal, around, _best(normal, candidates, [c.depth for c in candidates]))


def each_once(normal: Vec3, around: Sequence[Contact], deepest: Contact) -> Touching:
    """Contacts in the order that they have round a normal, without those that are where the next one is; and the
    deepest of a plane, where it is deeper than these.
    """
    least, far, kept = _NONE, 0.0, []
    alone: Any = around[0].there  # whether they are all in one place
    for one, other in zip(around, [*around[1:], around[0]], strict=True):
        way, apart = other.on_b - one.on_b, one.on_b - deepest.on_b
        again = and_(other.there, le(way.dot(way), _ONE))
        alone = and_(alone, again)
        least = fmax(least, where(one.there, one.depth, _NONE))
        far = fmax(far, apart.dot(apart))
        kept.append(replace(one, there=and_(one.there, not_(again))))
    kept[0] = replace(kept[0], there=or_(kept[0].there, alone))
    more = deepest.depth - least
    deeper = and_(deepest.there, lt(_LEVEL * _LEVEL * far, more * fabs(more)))
    return Touching(normal, (*kept, replace(deepest, there=deeper)))


def _best(normal: Vec3, candidates: Sequence[Contact], values: Sequence[Any]) -> Contact:
    """The one that is there and has the largest of values."""
    first, *others = zip(candidates, values, strict=True)
    place, depth, most = first[0].on_b, first[0].depth, where(first[0].there, first[1], _NONE)
    for other, value in others:
        here = where(other.there, value, _NONE)
        better = lt(most, here)
        most, depth = where(better, here, most), where(better, other.depth, depth)
        place = Vec3(*(where(better, x, y) for x, y in zip(other.on_b, place, strict=True)))
    return Contact(place + normal * depth, place, depth, lt(_NONE, most))


def chosen(condition: Any, one: Contact, other: Contact) -> Contact:
    """One contact where a condition holds, else the other."""
    pick: Callable[[Vec3, Vec3], Vec3] = lambda a, b: Vec3(  # noqa: E731
        *(where(condition, x, y) for x, y in zip(a, b, strict=True))
    )
    there = lt(0.0, where(condition, where(one.there, 1.0, 0.0), where(other.there, 1.0, 0.0)))
    return Contact(
        pick(one.on_a, other.on_a), pick(one.on_b, other.on_b), where(condition, one.depth, other.depth), there
    )


CORNERS = 8
_TILT = 0.02  # of directions from the one they are about: faces that are tilted by less are seen as such
_FIRST = 0.3  # [rad]: where the first is, across no edge of what is made by hand


def corners_along(core: Core, direction: Vec3, n: Vec3) -> list[Vec3]:
    """Those in a direction, n or −n, anticlockwise about n of length 1."""
    return [support(core, direction + way * _TILT) for way in ways_round(n)]


def ways_round(n: Vec3) -> list[Vec3]:
    """Eight directions across n of length 1, anticlockwise about it."""
    u, v = _across(n)
    turns = [_FIRST + 2.0 * math.pi * k / CORNERS for k in range(CORNERS)]
    return [u * math.cos(turn) + v * math.sin(turn) for turn in turns]


def _across(n: Vec3) -> tuple[Vec3, Vec3]:
    """Two directions across one of length 1.

    Source: Duff and others, Building an orthonormal basis, revisited, Journal of Computer Graphics Techniques 2017.
    """
    sign = copysign(1.0, n.z)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return Vec3(1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x), Vec3(b, sign + n.y * n.y * a, -n.y)
