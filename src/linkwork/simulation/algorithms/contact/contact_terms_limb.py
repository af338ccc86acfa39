"""What the contacts of one link have in common: the link's motion, of which each sees one point.

With the link's twist T w about some point, in some axes, a contact at r from there along axes a has the velocity
c = a · (v + ω × r).  So the contacts of a link bend the program's function as one 6×6 matrix does,

    Σ Jᵀ G J = Tᵀ K T,     K = Σ Sᵀ G S,     S = (r × a; a),

which costs less from two contacts on.  Where T is about the body that a robot floats by, in its axes, the columns of
that body's twist are those of the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative_still import still
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.spatial import Vec3

__all__ = ["Limb", "bent_by_limbs"]

Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]


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
        numbers = still([*(x for row in self.screws for x in row), *self.arm, *(x for row in self.axes for x in row)])
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
