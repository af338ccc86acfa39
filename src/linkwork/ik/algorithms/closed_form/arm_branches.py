"""All branches of an arm with a closed form, polished, as configurations within limits, over any scalar.

Newton's steps toward a pose on the robot's own kinematics, short where it is singular.

    δ = Jᵀ (J Jᵀ + (ν + ‖e‖²) 1)⁻¹ e,    ν = 1e-15,

with errors e of orientation [rad] and position, in arm's lengths.  Each squares what is
left, where J is regular; where it is not, none is longer than ‖e‖/(2√ν), nor than ½.

Source: Fan and Yuan, On the quadratic convergence of the Levenberg-Marquardt method without nonsingularity assumption,
Computing 74, 2005.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linkwork.expr.control.loops import map_rows
from linkwork.expr.linalg.sparse_dot import dot
from linkwork.expr.scalar.functions import and_, ceil, floor, fmax, fmin, le, sqrt, where
from linkwork.ik.algorithms.closed_form.arm_recognition import ELBOW, RecognisedArm
from linkwork.kinematics.algorithms.joint_path import poses_in
from linkwork.kinematics.algorithms.relative_kinematics import ancestors, fork
from linkwork.model.body import Frame
from linkwork.model.coupled_joints import bounds
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Vec3

__all__ = ["MET", "ArmBranch", "arm_branches", "redundant_angle"]


Scalars = Sequence[Any]
MET = 1e-9  # [rad, arm's lengths]: what a branch may miss its pose by
_OVER = 1e-9  # [rad]: what an angle may be beyond a limit by, that is then put on it
_TURN = 2.0 * math.pi


@dataclass(frozen=True)
class ArmBranch:
    """A branch: the configuration, whether it is one, and the errors that are left."""

    q: list[Any]
    valid: Any
    orientation_error: Any  # [rad]
    position_error: Any  # [m]


def redundant_angle(tree: Tree, arm: RecognisedArm, q: Scalars) -> Any:
    """What the redundant angle of a configuration is [rad]: a joint's, or ψ."""
    own = tree.split_q(q)
    if arm.redundant == ELBOW:
        return arm.elbow_angle([_angle(tree, i, own) for i in arm.bodies])
    return _angle(tree, _held(arm), own)


def arm_branches(
    tree: Tree, A: Frame, B: Frame, arm: RecognisedArm, X: Pose, q_init: Scalars, value: Any, position_limits: bool
) -> list[ArmBranch]:
    """The eight branches for a pose X of B in A, always in the same order.

    Joints beside the arm are as in the configuration ``q_init``; of angles that are whole turns apart the nearest to it
    is taken, with ``position_limits`` of those within them.  A branch that has no solution is the nearest that the
    equations have, and is not valid; nor is one that coincides with another.  ``value`` is the redundant angle.
    """
    own = tree.split_q(q_init)
    polish = Polish(tree, A, B, arm.bodies, arm.geometry.length)
    held = {} if arm.redundant in (None, ELBOW) else {_held(arm): value}
    solutions = arm.solutions(X, value)
    rows = map_rows(
        lambda angles: _flat(*polish.improved(angles, held, X, arm.steps)),
        [arm.angles_of(solution) for solution in solutions],
        in_loops=True,
        alike=True,
    )
    near = [_angle(tree, i, own) for i in arm.bodies]
    ranges = bounds(tree)
    result = []
    for solution, row in zip(solutions, rows, strict=True):
        *angles, turned, away = row
        valid = and_(le(turned, MET), le(away, MET * arm.geometry.length))
        valid = valid if solution.counts is True else and_(valid, solution.counts)
        parts = list(own)
        for i, angle, by in zip(arm.bodies, angles, near, strict=True):
            low, high = _bounds(tree, i, ranges) if position_limits else (-math.inf, math.inf)
            angle, within = _in_range(angle, by, low, high)
            valid = valid if within is True else and_(valid, within)
            parts[i] = tree.bodies[i].joint.integrate(tree.bodies[i].joint.zero(), [angle])
        if held:
            i = _held(arm)
            parts[i] = tree.bodies[i].joint.integrate(tree.bodies[i].joint.zero(), [value])
            if position_limits:
                low, high = _bounds(tree, i, ranges)
                valid = and_(valid, and_(le(low, value), le(value, high)))
        q = [x for i, _ in tree.stacked() for x in parts[i]]
        result.append(ArmBranch(q, valid, turned, away))
    return result


def _bounds(tree: Tree, body: int, ranges: Mapping[int, tuple[list[float], list[float]]]) -> tuple[float, float]:
    """Those of a joint's angle from zero; none where its configuration is not the angle itself."""
    joint, (low, high) = tree.bodies[body].joint, ranges[body]
    if joint.nq != 1:
        return -math.inf, math.inf
    (zero,) = joint.zero()
    return low[0] - zero, high[0] - zero


def _held(arm: RecognisedArm) -> int:
    """The body of the joint that is held."""
    (result,) = set(arm.chain.bodies) - set(arm.bodies)
    return result


def _flat(angles: list[Any], turned: Any, away: Any) -> list[Any]:
    return [*angles, turned, away]


def _angle(tree: Tree, body: int, q: Sequence[Any]) -> Any:
    """A joint's angle from zero."""
    joint = tree.bodies[body].joint
    return joint.difference(joint.zero(), q[body])[0]


def _in_range(angle: Any, near: Any, low: float, high: float) -> tuple[Any, Any]:
    """The angle plus whole turns: the one nearest to another, within bounds if one is, and whether it is."""
    angle = angle + _TURN * floor((near - angle) * (1.0 / _TURN) + 0.5)
    if math.isfinite(high):
        beyond = ceil((angle - (high + _OVER)) * (1.0 / _TURN))
        angle = angle - _TURN * fmax(beyond, 0.0)
    if math.isfinite(low):
        beyond = ceil(((low - _OVER) - angle) * (1.0 / _TURN))
        angle = angle + _TURN * fmax(beyond, 0.0)
    within: Any = True
    if math.isfinite(low):
        within = le(low - _OVER, angle)
        angle = where(within, fmax(angle, low), angle)
    if math.isfinite(high):
        below = le(angle, high + _OVER)
        angle = where(below, fmin(angle, high), angle)
        within = below if within is True else and_(within, below)
    return angle, within


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
            body.joint.integrate(body.joint.zero(), [given[i]]) if i in given else body.joint.zero()
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
