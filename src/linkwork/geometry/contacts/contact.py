"""Contacts of two bodies, and which few of many are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...expr.functions import and_, copysign, fabs, fmax, le, lt, where
from ...spatial import Vec3
from ..distance import SignedDistance

__all__ = ["Contact", "Touching", "chosen", "one_point", "some_of"]

_NONE = -1e30
_MOST = 8  # contacts of which all are given
_ONE = 1e-18  # squares of distances between points that are one [m²]
_FLAT = 1e-9  # of a triangle: its height relative to its longest side


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


def one_point(found: SignedDistance, within: Any) -> Touching:
    """What the signed distance knows."""
    there = le(found.distance, within)
    return Touching(found.normal, (Contact(found.on_a, found.on_b, -found.distance, there),))


def some_of(normal: Vec3, candidates: Sequence[Contact]) -> Touching:
    """Up to eight contacts, or four of more: the deepest, the one that is farthest from it, that which makes the
    largest triangle with these two, and that which adds most to it."""
    if len(candidates) <= _MOST:
        return Touching(normal, tuple(candidates))
    first = _best(candidates, lambda c: c.depth)
    line: Callable[[Contact], Vec3] = lambda c: c.on_b - first.on_b  # noqa: E731
    second = _best(candidates, lambda c: line(c).dot(line(c)))
    base = line(second)
    square = base.dot(base)
    two = and_(second.there, lt(_ONE, square))
    across = normal.cross(base)
    third = _best(candidates, lambda c: fabs(across.dot(line(c))))
    three = and_(two, lt(_FLAT * square, fabs(across.dot(line(third)))))
    turn = copysign(1.0, across.dot(line(third)))

    def area(a: Contact, b: Contact, c: Contact) -> Any:
        return normal.dot((b.on_b - a.on_b).cross(c.on_b - a.on_b)) * turn

    def beyond(c: Contact) -> Any:
        return fmax(fmax(-area(first, second, c), -area(second, third, c)), -area(third, first, c))

    fourth = _best(candidates, beyond)
    four = and_(three, and_(fourth.there, lt(_FLAT * square, beyond(fourth))))
    return Touching(
        normal, (first, replace(second, there=two), replace(third, there=three), replace(fourth, there=four))
    )


def _best(candidates: Sequence[Contact], value: Callable[[Contact], Any]) -> Contact:
    """The one that is there and has the largest value."""
    best = candidates[0]
    most = where(best.there, value(best), _NONE)
    for other in candidates[1:]:
        here = where(other.there, value(other), _NONE)
        better = lt(most, here)
        most = where(better, here, most)
        best = chosen(better, other, best)
    return replace(best, there=lt(_NONE, most))


def chosen(condition: Any, one: Contact, other: Contact) -> Contact:
    """One contact where a condition holds, else the other."""
    pick: Callable[[Vec3, Vec3], Vec3] = lambda a, b: Vec3(  # noqa: E731
        *(where(condition, x, y) for x, y in zip(a, b, strict=True))
    )
    there = lt(0.0, where(condition, where(one.there, 1.0, 0.0), where(other.there, 1.0, 0.0)))
    return Contact(
        pick(one.on_a, other.on_a), pick(one.on_b, other.on_b), where(condition, one.depth, other.depth), there
    )
