"""All branches of an arm with a closed form, refined by Newton steps, as configurations within limits.

The refinement works on the robot's own kinematics, over any scalar, with steps that are short at singularities,

    δ = Jᵀ (J Jᵀ + (ν + ‖e‖²) 1)⁻¹ e,    ν = 1e-15,

with errors e of orientation [rad] and position [arm's lengths].  Each step squares the error where J is regular;
elsewhere no step is longer than ‖e‖/(2√ν), nor than ½.

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
from linkwork.expr.scalar.float_limits import by_type
from linkwork.expr.scalar.functions import and_, ceil, floor, fmax, fmin, le, sqrt, where
from linkwork.ik.algorithms.closed_form.arm_recognition import ELBOW, RecognisedArm
from linkwork.kinematics.algorithms.forward_kinematics import ancestors, fork
from linkwork.kinematics.algorithms.joint_path import poses_in
from linkwork.model.body import Frame
from linkwork.model.coupled_joints import bounds
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Pose, Vec3

__all__ = ["VALID_ERROR", "ArmBranch", "arm_branches", "redundant_angle"]


Scalars = Sequence[Any]
VALID_ERROR = by_type(1e-9)  # [rad, arm's lengths] maximum error of a valid branch
_LIMIT_TOL = by_type(1e-9)  # [rad] angles outside a limit by less are set to it
_REVOLUTION = 2.0 * math.pi


@dataclass(frozen=True)
class ArmBranch:
    """Branch of an arm's inverse kinematics: configuration, validity, and remaining errors [rad, m]."""

    q: list[Any]
    valid: Any
    orientation_error: Any  # [rad]
    position_error: Any  # [m]


def redundant_angle(tree: Tree, arm: RecognisedArm, q: Scalars) -> Any:
    """Return the angle of a seven-axis arm that its pose leaves free [rad]: of the locked joint or the elbow."""
    joint_q = tree.split_q(q)
    if arm.redundant == ELBOW:
        return arm.elbow_angle([_angle(tree, i, joint_q) for i in arm.bodies])
    return _angle(tree, _locked_body(arm), joint_q)


def arm_branches(
    tree: Tree, A: Frame, B: Frame, arm: RecognisedArm, X: Pose, q_init: Scalars, value: Any, position_limits: bool
) -> list[ArmBranch]:
    """Return the eight branches (IK solutions) for a pose X of B in A, always in the same order.

    Joints outside the arm have their positions in ``q_init``. Each angle is shifted by full revolutions to the value
    nearest to ``q_init``; with ``position_limits``, to the nearest value within limits. ``value`` is the redundant
    angle [rad]. A branch is not valid if its equations have no solution, or if it coincides with another branch.
    Without a solution, q is the nearest that the equations permit.
    """
    initial_joint_q = tree.split_q(q_init)
    refinement = NewtonRefinement(tree, A, B, arm.bodies, arm.geometry.length)
    fixed_angles = {} if arm.redundant in (None, ELBOW) else {_locked_body(arm): value}
    solutions = arm.solutions(X, value)
    rows = map_rows(
        lambda angles: _flat(*refinement.refined(angles, fixed_angles, X, arm.steps)),
        [arm.angles_of(solution) for solution in solutions],
        in_loops=True,
        alike=True,
    )
    near = [_angle(tree, i, initial_joint_q) for i in arm.bodies]
    ranges = bounds(tree)
    result = []
    for solution, row in zip(solutions, rows, strict=True):
        *angles, orientation_error, position_error = row
        valid = and_(le(orientation_error, VALID_ERROR), le(position_error, by_type(VALID_ERROR * arm.geometry.length)))
        valid = valid if solution.counts is True else and_(valid, solution.counts)
        joint_q = list(initial_joint_q)
        for i, angle, near_angle in zip(arm.bodies, angles, near, strict=True):
            low, high = _bounds(tree, i, ranges) if position_limits else (-math.inf, math.inf)
            angle, in_bounds = _in_range(angle, near_angle, low, high)
            valid = valid if in_bounds is True else and_(valid, in_bounds)
            joint_q[i] = tree.bodies[i].joint.integrate(tree.bodies[i].joint.zero(), [angle])
        if fixed_angles:
            i = _locked_body(arm)
            joint_q[i] = tree.bodies[i].joint.integrate(tree.bodies[i].joint.zero(), [value])
            if position_limits:
                low, high = _bounds(tree, i, ranges)
                valid = and_(valid, and_(le(low, value), le(value, high)))
        q = [x for i, _ in tree.stacked() for x in joint_q[i]]
        result.append(ArmBranch(q, valid, orientation_error, position_error))
    return result


def _bounds(tree: Tree, body: int, ranges: Mapping[int, tuple[list[float], list[float]]]) -> tuple[float, float]:
    """Return the limits of a joint's angle from zero; infinite if its configuration is not an angle."""
    joint, (low, high) = tree.bodies[body].joint, ranges[body]
    if joint.nq != 1:
        return -math.inf, math.inf
    (zero,) = joint.zero()
    return low[0] - zero, high[0] - zero


def _locked_body(arm: RecognisedArm) -> int:
    """Return the index of the body of the locked joint, the only joint of the chain that is not solved."""
    (result,) = set(arm.chain.bodies) - set(arm.bodies)
    return result


def _flat(angles: list[Any], orientation_error: Any, position_error: Any) -> list[Any]:
    return [*angles, orientation_error, position_error]


def _angle(tree: Tree, body: int, q: Sequence[Any]) -> Any:
    """Return a joint's angle from zero."""
    joint = tree.bodies[body].joint
    return joint.difference(joint.zero(), q[body])[0]


def _in_range(angle: Any, near: Any, low: float, high: float) -> tuple[Any, Any]:
    """Return an angle shifted by full revolutions near to ``near``, and True if it is within bounds.

    If the shifted angle is outside of the bounds, a revolution that brings it inside is preferred.
    """
    angle = angle + _REVOLUTION * floor((near - angle) * (1.0 / _REVOLUTION) + 0.5)
    if math.isfinite(high):
        beyond = ceil((angle - high - _LIMIT_TOL) * (1.0 / _REVOLUTION))
        angle = angle - _REVOLUTION * fmax(beyond, 0.0)
    if math.isfinite(low):
        beyond = ceil((low - angle - _LIMIT_TOL) * (1.0 / _REVOLUTION))
        angle = angle + _REVOLUTION * fmax(beyond, 0.0)
    in_bounds: Any = True
    if math.isfinite(low):
        in_bounds = le(low - angle, _LIMIT_TOL)
        angle = where(in_bounds, fmax(angle, low), angle)
    if math.isfinite(high):
        below = le(angle - high, _LIMIT_TOL)
        angle = where(below, fmin(angle, high), angle)
        in_bounds = below if in_bounds is True else and_(in_bounds, below)
    return angle, in_bounds


_REGULARISATION = by_type(1e-15)  # ν, about ten times the rounding error of J Jᵀ


@dataclass(frozen=True)
class NewtonRefinement:
    """Newton steps that refine an approximate IK solution of a chain from frame A to frame B.

    They change the angles of the joints of ``bodies``; all other joints of the chain do not move.
    """

    tree: Tree
    A: Frame
    B: Frame
    bodies: tuple[int, ...]  # bodies of the joints that move
    length: float  # [m]

    def refined(
        self, angles: Scalars, fixed_angles: dict[int, Any], target: Pose, steps: int
    ) -> tuple[list[Any], Any, Any]:
        """Return the refined angles of the joints that move, and the remaining orientation and position errors.

        Angles are relative to the joints' zero [rad].  The errors are 2 sin(angle/2) ≈ angle [rad] and distance [m].
        ``fixed_angles`` are the angles of the other joints of the chain, by body index.
        """
        angles = list(angles)
        for _ in range(steps):
            X, columns = self._at(angles, fixed_angles)
            e = self._error(X, target)
            angles = [a + b for a, b in zip(angles, self._step(columns, e), strict=True)]
        X, _ = self._at(angles, fixed_angles)
        orientation_error = sum((x - y) * (x - y) for a, b in _rows(X, target) for x, y in zip(a, b, strict=True))
        position_error = target.translation - X.translation
        return angles, sqrt(0.5 * orientation_error), sqrt(position_error.dot(position_error))

    def _at(self, angles: Scalars, fixed_angles: dict[int, Any]) -> tuple[Pose, list[list[Any]]]:
        """Return the pose X_AB, and the columns of the frame Jacobian of B for the joints that move.

        Lengths in the columns are divided by the arm's length; X_AB is in metres.
        """
        tree, joint_angles = self.tree, dict(zip(self.bodies, angles, strict=True)) | fixed_angles
        q = [
            body.joint.integrate(body.joint.zero(), [joint_angles[i]]) if i in joint_angles else body.joint.zero()
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
        """Return the error (rotation vector; translation) from X to the target, to first order in the rotation.

        The rotation is in rad, the translation in units of the arm's length.
        """
        total = Vec3.zero()
        for a, b in zip(_columns(X), _columns(target), strict=True):
            total = total + a.cross(b)
        position_error = (target.translation - X.translation) * (1.0 / self.length)
        return [*(total * 0.5), *position_error]

    def _step(self, columns: list[list[Any]], e: list[Any]) -> list[Any]:
        """Return the damped step Jᵀ (J Jᵀ + (ν + ‖e‖²) 1)⁻¹ e; J has these ``columns``, and ν = 1e-15."""
        damping = dot(e, e) + _REGULARISATION
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
            inverse.append(1.0 / fmax(pivot, by_type(0.5 * _REGULARISATION)))
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
