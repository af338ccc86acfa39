"""Contact candidates: points where a robot may touch something, with gap, axes and velocity rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.expr.arrays.symbol_array import is_traced, scalars
from linkwork.expr.linalg.sparse_dot import dot, is_zero
from linkwork.expr.scalar.functions import copysign
from linkwork.model.body import WORLD
from linkwork.simulation.algorithms.contact.contact_products import Limb
from linkwork.simulation.algorithms.contact.contact_terms import ContactAt
from linkwork.simulation.algorithms.free_body import free_bodies
from linkwork.spatial import Pose, Vec3

__all__ = ["ContactCandidate", "axes_of", "frame_pose", "velocity_rows"]


@dataclass(frozen=True, slots=True)
class ContactCandidate:
    """Contact candidate between the ``second`` link and the ``first``, or a fixed obstacle, in the world's axes.

    ``arms`` are the vectors from the links' origins to the point [m].  ``axes`` are two tangents and the normal, which
    points from the first to the second.  ``gap`` is their distance [m], negative inside.
    """

    name: str
    first: str | None
    second: str
    arms: tuple[Vec3 | None, Vec3]
    axes: Sequence[Sequence[Any]]
    gap: Any
    material: Any  # a ContactMaterial, or `SurfaceParameters`
    of: tuple[str, ...] = ()  # names of its links, obstacles, and frames of points

    def at(self, robot: Any, q: Any) -> ContactAt:
        """Return the contact with its velocity Jacobian, as the time step uses it, at a symbolic q (nq)."""
        m = self.material
        limb = _limb(robot, q, self)
        rows = velocity_rows(robot, q, self) if limb is None else limb.rows
        bounces = None if is_zero(m.restitution) else m.restitution
        return ContactAt(rows, self.gap, m.friction, m.stiffness, bounces, limb)

    def wrenches(self, force: Sequence[Any]) -> list[tuple[str, list[Any]]]:
        """Return a pair (link, wrench) for each link on which a contact force (3,) at the point acts.

        The force acts on the second link, and its opposite on the first.  Wrenches are at the links' origins, in the
        world's axes.
        """
        result = []
        for link, arm, sign in zip((self.first, self.second), self.arms, (-1.0, 1.0), strict=True):
            if link is not None and arm is not None:
                f = Vec3.of([sign * x for x in force])
                result.append((link, [*arm.cross(f), *f]))
        return result


def frame_pose(robot: Any, q: Any, frame: str) -> Pose:
    """Return the pose of a frame in the world, at q (nq) of a trace, or with arrays as elements for q (..., nq)."""
    X = robot.pose(q, frame)
    return Pose.of(scalars(X) if is_traced(X) else np.moveaxis(np.asarray(X), (-2, -1), (0, 1)))


def _limb(robot: Any, q: Any, candidate: ContactCandidate) -> Limb | None:
    """Return the contact point in the axes of the floating body whose subtree contains its link.

    None for a pair of links, and for a link that no floating body carries.
    """
    tree, arm = robot.tree, candidate.arms[1]
    if candidate.first is not None:
        return None
    at = robot.tree.frame(candidate.second).body
    while tree.bodies[at].parent != WORLD:
        at = tree.bodies[at].parent
    floats = {body.joint_slice.name for body in free_bodies(tree)}
    root = next((x.name for x in tree.frames_on(at) if x.placement.is_identity), None)
    if root is None or tree.bodies[at].joint_name not in floats or not tree.bodies[at].rotor.is_identity:
        return None
    base, link = frame_pose(robot, q, root), frame_pose(robot, q, candidate.second)
    screws = list(scalars(robot.jacobian(q, candidate.second, expressed_in=root, point=root)))
    r = base.rotation.inv_act(link.translation + arm - base.translation)
    axes = [[*base.rotation.inv_act(Vec3.of(axis))] for axis in candidate.axes]
    return Limb(candidate.second, screws, r, axes)


def velocity_rows(robot: Any, q: Any, candidate: ContactCandidate) -> list[list[Any]]:
    """Return the Jacobian (3 × nv) of the second link's velocity relative to the first, along the contact's axes."""
    rows: list[list[Any]] = [[0.0] * robot.nv for _ in range(3)]
    for link, arm, sign in zip((candidate.first, candidate.second), candidate.arms, (-1.0, 1.0), strict=True):
        if link is None or arm is None:
            continue
        J = robot.jacobian(q, link, expressed_in="world")
        for k in range(robot.nv):
            w, v = [J[i, k] for i in range(3)], [J[3 + i, k] for i in range(3)]
            moved = [
                v[0] + w[1] * arm.z - w[2] * arm.y,
                v[1] + w[2] * arm.x - w[0] * arm.z,
                v[2] + w[0] * arm.y - w[1] * arm.x,
            ]
            for row, axis in zip(rows, candidate.axes, strict=True):
                along = dot(axis, moved)
                row[k] = row[k] + along if sign > 0.0 else row[k] - along
    return rows


def axes_of(n: Vec3) -> list[list[Any]]:
    """Return two unit tangents to the plane with unit normal n, and n, as rows (3 × 3).

    Source: Duff and others, Building an orthonormal basis, revisited, Journal of Computer Graphics Techniques 2017.
    """
    sign = copysign(1.0, n.z)
    a = -1.0 / (sign + n.z)
    b = n.x * n.y * a
    return [[1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x], [b, sign + n.y * n.y * a, -n.y], [*n]]
