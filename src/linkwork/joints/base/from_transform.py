"""Joint kinematics from the transform by differentiation, and spans of motions, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from linkwork._util.lazy_dataclass import dataclass
from linkwork.expr.autodiff.dual_numbers import parts, seeded
from linkwork.expr.scalar.functions import copysign, fabs, fmin, lt, sqrt, where
from linkwork.spatial import Motion, Rotation, Vec3

if TYPE_CHECKING:
    from linkwork.joints.base.joint_type import JointType

__all__ = ["Span", "independence", "rows", "square", "twist_along", "unit_vectors"]

Scalars = Sequence[Any]

_DEPENDENT = 1e-13  # relative norm of an orthogonal component that is rounding, with a margin


def unit_vectors(n: int) -> list[list[float]]:
    """Return the n unit vectors of length n."""
    return [[1.0 if i == k else 0.0 for i in range(n)] for k in range(n)]


def rows(columns: list[list[Any]], count: int) -> list[list[Any]]:
    """Return a matrix as a list of its ``count`` rows, from its columns."""
    return [[column[i] for column in columns] for i in range(count)]


def square(x: Scalars) -> Any:
    """Return the squared length of a vector."""
    return sum((a * a for a in x), 0.0)


def twist_along(joint: JointType, q: Scalars, q_dot: Scalars) -> Motion:
    """Return the twist of M relative to F, in M's coordinates, at the rate q̇ of q.

    It is ((Rᵀ Ṙ)^∨; Rᵀ ṗ), by differentiating the transform.
    """
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
    """Return a measure from 0 to 1 of the linear independence of motions, by Gram-Schmidt orthogonalisation.

    The value is the minimum over all motions of the norm of the component orthogonal to the earlier motions, relative
    to the motion's own norm: 1 if all are orthogonal, 0 if one is a linear combination of others.  It is the Python
    float 1.0 for fewer than two motions.
    """
    least: Any = 1.0
    before: list[tuple[list[Any], Any]] = []  # orthogonal motions and their inverse squared norms
    for motion in motions if len(motions) > 1 else ():
        x, size = list(motion), square(motion)
        for earlier, inverse in before:
            along = sum((a * b for a, b in zip(x, earlier, strict=True)), 0.0) * inverse
            x = [a - along * b for a, b in zip(x, earlier, strict=True)]
        remaining = square(x)
        least = fmin(least, remaining / where(lt(0.0, size), size, 1.0))
        before.append((x, 1.0 / where(lt(0.0, remaining), remaining, 1.0)))
    return sqrt(least)


@dataclass(frozen=True, slots=True)
class Span:
    """Linear span of motion vectors (6,), for projections onto it and onto its orthogonal complement.

    It is stored as Householder reflections that map it to the first coordinate axes.  Pivoting: each step uses the
    motion with the largest remaining component relative to its norm.  A motion with a remaining component of at most
    1e-13 of its norm counts as dependent.
    """

    reflections: tuple[list[Any], ...]  # u of 1 − u uᵀ for each motion; u = 0 for a dependent one
    is_independent: tuple[Any, ...]  # for each motion, in the order of the pivots

    @staticmethod
    def of(motions: Sequence[Scalars]) -> Span:
        left: _Left = [(list(motion), square(motion)) for motion in motions]  # with its squared norm, 1 for zero
        left = [(x, where(lt(0.0, size), size, 1.0)) for x, size in left]
        reflections, is_independent = [], []
        for k in range(len(left)):
            (x, size), *left = _largest_first(left, k)
            length = square(x[k:])
            keep = lt(_DEPENDENT * _DEPENDENT * size, length)
            length = sqrt(where(keep, length, 1.0))
            scale = where(keep, 1.0 / sqrt(length * (length + fabs(x[k]))), 0.0)
            u = [0.0] * k + [(x[k] + copysign(length, x[k])) * scale, *(a * scale for a in x[k + 1 :])]
            left = [(_reflected(u, direction), size) for direction, size in left]
            reflections.append(u)
            is_independent.append(keep)
        return Span(tuple(reflections), tuple(is_independent))

    def projected(self, x: Scalars) -> list[Any]:
        """Return the orthogonal projection of a vector (6,) onto the span."""
        y = list(x)
        for u in self.reflections:
            y = _reflected(u, y)
        y = [where(keep, a, 0.0) for keep, a in zip(self.is_independent, y, strict=False)]
        y += [0.0] * (6 - len(self.is_independent))
        return self._back(y)

    def complement(self) -> list[list[Any]]:
        """Return an orthonormal basis of the orthogonal complement: 6 vectors less the number of motions."""
        return [self._back(unit) for unit in unit_vectors(6)[len(self.is_independent) :]]

    def _back(self, y: Scalars) -> list[Any]:
        x = list(y)
        for u in reversed(self.reflections):
            x = _reflected(u, x)
        return x


_Left = list[tuple[list[Any], Any]]


def _largest_first(motions: _Left, k: int) -> _Left:
    """Return the motions with the next pivot of the Householder factorisation as first element.

    The pivot is the motion with the largest component beyond the first k coordinate axes, relative to its norm.
    Motions are exchanged by `where`, so the function works on symbols.
    """
    (first, size), smaller = motions[0], []
    length = square(first[k:])
    for motion, its_size in motions[1:]:
        its_length = square(motion[k:])
        larger = lt(length * its_size, its_length * size)
        smaller.append(
            ([where(larger, a, b) for a, b in zip(first, motion, strict=True)], where(larger, size, its_size))
        )
        first = [where(larger, b, a) for a, b in zip(first, motion, strict=True)]
        size, length = where(larger, its_size, size), where(larger, its_length, length)
    return [(first, size), *smaller]


def _reflected(u: list[Any], x: list[Any]) -> list[Any]:
    along = sum((a * b for a, b in zip(u, x, strict=True)), 0.0)
    return [b - a * along for a, b in zip(u, x, strict=True)]
