"""Regrouping: an equal robot, as its joints feel it, with fewer numbers in its inertias.

A joint cannot feel all of the inertia that it carries: masses on the axis of a hinge, say, do not move when it turns.
Such a part, all but what `JointType.reduced_inertia` keeps, acts as if it were fixed to the body before the joint, and
is moved there, body by body from the tips inward; what reaches the world is felt by no joint.  The joint forces, the
mass matrix and the accelerations stay the same for every q, v and a, in any field of gravity; the wrenches between
bodies do not. What is left of the inertias are base parameters of the robot, and need not be those of possible bodies.

Sources: Gautier and Khalil, Direct calculation of minimum set of inertial parameters of serial robots, IEEE Trans.
Robotics and Automation 6, 1990; Khalil and Dombre, Modeling, Identification and Control of Robots, 2002, section 9.4.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from linkwork.expr.linalg.sparse_dot import is_zero
from linkwork.model.body import WORLD, Body
from linkwork.model.composite_body import without_inertias
from linkwork.model.tree import Tree
from linkwork.spatial import Inertia, Pose, Vec3

__all__ = ["regrouped"]


def regrouped(tree: Tree, but: Collection[int] = ()) -> Tree:
    """A tree with the same joint-space dynamics, whose inertias have more zeros where its joints allow it.

    Where any is another, they are not those of its links any more: its frames have none.  From some bodies, ``but``,
    nothing is moved: their inertias may be of any scalars.
    """
    inertias = [body.inertia for body in tree.bodies]
    for i, p, body in tree.inward():
        if i in but:
            continue
        kept, moved = _split(body, inertias[i])
        carrier = Inertia.zero() if p == WORLD else inertias[p]
        laden = carrier if p == WORLD else carrier + body.placement @ moved
        if _size(kept) + _size(laden) <= _size(inertias[i]) + _size(carrier):
            inertias[i] = kept
            if p != WORLD:
                inertias[p] = laden
    if all(
        b.inertia is own or (i not in but and b.inertia == own)
        for (i, _, b), own in zip(tree.outward(), inertias, strict=True)
    ):
        return tree
    bodies = [replace(body, inertia=inertia) for body, inertia in zip(tree.bodies, inertias, strict=True)]
    return replace(tree, bodies=tuple(bodies), frames=without_inertias(tree.frames))


def _split(body: Body, inertia: Inertia) -> tuple[Inertia, Inertia]:
    """What stays with the body (in its coordinates), and what acts as if fixed before its joint (in the stator's)."""
    joint, rotor = body.joint, body.rotor
    if rotor.translation == Vec3.zero() and any(rotor.rotation @ u == u for u in joint.commuting_rotations()):
        seen = Pose.identity()  # the body's axes are as good to the joint as its own
    else:
        seen = rotor
    there: Inertia = seen @ inertia
    felt = joint.reduced_inertia(there)
    if felt == there or not _resists(body, there):
        return inertia, Inertia.zero()
    kept: Inertia = seen.inv() @ felt
    return kept, rotor @ (inertia - kept)


def _size(inertia: Inertia) -> int:
    """How many of its ten numbers (mass, first and second moments of mass) are not zero."""
    J = inertia.about
    seconds = J.yy + J.zz - J.xx, J.xx + J.zz - J.yy, J.xx + J.yy - J.zz, J.xy, J.xz, J.yz
    return sum(not is_zero(x) for x in (inertia.mass, *inertia.moment, *seconds))


def _resists(body: Body, inertia: Inertia) -> bool:
    """Whether the inertia resists every motion of the joint by more than rounding: forward dynamics refuses others."""
    noise = 1e-15 * (abs(inertia.about.xx) + abs(inertia.mass))
    columns = body.asked("S", body.asked("zero")).columns
    return all(column.dot(inertia @ column) > noise for column in columns)
