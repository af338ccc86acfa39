"""Products Jᵀ γ and Jᵀ G J of contacts in the gradient and the Hessian of a step's convex program.

Contacts of one link depend on the link's motion only.  With the link's twist T w about some point, a contact at r from
there with axes a has the velocity c = a · (v + ω × r).  So the Hessian of a link's contacts follows from one 6×6 matrix
K,

    Σ Jᵀ G J = Tᵀ K T,     K = Σ Sᵀ G S,     S = (r × a; a),

which costs less from two contacts on.  If T is about the floating body of a robot, in its axes, the body's own columns
of T are columns of the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.autodiff.custom_derivative import stop_gradient
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.spatial import Vec3

__all__ = ["Limb", "bent", "bent_by_limbs", "pull"]

Scalars = Sequence[Any]
Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Limb:
    """Contact point on a link: the Jacobian ``screws`` T (6 × nv) of the link's twist, and the point in the same axes.

    ``arm`` r is the point's position, and ``axes`` a (3 × 3) are the two tangents and the normal.
    """

    link: str
    screws: Rows
    arm: Vec3
    axes: Rows

    @property
    def rows(self) -> list[list[Any]]:
        """Rows J (3 × nv) of the contact's velocity along its axes."""
        lines = [[*self.arm.cross(Vec3.of(axis)), *axis] for axis in self.axes]
        columns = list(zip(*self.screws, strict=True))
        return [[dot(S, column) for column in columns] for S in lines]

    @property
    def resting(self) -> Limb:
        """Contact point with constant values instead of symbols, so without derivatives."""
        n = len(self.screws[0])
        values = stop_gradient(
            [*(x for row in self.screws for x in row), *self.arm, *(x for row in self.axes for x in row)]
        )
        screws, placement = values[: 6 * n], values[6 * n :]
        rows = [screws[k * n : k * n + n] for k in range(6)]
        return Limb(self.link, rows, Vec3.of(placement[:3]), [placement[k : k + 3] for k in (3, 6, 9)])

    def stiffness(self, G: Rows) -> list[list[Any]]:
        """Return a matrix G (3 × 3) along the contact's axes as a matrix (6 × 6) of the link's twist: Sᵀ G S.

        S = (r × a; a) gives the velocity of the contact point along its axes a from the twist; r is the point's
        position. The result is the lower triangle, as 6 rows.
        """
        a, r = self.axes, self.arm
        turned = [[dot(row, [axis[k] for axis in a]) for k in range(3)] for row in G]
        lower = [[dot([axis[i] for axis in a], [row[j] for row in turned]) for j in range(i + 1)] for i in range(3)]
        W = [[lower[max(i, j)][min(i, j)] for j in range(3)] for i in range(3)]
        coupled = [[*r.cross(Vec3.of(column))] for column in W]  # [r×] W by columns, W being symmetric
        C = list(zip(*coupled, strict=True))
        angular = [[*r.cross(Vec3.of(row))] for row in C]  # −C [r×], by rows
        return [*(angular[i][: i + 1] for i in range(3)), *([*coupled[i], *lower[i]] for i in range(3))]


def bent_by_limbs(H: list[list[Any]], limbs: Sequence[Sequence[tuple[Limb, Rows]]]) -> None:
    """Add the Hessian Σ Jᵀ G J of contacts to the lower triangle of H (nv × nv), link by link.

    ``limbs`` has for each link its contacts with their matrices G (3 × 3), the change of a contact's impulse with its
    velocity. J is a contact's velocity Jacobian.
    """
    for contacts in limbs:
        parts = [limb.stiffness(G) for limb, G in contacts]
        lower = [[sum((part[i][j] for part in parts[1:]), parts[0][i][j]) for j in range(i + 1)] for i in range(6)]
        K = [[lower[max(i, j)][min(i, j)] for j in range(6)] for i in range(6)]
        columns = list(zip(*contacts[0][0].screws, strict=True))
        indices = [k for k, column in enumerate(columns) if not all(map(is_zero, column))]
        for j in indices:
            force = [dot(row, columns[j]) for row in K]
            for i in indices:
                if j <= i:
                    H[i][j] = H[i][j] + dot(columns[i], force)


def bent(H: list[list[Any]], J: Rows, G: Rows, whole: bool = False) -> None:
    """Add Jᵀ G J of a contact with the velocity Jacobian J (3 × nv) to H: to its lower triangle, or ``whole``."""
    columns = [k for k in range(len(H)) if not all(is_zero(row[k]) for row in J)]
    for j in columns:
        column = [dot(row, [line[j] for line in J]) for row in G]
        for i in columns:
            if whole or j <= i:
                H[i][j] = H[i][j] + dot(column, [row[i] for row in J])


def pull(gradient: list[Any], J: Rows, gamma: Scalars) -> None:
    """Subtract Jᵀ γ from the gradient (nv): the effect of a contact's impulse γ (3) with the velocity Jacobian J."""
    for row, force in zip(J, gamma, strict=True):
        for k, x in enumerate(row):
            if not is_zero(x):
                gradient[k] = gradient[k] - x * force
