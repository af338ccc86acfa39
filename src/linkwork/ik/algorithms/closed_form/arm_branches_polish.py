"""Newton's steps toward a pose on the robot's own kinematics, short where it is singular.

    δ = Jᵀ (J Jᵀ + (ν + ‖e‖²) 1)⁻¹ e,    ν = 1e-15,

with errors e of orientation [rad] and position, in arm's lengths.  Each squares what is
left, where J is regular; where it is not, none is longer than ‖e‖/(2√ν), nor than ½.

Source: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import fmax, sqrt
from linkwork.kinematics.algorithms.jacobians.joint_path import poses_in
from linkwork.kinematics.algorithms.relative_kinematics import ancestors, fork
from linkwork.model.body import Frame
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Vec3

__all__ = ["Polish"]

Scalars = Sequence[Any]

_LEAST = 1e-15  # ν: some ten times what rounding makes of J Jᵀ


@dataclass(frozen=True)
class Polish:
    """A chain of joints from A to B, of which some are moved."""

    tree: Tree
    A: Frame
    B: Frame
    bodies: tuple[int, ...]  # that the joints carry which are moved
    length: float  # [m]

    def improved(self, angles: Scalars, held: dict[int, Any], target: Pose, steps: int) -> tuple[list[Any], Any, Any]:
        """Angles from zero after some steps, and the errors that are left: 2 sin(angle/2) ≈ angle [rad], distance [m].

        ``held`` are angles of other joints on the way.
        """
        angles = list(angles)
        for _ in range(steps):
            X, columns = self._at(angles, held)
            e = self._error(X, target)
            angles = [a + b for a, b in zip(angles, self._step(columns, e), strict=True)]
        X, _ = self._at(angles, held)
        turned = sum((x - y) * (x - y) for a, b in _rows(X, target) for x, y in zip(a, b, strict=True))
        away = target.translation - X.translation
        return angles, sqrt(0.5 * turned), sqrt(away.dot(away))

    def _at(self, angles: Scalars, held: dict[int, Any]) -> tuple[Pose, list[list[Any]]]:
        """X_AB and its Jacobian's columns at B's origin, positions in arm's lengths."""
        tree, given = self.tree, dict(zip(self.bodies, angles, strict=True)) | held
        q = [
            body.joint.retract(body.joint.zero(), [given[i]]) if i in given else body.joint.zero()
            for i, body in enumerate(tree.bodies)
        ]
        X = poses_in(tree, q, self.A, [*ancestors(tree, self.A.body), *ancestors(tree, self.B.body)])
        X_AB: Pose = X[self.B.body] @ self.B.placement
        _, outward, _ = fork(tree, self.B.body, self.A.body)
        scale = 1.0 / self.length
        columns = []
        for i in self.bodies:
            S: Motion = X[i] @ tree.bodies[i].S(q[i]).columns[0]
            S = S if i in outward else -S
            v = (S.linear + S.angular.cross(X_AB.translation)) * scale
            columns.append([*S.angular, *v])
        return X_AB, columns

    def _error(self, X: Pose, target: Pose) -> list[Any]:
        """(rotation vector, for a small one; way), in arm's lengths."""
        total = Vec3.zero()
        for a, b in zip(_columns(X), _columns(target), strict=True):
            total = total + a.cross(b)
        away = (target.translation - X.translation) * (1.0 / self.length)
        return [*(total * 0.5), *away]

    def _step(self, columns: list[list[Any]], e: list[Any]) -> list[Any]:
        """Jᵀ (J Jᵀ + damping)⁻¹ e."""
        damping = dot(e, e) + _LEAST
        rows = [list(row) for row in zip(*columns, strict=True)]
        n = len(rows)
        lower: list[list[Any]] = []  # of L D Lᵀ: the rows of L
        inverse: list[Any] = []
        y: list[Any] = []
        for i in range(n):
            row: list[Any] = []
            scaled: list[Any] = []
            for j in range(i):
                x = dot(rows[i], rows[j])
                for k in range(j):
                    x = x - scaled[k] * lower[j][k]
                scaled.append(x)
                row.append(x * inverse[j])
            pivot, z = dot(rows[i], rows[i]) + damping, e[i]
            for k in range(i):
                pivot, z = pivot - scaled[k] * row[k], z - row[k] * y[k]
            inverse.append(1.0 / fmax(pivot, 0.5 * _LEAST))
            lower.append(row)
            y.append(z)
        x = [a * b for a, b in zip(y, inverse, strict=True)]
        for i in reversed(range(n)):
            for k in range(i + 1, n):
                x[i] = x[i] - lower[k][i] * x[k]
        return [dot(column, x) for column in columns]


def _columns(X: Pose) -> list[Vec3]:
    R = X.rotation
    return [Vec3(*column) for column in zip(R.x, R.y, R.z, strict=True)]


def _rows(X: Pose, target: Pose) -> list[tuple[Any, Any]]:
    return list(zip(X.rotation.rows(), target.rotation.rows(), strict=True))
