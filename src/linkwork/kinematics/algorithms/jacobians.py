"""Jacobians of frames and bodies, their derivatives, and manipulability.

The Jacobian of a frame B relative to A is expressed in E, at a point P of B.  A joint's columns are its motions, seen
from P: the twist of B relative to A is the sum of the contributions of the joints between them, and those on A's side
count the other way.  A velocity is linear in the coordinates' rates, v = E(q) q̇ joint by joint, so the twist is J E
q̇: a quaternion has four columns, of which only rates tangent to the unit sphere make use.  The Jacobians of all
bodies have the same motions as columns, seen from different points.

Rate: let axes that are A's go along with the point P of B.  Relative to them the body i that a joint carries has the
twist U_i: it turns by the contributions of the joints from A to i, and P stays behind by those from i to B.  A motion
that is fixed in a body moves with it, so the joint's column C = X_i S, with X_i the body's pose in E's axes seen from
P, changes by U_i × C + X_i Ṡ.

Hessian: along the velocity of one joint, everything behind it between A and B turns, and P moves away from everything
before it.  So for a column C = (ω; v) and a column C' = (ω'; v') behind it, C' changes along C by (ω × ω'; ω × v'),
and C along C' by (0; ω × v'): the linear part is symmetric.  A joint's own columns change as those of the body that
carries them, and by ∂S.

Manipulability is the volume that the joints' velocities make of motions between two frames.  With J = R Q, of
orthonormal rows Q and a triangle R, √det(J Jᵀ) = |Π Rᵢᵢ|, which loses no digits by squaring; where the joints have
fewer velocities than J has rows it is √det(Jᵀ J), by J = Q R.  Its derivative along a velocity k is w tr(J⁺ H_k),
with H_k the change of J along it and J⁺ the pseudoinverse, R⁻¹ and Qᵀ.

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

from linkwork.expr.linalg.least_squares import Reflections
from linkwork.expr.linalg.sparse_dot import dot, less, product, reciprocal_or_zero, transposed
from linkwork.expr.scalar.functions import eq, fabs, where
from linkwork.joints.base.from_transform import unit_vectors
from linkwork.kinematics.algorithms.forward_kinematics import VIEW, acceleration
from linkwork.kinematics.algorithms.joint_path import PathJoint, columns_of, poses_in, way
from linkwork.kinematics.algorithms.relative_kinematics import fork, moved
from linkwork.model.function_spec import FunctionSpec, Option, Output, frame_options
from linkwork.model.tree import Tree
from linkwork.spatial import Motion, Subspace, Vec3, by_rows, cross

__all__ = ["ROWS", "angular_jacobian", "configuration_jacobian", "jacobian", "position_jacobian"]


Scalars = Sequence[Any]


def jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """J (6 × nv): the twist of B relative to A, expressed in E, at P, is J v."""
    return by_rows(columns_of(tree, way(tree, tree.split_q(q), frame, relative_to, expressed_in, point)))


def position_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """J (3 × nv): the velocity relative to A of the point of B at P, expressed in E, is J v."""
    return jacobian(tree, q, frame, relative_to, expressed_in, point)[3:]


def angular_jacobian(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", expressed_in: str = "world"
) -> list[list[Any]]:
    """J (3 × nv): the angular velocity of B relative to A, expressed in E, is J v."""
    return jacobian(tree, q, frame, relative_to, expressed_in)[:3]


def configuration_jacobian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[Any]]:
    """J (6 × nq): the twist of B relative to A, expressed in E, at P, is J q̇ for every rate that q can have."""
    q = tree.split_q(q)
    rows = by_rows(columns_of(tree, way(tree, q, frame, relative_to, expressed_in, point)))
    result: list[list[Any]] = [[] for _ in rows]
    for i, body in tree.stacked():
        block = product([row[tree.v_slices[i]] for row in rows], body.call_joint("velocity_from_rate_jacobian", q[i]))
        for row, part in zip(result, block, strict=True):
            row += part
    return result


def jacobians(
    tree: Tree, q: Scalars, relative_to: str = "world", expressed_in: str = "world", point: str | None = None
) -> list[list[list[Any]]]:
    """J (6 × nv) of every body, in body order: its twist relative to A, expressed in E, at P is J v."""
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
                    columns[k] += moved(column, r) * sign
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
    """J̇ (6 × nv), as an observer in A sees it and E's axes have it, for the point of B at P: J a + J̇ v is the
    acceleration.
    """
    q, v = tree.split_q(q), tree.split_v(v)
    steps = way(tree, q, frame, relative_to, expressed_in, point)
    rates = [Motion.zero()] * tree.nv
    for step, U in zip(steps, _twists(steps, v), strict=True):
        i = step.body
        turned = [cross(U, C) for C in step.columns]
        changed = step.seen(tree.bodies[i].S_dot(q[i], v[i]))
        for k, *parts in zip(range(tree.nv)[tree.v_slices[i]], turned, changed, strict=True):
            rates[k] += parts[0] + parts[1]
    return by_rows(rates)


def _twists(steps: Sequence[PathJoint], v: Scalars) -> list[Motion]:
    """U_i of the body that each joint carries."""
    moving = [step.moving(v) for step in steps]
    turned = list(accumulate((V.angular for V in moving), initial=Vec3.zero()))
    left = list(accumulate((V.linear for V in reversed(moving)), initial=Vec3.zero()))[::-1]
    return [Motion(turned[k], -left[k]) for k in (j + step.outward for j, step in enumerate(steps))]


def bias_acceleration(
    tree: Tree,
    q: Scalars,
    v: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> Motion:
    """J̇ v: (ω̇; v̇) of frame B relative to A at a = 0, without the matrix."""
    return acceleration(tree, q, v, [0.0] * tree.nv, frame, relative_to, expressed_in, point)


def jacobian_hessian(
    tree: Tree,
    q: Scalars,
    frame: str,
    relative_to: str = "world",
    expressed_in: str = "world",
    point: str | None = None,
) -> list[list[list[Any]]]:
    """H (6 × nv × nv): H[:, j, k] is what J̇[:, j] is at the unit velocity k."""
    q = tree.split_q(q)
    result = changes(tree, q, way(tree, q, frame, relative_to, expressed_in, point))
    elements = [[H.elements() for H in column] for column in result]
    return [[[H[row] for H in column] for column in elements] for row in range(6)]


def changes(tree: Tree, q: Scalars, steps: Sequence[PathJoint]) -> list[list[Motion]]:
    """H[j][k]: how column j changes along the unit velocity k.  q is split, body by body."""
    H = [[Motion.zero()] * tree.nv for _ in range(tree.nv)]
    before: list[tuple[int, Motion]] = []
    for step in steps:
        place = range(tree.nv)[tree.v_slices[step.body]]
        own = list(zip(place, step.columns, strict=True))
        for k, C in before:
            for j, D in own:
                H[j][k] += _turned(C, D)
                H[k][j] += _shifted(C, D)
        for k, unit in zip(place, unit_vectors(len(place)), strict=True):
            moving = step.seen(tree.bodies[step.body].S_dot(q[step.body], unit))
            for (j, C), C_dot in zip(own, moving, strict=True):
                D = step.columns[k - place.start]
                H[j][k] += (_turned(D, C) if step.outward else _shifted(C, D)) + C_dot
        before += own
    return H


def _turned(C: Motion, behind: Motion) -> Motion:
    """How a motion changes while what has it turns along C."""
    return Motion(C.angular.cross(behind.angular), C.angular.cross(behind.linear))


def _shifted(C: Motion, behind: Motion) -> Motion:
    """How C changes while P moves along a motion behind it."""
    return Motion(Vec3.zero(), C.angular.cross(behind.linear))


def manipulability(tree: Tree, q: Scalars, frame: str, relative_to: str = "world", part: str = "all") -> Any:
    """w = √det(J Jᵀ), or √det(Jᵀ J) where fewer velocities move B relative to A than J has rows."""
    steps = way(tree, tree.split_q(q), frame, relative_to, relative_to)
    columns = columns_of(tree, steps)
    return _Volume([_rows(columns[k], part) for k in _moving(tree, steps)]).size


def manipulability_gradient(
    tree: Tree, q: Scalars, frame: str, relative_to: str = "world", part: str = "all"
) -> list[Any]:
    """∂w (nv) along each velocity: w tr(J⁺ H_k), and 0 where w is."""
    q = tree.split_q(q)
    steps = way(tree, q, frame, relative_to, relative_to)
    columns, H, moving = columns_of(tree, steps), changes(tree, q, steps), _moving(tree, steps)
    volume = _Volume([_rows(columns[k], part) for k in moving])
    inverse = [x for row in volume.inverse() for x in row]
    gradient: list[Any] = [0.0] * tree.nv
    for k in moving:
        changed = [x for j in moving for x in _rows(H[j][k], part)]
        gradient[k] = where(eq(volume.size, 0.0), 0.0, volume.size * dot(inverse, changed))
    return gradient


def _moving(tree: Tree, steps: Sequence[Any]) -> list[int]:
    """The places in v of the joints on the way."""
    return sorted({k for step in steps for k in range(tree.nv)[tree.v_slices[step.body]]})


def _rows(column: Motion, part: str) -> list[Any]:
    """The elements of a column that count."""
    numbers = column.elements()
    return list({"all": numbers, "position": numbers[3:], "angular": numbers[:3]}[part])


class _Volume:
    """The volume that the columns of a matrix J span, or, where it is wide, its rows; by reflections."""

    def __init__(self, columns: list[list[Any]]) -> None:
        self.wide = len(columns) > len(columns[0] if columns else ())
        tall = columns if self.wide else transposed(columns)
        self.n = len(tall[0]) if tall else 0
        self.made = Reflections(tall, self.n)
        self.triangle = self.made.upper(self.n)
        self.size: Any = 1.0 if columns else 0.0  # what nothing moves has no volume
        for i, row in enumerate(self.triangle):
            self.size = self.size * fabs(row[i])

    def inverse(self) -> list[list[Any]]:
        """The pseudoinverse's rows, one for each column of J; finite where the volume is 0, and of no meaning."""
        rows = self.made.orthonormal(self.n)
        for i in range(self.n - 1, -1, -1):
            pivot, right = self.triangle[i][i], self.triangle[i][i + 1 :]
            inverse = reciprocal_or_zero(pivot, eq(pivot, 0.0))
            columns = transposed(rows[i + 1 :]) or [[] for _ in rows[i]]
            rows[i] = [less(x, right, column) * inverse for x, column in zip(rows[i], columns, strict=True)]
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
        "Acceleration (ω̇; v̇) of a frame while the joints' velocities stay the same.",
        options=VIEW,
    ),
    FunctionSpec.of(
        jacobian_hessian,
        "q",
        Output((6, "nv", "nv"), "1, m"),
        "How the matrix that maps velocities to a frame's twist changes along each of them.",
        options=VIEW,
    ),
    FunctionSpec.of(
        manipulability,
        "q",
        Output((), "1, m"),
        "How much velocities make of a frame's motion, by volume.",
        options=_OPTIONS,
    ),
    FunctionSpec.of(
        manipulability_gradient,
        "q",
        Output(("nv",), "1, m"),
        "Derivative of the manipulability along each velocity.",
        options=_OPTIONS,
    ),
)
