"""Jacobians of frames and bodies, their derivatives, and manipulability.

The Jacobian of a frame B relative to A is expressed in E, at a point P of B.  A joint's columns are its motions
relative to P: the twist of B relative to A is the sum of the contributions of the joints between them, with negative
sign on A's side.  A velocity is linear in the coordinates' rates, v = E(q) q̇ joint by joint, so the twist is J E q̇.
A quaternion has four columns, which are used for rates tangent to the unit sphere only.  The Jacobians of all bodies
have the same motions as columns, relative to different points.

Rate: consider axes fixed in A that move along with the point P of B.  Relative to them, the body i of a joint has the
twist U_i: it rotates by the contributions of the joints from A to i, and P stays behind by those from i to B.  A motion
fixed in a body moves with it, so the joint's column C = X_i S, with X_i the body's pose in E's axes relative to P,
changes by U_i × C + X_i Ṡ.

Hessian: along the velocity of one joint, everything behind it between A and B rotates, and P moves away from everything
before it.  For a column C = (ω; v) and a column C' = (ω'; v') behind it, C' changes along C by (ω × ω'; ω × v'), and C
along C' by (0; ω × v'): the linear part is symmetric.  A joint's own columns change like columns fixed to its body, and
by ∂S.

Manipulability is the volume of the motions between two frames per unit of the joints' velocities.  With J = R Q, of
orthonormal rows Q and a triangular R, √det(J Jᵀ) = |Π Rᵢᵢ|, which avoids the loss of precision by squaring.  If the
joints have fewer velocities than J has rows, it is √det(Jᵀ J), from J = Q R.  Its derivative along a velocity k is
w tr(J⁺ H_k), with H_k the derivative of J along it and J⁺ the pseudoinverse, from R⁻¹ and Qᵀ.

Sources: Featherstone, Rigid Body Dynamics Algorithms, 2008, sections 2.10 and 4.5; Diebel, Representing attitude:
Euler angles, unit quaternions, and rotation vectors, 2006, section 6; Haviland and Corke, Manipulator differential
kinematics, part 2: acceleration and advanced applications, IEEE Robotics and Automation Magazine 31, 2024; Yoshikawa,
Manipulability of robotic mechanisms, Int. J. Robotics Research 4, 1985; Haviland and Corke, A purely-reactive
manipulability-maximising motion controller, 2020 (the gradient).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from linkwork.expr.linalg.householder_qr import orthogonal_factors, upper_factor
from linkwork.expr.linalg.sparse_dot import dot, product, reciprocal_or_zero, subtract_dot, transposed
from linkwork.expr.scalar.functions import eq, fabs, where
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.forward_kinematics import VIEW, acceleration, fork, twist_at
from linkwork.kinematics.algorithms.joint_path import PathJoint, columns_of, joint_path, poses_in
from linkwork.model.function_spec import ACTUATORS, FunctionSpec, Option, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Subspace, Vec3, by_rows, cross

__all__ = ["ROWS", "Volume", "angular_jacobian", "configuration_jacobian", "jacobian", "position_jacobian"]


Scalars = Sequence[Any]


def jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """Return J (6 × nv): J v is the twist of B (``frame``) relative to A (``relative_to``).

    It is in the axes of E (``expressed_in``), at the origin of P (``point``), by default B's own origin.
    """
    return by_rows(columns_of(tree, joint_path(tree, tree.split_q(q), frame, relative_to, expressed_in, point)))


def position_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """Return J (3 × nv): J v is the velocity of a point of B (``frame``) relative to A (``relative_to``).

    The point is at the origin of P (``point``), by default B's own origin; the velocity is in the axes of E
    (``expressed_in``).
    """
    return jacobian(tree, q, frame, relative_to, expressed_in, point)[3:]


def angular_jacobian(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", expressed_in: str = "world"
) -> list[list[Any]]:
    """Return J (3 × nv): J v is the angular velocity of B (``frame``) relative to A (``relative_to``).

    It is in the axes of E (``expressed_in``).
    """
    return jacobian(tree, q, frame, relative_to, expressed_in)[:3]


def configuration_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """Return J (6 × nq): J q̇ is the twist of B (``frame``) relative to A (``relative_to``).

    The twist is in the axes of E (``expressed_in``), at the origin of P (``point``), by default B's own origin. It
    holds for rates q̇ that keep q on its manifold.
    """
    q = tree.split_q(q)
    rows = by_rows(columns_of(tree, joint_path(tree, q, frame, relative_to, expressed_in, point)))
    result: list[list[Any]] = [[] for _ in rows]
    for i, body in tree.stacked():
        block = product([row[tree.v_slices[i]] for row in rows], body.call_joint("velocity_from_rate_jacobian", q[i]))
        for row, part in zip(result, block, strict=True):
            row += part
    return result


def jacobians(
    tree: Tree, q: Scalars, relative_to: str = "world", expressed_in: str = "world", point: str | None = None
) -> list[list[list[Any]]]:
    """Return the Jacobian (6 × nv) of every body relative to A (``relative_to``), in body order.

    It is in the axes of E (``expressed_in``), at each body's origin, or for all bodies at the origin of ``point``.
    """
    q = tree.split_q(q)
    A, E, P = tree.frame(relative_to), tree.frame(expressed_in), None if point is None else tree.frame(point)
    X = poses_in(tree, q, E, range(len(tree.bodies)))
    C: dict[int, Subspace] = {i: X[i] @ body.S(q[i]) for i, _, body in tree.outward()}
    result = []
    for b, _, _ in tree.outward():
        r = X[b].translation if P is None else X[P.body].point(P.placement.translation)
        _, to_b, to_A = fork(tree, b, A.body)
        columns = [Motion.zero()] * tree.nv
        for chain, sign in ((to_b, 1.0), (to_A, -1.0)):
            for i in chain:
                for k, column in enumerate(C[i].columns, start=tree.v_slices[i].start):
                    columns[k] += twist_at(column, r) * sign
        result.append(by_rows(columns))
    return result


def jacobian_derivative(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """Return J̇ (6 × nv), the time derivative of the Jacobian J of B (``frame``) relative to A (``relative_to``).

    J a + J̇ v is the acceleration of B. It is the rate for an observer in A, in the axes of E (``expressed_in``), at
    the point of B at the origin of P (``point``), by default B's own origin.
    """
    q, v = tree.split_q(q), tree.split_v(v)
    path = joint_path(tree, q, frame, relative_to, expressed_in, point)
    rates = [Motion.zero()] * tree.nv
    for step, U in zip(path, _twists(path, v), strict=True):
        i = step.body
        rotated = [cross(U, C) for C in step.columns]
        changed = step.transformed(tree.bodies[i].S_dot(q[i], v[i]))
        for k, *parts in zip(range(tree.nv)[tree.v_slices[i]], rotated, changed, strict=True):
            rates[k] += parts[0] + parts[1]
    return by_rows(rates)


def _twists(path: Sequence[PathJoint], v: Scalars) -> list[Motion]:
    """Return for each joint of a path from A to B the twist of its body.

    It is relative to axes that have the orientation of A and move along with the point of B.
    """
    twist = [step.twist(v) for step in path]
    rotated = list(accumulate((V.angular for V in twist), initial=Vec3.zero()))
    lag = list(accumulate((V.linear for V in reversed(twist)), initial=Vec3.zero()))[::-1]
    return [Motion(rotated[k], -lag[k]) for k in (j + step.outward for j, step in enumerate(path))]


def bias_acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> Motion:
    """Return J̇ v, the acceleration (ω̇; v̇) of B relative to A at a = 0, without computing the matrix J̇.

    B is the ``frame`` and A is ``relative_to``. It is in the axes of ``expressed_in``, at the point of B at the origin
    of ``point``, by default B's own origin.
    """
    return acceleration(tree, q, v, [0.0] * tree.nv, frame, relative_to, expressed_in, point)


def jacobian_hessian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[list[Any]]]:
    """Return H (6 × nv × nv): H[:, j, k] is the rate of the Jacobian's column j at unit velocity k.

    It is the Jacobian of ``frame`` relative to ``relative_to``, in the axes of ``expressed_in``, at the origin of
    ``point``, by default the frame's own.
    """
    q = tree.split_q(q)
    result = column_derivatives(tree, q, joint_path(tree, q, frame, relative_to, expressed_in, point))
    elements = [[H.elements() for H in column] for column in result]
    return [[[H[row] for H in column] for column in elements] for row in range(6)]


def column_derivatives(tree: Tree, q: Scalars, path: Sequence[PathJoint]) -> list[list[Motion]]:
    """Return H[j][k], the derivative of column j along the unit velocity k; q is split by body."""
    H = [[Motion.zero()] * tree.nv for _ in range(tree.nv)]
    before: list[tuple[int, Motion]] = []
    for step in path:
        dofs = range(tree.nv)[tree.v_slices[step.body]]
        own_columns = list(zip(dofs, step.columns, strict=True))
        for k, C in before:
            for j, D in own_columns:
                H[j][k] += _rotated_change(C, D)
                H[k][j] += _point_change(C, D)
        for k, unit in zip(dofs, unit_vectors(len(dofs)), strict=True):
            twist = step.transformed(tree.bodies[step.body].S_dot(q[step.body], unit))
            for (j, C), C_dot in zip(own_columns, twist, strict=True):
                D = step.columns[k - dofs.start]
                H[j][k] += (_rotated_change(D, C) if step.outward else _point_change(C, D)) + C_dot
        before += own_columns
    return H


def _rotated_change(C: Motion, behind: Motion) -> Motion:
    """Return the rate of the column ``behind`` when everything behind the column C moves along C."""
    return Motion(C.angular.cross(behind.angular), C.angular.cross(behind.linear))


def _point_change(C: Motion, behind: Motion) -> Motion:
    """Return the rate of the column C when the reference point moves along the column ``behind``."""
    return Motion(Vec3.zero(), C.angular.cross(behind.linear))


def manipulability(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", part: str = "all", actuators: Any = None
) -> Any:
    """Return the manipulability w = √det(J Jᵀ), from the Jacobian J of ``frame`` relative to ``relative_to``.

    It is √det(Jᵀ J) if fewer velocities move the frame than J has rows. ``part`` selects rows of J: "all", "position"
    or "angular".
    """
    _check_unconstrained("manipulability", actuators)
    path = joint_path(tree, tree.split_q(q), frame, relative_to, relative_to)
    columns = columns_of(tree, path)
    return Volume([_rows(columns[k], part) for k in _moving_dofs(tree, path)]).size


def manipulability_gradient(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", part: str = "all", actuators: Any = None
) -> list[Any]:
    """Return the derivative of the manipulability w along each velocity (nv): w tr(J⁺ H_k), and 0 where w is 0.

    H_k is the derivative of the Jacobian J along the unit velocity k.
    """
    _check_unconstrained("manipulability_gradient", actuators)
    q = tree.split_q(q)
    path = joint_path(tree, q, frame, relative_to, relative_to)
    columns, H, twist = columns_of(tree, path), column_derivatives(tree, q, path), _moving_dofs(tree, path)
    volume = Volume([_rows(columns[k], part) for k in twist])
    inverse = [x for row in volume.inverse() for x in row]
    gradient: list[Any] = [0.0] * tree.nv
    for k in twist:
        changed = [x for j in twist for x in _rows(H[j][k], part)]
        gradient[k] = where(eq(volume.size, 0.0), 0.0, volume.size * dot(inverse, changed))
    return gradient


def _check_unconstrained(caller: str, actuators: Any) -> None:
    if actuators is not None:
        raise ValueError(f"{caller}: actuators: expected None for a robot without constraints, got {actuators!r}")


def _moving_dofs(tree: Tree, path: Sequence[Any]) -> list[int]:
    """Return the indices in v of the joints on the path."""
    return sorted({k for step in path for k in range(tree.nv)[tree.v_slices[step.body]]})


def _rows(column: Motion, part: str) -> list[Any]:
    """Return the elements of a Jacobian column that ``part`` selects: "all", "position" or "angular"."""
    elements = column.elements()
    return list({"all": elements, "position": elements[3:], "angular": elements[:3]}[part])


class Volume:
    """Volume spanned by the columns of a matrix J (by its rows if it is wide), from a QR factorisation."""

    def __init__(self, columns: list[list[Any]]) -> None:
        self.wide = len(columns) > len(columns[0] if columns else ())
        self._tall = columns if self.wide else transposed(columns)
        self.size: Any = 1.0 if columns else 0.0  # without moving joints the volume is 0
        self._triangle = upper_factor(self._tall, self._width)
        for i, row in enumerate(self._triangle):
            self.size = self.size * fabs(row[i])

    @property
    def _width(self) -> int:
        return len(self._tall[0]) if self._tall else 0

    def inverse(self) -> list[list[Any]]:
        """Return the rows of the pseudoinverse, one for each column of J; finite but meaningless at volume 0."""
        rows = transposed(orthogonal_factors(self._tall, self._width)[0])
        for i in range(self._width - 1, -1, -1):
            pivot, right = self._triangle[i][i], self._triangle[i][i + 1 :]
            inverse = reciprocal_or_zero(pivot, eq(pivot, 0.0))
            columns = transposed(rows[i + 1 :]) or [[] for _ in rows[i]]
            rows[i] = [subtract_dot(x, right, column) * inverse for x, column in zip(rows[i], columns, strict=True)]
        return transposed(rows) if self.wide else rows


_PART = Option("part", "all", ("all", "position", "angular"))
_OPTIONS = (*frame_options("frame", "relative_to"), _PART)


ROWS = (
    FunctionSpec.of(
        jacobian,
        "q",
        Output((6, "nv"), "1, m"),
        "Matrix that maps velocities to a frame's twist.",
        options=VIEW,
    ),
    FunctionSpec.of(
        position_jacobian,
        "q",
        Output((3, "nv"), "m"),
        "Matrix that maps velocities to the velocity of a frame's origin.",
        options=VIEW,
    ),
    FunctionSpec.of(
        angular_jacobian,
        "q",
        Output((3, "nv"), "1"),
        "Matrix that maps velocities to a frame's angular velocity.",
        options=frame_options("frame", "relative_to", "expressed_in"),
    ),
    FunctionSpec.of(
        configuration_jacobian,
        "q",
        Output((6, "nq"), "1, m"),
        "Matrix that maps rates of the configuration to a frame's twist.",
        options=VIEW,
    ),
    FunctionSpec.of(
        jacobians,
        "q",
        Output(("nb", 6, "nv"), "1, m"),
        "Matrices that map velocities to the twists of all bodies.",
        options=frame_options("relative_to", "expressed_in", "point"),
    ),
    FunctionSpec.of(
        jacobian_derivative,
        "q v",
        Output((6, "nv"), "1/s, m/s"),
        "Rate of the matrix that maps velocities to a frame's twist.",
        options=VIEW,
    ),
    FunctionSpec.of(
        bias_acceleration,
        "q v",
        Output((6,), "rad/s², m/s²"),
        "Acceleration (ω̇; v̇) of a frame at constant joint velocities.",
        options=VIEW,
    ),
    FunctionSpec.of(
        jacobian_hessian,
        "q",
        Output((6, "nv", "nv"), "1, m"),
        "Derivative of the matrix that maps velocities to a frame's twist along each velocity.",
        options=VIEW,
    ),
    FunctionSpec.of(
        manipulability,
        "q",
        Output((), "1, m"),
        "Yoshikawa's manipulability of a frame.",
        options=(*_OPTIONS, ACTUATORS),
    ),
    FunctionSpec.of(
        manipulability_gradient,
        "q",
        Output(("nv",), "1, m"),
        "Derivative of the manipulability along each velocity.",
        options=(*_OPTIONS, ACTUATORS),
    ),
)
