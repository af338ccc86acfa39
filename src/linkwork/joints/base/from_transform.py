"""What follows from a transform by differentiation, and from a motion subspace by reflections, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.functions import copysign, fabs, fmin, lt, sqrt, where
from linkwork.spatial import Motion, Rotation, Vec3

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["Span", "independence", "rows", "square", "twist_along", "units"]

Scalars = Sequence[Any]

_DEPENDENT = 1e-13  # a motion within this part of its size of what others span is one of theirs: rounding, and a margin


def units(n: int) -> list[list[float]]:
    """The unit vectors of n numbers."""
    return [[1.0 if i == k else 0.0 for i in range(n)] for k in range(n)]


def rows(columns: list[list[Any]], count: int) -> list[list[Any]]:
    """The matrix of these columns, by its ``count`` rows."""
    return [[column[i] for column in columns] for i in range(count)]


def square(x: Scalars) -> Any:
    """The sum of squares."""
    return sum((a * a for a in x), 0.0)


def twist_along(joint: JointType, q: Scalars, q_dot: Scalars) -> Motion:
    """The twist (Rᵀ Ṙ)^∨, Rᵀ ṗ of M relative to F, in M's coordinates, when q changes at rate q̇."""
    moving = seeded(q, q_dot)
    level = moving[0].level
    X = joint.X(moving)
    R, rates = _split_rotation(X.rotation, level)
    columns, moved = R.T, rates.T  # Ṙ's columns
    w = Vec3(columns.z.dot(moved.y), columns.x.dot(moved.z), columns.y.dot(moved.x))
    return Motion(w, R.inv_act(Vec3.of([parts(x, level)[1] for x in X.translation])))


def _split_rotation(R: Rotation, level: int) -> tuple[Rotation, Rotation]:
    pairs = [[parts(x, level) for x in row] for row in (R.x, R.y, R.z)]
    value, rate = (Rotation(*(Vec3.of([pair[k] for pair in row]) for row in pairs)) for k in range(2))
    return value, rate


def independence(motions: Sequence[Scalars]) -> Any:
    """The least part of its size that a motion has beyond those before it: 1 where all are orthogonal, 0 where one is
    a sum of others, and the Python float 1.0 where there are less than two.  By Gram and Schmidt's method.
    """
    least: Any = 1.0
    before: list[tuple[list[Any], Any]] = []  # orthogonal, and one over their squares
    for motion in motions if len(motions) > 1 else ():
        x, size = list(motion), square(motion)
        for other, inverse in before:
            along = sum((a * b for a, b in zip(x, other, strict=True)), 0.0) * inverse
            x = [a - along * b for a, b in zip(x, other, strict=True)]
        rest = square(x)
        least = fmin(least, rest / where(lt(0.0, size), size, 1.0))
        before.append((x, 1.0 / where(lt(0.0, rest), rest, 1.0)))
    return sqrt(least)


@dataclass(frozen=True, slots=True)
class Span:
    """What motions of six numbers span, as Householder's reflections, which turn it onto the first axes.

    At each step the motion of which the largest part is left comes next, so that motions which are nearly one of the
    others' do no harm; one of which no more than 1e-13 of its size is left counts as one of theirs.
    """

    reflections: tuple[list[Any], ...]  # of vectors u, 1 − u uᵀ: one a motion, none (u = 0) where nothing is left
    kept: tuple[Any, ...]  # whether something is

    @staticmethod
    def of(motions: Sequence[Scalars]) -> Span:
        left: _Left = [(list(motion), square(motion)) for motion in motions]  # and its size, or 1 where it is nothing
        left = [(x, where(lt(0.0, size), size, 1.0)) for x, size in left]
        reflections, kept = [], []
        for k in range(len(left)):
            (x, size), *left = _largest_first(left, k)
            length = square(x[k:])
            keep = lt(_DEPENDENT * _DEPENDENT * size, length)
            length = sqrt(where(keep, length, 1.0))
            scale = where(keep, 1.0 / sqrt(length * (length + fabs(x[k]))), 0.0)
            u = [0.0] * k + [(x[k] + copysign(length, x[k])) * scale, *(a * scale for a in x[k + 1 :])]
            left = [(_reflected(u, other), size) for other, size in left]
            reflections.append(u)
            kept.append(keep)
        return Span(tuple(reflections), tuple(kept))

    def projected(self, x: Scalars) -> list[Any]:
        """The part of six numbers that lies in the span: the rest is orthogonal to it."""
        y = list(x)
        for u in self.reflections:
            y = _reflected(u, y)
        y = [where(keep, a, 0.0) for keep, a in zip(self.kept, y, strict=False)] + [0.0] * (6 - len(self.kept))
        return self._back(y)

    def complement(self) -> list[list[Any]]:
        """Orthonormal vectors, six less the motions, that are orthogonal to the span."""
        return [self._back(unit) for unit in units(6)[len(self.kept) :]]

    def _back(self, y: Scalars) -> list[Any]:
        x = list(y)
        for u in reversed(self.reflections):
            x = _reflected(u, x)
        return x


_Left = list[tuple[list[Any], Any]]


def _largest_first(motions: _Left, k: int) -> _Left:
    """The motions, the one first of whose size the largest part is beyond the first k axes."""
    (first, size), rest = motions[0], []
    length = square(first[k:])
    for other, its_size in motions[1:]:
        its_length = square(other[k:])
        larger = lt(length * its_size, its_length * size)
        rest.append(([where(larger, a, b) for a, b in zip(first, other, strict=True)], where(larger, size, its_size)))
        first = [where(larger, b, a) for a, b in zip(first, other, strict=True)]
        size, length = where(larger, its_size, size), where(larger, its_length, length)
    return [(first, size), *rest]


def _reflected(u: list[Any], x: list[Any]) -> list[Any]:
    along = sum((a * b for a, b in zip(u, x, strict=True)), 0.0)
    return [b - a * along for a, b in zip(u, x, strict=True)]
